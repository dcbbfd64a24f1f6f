"""A database of an older arena: refused with the way out, upgraded, and then as good as new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from arena.store.database import SCHEMA_VERSION
from competition_folder import document, write_file

FIRST_TABLES = Path(__file__).parents[1] / "support" / "tables-1.sql"


def as_first_version(path: Path) -> None:
    """Write a database anew with the tables that the first arena had, and what fits into them."""
    newer = path.with_name("newer.duckdb")
    path.rename(newer)
    with duckdb.connect(str(path)) as connection:
        connection.execute(FIRST_TABLES.read_text())
        columns: dict[str, list[str]] = {}
        query = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        for table, column in connection.execute(query).fetchall():
            columns.setdefault(table, []).append(column)
        connection.execute(f"ATTACH '{newer}' AS newer (READ_ONLY)")
        for table, names in columns.items():
            chosen = ", ".join(names)
            connection.execute(
                f"INSERT INTO {table} ({chosen}) SELECT {chosen} FROM newer.main.{table}"  # noqa: S608
            )
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'schema_version'")
    newer.unlink()


def test_an_older_database_is_upgraded_and_goes_on(here: Path, arena_there: Any) -> None:
    write_file(here / "1.csv", 1)
    first = document(arena_there("submit", here / "1.csv", "--team", "one", "--json"), "submit")
    as_first_version(here / "c" / "arena.duckdb")

    refused = arena_there("leaderboard")
    assert refused.returncode == 1
    assert "written by an older arena (version 1" in refused.stderr
    assert "run `arena upgrade`" in refused.stderr

    upgraded = arena_there("upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    assert f"brought from version 1 to {SCHEMA_VERSION}" in upgraded.stdout
    assert "nothing was done" in arena_there("upgrade").stdout

    again = document(arena_there("submit", here / "1.csv", "--team", "one", "--json"), "submit")
    assert again == first
    write_file(here / "2.csv", 2)
    assert arena_there("submit", here / "2.csv", "--team", "two").returncode == 0
    assert arena_there("finalize").returncode == 0
    events = document(arena_there("audit", "--json"), "audit")["events"]
    assert [event["kind"] for event in events if event["kind"] == "upgrade"] == ["upgrade"]
