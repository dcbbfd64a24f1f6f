"""Tables for a terminal: the columns that fit, and a word on what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from arena.formats import Show
from arena.standing_columns import StandingColumn
from arena.text import shorten

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Column", "Row", "columns_shown", "print_table"]

Row = Mapping[str, Any]

_ROWS_SHOWN = 60
_PADDING = 3
_NAME = 32


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


def columns_shown(columns: Iterable[StandingColumn], score: Show) -> list[Column]:
    """Return the columns of a board for a terminal, those of them that belong there.

    ``score`` is how scores are shown. A row with a true ``baseline`` is marked.
    """
    return [
        Column(
            one.title,
            one.importance,
            _team if one.title == "team" else partial(one.cell, score=score),
            one.title == "team",
        )
        for one in columns
        if one.importance is not None
    ]


def _team(row: Row) -> str:
    return shorten(row["team"], _NAME) + (" (baseline)" if row.get("baseline") else "")


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
