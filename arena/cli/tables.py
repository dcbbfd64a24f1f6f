"""Tables for a terminal: the columns that fit, and a word on what was left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Column", "Row", "Show", "number", "plain", "print_table", "score_decimals"]

Row = Mapping[str, Any]
Show = Callable[[Any], str]

_ROWS_SHOWN = 60
_PADDING = 3
_SCORE_DIGITS = 6
_MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    importance: int
    """1 is shown in the narrowest terminal."""
    cell: Callable[[Row], str]
    """Returns what a cell holds, safe to show."""
    left: bool = False
    """Aligned to the left, as text is."""


def number(decimals: int) -> Show:
    """Return how a number is shown with so many decimals; nothing for None.

    >>> number(2)(0.5), number(2)(None)
    ('0.50', '')
    """
    return lambda value: "" if value is None else f"{value:.{decimals}f}"


def plain(value: float | None) -> str:
    """Return a number as short as it is; nothing for None.

    >>> plain(3.0), plain(None)
    ('3', '')
    """
    return "" if value is None else f"{value:g}"


def score_decimals(scores: Sequence[float | None]) -> int:
    """Return the decimals with which the largest score has six digits, fewer if all are rounder.

    >>> score_decimals([0.75, 0.5, None]), score_decimals([1 / 3]), score_decimals([1234.5678])
    (2, 6, 2)
    """
    known = [abs(score) for score in scores if score is not None and math.isfinite(score)]
    if not any(known):
        return 0
    before_the_point = math.ceil(math.log10(max(known)))
    most = min(max(_SCORE_DIGITS - before_the_point, 0), _MOST_DECIMALS)
    return next(
        (few for few in range(most) if all(round(one, few) == round(one, most) for one in known)),
        most,
    )


def print_table(
    rows: Sequence[Row],
    columns: Sequence[Column],
    out: Console,
    *,
    title: str | None = None,
    most: int | None = _ROWS_SHOWN,
) -> None:
    """Print the first rows in the most important columns that fit; empty columns are left out.

    Parameters
    ----------
    most
        How many rows at most; None: every one.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    filled = _filled(rows[:most], columns)
    fitting = _fitting(filled, out.width)
    shown = [column for column in filled if column.name in fitting]
    for column in shown:
        justify = "left" if column.left else "right"
        table.add_column(column.name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for cells in zip(*(filled[column] for column in shown), strict=True):
        table.add_row(*cells)
    if title:
        out.print(title, style="italic")
    out.print(table)
    if most is not None and len(rows) > most:
        out.print(f"… and {len(rows) - most:,} more: --json prints every one.")
    missing = [column.name for column in filled if column not in shown]
    if missing:
        out.print(f"Too wide for this terminal: {', '.join(missing)}; --json prints all.")


def _filled(rows: Sequence[Row], columns: Sequence[Column]) -> dict[Column, list[str]]:
    """Return the cells of every column that holds something."""
    cells = {column: [column.cell(row) for row in rows] for column in columns}
    return {column: own for column, own in cells.items() if any(own)}


def _fitting(filled: Mapping[Column, list[str]], width: int) -> set[str]:
    """Return the names of the most important columns that fit into a width."""
    from rich.cells import cell_len

    chosen: set[str] = set()
    left = width - 2
    for column in sorted(filled, key=lambda one: one.importance):
        needed = max(map(cell_len, [column.name, *filled[column]])) + _PADDING
        if needed <= left:
            chosen.add(column.name)
            left -= needed
    return chosen
