"""Objects that another program adds to a database: it is refused before anything is read.

A macro, a view or a type could give arena's queries another meaning, those of the audit included.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from arena.errors import StoreFormatError
from arena.store import Store
from arena.store.database import connect, table_statements
from arena.store.schema import MADE, NEVER_MADE, Catalog

ADDED: Mapping[str, Sequence[str]] = {
    "schema": ["CREATE SCHEMA other"],
    "table in a schema": ["CREATE SCHEMA other", "CREATE TABLE other.standings (a INTEGER)"],
    "table": ["CREATE TABLE other (a INTEGER)"],
    "view": ["CREATE VIEW other AS SELECT 1"],
    "view of a catalog's name": ["CREATE VIEW duckdb_tables AS SELECT 1"],
    "view in the place of a table": [
        "ALTER TABLE standings RENAME TO kept",
        "CREATE VIEW standings AS FROM kept",
    ],
    "macro": ["CREATE MACRO other(x) AS x"],
    "table macro": ["CREATE MACRO other() AS TABLE SELECT 1"],
    "macro that hides macros": [
        "CREATE MACRO duckdb_functions() AS TABLE SELECT 'a' AS function_name, true AS internal",
        "CREATE MACRO evil() AS 1",
    ],
    "macro with two forms": ["CREATE MACRO other(x) AS x, (x, y) AS y"],
    "type": ["CREATE TYPE other AS ENUM ('a')"],
    "alias of a type": ["CREATE TYPE other AS INTEGER"],
    "sequence": ["CREATE SEQUENCE other"],
    "trigger": [
        "CREATE TRIGGER other AFTER INSERT ON meta FOR EACH STATEMENT "
        "INSERT INTO team_counts VALUES ('', 'evil', 1, 1)"
    ],
    "index": ["CREATE INDEX other ON team_counts (sent)"],
    "index on an expression": ["CREATE INDEX other ON team_counts ((sent + 1))"],
    "column": ["ALTER TABLE texts ADD COLUMN other INTEGER"],
    "generated column": [
        "DROP TABLE instances",
        "CREATE TABLE instances (epoch INTEGER NOT NULL, instance VARCHAR NOT NULL, release INTEGER"
        " GENERATED ALWAYS AS (epoch + 1), PRIMARY KEY (epoch, instance))",
    ],
    "default": ["ALTER TABLE team_counts ALTER sent SET DEFAULT 7"],
    "constraint": [
        "DROP TABLE team_counts",
        "CREATE TABLE team_counts (phase VARCHAR NOT NULL, team VARCHAR NOT NULL, sent INTEGER NOT "
        "NULL CHECK (sent < 9), accepted INTEGER NOT NULL, PRIMARY KEY (phase, team))",
    ],
    "collation": [
        "DROP TABLE team_counts",
        "CREATE TABLE team_counts (phase VARCHAR NOT NULL, team VARCHAR COLLATE nocase NOT NULL, "
        "sent INTEGER NOT NULL, accepted INTEGER NOT NULL, PRIMARY KEY (phase, team))",
    ],
}
"""What can be added to a file or changed in one -> statements. Secrets, settings, extensions and
attached databases are of a connection: a file holds none."""

SHADOWING = (
    "duckdb_tables", "duckdb_functions", "duckdb_schemas", "duckdb_views", "duckdb_columns",
    "pragma_database_size",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "arena.duckdb"
    Store.open(path).close()
    return path


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def edit(path: Path, statements: Sequence[str]) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ADDED)
def test_each_object_that_arena_did_not_make_is_refused_on_opening(copied: Path, kind: str) -> None:
    edit(copied, ADDED[kind])
    with pytest.raises(StoreFormatError, match=r"of the database (is|was)"):
        Store.open(copied, create=False, read_only=len(kind) % 2 == 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ADDED)
def test_the_audit_names_what_was_added_since_the_database_was_opened(
    copied: Path, kind: str
) -> None:
    """A plugin runs in the process that holds the database."""
    with Store.open(copied, create=False) as store:
        for statement in ADDED[kind]:
            store.database._connection.execute(statement)
        assert any(re.search(r"of the database (is|was)", problem) for problem in store.audit())


def test_the_log_is_read_too(copied: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(copied)) as connection:
        connection.execute("CREATE MACRO other(x) AS x")
        unwritten = Path(shutil.copytree(copied.parent, tmp_path / "unwritten"))
    assert (unwritten / f"{copied.name}.wal").exists()
    with pytest.raises(StoreFormatError, match="macro other of the database is not of arena"):
        Store.open(unwritten / copied.name, create=False)


def test_an_object_in_an_empty_file_is_refused(tmp_path: Path) -> None:
    edit(tmp_path / "empty.duckdb", ["CREATE MACRO other(x) AS x"])
    with pytest.raises(StoreFormatError, match="not of arena"):
        Store.open(tmp_path / "empty.duckdb")


def test_every_kind_of_object_that_duckdb_lists_is_compared() -> None:
    """A new version of DuckDB may have more: then this fails."""
    with duckdb.connect() as connection:
        functions = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE function_name LIKE 'duckdb\\_%' ESCAPE '\\' AND function_type = 'table'"
        ).fetchall()
        listing = set()
        for (function,) in functions:
            try:
                columns = connection.execute(f"DESCRIBE FROM {function}()").fetchall()
            except duckdb.Error:
                continue  # it takes arguments
            if "database_name" in {name for name, *_ in columns}:
                listing.add(function)
    queries = " ".join([*NEVER_MADE.values(), *MADE.values()])
    # Of databases, a file is one. Coordinate systems are types of an extension.
    listing -= {"duckdb_databases", "duckdb_coordinate_systems"}
    assert {function for function in listing if f"system.main.{function}()" not in queries} == set()


@pytest.mark.slow
def test_no_function_of_duckdb_can_be_shadowed(tmp_path: Path) -> None:
    """All at once: the catalog is read with none of them."""
    path = tmp_path / "shadowed.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(table_statements())
        names = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() ORDER BY ALL"
        ).fetchall()
        shadowed = []
        for (name,) in names:
            for body in ("(x) AS 1", "(x, y) AS 1", "() AS TABLE SELECT 1 AS a WHERE false"):
                quoted = name.replace('"', '""')
                try:
                    connection.execute(f'CREATE MACRO "{quoted}"{body}')
                except duckdb.Error:
                    continue
                shadowed.append(name)
    assert len(shadowed) > 500
    with connect(path, read_only=True) as connection:
        catalog = Catalog(connection)
        message = " ".join(catalog.foreign_objects())
        assert len(message.split("The macro ")) - 1 >= len(set(shadowed))
    with pytest.raises(StoreFormatError, match=r"The macro .* is not of arena"):
        Store.open(path, create=False)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SHADOWING)
def test_a_shadowed_catalog_is_refused(copied: Path, name: str) -> None:
    edit(copied, [f"CREATE MACRO {name}() AS TABLE SELECT 'a' AS a, true AS internal WHERE false"])
    with pytest.raises(StoreFormatError, match=f"The macro {name} of the database is not of arena"):
        Store.open(copied, create=False)


@pytest.mark.slow
def test_a_database_with_a_log_of_its_own_is_opened(copied: Path, tmp_path: Path) -> None:
    """A log changes what DuckDB counts: then the catalog is listed in full."""
    with connect(copied, read_only=False) as connection:
        connection.execute("INSERT INTO team_counts SELECT '', range::VARCHAR, 1, 1 FROM range(10)")
        unwritten = Path(shutil.copytree(copied.parent, tmp_path / "unwritten"))
    Store.open(unwritten / copied.name, create=False, read_only=True).close()


def test_a_file_reads_no_other_file_and_no_variable(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("label")
    meta_of_python = [("a", "b")]
    assert meta_of_python
    with connect(copied, read_only=True) as connection:
        for query in (f"FROM read_text('{tmp_path}/secret.txt')", "FROM meta_of_python"):
            with pytest.raises(duckdb.Error):
                connection.execute(query)
