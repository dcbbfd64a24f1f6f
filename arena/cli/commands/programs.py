"""Run programs of participants in a sandbox."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli import options
from arena.cli.console import Lines, console, print_document
from arena.cli.folder import Directory, Wait, find_folder, open_competition
from arena.cli.items import show_items
from arena.cli.submission_output import print_answer
from arena.errors import InputError, UsageError
from arena.utils.text import plural, printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.competition.programs.reruns import Rerun
    from arena.interfaces import Outcome

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


@app.command()
def sandboxes(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A sandbox, such as bwrap.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the sandboxes in which programs can run, or show one with its parameters."""
    show_items("sandboxes", name, None, column="what it does", as_json=as_json)


@app.command()
def environment(
    requirements: Annotated[
        Path | None,
        typer.Option(
            "--requirements", "-r", help="A file with a line for each library, as pip reads it."
        ),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(help="A TAR archive of a whole system, as podman export writes it."),
    ] = None,
) -> None:
    """Install the libraries that programs may import, and print the digest that names them.

    pip's own settings decide from where: with PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER from a
    folder of wheels, without a network. Every machine that runs programs needs the environment.
    """
    from arena.programs.environments import make_environment, unpack_environment
    from arena.programs.running import environments_folder
    from arena.utils.progress import stage

    if requirements is not None and image is None:
        with stage("Installing the libraries"):
            environment = make_environment(requirements, environments_folder())
    elif image is not None and requirements is None:
        with stage("Unpacking the image"):
            environment = unpack_environment(image, environments_folder())
    else:
        raise UsageError("Give either --requirements FILE or --image TAR.")
    console().print(environment.digest, soft_wrap=True)


@app.command()
def check(
    sandbox: options.SandboxName = options.SANDBOX,
    environment: options.EnvironmentDigest = "",
    as_json: options.AsJson = False,
) -> None:
    """Run hostile programs on this machine, and print what its sandbox does not hold.

    The result is kept on this machine: a competition with programs is served only after a check.
    The exit code is 1 if something is not held.
    """
    from arena.plugin.manager import PluginManager
    from arena.programs.checked import record_check
    from arena.programs.running import alone, environment_of
    from arena.testing import check_sandbox
    from arena.utils.progress import stage

    item = PluginManager().sandboxes.resolve(sandbox)
    with stage("Hostile programs run"), alone():
        sentences = item.check()
        conformance = check_sandbox(item, environment=environment_of(environment))
    failed = [f"{program.name}: {program.message}" for program in conformance.failed]
    checked = record_check(sandbox, item.versions(), (*sentences, *failed))
    if as_json:
        programs = [program.name for program in conformance.checks]
        print_document({"schema": "arena/programs-check/1", **checked, "programs": programs})
    else:
        n_held = len(conformance.checks) - len(failed)
        out = console()
        out.print(f"{n_held} of {len(conformance.checks)} hostile programs were held.")
        for sentence in checked["not_held"]:
            out.print(f"Not held: {printable(sentence)}", soft_wrap=True)
    if checked["not_held"]:
        raise typer.Exit(1)


@app.command("try")
def try_program(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM", help="A .py file, or a ZIP with main.py.")
    ],
    inputs: Annotated[Path, typer.Option(help="The folder that it sees as /input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what it writes.")],
    sandbox: options.SandboxName = options.SANDBOX,
    environment: options.EnvironmentDigest = "",
    command: Annotated[str, typer.Option(help="What starts the program.")] = "python3 main.py",
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit.")] = 120.0,
    memory_mb: Annotated[int, typer.Option(min=16, help="Memory, files included.")] = 4096,
    disk_mb: Annotated[int, typer.Option(min=1, help="/output, /tmp and /dev/shm.")] = 1024,
    cores: Annotated[float, typer.Option(min=0.1, help="Processor cores.")] = 2.0,
    processes: Annotated[int, typer.Option(min=1, help="Processes and threads.")] = 256,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs.")] = 0,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of its output.")] = 100_000_000,
) -> None:
    """Run a program on your machine, with the sandbox and the limits of the organiser's machine.

    What it prints is shown. What an earlier run wrote to the folder is removed. The exit code is 1
    if the run fails.
    """
    from arena.interfaces import Box, End
    from arena.plugin.manager import PluginManager
    from arena.programs.running import OUTPUTS, environment_of, run_program
    from arena.utils.progress import stage

    if not program.is_file():
        raise InputError(f"The program {printable(str(program))} does not exist, or is no file.")
    output.mkdir(parents=True, exist_ok=True)
    for name in OUTPUTS:
        stored = f"{name.rstrip('/')}.zip" if name.endswith("/") else name
        (output / stored).unlink(missing_ok=True)
    box = Box(
        seconds=seconds,
        memory_mb=memory_mb,
        disk_mb=disk_mb,
        cores=cores,
        processes=processes,
        output_bytes=max_bytes,
        gpus=gpus,
    )
    with stage("The program runs"):
        outcome = run_program(
            program,
            inputs,
            output,
            command=tuple(command.split()),
            environment=environment_of(environment),
            box=box,
            sandbox=PluginManager().sandboxes.resolve(sandbox),
        )
    if isinstance(outcome, tuple):
        for fault in outcome:
            console().print(printable(f"{fault.kind}: {fault.message}"), soft_wrap=True)
        raise typer.Exit(1)
    _print_outcome(outcome)
    if outcome.end is not End.OK:
        raise typer.Exit(1)


def _print_outcome(outcome: Outcome) -> None:
    out = console()
    log = outcome.log.decode("utf-8", "replace").rstrip()
    if log:
        out.print(printable_lines(log), soft_wrap=True)
    figures = (
        f"{outcome.seconds:.2g} s, {outcome.cpu_seconds:.2g} s of processors, "
        f"{outcome.peak_mb:.0f} MB"
    )
    where = "" if outcome.output is None else f" It wrote {printable(str(outcome.output))}."
    out.print(f"End: {outcome.end} ({figures}).{where}", soft_wrap=True)


@app.command("runner")
def add_runner(
    name: Annotated[str, typer.Argument(help="A name for the machine.")],
    directory: Directory = None,
) -> None:
    """Create the token and the key of another machine that runs programs, and print their file.

    Copy it to that machine, to which arena runner takes it by --token-file. A server knows a new
    runner within seconds; delete the file to dismiss one.
    """
    from arena.competition.programs.runners import add_runner as add

    console().print(str(add(find_folder(directory), name)), soft_wrap=True)


@app.command()
def run(directory: Directory = None, wait: Wait = 30.0, as_json: options.AsJson = False) -> None:
    """Run the programs that wait for the hidden inputs on this machine.

    They wait if arena submit was interrupted.
    """
    with open_competition(directory, wait) as competition:
        waiting = competition.waiting_programs()
        answers = [competition.run_waiting_program(program) for program in waiting]
        display = competition.settings.display(public=True)
    if as_json:
        rows = [answer.to_dict() for answer in answers]
        print_document({"schema": "arena/programs-run/1", "submissions": rows})
        return
    for answer in answers:
        print_answer(answer, Lines(), display)
    if not answers:
        console().print("No program waits.")


@app.command()
def rerun(
    submissions: Annotated[
        list[int] | None, typer.Argument(metavar="SUBMISSION...", help="Numbers of submissions.")
    ] = None,
    finalists: Annotated[bool, typer.Option("--finalists", help="All final submissions.")] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write the runs to a new folder, for arena runner --work."),
    ] = None,
    results_from: Annotated[
        Path | None,
        typer.Option("--from", help="Read what arena runner --work wrote to this folder."),
    ] = None,
    directory: Directory = None,
    wait: Wait = 30.0,
    as_json: options.AsJson = False,
) -> None:
    """Run programs again, and compare what they write with what is stored.

    The result is put on record. The same predictions make a submission verified, which boards show;
    nothing else changes. Exits with 1 if any prediction differs, or if no program wrote a
    submission. To run them on another machine, which gets no labels, write the runs to a folder,
    copy it there and back, and read it.
    """
    if (bool(submissions), finalists, results_from is not None).count(True) != 1:
        raise UsageError("Name submissions, or give --finalists, or --from FOLDER.")
    with open_competition(directory, wait) as competition:
        chosen = competition.finalists() if finalists else submissions or []
        reruns: Iterable[Rerun] = map(competition.rerun_program, chosen)
        if to is not None:
            reruns = competition.write_reruns(chosen, to)
        elif results_from is not None:
            reruns = competition.read_reruns(results_from)
        results = []
        for result in reruns:
            results.append(result)
            if not as_json:
                console().print(printable(str(result)), soft_wrap=True)
    if to is not None and not as_json:
        n_runs = len(chosen) - len(results)
        runs = plural(n_runs, "run", "are")
        console().print(printable(f"{runs} in {to}: for arena runner --work."))
    if as_json:
        rows = [asdict(result) for result in results]
        print_document({"schema": "arena/programs-rerun/1", "reruns": rows})
    if not all(result.is_same for result in results):
        raise typer.Exit(1)
