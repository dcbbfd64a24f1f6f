"""Compares the catalog of a database, not its contents, with the one that arena makes.

A column of another type, a missing constraint or a view in the place of a table would let contents
in that no other check expects. A macro could shadow a function of DuckDB, those that list the
catalog included. So the catalog is read with names of DuckDB before names of the file, and a
database with any object that arena did not make is refused before anything else is read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from hashlib import sha256

import duckdb

from arena.utils.text import shorten

_BUILT_IN = frozenset({"system", "temp"})
"""The databases that every connection has."""
_ENTRIES_OF_EMPTY = 2
"""What DuckDB counts in an empty database: its schema, and the database."""
_ON_OPENING = (
    "SELECT table_name, sql FROM system.main.duckdb_tables() "
    "WHERE database_name = $database AND NOT internal",
    "SELECT index_name, sql FROM system.main.duckdb_indexes() WHERE database_name = $database",
)
"""What is compared whenever a database is opened. The statements name all columns and constraints;
listing these one by one takes twice as long. So does listing without the name of the database, for
which DuckDB makes the views of its own catalog first."""

NEVER_MADE: Mapping[str, str] = {
    "schema": """
        SELECT schema_name, '' FROM system.main.duckdb_schemas()
        WHERE database_name = $database AND schema_name <> 'main'
    """,
    "view": """
        SELECT view_name, '' FROM system.main.duckdb_views()
        WHERE database_name = $database AND NOT internal
    """,
    "macro": """
        SELECT function_name, '' FROM system.main.duckdb_functions()
        WHERE database_name = $database AND NOT internal
    """,
    "sequence": """
        SELECT sequence_name, '' FROM system.main.duckdb_sequences()
        WHERE database_name = $database
    """,
    "type": """
        SELECT type_name, '' FROM system.main.duckdb_types()
        WHERE database_name = $database AND NOT internal
    """,
    "trigger": """
        SELECT trigger_name, '' FROM system.main.duckdb_triggers()
        WHERE database_name = $database
    """,
}
"""The kind of an object that no version of arena makes -> a query for names, and no definition."""

MADE: Mapping[str, str] = {
    "table": """
        SELECT table_name, '' FROM system.main.duckdb_tables()
        WHERE database_name = $database AND NOT internal
    """,
    "column": """
        SELECT table_name || '.' || column_name,
            concat_ws(' ', data_type, is_nullable, column_default)
        FROM system.main.duckdb_columns() WHERE database_name = $database AND NOT internal
    """,
    "order of columns in": """
        SELECT table_name, string_agg(column_name, ' ' ORDER BY column_index)
        FROM system.main.duckdb_columns()
        WHERE database_name = $database AND NOT internal GROUP BY ALL
    """,
    "constraint": """
        SELECT table_name || ': ' || constraint_text, count(*)::VARCHAR
        FROM system.main.duckdb_constraints() WHERE database_name = $database GROUP BY ALL
    """,
    "index": """
        SELECT index_name, sql FROM system.main.duckdb_indexes() WHERE database_name = $database
    """,
    "definition of the table": _ON_OPENING[0],  # what no other query lists
}
"""The kind of a thing -> a query for names and definitions."""


class Catalog:
    """The tables and other objects of the database that a connection has opened.

    Reading it is safe whatever the file defines: the search path of the cursor begins with DuckDB's
    own functions and types.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._cursor = connection.cursor()
        # No operator and no function in this query: the search path is not set.
        schemas = self._cursor.execute("FROM system.main.duckdb_schemas()").fetchall()
        identifier, self._database, of_database = next(
            row[:3] for row in schemas if row[1] not in _BUILT_IN
        )
        self._n_entries = of_database - identifier
        quoted = self._database.replace('"', '""').replace("'", "''")
        self._cursor.execute(f"""SET search_path = 'system.main,"{quoted}".main'""")

    def fingerprint(self) -> str:
        """Return a digest of the tables, their columns, constraints and indexes.

        It covers the number of all objects: DuckDB counts on when it reads one from the file.
        Listing the macros alone would take three times as long as opening the database.
        """
        listed = [self._n_entries, *(sorted(self._rows(query)) for query in _ON_OPENING)]
        return sha256(repr(listed).encode("utf-8", "surrogatepass")).hexdigest()

    def is_empty(self) -> bool:
        """Return whether the database has no object."""
        if self.tables():
            return False
        return self._n_entries == _ENTRIES_OF_EMPTY or not any(self.foreign_objects())

    def tables(self) -> set[str]:
        """Return the names of the tables; a view is none."""
        return {name for name, _ in self._rows(MADE["table"])}

    def foreign_objects(self) -> Iterator[str]:
        """Yield a sentence for each object of a kind that no version of arena makes."""
        for kind, query in NEVER_MADE.items():
            for name, _ in sorted(self._rows(query)):
                yield f"The {kind} {shorten(name)} of the database is not of arena."

    def differences(self, statements: str) -> Iterator[str]:
        """Yield a sentence for each difference from the tables that these statements make.

        Parameters
        ----------
        statements
            ``CREATE`` statements, for an empty database.
        """
        for (kind, query), expected in zip(MADE.items(), _made_by(statements), strict=True):
            stored = dict(self._rows(query))
            if expected == stored:
                continue
            both = expected.keys() & stored.keys()
            for name in sorted(expected.keys() | stored.keys(), key=lambda n: (n in both, n)):
                if name not in stored:
                    what = "is missing"
                elif name not in expected:
                    what = "is not of arena"
                elif stored[name] != expected[name]:
                    what = "was changed"
                else:
                    continue
                yield f"The {kind} {shorten(name)} of the database {what}."
            return  # the rest follows from these

    def read_tables(self) -> None:
        """Read every value of every table once: a damaged block raises an error of DuckDB."""
        for table in self.tables():
            quoted = table.replace('"', '""')
            self._cursor.execute(f'SELECT sum(hash(COLUMNS(*))) FROM "{quoted}"').fetchall()  # noqa: S608

    def close(self) -> None:
        """Close the cursor."""
        self._cursor.close()

    def _rows(self, query: str) -> list[tuple[str, str]]:
        return self._cursor.execute(query, {"database": self._database}).fetchall()


@functools.cache
def _made_by(statements: str) -> tuple[dict[str, str], ...]:
    """Return the definitions, by name, that each query of ``MADE`` gives for new tables."""
    with duckdb.connect() as empty:
        empty.execute(statements)
        catalog = Catalog(empty)
        return tuple(dict(catalog._rows(query)) for query in MADE.values())
