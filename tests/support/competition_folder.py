"""A small competition in a folder, for tests of the commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from arena.store.events import FIRST_PREVIOUS, Event, canonical_json
from arena.store.timestamps import as_text
from program import UNPROTECTED, write_csv
from schemas import check_document, schema

OLDER_TABLES = Path(__file__).with_name("tables-2.sql")
POSITION = "(row_number() OVER (PARTITION BY submission ORDER BY rowid) - 1)::INTEGER AS position"
N_ROWS = 40
IDS = [f"r{row:02d}" for row in range(N_ROWS)]
INIT = (
    "init", "c", "--solution", "solution.csv", "--metric", "roc_auc", "--seed", 1, *UNPROTECTED
)  # fmt: skip


def write_solution(folder: Path) -> None:
    truth = np.arange(N_ROWS) % 2
    write_csv(folder / "solution.csv", ["id", "y"], list(zip(IDS, truth, strict=True)))


def write_file(path: Path, number: int) -> Path:
    values = np.random.default_rng(number).random(N_ROWS) + 0.1 * number * (np.arange(N_ROWS) % 2)
    rows = [(i, repr(min(float(v), 1.0))) for i, v in zip(IDS, values, strict=True)]
    write_csv(path, ["id", "y"], rows)
    return path


def document(called: subprocess.CompletedProcess[str], name: str, code: int = 0) -> Any:
    """Return what was printed, held to its schema."""
    assert called.returncode == code, called.stderr
    printed = json.loads(called.stdout)
    check_document(printed, name)
    properties = schema(name)["properties"]
    absent = {
        key for key in properties if "absent without any" in properties[key].get("description", "")
    }
    assert set(properties) - absent <= set(printed) <= set(properties)
    return printed


def change(folder: Path, old: str, new: str) -> None:
    """Change a line of competition.toml."""
    path = folder / "competition.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


def name_tables_as_before(connection: duckdb.DuckDBPyConnection) -> None:
    """Give the tables of labels and tasks the form that they had up to version 9."""
    connection.execute("""
        ALTER TABLE labels RENAME TO truth;
        CREATE TABLE solution_tasks AS
            SELECT solution, position, task FROM solution_rows WHERE task IS NOT NULL;
        ALTER TABLE solution_rows DROP COLUMN task;
    """)


def add_positions(connection: duckdb.DuckDBPyConnection) -> None:
    """Give the predictions the column that they had up to version 6, and take away later ones."""
    name_tables_as_before(connection)
    connection.execute("DROP INDEX submissions_key")
    later = {"submissions": "late, phase", "releases": "source", "solutions": "row_sets"}
    for table, columns in later.items():
        connection.execute(f"""
            CREATE TABLE older AS SELECT * EXCLUDE ({columns}) FROM {table};
            DROP TABLE {table};
            ALTER TABLE older RENAME TO {table};
        """)  # noqa: S608
    connection.execute("DROP TABLE results")
    connection.execute("DELETE FROM places WHERE contains(day, 'W')")
    connection.execute(f"""
        CREATE TABLE older AS SELECT submission, {POSITION}, value FROM predictions ORDER BY rowid;
        DROP TABLE predictions;
        ALTER TABLE older RENAME TO predictions;
    """)  # noqa: S608


def as_older_version(path: Path, *, with_digests: bool = False) -> None:
    """Write a database with the tables of version 2, and the contents that fit into them.

    Its events have no digests, which came later: the chain of their hashes is computed again.
    With ``with_digests`` it is a database of today in an older form.
    """
    newer = path.with_name("newer.duckdb")
    path.rename(newer)
    with duckdb.connect(str(newer)) as connection:
        name_tables_as_before(connection)
    with duckdb.connect(str(path)) as connection:
        connection.execute(OLDER_TABLES.read_text())
        columns: dict[str, list[str]] = {}
        query = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        for table, column in connection.execute(query).fetchall():
            columns.setdefault(table, []).append(column)
        connection.execute(f"ATTACH '{newer}' AS newer (READ_ONLY)")
        for table, names in columns.items():
            listed = ", ".join(names)
            chosen = listed.replace("position", POSITION) if table == "predictions" else listed
            connection.execute(
                f"INSERT INTO {table} ({listed}) SELECT {chosen} FROM newer.main.{table}"  # noqa: S608
            )
        connection.execute("DELETE FROM places WHERE contains(day, 'W')")
        connection.execute("DELETE FROM meta WHERE name = 'record_key'")
        connection.execute("UPDATE meta SET value = '2' WHERE name = 'schema_version'")
        if not with_digests:
            _leave_out_digests(connection)
    newer.unlink()
    if with_digests:
        return
    path.with_name(f"{path.name}.journal").unlink()  # it names the hashes


def _leave_out_digests(connection: duckdb.DuckDBPyConnection) -> None:
    previous = FIRST_PREVIOUS
    rows = connection.execute("SELECT * FROM events ORDER BY sequence").fetchall()
    for sequence, time, actor, kind, text, *_ in rows:
        payload = {name: value for name, value in json.loads(text).items() if name != "facts"}
        event = Event(
            sequence=sequence,
            time=as_text(time),
            actor=actor,
            kind=kind,
            payload=payload,
            previous=previous,
            hash="",
        )
        new = [canonical_json(payload), previous, event.computed_hash()]
        connection.execute(
            "UPDATE events SET payload = ?, previous = ?, hash = ? WHERE sequence = ?",
            [*new, sequence],
        )
        previous = new[-1]
