"""The private board as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arena.intake import describe
from arena.text import printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from arena.score_result import RejectedFile, ScoreResult

__all__ = ["print_rejected", "print_result"]

_ROWS_SHOWN = 60
_FAULTS_SHOWN = 5
_PADDING = 3


_Show = Callable[[Any], str]
_Cell = Callable[[Mapping[str, Any], _Show], str]


def _number(decimals: int) -> _Show:
    return lambda value: "" if value is None else f"{value:.{decimals}f}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _span(low: Any, high: Any, show: _Show) -> str:
    if low is None or high is None:
        return ""
    return show(low) if low == high else f"{show(low)} to {show(high)}"


_COLUMNS: Sequence[tuple[str, int, _Cell]] = (
    ("rank", 1, lambda row, _: _plain(row["rank"])),
    ("team", 2, lambda row, _: shorten(row["team"], 32)),
    ("score", 3, lambda row, score: score(row["score"])),
    ("score interval", 6, lambda row, score: _span(row["score_low"], row["score_high"], score)),
    ("rank interval", 4, lambda row, _: _span(row["rank_low"], row["rank_high"], _plain)),
    ("tier", 5, lambda row, _: _plain(row["tier"])),
    ("rank spread", 8, lambda row, _: _span(row["spread_low"], row["spread_high"], _plain)),
    ("won", 9, lambda row, _: _percent(row["share_won"])),
    ("prize share", 7, lambda row, _: _percent(row["prize_share"])),
    ("public", 10, lambda row, score: score(row["public_score"])),
)
"""Name, importance (1 is shown in the narrowest terminal), and what a cell holds."""


def _score_format(result: ScoreResult) -> _Show:
    """Show as many decimals as the uncertainty leaves meaning to, and one for the ties."""
    widths = sorted(
        row["score_high"] - row["score_low"]
        for row in result.standings
        if row["score_low"] is not None and row["score_high"] > row["score_low"]
    )
    if not widths:
        return _number(6)
    decimals = 3 - math.floor(math.log10(widths[len(widths) // 2]))
    return _number(min(max(decimals, 0), 12))


def print_result(result: ScoreResult, console: Console) -> None:
    """Print the board, what it means, and what does not stand on it."""
    if result.standings:
        _print_board(result, console)
    for finding in result.findings:
        console.print(printable(finding.verdict))
    _print_best(result, console)
    for rejected in result.rejected:
        print_rejected(rejected, console)


def _print_board(result: ScoreResult, console: Console) -> None:
    from rich import box
    from rich.table import Table

    direction = "larger" if result.greater_is_better else "smaller"
    table = Table(
        box=box.SIMPLE_HEAD,
        title=(
            f"{printable(result.metric)} on {result.n_rows:,} {result.split} rows "
            f"({direction} is better)"
        ),
        title_justify="left",
    )
    columns = _filled_columns(result)
    shown = _fitting_columns(columns, console.width)
    for name in shown:
        table.add_column(name, justify="left" if name == "team" else "right", no_wrap=True)
    for row in zip(*(columns[name] for name in shown), strict=True):
        table.add_row(*row)
    console.print(table)
    hidden = len(result.standings) - _ROWS_SHOWN
    if hidden > 0:
        console.print(f"… and {hidden:,} more: --json prints every one.")
    missing = [name for name in columns if name not in shown]
    if missing:
        console.print(f"Too wide for this terminal: {', '.join(missing)}; --json prints all.")
    console.print(
        f"Intervals at {result.level:.4g}, rank intervals for all teams at once; rank spread and "
        f"shares describe {result.resamples:,} resamples; seed {result.seed}."
    )


def _filled_columns(result: ScoreResult) -> dict[str, list[str]]:
    """Return the cells of every column that holds something."""
    score = _score_format(result)
    rows = result.standings[:_ROWS_SHOWN]
    columns = {name: [cell(row, score) for row in rows] for name, _, cell in _COLUMNS}
    return {name: cells for name, cells in columns.items() if any(cells)}


def _fitting_columns(columns: Mapping[str, list[str]], width: int) -> list[str]:
    """Return the most important columns that fit into a width, in the order of the board."""
    from rich.cells import cell_len

    needed = {name: max(map(cell_len, [name, *cells])) for name, cells in columns.items()}
    chosen: set[str] = set()
    left = width - 2
    for name, _, _ in sorted(_COLUMNS, key=lambda column: column[1]):
        if name in columns and needed[name] + _PADDING <= left:
            chosen.add(name)
            left -= needed[name] + _PADDING
    return [name for name in columns if name in chosen]


def _print_best(result: ScoreResult, console: Console) -> None:
    best = result.best_score_corrected
    if not result.standings or best["estimate"] is None:
        return
    score = _score_format(result)
    console.print(
        f"The best score, {score(result.standings[0]['score'])}, was selected on these rows. "
        f"Corrected for that it is {score(best['estimate'])}; the best true score lies in "
        f"{_span(best['low'], best['high'], score)}."
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
