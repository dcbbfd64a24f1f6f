"""Edits of the file of programs that wait and run: the server goes on, and tells the organiser."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.server.records.runs import Runs
from arena.server.web import main as web_process
from program_server import NAME, ProgramServer, script, write_competition

COLUMNS = (
    "program", "competition", "team", "member", "key", "payload", "received", "state", "lease",
    "losses", "until", "trial", "request", "message",
)  # fmt: skip
MOVES = {"program", "competition", "team"}
"""Another value of these belongs to another program, which is not that of the team."""
VALUES = {
    "bytes": "x'ff'",
    "endless": "1e999",
}
OF_ROWS = {
    f"{column} {value}": f"UPDATE programs SET {column} = {sql} WHERE number = 1"  # noqa: S608
    for column in COLUMNS
    for value, sql in VALUES.items()
} | {
    "nested": "UPDATE programs SET payload = replace(printf('%9999s', ''), ' ', '[') "
    "WHERE number = 1",
    "empty payload": "UPDATE programs SET payload = '{}' WHERE number = 1",
    "huge lease": "UPDATE programs SET lease = 9223372036854775807 WHERE number = 1",
    "late time": "UPDATE programs SET received = '9999-12-31T23:59:59-23:00' WHERE number = 1",
    "another time": "UPDATE programs SET received = 'x' WHERE number = 1",
    "path": "UPDATE programs SET payload = json_set(payload, '$.upload', '../x') WHERE number = 1",
    "no bytes": "UPDATE programs SET payload = json_remove(payload, '$.bytes') WHERE number = 1",
    "phase": "UPDATE programs SET payload = json_set(payload, '$.phase', json('[]')) "
    "WHERE number = 1",
    "log": 'UPDATE programs SET trial = \'{"end": "ok", "log": 5}\' WHERE number = 1',
}
OF_FILES = {
    "column removed": "ALTER TABLE programs DROP COLUMN message",
    "column renamed": "ALTER TABLE programs RENAME COLUMN state TO stat",
    "column added": "ALTER TABLE programs ADD COLUMN x",
    "view": "DROP TABLE programs; CREATE VIEW programs AS SELECT 1",
    "trigger": "CREATE TRIGGER t BEFORE UPDATE ON programs BEGIN SELECT RAISE(ABORT, 'x'); END",
}
JUNK = {"text": b"x" * 9_000, "head": b"SQLite format 3\0" + bytes(9_000)}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProgramServer]:
    """Return a server whose web process has ended; programs of two teams wait for their trials."""
    folder = write_competition(tmp_path_factory.mktemp("programs"))
    server = ProgramServer(shutil.copytree(folder, folder.parent / "served" / NAME))
    for team in ("ants", "bees"):
        server.send(team, script(team))
    server.end_web()
    with closing(sqlite3.connect(server.layout.runs)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    yield server
    server.end_scorer()


def told_after(server: ProgramServer, edit: str | bytes, *, is_whole: bool) -> tuple[bool, str]:
    """Edit the file, start the web process and let a runner try a program.

    Return whether the team of the first program sees it, and the message to the organiser.
    """
    runs = server.layout.runs
    content = runs.read_bytes()
    uploads = sorted(server.layout.uploads.iterdir())
    try:
        if isinstance(edit, bytes):
            runs.write_bytes(edit)
        else:
            with closing(sqlite3.connect(runs)) as connection:
                connection.executescript(edit)
        server.start_web()
        web_process.sweep_uploads(server.site)
        programs = server.member("ants").get(f"/api/v1/{NAME}/submissions").json()["requests"]
        if not is_whole:
            server.send("bees", script("again"))
        tried = server.runner()
        trials = {tried.run()["run"] for _ in range(1 + len(programs))}
        assert len(trials) == 1 + len(programs)
        health = server.organiser().get(f"/api/v1/{NAME}/admin/health")
        assert health.status_code == 200, health.text
        assert {*uploads} <= {*server.layout.uploads.iterdir()}
        return bool(programs), health.json()["problem"] or ""
    finally:
        server.end_web()
        for path in runs.parent.glob("runs.sqlite*"):
            path.unlink()
        runs.write_bytes(content)


@pytest.mark.slow
def test_a_program_that_cannot_be_read_stops_no_other_and_is_told(stopped: ProgramServer) -> None:
    for name, statement in OF_ROWS.items():
        is_shown, problem = told_after(stopped, statement, is_whole=True)
        is_told = "cannot be read and are left out: 1." in problem
        assert is_shown != is_told or name.partition(" ")[0] in MOVES, name


@pytest.mark.slow
@pytest.mark.parametrize("edit", [*OF_FILES.values(), *JUNK.values()], ids=[*OF_FILES, *JUNK])
def test_a_file_of_runs_that_is_damaged_is_set_aside_and_told(
    stopped: ProgramServer, edit: str | bytes
) -> None:
    is_shown, problem = told_after(stopped, edit, is_whole=False)
    assert not is_shown
    assert "runs.sqlite was damaged and is now runs.sqlite.damaged-1" in problem


def test_every_column_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with closing(Runs(path)), closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(programs)")]
    assert columns == ["number", *COLUMNS]
