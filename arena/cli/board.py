"""The private board as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.tables import Row, columns_shown, print_table
from arena.formats import score_format, span
from arena.intake.faults import describe
from arena.standing_columns import RANKED_COLUMNS
from arena.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.score_result import RejectedFile, ScoreResult

__all__ = ["print_board", "print_rejected", "print_result"]

_FAULTS_SHOWN = 5


def print_result(result: ScoreResult, console: Console) -> None:
    """Print the board, what it means, and what does not stand on it."""
    print_board(result.to_dict(), console)
    for rejected in result.rejected:
        print_rejected(rejected, console)


def print_board(document: Row, out: Console) -> None:
    """Print a board and what it means, from the document ``arena/score/1``."""
    if document["standings"]:
        _print_standings(document, out)
    for finding in document["findings"]:
        out.print(printable(finding["verdict"]))
    _print_best(document, out)
    _print_baseline(document, out)


def _print_standings(document: Row, out: Console) -> None:
    direction = "larger" if document["greater_is_better"] else "smaller"
    title = (
        f"{printable(document['metric'])} on {document['n_rows']:,} {document['split']} rows "
        f"({direction} is better)"
    )
    standings = document["standings"]
    columns = columns_shown(RANKED_COLUMNS, score_format(standings))
    print_table(standings, columns, out, title=title)
    out.print(
        f"Intervals at {document['level']:.4g}, rank intervals for all teams at once; rank spread "
        f"and shares describe {document['resamples']:,} resamples; seed {document['seed']}."
    )


def _print_best(document: Row, out: Console) -> None:
    best, standings = document["best_score_corrected"], document["standings"]
    if not standings or best["estimate"] is None:
        return
    score = score_format(standings)
    out.print(
        f"The best score, {score(standings[0]['score'])}, was selected on these rows. "
        f"Corrected for that it is {score(best['estimate'])}; the best true score lies in "
        f"{span(best['low'], best['high'], score)}."
    )


def _print_baseline(document: Row, out: Console) -> None:
    baseline = document.get("baseline")
    if baseline is not None and baseline["score"] is not None:
        score = score_format(document["standings"])
        out.print(
            f"The baseline, {printable(baseline['team'])}, has {score(baseline['score'])} and is "
            f"not ranked."
        )


def print_rejected(rejected: RejectedFile, out: Console, *, every_fault: bool = False) -> None:
    """Print a rejected file and its faults; without ``every_fault`` the first few."""
    shown = rejected.faults if every_fault else rejected.faults[:_FAULTS_SHOWN]
    out.print(f"Rejected: {printable(rejected.file)}", soft_wrap=True)
    for fault in shown:
        out.print(f"  {printable(describe(fault))}", soft_wrap=True)
    hidden = len(rejected.faults) - len(shown)
    if hidden > 0:
        out.print(f"  … and {hidden:,} more lines: arena validate prints them.")
