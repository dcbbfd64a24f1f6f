"""Output of the status of submissions, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from arena.competition.submit import Submitted
from arena.interfaces import End, Outcome
from arena.interfaces.faults import fault_lines
from arena.types import Fault
from arena.utils.formatting import BoardDisplay, released_format
from arena.utils.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.cli.console import Lines


def print_answer(
    answer: Submitted,
    out: Console | Lines,
    display: BoardDisplay,
    *,
    file: str | None = None,
    most: int | None = None,
) -> None:
    """Print the status of a submission, and ``most`` lines of its faults; None: all of them."""
    of_file = f" ({printable(file)})" if file else ""
    of_phase = f" in {answer.phase}" if answer.phase else ""
    line = f"Submission {answer.submission} of {printable(answer.team)}{of_file}{of_phase}: "
    line += f"{answer.status}."
    if answer.released is not None:
        score_text = released_format([answer.released], display)(answer.released)
        line = f"{line} Its public score is {score_text}."
    if answer.receipt is not None and file is None:
        line = f"{line} Receipt: {answer.receipt}"
    out.print(line, soft_wrap=True)
    if answer.closed_rounds:
        out.print(f"  {closed_rounds_line(answer.closed_rounds)}", soft_wrap=True)
    lines = fault_lines(answer.faults)
    for line in lines[:most]:
        out.print(f"  {printable(line)}", soft_wrap=True)
    if most is not None and len(lines) > most:
        hidden = len(lines) - most
        out.print(f"  … and {hidden:,} more: --json prints every one.", soft_wrap=True)


def closed_rounds_line(rounds: Sequence[str]) -> str:
    """Return a sentence on rounds whose rows a file has, and for which it does not count."""
    return f"Its rows of rounds that are not open do not count: {printable(', '.join(rounds))}."


def print_trial(trial: Outcome | tuple[Fault, ...], out: Console | Lines) -> None:
    """Print how the trial of a program ended; of one that failed also its faults or its log."""
    if isinstance(trial, tuple):
        out.print("The program cannot be unpacked, and nothing was counted.", soft_wrap=True)
        lines = fault_lines(trial)
    else:
        well = trial.end is End.OK
        ended = "ended well" if well else f"failed ({trial.end}), and nothing was counted"
        used = f"{trial.seconds:.1f} s, {trial.peak_mb:,.0f} MB"
        out.print(f"The trial on the sample inputs {ended}: {used}.", soft_wrap=True)
        lines = [] if well else trial.log.decode(errors="replace").splitlines()
    for line in lines:
        out.print(f"  {printable(line)}", soft_wrap=True)


def trial_document(trial: Outcome | tuple[Fault, ...]) -> dict[str, Any]:
    """Return the trial of a program as JSON, with its whole log or why it cannot be unpacked."""
    if isinstance(trial, tuple):
        faults = [asdict(fault) for fault in trial]
        return {"schema": "arena/trial/1", "end": "not unpacked", "faults": faults}
    return {
        "schema": "arena/trial/1",
        "end": str(trial.end),
        "seconds": trial.seconds,
        "cpu_seconds": trial.cpu_seconds,
        "peak_mb": trial.peak_mb,
        "log": trial.log.decode(errors="replace"),
    }


def count_answers(answers: Sequence[Submitted]) -> str:
    """Return how many there are of each status, in words; those accepted before apart.

    >>> from arena.competition.submit import Submitted
    >>> count_answers([Submitted(n, "a", "accepted", None, ()) for n in (1, 2)])
    '2 accepted'
    >>> count_answers([Submitted(1, "a", "accepted", None, (), known=True)])
    '1 was there already'
    """
    again = sum(answer.status == "accepted" and answer.known for answer in answers)
    statuses = [answer.status for answer in answers]
    counts = {status: statuses.count(status) for status in ("accepted", "rejected", "refused")}
    counts["accepted"] -= again
    notes = [f"{count:,} {status}" for status, count in counts.items() if count]
    if again:
        notes.insert(
            bool(counts["accepted"]), f"{again:,} {'was' if again == 1 else 'were'} there already"
        )
    return ", ".join(notes)
