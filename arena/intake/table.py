"""The table that every reader makes of a file: named columns, and the row of each in the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["RawTable", "RowNumber", "count_from_one"]

RowNumber: TypeAlias = Callable[[int], int]
"""Position of a row in the table -> its number as an editor shows it."""


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """What stands in a file, before anything is known about its meaning."""

    names: tuple[str, ...]
    """Column names as written; they may repeat."""
    columns: tuple[Any, ...]
    """``pyarrow.Array`` of each column: text from a CSV file, any flat type from Parquet."""
    row_number: RowNumber
    header_row: int | None = None
    """The line of the names; None where the file has no lines."""
    decimal_comma: bool = False
    """Whether numbers may be written with a decimal comma."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0


def count_from_one(position: int) -> int:
    """Return the row number in a file without lines.

    >>> count_from_one(0)
    1
    """
    return position + 1
