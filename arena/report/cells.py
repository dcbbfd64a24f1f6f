"""Tables as columns of text, the same for a terminal, a page, Markdown and LaTeX."""

from __future__ import annotations

import re
from typing import Any

from arena.report.model import Column
from arena.types import Table

_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?%?")


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a plain text, each on one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def cell_text(value: Any) -> str:
    """Return a value of a table as a person reads it.

    >>> cell_text(True), cell_text(12345), cell_text(0.123456), cell_text(None)
    ('yes', '12,345', '0.1235', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)


def columns_of(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table; those that a narrow terminal leaves out first come last.

    A column of numbers, also of numbers as text, is aligned to the right.

    >>> [(column.title, column.cells, column.numeric) for column in columns_of(
    ...     Table("", ("team", "wins"), (("a", 0.25), ("b", None))))]
    [('team', ('a', 'b'), False), ('wins', ('0.25', ''), True)]
    """
    importance = table.importance or tuple(range(1, len(table.columns) + 1))
    return tuple(
        Column(
            title=title,
            meaning="",
            cells=tuple(map(cell_text, values)),
            order=_sort_keys(values),
            importance=rank,
        )
        for title, rank, *values in zip(table.columns, importance, *table.rows, strict=True)
    )


def _sort_keys(values: list[Any]) -> tuple[float | None, ...] | None:
    """Return numbers to sort a column by; None: it holds text."""
    keys = [_number(value) for value in values]
    if any(
        key is None and value not in (None, "") for key, value in zip(keys, values, strict=True)
    ):
        return None
    return tuple(keys) if any(key is not None for key in keys) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value.rstrip("%").replace(",", ""))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None
