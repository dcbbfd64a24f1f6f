"""Submit a file for a team and release its public score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.completion import complete_team
from arena.cli.console import Lines, console, print_document, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.options import AsJson
from arena.cli.program import prepare_readers
from arena.cli.submission_output import (
    closed_rounds_line,
    print_answer,
    print_trial,
    trial_document,
)
from arena.errors import UsageError
from arena.interfaces.faults import describe
from arena.public_board.advice import FULL_WARNING
from arena.types import Fault
from arena.utils.file_errors import reason_of
from arena.utils.formatting import released_format
from arena.utils.text import printable

if TYPE_CHECKING:
    from arena.client import Client
    from arena.competition.competition import Competition
    from arena.competition.programs.local_runs import SubmittedProgram
    from arena.competition.submit import Submitted
    from arena.responses import RequestState

app = typer.Typer(add_completion=False)


@app.command()
def submit(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet, as sample_submission.csv; a program (.py or ZIP) if the "
            "competition runs programs.",
        ),
    ],
    team: Annotated[
        str | None,
        typer.Option(
            "--team",
            "-t",
            help="The name of the team. With --to: that of the token.",
            autocompletion=complete_team,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Submit to this served competition, by --token-file."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file that holds your token.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Idempotency key: a repeat returns the first answer.  [default: the file]"
        ),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option(metavar="PHASE", help="Where several phases are open: the one it counts for."),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=TEXT", help="The answer to a question, which is public."),
    ] = None,
    directory: Directory = None,
    wait: Wait = 30.0,
    as_json: AsJson = False,
) -> None:
    """Check, count, score and store one submission, and release its public score.

    Exits with 1 if it is rejected for faults, or refused because of a limit or the deadline. When a
    team submits the same file again, it gets the first answer and the limits do not count it.

    A program is tried on the sample inputs first, which counts for nothing, and then run on the
    hidden inputs. Of that run only the kind of a failure is shown.

    With --to the file goes to a server (arena serve). The command waits for the score and can be
    repeated after any interruption.
    """
    answers = _answers(answer or ())
    if to is not None:
        if team is not None or directory is not None:
            raise UsageError("--to excludes --team and -C: the token names the team.")
        if token_file is None:
            raise UsageError("--to needs --token-file: create a token on the page of your team.")
        from arena.client import Client  # loads http and ssl

        client = Client(to, _token(token_file))
        state = client.submit(file, key=key, phase=phase, answers=answers)
        _print_sent(client, state, wait, as_json=as_json)
        return
    if token_file is not None:
        raise UsageError("--token-file needs --to, the address of the competition.")
    if team is None:
        raise UsageError("Name the team by --team, or a server by --to.")
    prepare_readers(reads_too=False)
    with open_competition(directory, wait) as competition:
        if (
            competition.in_phase().settings.public.mechanism == "full"
            and not competition.has_submissions()
        ):
            say_note(FULL_WARNING)
        if competition.settings.programs.sandbox:
            if key is not None or answers:
                raise UsageError("--key and --answer are for files of predictions, not programs.")
            submitted_program = competition.submit_program(file, team, phase=phase)
            print_program(competition, submitted_program, as_json=as_json)
            return
        submitted = competition.submit(file, team, key=key, phase=phase, answers=answers)
        _print_submitted(competition, submitted, as_json=as_json)
    if submitted.status != "accepted":
        raise typer.Exit(1)


def print_program(competition: Competition, submitted: SubmittedProgram, *, as_json: bool) -> None:
    """Print the answer to a program; raise typer.Exit(1) unless it was accepted."""
    trial, answer = submitted.trial, submitted.submitted
    if trial is not None and not as_json:
        print_trial(trial, Lines())
    elif trial is not None and answer is None:
        print_document(trial_document(trial))
    if answer is not None:
        _print_submitted(competition, answer, as_json=as_json)
    if answer is None or answer.status != "accepted":
        raise typer.Exit(1)


def _print_submitted(competition: Competition, answer: Submitted, *, as_json: bool) -> None:
    if as_json:
        print_document({"schema": "arena/submit/1", **answer.to_dict()})
    else:
        for stored_answer in (answer, *answer.rounds):
            print_answer(stored_answer, Lines(), competition.settings.display(public=True))
        disqualified = competition.disqualified_teams() if answer.status == "accepted" else {}
        if answer.team in disqualified:
            say_note(
                f"The team {printable(answer.team)} is disqualified "
                f"({printable(disqualified[answer.team])}): its submissions do not count."
            )


def _token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token cannot be read from {path}: {reason_of(error)}.") from None


def _answers(texts: Iterable[str]) -> dict[str, str]:
    """Return question -> answer from texts such as ``method=trees``."""
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--answer is {text!r}, but must be KEY=TEXT, such as method=trees.")
    return dict(text.split("=", 1) for text in texts)


def _print_sent(client: Client, state: RequestState, wait: float, *, as_json: bool) -> None:
    if state["status"] == "waiting":
        state = client.wait(state["request"], wait)
    if as_json:
        print_document({"schema": "arena/request/1", **state})
    else:
        for of_round in (state, *state.get("rounds", ())):
            print_state(of_round)
    if state["status"] not in {"accepted", "waiting"}:
        raise typer.Exit(1)


def print_state(state: RequestState) -> None:
    """Print what became of a request to a server."""
    out, score = console(), state["score"]
    if state["status"] == "waiting":
        place = "" if state["place"] is None else f"; place {state['place']} in the queue"
        line = (
            f"Received and stored{place}. Repeat the command later for the score: the file is "
            f"counted once."
        )
    else:
        what = "The file" if state["submission"] is None else f"Submission {state['submission']}"
        of_phase = f" in {printable(state['phase'])}" if state.get("phase") else ""
        line = f"{what}{of_phase}: {state['status'].replace('_', ' ')}."
    if score is not None:
        line = f"{line} Its public score is {released_format([score])(score)}."
    if state["receipt"]:
        line = f"{line} Receipt: {printable(str(state['receipt']))}"
    out.print(line, soft_wrap=True, markup=False)
    if closed_rounds := state.get("closed_rounds"):
        out.print(f"  {closed_rounds_line(closed_rounds)}", soft_wrap=True, markup=False)
    faults = [
        Fault(
            "",
            fault.get("message", ""),
            row=fault.get("row"),
            id=fault.get("id"),
            column=fault.get("column"),
        )
        for fault in state["faults"]
    ]
    trial = state.get("trial") if state["status"] == "trial_failed" else None
    log = () if trial is None else trial["log"].splitlines()
    for text in [state["message"], state.get("reason"), *map(describe, faults), *log]:
        if text:
            out.print(f"  {printable(str(text))}", soft_wrap=True, markup=False)
