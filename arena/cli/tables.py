"""Tables for a terminal: the columns that fit, and a note on those left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from arena.report.columns import StandingColumn
from arena.utils.formatting import Show
from arena.utils.text import shorten

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]

_ROWS_SHOWN = 60
_ROWS_OF_RICH = 1_000
_PADDING = 3
_NAME = 32


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    importance: int
    """1: shown even in the narrowest terminal."""
    cell: Callable[[Row], str]
    """Returns the text of a cell, safe to show."""
    left: bool = False
    """Aligned to the left, as text is."""
    narrowed: Callable[[Row, int], str] | None = None
    """Returns the text of a cell in a given width, for a column that does not fit as it is."""


def columns_shown(columns: Iterable[StandingColumn], score: Show) -> list[Column]:
    """Return the columns of a board for a terminal, if they are meant for a terminal.

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
    name = shorten(row["team"], _NAME)
    if _length(name) > _NAME:  # a Chinese letter takes two columns
        from rich.cells import set_cell_size

        name = set_cell_size(name, _NAME - 1).rstrip() + "…"
    return name + (" (baseline)" if row.get("baseline") else "")


RANK_MARKS = 16
"""The width of a rank interval as a bar."""
_NARROWEST = 5


def rank_mark(row: Row, m: int, most: int = RANK_MARKS) -> str:
    """Return the rank interval as a bar over the ranks 1 to m, ``most`` characters wide or m.

    >>> rank_mark({"rank_low": 1, "rank_high": 2}, 4), rank_mark({"rank_low": None}, 4)
    ('━━··', '')
    """
    low, high = row.get("rank_low"), row.get("rank_high")
    if low is None or high is None:
        return ""
    width = min(m, most)
    start, end = (low - 1) * width // m, -(-high * width // m)
    return f"{'·' * start}{'━' * (end - start)}{'·' * (width - end)}"


def print_table(
    rows: Sequence[Row],
    columns: Sequence[Column],
    out: Console,
    *,
    title: str | None = None,
    most: int | None = _ROWS_SHOWN,
    every: str = "--json",
) -> None:
    """Print the first rows in the most important columns that fit; empty columns are left out.

    Parameters
    ----------
    most
        How many rows at most; None: every one.
    every
        The option that prints every column.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    filled = _filled(rows[:most], columns)
    widths = _fitting(filled, out.width)
    shown = [column for column in filled if column in widths]
    for column in shown:
        if column.narrowed and widths[column] < max(map(_length, filled[column])):
            filled[column] = [column.narrowed(row, widths[column]) for row in rows[:most]]
    for column in shown:
        table.add_column(
            column.name,
            justify="left" if column.left else "right",
            no_wrap=True,
            min_width=widths[column],
        )
    body = list(zip(*(filled[column] for column in shown), strict=True))
    for cells in body[:_ROWS_OF_RICH]:
        table.add_row(*cells)
    if title:
        out.print(title, style="italic")
    if len(body) <= _ROWS_OF_RICH:
        out.print(table)
    else:
        with out.capture() as beginning:
            out.print(table)
        *lines, last = beginning.get().splitlines()
        out.file.write("\n".join([*lines, *_lines(body[_ROWS_OF_RICH:], shown, widths), last, ""]))
    if most is not None and len(rows) > most:
        out.print(f"… and {len(rows) - most:,} more: --json prints every one.")
    missing = [column.name for column in filled if column not in shown]
    if missing:
        out.print(f"Too wide for this terminal: {', '.join(missing)}; {every} prints all.")


def _filled(rows: Sequence[Row], columns: Sequence[Column]) -> dict[Column, list[str]]:
    """Return the cells of every column that is not empty."""
    cells = {column: [column.cell(row) for row in rows] for column in columns}
    return {column: own for column, own in cells.items() if any(own)}


def _fitting(filled: Mapping[Column, list[str]], width: int) -> dict[Column, int]:
    """Return the most important columns that fit into a width, with the width of each.

    One that can be narrowed takes the remaining width.
    """
    chosen: dict[Column, int] = {}
    left = width - 2
    for column in sorted(filled, key=lambda one: one.importance):
        own = max(map(_length, [column.name, *filled[column]]))
        if column.narrowed and own + _PADDING > left >= _NARROWEST + _PADDING:
            own = left - _PADDING
        if own + _PADDING <= left:
            chosen[column] = own
            left -= own + _PADDING
    return chosen


def _lines(
    body: Iterable[Sequence[str]], columns: Sequence[Column], widths: Mapping[Column, int]
) -> Iterator[str]:
    """Yield rows as rich writes them, without its cost for every row."""
    for cells in body:
        padded = []
        for cell, column in zip(cells, columns, strict=True):
            space = " " * (widths[column] - _length(cell))
            padded.append(cell + space if column.left else space + cell)
        yield f"  {'   '.join(padded)}  "


def _length(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.replace("…", ".").isascii():  # shortened texts are the rule in long tables
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
