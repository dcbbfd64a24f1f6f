"""Commands on a database that another program changed: an error message, and never a fault.

The types of columns are compared when the database is opened. Values cannot be: a command that
fails because of one compares the database with its record before it speaks of a fault.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest

from arena.competition.view import CompetitionView
from arena.errors import StoreFormatError
from arena.store import Store, database
from arena.store.database import table_statements
from arena.store.schema import Catalog
from competition_folder import INIT, change, write_file, write_solution
from program import run_here
from scenario import Scenario

DATABASE = Path("c", "arena.duckdb")
COMMANDS: Sequence[Sequence[object]] = [
    ("leaderboard", "-C", "c"),
    ("leaderboard", "-C", "c", "--private"),
    ("submissions", "-C", "c"),
    ("audit", "-C", "c"),
    ("finalize", "-C", "c"),
    ("report", "-C", "c", "--out", "report.html"),
    ("export", "-C", "c", "out"),
    ("select", "-C", "c", "--team", "t1", 1),
    ("disqualify", "-C", "c", 2, "--reason", "y"),
    ("submit", "-C", "c", "new.csv", "--team", "t9"),
    ("import", "-C", "c", "files"),
    ("rescore", "-C", "c"),
    ("replay", "-C", "c", "--mechanism", "full"),
    ("team", "rename", "-C", "c", "t1", "t8"),
    ("serve", "-C", "c", "--check"),
    ("repair", "-C", "c"),
    ("upgrade", "-C", "c"),
    ("backup", "-C", "c", "copy"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finalized competition of two teams."""
    here = tmp_path_factory.mktemp("finished")
    write_solution(here)
    assert run_here(*INIT, cwd=here).returncode == 0
    change(here / "c", "intervals = true", "intervals = false")
    for number in (1, 2, 3):
        file = write_file(here / f"{number}.csv", number)
        called = run_here("submit", "-C", "c", file, "--team", f"t{number % 2}", cwd=here)
        assert called.returncode == 0, called.stderr
    assert run_here("finalize", "-C", "c", cwd=here).returncode == 0
    write_file(here / "new.csv", 9)
    write_file(here / "files" / "t7.csv", 8)
    return here


@pytest.fixture
def there(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "x"))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder with a database that holds nothing: enough to see what becomes of its tables."""
    (tmp_path / DATABASE).parent.mkdir()
    Store.open(tmp_path / DATABASE).close()
    return tmp_path


def edit(folder: Path, statements: Sequence[str]) -> None:
    with duckdb.connect(str(folder / DATABASE)) as connection:
        for statement in statements:
            connection.execute(statement)


def again(table: str, columns: str) -> list[str]:
    """Return statements that make a table again, without constraints, from these columns."""
    return [
        f"CREATE TABLE again AS SELECT {columns} FROM {table}",  # noqa: S608
        f"DROP TABLE {table}",
        f"ALTER TABLE again RENAME TO {table}",
    ]


def edits_of_tables() -> Iterator[list[str]]:
    """Yield edits of every table and of every column, but not of values."""
    with duckdb.connect() as connection:
        connection.execute(table_statements())
        columns: list[tuple[str, str, str]] = connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
            "ORDER BY ALL"
        ).fetchall()
    for table in sorted({table for table, _, _ in columns}):
        yield [f"DROP TABLE {table}"]
        yield again(table, "*")
        copy = [f"CREATE TABLE other AS FROM {table}", f"DROP TABLE {table}"]
        yield copy
        yield [*copy, f"CREATE VIEW {table} AS FROM other"]
    for table, column, kind in columns:
        yield again(table, f"* EXCLUDE ({column})")
        yield again(table, f"* RENAME ({column} AS other)")
        yield again(table, f"* REPLACE ([{column}] AS {column})")
        for other in ("VARCHAR", "DOUBLE", "BLOB", "INTEGER", "BOOLEAN", "DATE", "HUGEINT"):
            if other != kind:
                yield again(table, f"* REPLACE (TRY_CAST({column} AS {other}) AS {column})")


def assert_is_refused(folder: Path) -> None:
    with pytest.raises(StoreFormatError, match=r"(restore|Restore) a backup|not of arena"):
        Store.open(folder / DATABASE, create=False)


@pytest.mark.few(1)
@pytest.mark.parametrize("statements", [*edits_of_tables()][::250], ids=" ".join)
def test_changed_tables_are_refused_when_they_are_opened(
    empty: Path, statements: Sequence[str]
) -> None:
    edit(empty, statements)
    assert_is_refused(empty)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_change_of_a_table_is_refused_when_it_is_opened(there: Path, share: int) -> None:
    original = (there / DATABASE).read_bytes()
    tried = 0
    for statements in [*edits_of_tables()][::share]:
        (there / DATABASE).write_bytes(original)
        edit(there, statements)
        assert_is_refused(there)
        tried += 1
    assert tried > 700 // share


@pytest.mark.slow
@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE labels RENAME TO other", "CREATE VIEW labels AS FROM other"],
        again("meta", "* REPLACE ([name] AS name)"),
        again("releases", "* REPLACE (NULL::DATE AS improved)"),
    ],
    ids=" ".join,
)
def test_every_command_on_changed_tables_ends_with_a_message(
    there: Path, statements: Sequence[str]
) -> None:
    edit(there, statements)
    for command in COMMANDS:
        called = run_here(*command, cwd=there)
        if command[0] == "serve":  # --check opens no file
            assert called.returncode == 1, called.stderr
            continue
        assert called.returncode == 1, (command, called.stderr)
        assert "changed by another program" in called.stderr or "not of arena" in called.stderr


VALUES = {
    "a seed that is no number": "UPDATE meta SET value = 'x' WHERE name = 'seed'",
    "no labels": "DELETE FROM labels",
    "a payload that is no object": "UPDATE events SET payload = '[]' WHERE kind = 'submission'",
    "a release without its submission": "UPDATE releases SET submission = submission + 100",
    "faults that are no JSON": "UPDATE submissions SET faults = '{'",
    "a time out of range": "UPDATE submissions SET received = 'infinity'",
    "a row of no split": "UPDATE solution_rows SET usage = 9",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a seed that is no number", "faults that are no JSON"])
def test_a_value_that_ends_a_command_is_told_from_a_fault(there: Path, name: str) -> None:
    edit(there, [VALUES[name]])
    called = run_here("submissions", "-C", "c", cwd=there)
    assert called.returncode == 1
    assert "was changed by another program: " in called.stderr
    assert "arena audit" in called.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_no_command_on_changed_values_ends_with_a_fault(there: Path, name: str) -> None:
    edit(there, [VALUES[name]])
    for number, command in enumerate(COMMANDS):
        folder = Path(shutil.copytree(there, there.parent / str(number)))
        called = run_here(*command, cwd=folder)
        assert called.returncode in (0, 1), (command, called.stderr)


@pytest.mark.slow
def test_a_line_of_the_journal_that_arena_never_writes_is_named_by_the_audit(there: Path) -> None:
    journal = there / f"{DATABASE}.journal"
    begin = journal.stat().st_size
    os.truncate(journal, 2 * 10**9)  # sparse
    called = run_here("audit", "-C", "c", cwd=there)
    assert called.returncode == 1
    assert f"journal of the database has a line at byte {begin:,}" in called.stderr
    journal.rename(there / "aside")
    assert run_here("audit", "-C", "c", cwd=there).returncode == 0


def test_a_fault_on_a_database_that_nobody_changed_stays_one(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    scenario.create().close()
    monkeypatch.setattr(CompetitionView, "open", fail)
    called = run_here("submissions", "-C", "c", cwd=tmp_path)
    assert called.returncode == 3
    assert "This is a fault in arena: KeyError" in called.stderr


def test_the_fingerprint_is_that_of_the_tables_of_arena(empty: Path) -> None:
    """Otherwise every opening compares them one by one, which takes four times as long."""
    with duckdb.connect(str(empty / DATABASE)) as connection:
        assert Catalog(connection).fingerprint() == database.FINGERPRINT


def test_a_database_that_duckdb_describes_in_other_words_is_opened(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FINGERPRINT", "other")
    with Store.open(empty / DATABASE, create=False) as store:
        assert store.submissions() == ()
