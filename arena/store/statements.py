"""Executes statements that are parsed once in a process.

DuckDB needs a quarter of the time of a small statement to parse its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


_MOST_KEPT = 500
parsed_statements: dict[str, duckdb.Statement] = {}


def execute(
    cursor: duckdb.DuckDBPyConnection,
    text: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Execute one statement and keep it parsed: its text must be one of few that are used often."""
    statement = parsed_statements.get(text)
    if statement is None:
        (statement,) = cursor.extract_statements(text)
        if len(parsed_statements) >= _MOST_KEPT:
            parsed_statements.clear()
        parsed_statements[text] = statement
    return cursor.execute(statement, parameters)
