"""Compares the tables themselves, not their contents, with those that arena makes.

A column of another type, a missing constraint or a view in the place of a table would let contents
in that no other check expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

import duckdb

from arena.utils.text import shorten

_ON_OPENING = (
    "SELECT table_name, sql FROM duckdb_tables() "
    "WHERE database_name = current_database() AND NOT internal",
    "SELECT index_name, sql FROM duckdb_indexes() WHERE database_name = current_database()",
)
"""What is compared whenever a database is opened. The statements name all columns and constraints;
listing these one by one takes twice as long. So does listing without the name of the database, for
which DuckDB makes the views of its own catalog first."""

_QUERIES: Mapping[str, str] = {
    "table": "SELECT table_name, '' FROM duckdb_tables() WHERE NOT internal",
    "column": """
        SELECT table_name || '.' || column_name,
            concat_ws(' ', data_type, is_nullable, column_default)
        FROM duckdb_columns() WHERE NOT internal
    """,
    "order of columns in": """
        SELECT table_name, string_agg(column_name, ' ' ORDER BY column_index)
        FROM duckdb_columns() WHERE NOT internal GROUP BY ALL
    """,
    "constraint": """
        SELECT table_name || ': ' || constraint_text, count(*)::VARCHAR
        FROM duckdb_constraints() GROUP BY ALL
    """,
    "index": "SELECT index_name, sql FROM duckdb_indexes()",
    "view": "SELECT view_name, '' FROM duckdb_views() WHERE NOT internal",
    "macro": "SELECT function_name, '' FROM duckdb_functions() WHERE NOT internal",
    "sequence": "SELECT sequence_name, '' FROM duckdb_sequences()",
    "type": "SELECT type_name, '' FROM duckdb_types() WHERE NOT internal",
}
"""The kind of a thing -> a query for names and definitions."""


def fingerprint_of_tables(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return a digest of the tables, their columns, constraints and indexes."""
    listed = [sorted(_rows(cursor, query)) for query in _ON_OPENING]
    return sha256(repr(listed).encode("utf-8", "surrogatepass")).hexdigest()


def changed_schema(cursor: duckdb.DuckDBPyConnection, statements: str) -> Iterator[str]:
    """Yield a sentence for each difference from the tables that these statements make.

    Parameters
    ----------
    cursor
        Of the database.
    statements
        ``CREATE`` statements, for an empty database.
    """
    with duckdb.connect() as empty:
        empty.execute(statements)
        for kind, query in _QUERIES.items():
            expected, found = dict(_rows(empty, query)), dict(_rows(cursor, query))
            if expected == found:
                continue
            both = expected.keys() & found.keys()
            for name in sorted(expected.keys() | found.keys(), key=lambda one: (one in both, one)):
                if name not in found:
                    what = "is missing"
                elif name not in expected:
                    what = "is not of arena"
                elif found[name] != expected[name]:
                    what = "was changed"
                else:
                    continue
                yield f"The {kind} {shorten(name)} of the database {what}."
            return  # the rest follows from these


def _rows(cursor: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    return cursor.execute(query).fetchall()
