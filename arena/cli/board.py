"""The private board as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arena.intake import describe
from arena.text import printable, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arena.score_result import RejectedFile, ScoreResult

__all__ = ["print_rejected", "print_result"]

_ROWS_SHOWN = 60
_FAULTS_SHOWN = 5


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _span(low: Any, high: Any, show: Callable[[Any], str]) -> str:
    if low is None or high is None:
        return ""
    return show(low) if low == high else f"{show(low)} to {show(high)}"


_COLUMNS: Sequence[tuple[str, Callable[[Mapping[str, Any]], str]]] = (
    ("rank", lambda row: str(row["rank"])),
    ("team", lambda row: shorten(row["team"], 32)),
    ("score", lambda row: _number(row["score"])),
    ("score interval", lambda row: _span(row["score_low"], row["score_high"], _number)),
    ("rank interval", lambda row: _span(row["rank_low"], row["rank_high"], str)),
    ("tier", lambda row: "" if row["tier"] is None else str(row["tier"])),
    ("rank spread", lambda row: _span(row["spread_low"], row["spread_high"], _number)),
    ("won", lambda row: _percent(row["share_won"])),
    ("prize share", lambda row: _percent(row["prize_share"])),
    ("public", lambda row: _number(row["public_score"])),
)


def print_result(result: ScoreResult, console: Console) -> None:
    """Print the board, what it means, and what does not stand on it."""
    if result.standings:
        console.print(_table(result))
        hidden = len(result.standings) - _ROWS_SHOWN
        if hidden > 0:
            console.print(f"… and {hidden:,} more: --json prints every one.")
    for finding in result.findings:
        console.print(printable(finding.verdict))
    _print_best(result, console)
    for rejected in result.rejected:
        print_rejected(rejected, console)


def _table(result: ScoreResult) -> Table:
    from rich import box
    from rich.table import Table

    direction = "larger" if result.greater_is_better else "smaller"
    table = Table(
        box=box.SIMPLE_HEAD,
        title=(
            f"{printable(result.metric)} on {result.n_rows:,} {result.split} rows "
            f"({direction} is better)"
        ),
        caption=(
            f"Intervals at {result.level:.4g}, rank intervals for all teams at once; rank spread "
            f"and shares describe {result.resamples:,} resamples; seed {result.seed}."
        ),
    )
    shown = [(name, show) for name, show in _COLUMNS if any(show(row) for row in result.standings)]
    for name, _ in shown:
        table.add_column(name, justify="left" if name == "team" else "right")
    for row in result.standings[:_ROWS_SHOWN]:
        table.add_row(*(show(row) for _, show in shown))
    return table


def _print_best(result: ScoreResult, console: Console) -> None:
    best = result.best_score_corrected
    if not result.standings or best["estimate"] is None:
        return
    console.print(
        f"The best score, {_number(result.standings[0]['score'])}, was selected on these rows. "
        f"Corrected for that it is {_number(best['estimate'])}; the best true score lies in "
        f"{_span(best['low'], best['high'], _number)}."
    )


def print_rejected(rejected: RejectedFile, out: Console, *, every_fault: bool = False) -> None:
    """Print a rejected file and its faults; without ``every_fault`` the first few."""
    shown = rejected.faults if every_fault else rejected.faults[:_FAULTS_SHOWN]
    out.print(f"Rejected: {printable(rejected.file)}", soft_wrap=True)
    for fault in shown:
        out.print(f"  {printable(describe(fault))}", soft_wrap=True)
    hidden = len(rejected.faults) - len(shown)
    if hidden > 0:
        out.print(f"  … and {hidden:,} more: arena validate prints every one.")
