"""A statement is parsed once, and executed on any database with any parameters."""

from __future__ import annotations

import duckdb
import pytest

from arena.store import statements
from arena.store.statements import execute


def test_a_parsed_statement_reads_the_database_and_the_parameters_of_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statements, "parsed_statements", {})
    text = "SELECT name FROM t WHERE number = ?"
    for database in ("a", "b"):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS number, ? AS name", [database])
            with connection.cursor() as cursor:
                assert execute(cursor, text, [1]).fetchall() == [(database,)]
                assert execute(cursor, text, [2]).fetchall() == []
                connection.execute("UPDATE t SET number = 2")
                assert execute(cursor, text, [2]).fetchall() == [(database,)]
                named = "SELECT $first || $second || name FROM t"
                rows = execute(cursor, named, {"second": "y", "first": "x"}).fetchall()
                assert rows == [(f"xy{database}",)]
    assert [*statements.parsed_statements] == [text, named]


def test_at_most_so_many_statements_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "parsed_statements", {})
    monkeypatch.setattr(statements, "_MOST_KEPT", 2)
    with duckdb.connect() as connection:
        for number in (1, 2, 1, 3):
            assert execute(connection, f"SELECT {number}").fetchall() == [(number,)]
            assert len(statements.parsed_statements) <= 2
    assert [*statements.parsed_statements] == ["SELECT 3"]
