"""Each difference of a database from the tables of arena is named, and nothing else."""

from __future__ import annotations

import duckdb
import pytest

from arena.store.database import table_statements
from arena.store.schema import Catalog


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("SELECT 1", []),
        ("DROP TABLE results", ["The table results of the database is missing."]),
        ("CREATE TABLE more (a INTEGER)", ["The table more of the database is not of arena."]),
        (
            "ALTER TABLE results ALTER document TYPE BLOB",
            ["The column results.document of the database was changed."],
        ),
        ("DROP INDEX submissions_key", ["The index submissions_key of the database is missing."]),
    ],
)
def test_differences_are_named(edit: str, said: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute(table_statements())
        connection.execute(edit)
        assert [*Catalog(connection).differences(table_statements())] == said
