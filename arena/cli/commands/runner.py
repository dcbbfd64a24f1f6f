"""Run programs of a served competition."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command()
def runner(
    token_file: Annotated[
        Path, typer.Option(help="The file that arena programs runner wrote for this machine.")
    ],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of hidden inputs; may be repeated."),
    ] = None,
    to: Annotated[str, typer.Option("--to", help="The address of the competition.")] = "",
    work: Annotated[
        Path | None,
        typer.Option(help="Instead of --to: a folder that arena programs rerun --to wrote."),
    ] = None,
    sample: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of inputs that teams see, for trials; may be repeated."),
    ] = None,
    sandbox: options.SandboxName = options.SANDBOX,
    once: Annotated[bool, typer.Option("--once", help="End when no program waits.")] = False,
) -> None:
    """Run programs of a competition on this machine, one after the other.

    It requests programs from the server, so it needs no public address. It refuses programs whose
    inputs or environment it does not have, and trials, whose log teams see, on hidden inputs. With
    --sample only it takes trials, with --inputs only hidden runs.
    SIGTERM ends it; another runner gets the current run.
    """
    from arena.cli.console import say_note
    from arena.plugin.manager import PluginManager
    from arena.runner import Runner, RunnerKey

    logging.getLogger("arena.runner").setLevel(logging.INFO)
    if not inputs and not sample:
        raise UsageError("Give --inputs FOLDER for hidden runs, --sample FOLDER for trials.")
    if bool(to) == (work is not None):
        raise UsageError("Give either --to ADDRESS or --work FOLDER.")
    working = Runner(
        source=work or to,
        key=RunnerKey.read(token_file),
        sandbox=PluginManager().sandboxes.resolve(sandbox),
        sandbox_name=sandbox,
        inputs=Runner.digests(inputs or []),
        sample=Runner.digests(sample or []),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: working.stop.set())
    say_note(f"The runner {working.key.name} waits for programs.")
    working.run(once=once)
