"""Boards, sections and tables of a report on a terminal: the columns that fit, without markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from arena.report.cells import columns_of, paragraphs
from arena.report.model import Column, Report
from arena.types import Section, Table
from arena.utils.text import printable

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 60
"""So many rows of a table are printed; ``--json`` prints every one."""
ROWS_OF_RICH = 1_000
"""Further rows are written by own code: rich takes milliseconds for each."""
_PADDING = 3
_BAR, _NARROWEST_BAR = 16, 5
_NARROWEST_TEXT = 24
"""Longer texts are wrapped at this width before their column is left out."""
_NAME = 32
"""Longer names on a board are cut."""


def print_report(report: Report, out: Console) -> None:
    """Print the verdicts of a report, its boards and its sections; charts are left out."""
    for verdict in report.verdicts:
        out.print(printable(verdict), soft_wrap=True)
    for board in report.boards:
        out.print(f"\n{printable(board.title)}", style="bold")
        print_columns(board.columns, out, title=board.caption)
    for section in report.sections:
        print_section(section, out)


def print_section(section: Section, out: Console) -> None:
    """Print the heading, the paragraphs and the tables of a section."""
    out.print(f"\n{printable(section.title)}", style="bold")
    for paragraph in paragraphs(section.text):
        out.print(printable(paragraph), soft_wrap=True)
    for table in section.tables:
        print_table(table, out)


def print_table(table: Table, out: Console, *, most: int | None = MOST_ROWS) -> None:
    """Print the first rows of a table, ``most`` or all of them, in the columns that fit."""
    columns = columns_of(replace(table, rows=table.rows[:most]))
    print_columns(columns, out, title=table.title, n_rows=len(table.rows), cut=False, most=most)


def print_columns(
    columns: Iterable[Column],
    out: Console,
    *,
    title: str,
    n_rows: int | None = None,
    cut: bool = True,
    most: int | None = MOST_ROWS,
    every: str = "--json",
) -> None:
    """Print the most important columns that fit; empty ones are left out.

    A column of rank intervals is followed by their bars, if these fit.

    Parameters
    ----------
    n_rows
        The number of all rows, if the columns hold the first of them only.
    cut
        Whether long texts are cut, as names are; otherwise they are wrapped.
    most
        How many rows at most; None: every one.
    every
        The option that prints every column.
    """
    from rich import box
    from rich.table import Table as Grid

    columns = list(columns)
    if n_rows is None:
        n_rows = max([len(column.cells) for column in columns], default=0)
    filled = [column for column in _with_bars(columns, most, cut) if any(column.cells)]
    wrapped = not cut and max([len(column.cells) for column in filled], default=0) <= ROWS_OF_RICH
    widths = _fitting(filled, out.width, wrapped=wrapped)
    printed = [_drawn(column, width) for column, width in zip(filled, widths, strict=True) if width]
    kept_widths = [width for width in widths if width]
    grid = Grid(box=box.SIMPLE_HEAD)
    for column, width in zip(printed, kept_widths, strict=True):
        grid.add_column(
            column.title,
            justify="right" if column.numeric else "left",
            no_wrap=not wrapped,
            min_width=width,
            max_width=width,
        )
    body = list(zip(*(column.cells for column in printed), strict=True))
    for cells in body[:ROWS_OF_RICH]:
        grid.add_row(*cells)
    if title:
        out.print(printable(title), style="italic")
    if len(body) <= ROWS_OF_RICH:
        out.print(grid)
    else:
        with out.capture() as beginning:
            out.print(grid)
        *lines, last = beginning.get().splitlines()
        out.file.write(
            "\n".join([*lines, *_lines(body[ROWS_OF_RICH:], printed, kept_widths), last, ""])
        )
    if n_rows > len(body):
        out.print(f"… and {n_rows - len(body):,} more: --json prints every one.")
    missing = [column.title for column, width in zip(filled, widths, strict=True) if not width]
    if missing:
        out.print(f"Too wide for this terminal: {', '.join(missing)}; {every} prints all.")


def _with_bars(columns: Iterable[Column], most: int | None, cut: bool) -> Iterator[Column]:
    """Yield the columns for a terminal, with printable cells, and the bars of rank intervals."""
    for column in columns:
        if column.importance is None:
            continue
        cells = [printable(cell) for cell in column.cells[:most]]
        cells = [_cut(cell) for cell in cells] if cut else cells
        yield replace(column, title=printable(column.title), cells=tuple(cells), bars=None)
        if column.bars is not None and any(column.bars):
            bars = column.bars[:most]
            width = min(_BAR, len(column.cells))
            # Less important than the tier: the bars take the width that is left.
            yield Column("ranks", "", _bars(bars, width), bars=bars, importance=6)


def _bars(bars: Sequence[tuple[float, float] | None], width: int) -> tuple[str, ...]:
    """Return bars as text of a width, from their start and length in per cent.

    >>> _bars([(0.0, 50.0), None], 4)
    ('━━··', '')
    """
    drawn = []
    for bar in bars:
        start, length = bar or (0, 0)
        low = math.floor(start * width / 100 + 0.05)  # the per cents are rounded
        high = math.ceil((start + length) * width / 100 - 0.05)
        drawn.append(
            "" if bar is None else f"{'·' * low}{'━' * (high - low)}{'·' * (width - high)}"
        )
    return tuple(drawn)


def _drawn(column: Column, width: int) -> Column:
    """Return a column with its bars in the width that it has."""
    if column.bars is None or width >= max(map(len, column.cells)):
        return column
    return replace(column, cells=_bars(column.bars, width))


def _fitting(columns: Sequence[Column], width: int, *, wrapped: bool) -> list[int]:
    """Return the width of each column, of the most important ones that fit; 0: left out.

    Bars and, if they may be wrapped, long texts take the remaining width.
    """
    widths = [0] * len(columns)
    left = width - 2
    for place in sorted(range(len(columns)), key=lambda place: columns[place].importance or 0):
        column = columns[place]
        natural = max(map(_length, [column.title, *column.cells]))
        least = natural
        if column.bars is not None:
            least = _NARROWEST_BAR
        elif wrapped and not column.numeric:
            least = min(natural, _NARROWEST_TEXT)
        if least + _PADDING <= left:
            widths[place] = min(natural, left - _PADDING)
            left -= widths[place] + _PADDING
    return widths


def _lines(
    body: Iterable[Sequence[str]], columns: Sequence[Column], widths: Sequence[int]
) -> Iterator[str]:
    """Yield rows as rich writes them, without its cost for every row."""
    for cells in body:
        padded = []
        for cell, column, width in zip(cells, columns, widths, strict=True):
            space = " " * (width - _length(cell))
            padded.append(space + cell if column.numeric else cell + space)
        yield f"  {'   '.join(padded)}  "


def _cut(text: str) -> str:
    if _length(text) <= _NAME:
        return text
    from rich.cells import set_cell_size  # a Chinese letter takes two columns

    return set_cell_size(text, _NAME - 1).rstrip() + "…"


def _length(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.replace("…", ".").isascii():  # cut texts are the rule in long tables
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
