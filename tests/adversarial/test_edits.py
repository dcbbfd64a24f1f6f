"""Edits of a competition's database by SQL, behind arena's back: each is named by the audit.

For every table and every column that decides anything there is an edit. What cannot be noticed
from the files alone stands at the end, with what notices it all the same.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from arena.competition.exports.receipts import missing_hash, receipt_problems
from arena.competition.exports.verify import verify_bundle
from arena.errors import ArenaError, StoreFormatError
from arena.plugin.manager import PluginManager
from arena.store import Store
from arena.store.database import SCHEMA_VERSION
from arena.store.derived import rebuild
from arena.store.upgrade import upgrade
from arena.utils.parallel import NoProgress
from competition_folder import add_positions, as_older_version, change
from scenario import N_ROWS, START, Clock, Scenario

DATABASE = "arena.duckdb"
FIRST_CELL = 2 * N_ROWS
"""The rowid of the first cell of submission 3."""
FIRST_CELL_OF_0 = "(SELECT min(rowid) FROM predictions WHERE submission = 3 AND value = 0)"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finalized competition that had everything happen to it."""
    here = tmp_path_factory.mktemp("finished")
    scenario = Scenario(here)
    with scenario.create(total=5, per_day=2, resamples=20, intervals=True) as competition:
        for number, team in enumerate(["one", "two", "one", "two", "three"], start=1):
            competition.submit(scenario.file(number), team)
        assert competition.submit(scenario.file(6), "one").status == "refused"
        (here / "bad.csv").write_text("id,y\nr0,x\n")
        assert competition.submit(here / "bad.csv", "four").status == "rejected"
        competition.select("one", [1])
        competition.disqualify(4, "two accounts")
    scenario.clock.now += timedelta(days=1)
    change(here / "c", 'scope = "team"', 'scope = "rank"')
    with scenario.reopen() as competition:
        competition.submit(scenario.file(7), "three")
        competition.finalize()
        competition.publish()
        assert competition.audit() == ()
    return here


@pytest.fixture
def there(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "x"))


def problems_after(folder: Path, statements: Sequence[str]) -> str:
    """Return what the audit, or opening the database, says after an edit."""
    path = folder / "c" / DATABASE
    with duckdb.connect(str(path)) as connection:
        before = connection.execute("SELECT count(*) FROM events").fetchall()
        for statement in statements:
            assert connection.execute(statement).fetchall() != [(0,)], statement
        assert before
    try:
        with Store.open(path, create=False) as store:
            return "\n".join(store.audit())
    except ArenaError as error:
        return str(error)


def swapped_predictions(submission: int, other: int) -> str:
    """Return a statement that exchanges the predictions of two submissions, row by row."""
    between = (other - submission) * N_ROWS
    return (
        "UPDATE predictions t SET value = o.value FROM predictions o WHERE "  # noqa: S608
        f"(t.submission = {submission} AND o.rowid = t.rowid + {between}) OR "
        f"(t.submission = {other} AND o.rowid = t.rowid - {between})"
    )


EDITS: dict[str, tuple[str | Sequence[str], str]] = {
    # meta
    "application": ("UPDATE meta SET value = 'x' WHERE name = 'application'", "not of arena"),
    "version": (
        f"UPDATE meta SET value = '{SCHEMA_VERSION + 1}' WHERE name = 'schema_version'",  # noqa: S608
        "newer arena",
    ),
    "identity": (
        "UPDATE meta SET value = 'x' WHERE name = 'identity'",
        "'identity' in meta was changed",
    ),
    "key": (
        "UPDATE meta SET value = repeat('0', 64) WHERE name = 'record_key'",
        "key of the record",
    ),
    "no key": ("DELETE FROM meta WHERE name = 'record_key'", "key of the record"),
    "seed": ("UPDATE meta SET value = '2' WHERE name = 'seed'", "'seed' in meta was changed"),
    "settings": (
        "UPDATE meta SET value = replace(value, '\"total\":5', '\"total\":9') "
        "WHERE name = 'settings'",
        "'settings' in meta was changed",
    ),
    "no settings": ("DELETE FROM meta WHERE name = 'settings'", "'settings' in meta is missing"),
    "result": (
        "UPDATE meta SET value = replace(value, '\"rank\": 1', '\"rank\": 2') "
        "WHERE name = 'final_result'",
        "'final_result' in meta was changed",
    ),
    "report of the result": (
        "UPDATE meta SET value = value || ' ' WHERE name = 'final_report'",
        "'final_report' in meta was changed",
    ),
    "revision": ("INSERT INTO meta VALUES ('revision', '2')", "'revision' in meta is not in"),
    # the solution
    "labels": (
        "UPDATE labels SET value = 1 - value WHERE position < 5",
        "groups or tasks of solution 1",
    ),
    "half a label": ("UPDATE labels SET value = value + 0.4 WHERE position = 3", "codes"),
    "usage": ("UPDATE solution_rows SET usage = 1 - usage WHERE position < 30", "usage of rows"),
    "ids": (
        "UPDATE solution_rows SET id = 'x' WHERE position = 3",
        "groups or tasks of solution 1",
    ),
    "order of rows": (
        "UPDATE solution_rows SET position = 199 - position",
        "labels, ids, groups or tasks of solution 1",
    ),
    "position": (
        "UPDATE solution_rows SET position = 999 WHERE position = 199",
        "positions, codes",
    ),
    "position of a label": ("UPDATE labels SET position = 999 WHERE position = 199", "positions"),
    "cluster": ("UPDATE solution_rows SET cluster = 1 WHERE position = 0", "groups of rows"),
    "cluster of no group": (
        "UPDATE solution_rows SET cluster = -1 WHERE position = 199",
        "groups of rows",
    ),
    "row removed": ("DELETE FROM solution_rows WHERE position = 199", "olution 1"),
    "label removed": ("DELETE FROM labels WHERE position = 199", "olution 1"),
    "row added": ("INSERT INTO solution_rows VALUES (1, 200, 'new', 1, NULL, NULL)", "olution 1"),
    "has clusters": ("UPDATE solutions SET has_clusters = true", "olution 1"),
    "sha256 of the solution": ("UPDATE solutions SET sha256 = 'x'", "file, columns"),
    "fingerprint": ("UPDATE solutions SET fingerprint = 'x'", "file, columns"),
    "id column": ("UPDATE solutions SET id_column = 'x'", "solution 1"),
    "kind": ("UPDATE solutions SET kind = 'value'", "solution 1"),
    "columns": ("UPDATE solutions SET columns = '[\"z\"]'", "solution 1"),
    "classes": ('UPDATE solutions SET targets = \'[["y", ["1", "0"]]]\'', "solution 1"),
    "number of rows": ("UPDATE solutions SET n_rows = 50", "file, columns"),
    "metric of the solution": ("UPDATE solutions SET metric = 'f1'", "file, columns"),
    "time of the solution": ("UPDATE solutions SET stored = '2020-01-01'", "file, columns"),
    "names of sets of rows": ("UPDATE solutions SET row_sets = '[\"dev\"]'", "file, columns"),
    "second solution": (
        "INSERT INTO solutions SELECT 2, * EXCLUDE (solution) FROM solutions",
        "Solution 2 is not in the record",
    ),
    "no solution": ("DELETE FROM solutions", "Solution 1 is missing"),
    "extra column": ("INSERT INTO solution_extra VALUES (1, 'w', 0, 1.0)", "olution 1"),
    "task": ("UPDATE solution_rows SET task = 'a' WHERE position = 0", "olution 1"),
    "soft label": ("INSERT INTO solution_soft_labels VALUES (1, 0, 0, 0.5)", "olution 1"),
    "rows of no solution": ("INSERT INTO labels VALUES (7, 0, 0, 1.0)", "rows of a solution"),
    "text": ("INSERT INTO texts VALUES (0, 'a')", "texts that belong to no submission"),
    # submissions
    "team": (
        "UPDATE submissions SET team = 'two' WHERE submission = 1",
        '1 was changed: team is "two"',
    ),
    "file": ("UPDATE submissions SET file = 'x' WHERE submission = 2", "2 was changed: file"),
    "sha256": (
        "UPDATE submissions SET sha256 = 'x' WHERE submission = 2",
        "2 was changed: sha256|acknowledged data: submission 2",
    ),
    "key of a submission": (
        "UPDATE submissions SET key = 'x' WHERE submission = 2",
        "2 was changed",
    ),
    "rejected": (
        "UPDATE submissions SET status = 'rejected' WHERE submission = 2",
        '2 was changed: status is "rejected"',
    ),
    "accepted": (
        "UPDATE submissions SET status = 'accepted' WHERE submission = 7",
        '7 was changed: status is "accepted"',
    ),
    "received": (
        "UPDATE submissions SET received = received - INTERVAL 1 HOUR WHERE submission = 5",
        "5 was changed: received",
    ),
    "faults": ("UPDATE submissions SET faults = '[]' WHERE submission = 7", "7 was changed"),
    "submission removed": (
        "DELETE FROM submissions WHERE submission = 3",
        "3 is missing|acknowledged data: submission 3",
    ),
    "last submission removed": ("DELETE FROM submissions WHERE submission = 8", "submission 8"),
    "submission added": (
        "INSERT INTO submissions SELECT 9, 'nine', * EXCLUDE (submission, team) FROM submissions "
        "WHERE submission = 2",
        "Submission 9 is not in the record",
    ),
    "phase": (
        "UPDATE submissions SET phase = 'final' WHERE submission = 2",
        "Submission 2 was changed",
    ),
    "renumbered": ("UPDATE submissions SET submission = 11 WHERE submission = 7", "7"),
    # predictions
    "predictions swapped": (
        swapped_predictions(1, 2),
        "predictions of submission 1 were changed",
    ),
    "predictions half overwritten": (
        "UPDATE predictions SET value = 0.5 WHERE submission = 2 AND value > 0.2",
        "predictions of submission 2 were changed",
    ),
    "last digit": (
        f"UPDATE predictions SET value = value + 1e-16 WHERE rowid = {FIRST_CELL_OF_0}",  # noqa: S608
        "predictions of submission 3 were changed",
    ),
    "cells swapped": (
        "UPDATE predictions SET value = 1 - value "  # noqa: S608
        f"WHERE rowid IN ({FIRST_CELL_OF_0}, {FIRST_CELL_OF_0.replace('= 0', '= 1')})",
        "predictions of submission 3 were changed",
    ),
    "cell removed": (
        f"DELETE FROM predictions WHERE rowid = {FIRST_CELL + 9}",  # noqa: S608
        "3 are incom",
    ),
    "cell moved": (
        [
            f"CREATE TABLE x AS FROM predictions WHERE rowid = {FIRST_CELL + N_ROWS - 1}",
            f"DELETE FROM predictions WHERE rowid = {FIRST_CELL + N_ROWS - 1}",  # noqa: S608
            "INSERT INTO predictions FROM x",
            "DROP TABLE x",
        ],
        "3 are incomplete",
    ),
    "predictions removed": ("DELETE FROM predictions WHERE submission = 3", "3 are incomplete"),
    "predictions of a rejected file": (
        "INSERT INTO predictions SELECT 7, value FROM predictions WHERE submission = 1",
        "predictions of submission 7 are not in the record",
    ),
    "an object named": (
        "INSERT INTO objects VALUES (3, 'x')",
        "names objects with predictions, but it keeps",
    ),
    # releases and scores
    "released": (
        "UPDATE releases SET score = 0.99 WHERE submission = 2",
        r"submission 2\) was changed|releases",
    ),
    "ranked by": (
        "UPDATE releases SET ranked_by = 0.9 WHERE release = 1",
        "Release 1 .* was changed",
    ),
    "improved": (
        "UPDATE releases SET improved = NOT improved WHERE release = 1",
        "Release 1 .* was",
    ),
    "state": ("UPDATE releases SET state = '{\"x\": 1}' WHERE release = 1", "Release 1 .* was"),
    "instance": ("UPDATE releases SET instance = 'x' WHERE release = 1", "Release 1 .* was"),
    "release's submission": (
        "UPDATE releases SET submission = 77 WHERE release = 1",
        "Release 1 .* was changed",
    ),
    "epoch": ("UPDATE releases SET epoch = 9 WHERE release = 1", "Release 1 .* was changed"),
    "time of a release": (
        "UPDATE releases SET released = '2020-01-01' WHERE release = 1",
        "Release 1 ",
    ),
    "release removed": ("DELETE FROM releases WHERE release = 2", "Release 2 is missing"),
    "release of the epoch": (
        "UPDATE releases SET score = 0.9 WHERE epoch = 2 AND submission = 2",
        "One of the releases",
    ),
    "release of the epoch removed": (
        "DELETE FROM releases WHERE epoch = 2 AND submission = 2",
        "is missing",
    ),
    "source of a release": (
        "UPDATE releases SET source = source + 1 WHERE release = 1",
        "Release 1 .* was changed",
    ),
    "late": (
        "UPDATE submissions SET late = NOT late WHERE submission = 2",
        "Submission 2 was changed",
    ),
    "published result": (
        "UPDATE results SET document = replace(document, '\"rank\": 1', '\"rank\": 2') "
        "WHERE version = 1",
        "Result 1 was changed",
    ),
    "time of a result": (
        "UPDATE results SET published = published + INTERVAL 1 DAY WHERE version = 1",
        "Result 1 was changed",
    ),
    "result removed": ("DELETE FROM results WHERE version = 1", "Result 1 is missing"),
    "result added": (
        "INSERT INTO results VALUES (2, '{}', '2026-03-01')",
        "Result 2 is not in the record",
    ),
    "public score": (
        "UPDATE scores SET public_score = 0.9 WHERE submission = 2",
        "scores of sub.* 2",
    ),
    "private score": (
        "UPDATE scores SET private_score = 0.9 WHERE submission = 2",
        "scores of sub.* 2",
    ),
    "score removed": (
        "DELETE FROM scores WHERE submission = 2",
        "scores of submission 2 .* missing",
    ),
    "score added": (
        "INSERT INTO scores VALUES (1, 7, 0.9, NULL)",
        "scores of submission 7 .* not in",
    ),
    "revision of scores": (
        "UPDATE scores SET revision = 2 WHERE submission = 2",
        "scores of sub.* 2",
    ),
    # limits
    "count lowered": ("UPDATE places SET used = 0 WHERE team = 'one'", "team one .* is 0"),
    "count raised": (
        "UPDATE places SET used = 9 WHERE day = 'total' AND team = 'two'",
        "two .* is 9",
    ),
    "count removed": ("DELETE FROM places WHERE team = 'one'", "team one .* is missing"),
    "count added": ("INSERT INTO places VALUES ('nine', 'total', 1)", "nine .* is 1"),
    "day of a count": (
        "UPDATE places SET day = '2026-01-01' WHERE team = 'one' AND day LIKE '____-__-__'",
        "team one",
    ),
    # events
    "time of an event": ("UPDATE events SET time = '2020-01-01' WHERE sequence = 2", "event 2"),
    "actor": ("UPDATE events SET actor = 'x' WHERE sequence = 2", "event 2 .* was changed"),
    "event's kind": ("UPDATE events SET kind = 'x' WHERE sequence = 2", "event 2 .* was changed"),
    "payload": (
        "UPDATE events SET payload = replace(payload, '\"one\"', '\"eno\"') WHERE sequence = 2",
        "event 2 .* was changed",
    ),
    "payload written in another way": (
        "UPDATE events SET payload = payload || ' ' WHERE sequence = 2",
        "event 2 .* was changed",
    ),
    "payload with a key twice": (
        'UPDATE events SET payload = \'{"team":"other",\' || payload[2:] WHERE sequence = 2',
        "event 2 .* was changed",
    ),
    "payload without end": (
        "UPDATE events SET payload = repeat('[', 100000) WHERE sequence = 2",
        "event 2 .* was changed",
    ),
    "payload of text": (
        "UPDATE events SET payload = 'x' WHERE sequence = 2",
        "event 2 .* was changed",
    ),
    "subject": ("UPDATE events SET submission = 7 WHERE sequence = 2", "event 2 .* was changed"),
    "previous": (
        "UPDATE events SET previous = 'x' WHERE sequence = 3",
        "event 3 .* does not follow",
    ),
    "hash": ("UPDATE events SET hash = 'x' WHERE sequence = 3", "event 3 .* was changed"),
    **{
        f"no {kind}": (f"DELETE FROM events WHERE kind = '{kind}'", "is missing|record is broken")  # noqa: S608
        for kind in ("created", "selection", "disqualification", "configuration", "board rebuilt")
    },
    "last event": ("DELETE FROM events WHERE kind = 'finalized'", "acknowledged|is missing"),
    "event added": (
        "INSERT INTO events SELECT sequence + 100, * EXCLUDE (sequence) FROM events "
        "WHERE kind = 'disqualification'",
        "is missing before event",
    ),
    # what is derived from the history
    "count of a team": (
        "UPDATE team_counts SET accepted = accepted + 1, sent = 9",
        "table team_counts, which is",
    ),
    "a team more": (
        "INSERT INTO team_counts VALUES ('', 'x', 1, 1)",
        "table team_counts, which is",
    ),
    "standing": (
        "UPDATE standings SET highest = {'rank_value': 2.0, 'minus_submission': -1, 'score': 2.0}, "
        "lowest = {'rank_value': 0.0, 'submission': 1, 'score': 0.0}",
        "table standings, which is",
    ),
    "a standing more": (
        "INSERT INTO standings SELECT epoch, '', 'x', highest, lowest FROM standings LIMIT 1",
        "table standings, which is",
    ),
    "last release of an instance": (
        "UPDATE instances SET release = 1 WHERE release <> 1",
        "table instances, which is",
    ),
    **{
        f"{column} of a rank": (
            f"UPDATE holders SET {column} = {value}",  # noqa: S608
            "table holders, which is",
        )
        for column, value in {
            "epoch": "epoch + 1",
            "position": "1 - position",
            "team": "team || 'x'",
            "state": "'{}'",
            "mark": "0.999",
            "submission": "submission + 1",
        }.items()
    },
    "a rank more": ("INSERT INTO holders VALUES (1, 0, 'x', '{}', 0, 1)", "table holders, which"),
    "a rank less": ("DELETE FROM holders WHERE position = 1", "table holders, which is"),
    "an instance more": ("INSERT INTO instances VALUES (1, 'x', 1)", "table instances, which is"),
    **{
        f"a row twice in {table}": (
            [
                f"CREATE TABLE again AS FROM {table}",
                f"DROP TABLE {table}",
                f"ALTER TABLE again RENAME TO {table}",
                f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1",  # noqa: S608
            ],
            f"{table}.* of the database was changed",
        )
        for table in ("team_counts", "standings", "instances", "holders")
    },
    "a value twice in meta": (
        [
            "CREATE TABLE again AS FROM meta",
            "DROP TABLE meta",
            "ALTER TABLE again RENAME TO meta",
            "INSERT INTO meta VALUES ('seed', '7')",
        ],
        "meta.* of the database was changed",
    ),
    # the tables themselves
    "table dropped": (["DROP TABLE places", "SELECT 1"], "table places of the database is missing"),
    "table more": (["CREATE TABLE x (a INTEGER)", "SELECT 1"], "table x .* is not of arena"),
    "view in its place": (
        ["ALTER TABLE labels RENAME TO x", "CREATE VIEW labels AS FROM x"],
        "view labels of the database is not of arena",
    ),
    "column more": (["ALTER TABLE texts ADD COLUMN x INTEGER", "SELECT 1"], "column texts.x"),
    "column dropped": (
        ["ALTER TABLE predictions DROP COLUMN submission", "SELECT 1"],
        "column predictions.submission of the database is missing",
    ),
    "type of a column": (
        ["ALTER TABLE labels ALTER value TYPE VARCHAR", "SELECT 1"],
        "column labels.value of the database was changed",
    ),
    "a value that is missing": (
        [
            "ALTER TABLE events ALTER time DROP NOT NULL",
            "UPDATE events SET time = NULL WHERE sequence = 2",
        ],
        "column events.time of the database was changed",
    ),
    "default of a column": (
        ["ALTER TABLE predictions ALTER value SET DEFAULT 1", "SELECT 1"],
        "column predictions.value of the database was changed",
    ),
    "unique no more": (
        [
            "CREATE TABLE again AS FROM scores",
            "DROP TABLE scores",
            "CREATE TABLE scores (revision INTEGER NOT NULL, submission INTEGER NOT NULL, "
            "public_score DOUBLE, private_score DOUBLE)",
            "INSERT INTO scores FROM again",
            "DROP TABLE again",
            "SELECT 1",
        ],
        "constraint scores: PRIMARY KEY.* is missing",
    ),
    "index dropped": (["DROP INDEX submissions_key", "SELECT 1"], "index submissions_key"),
    "sequence": (["CREATE SEQUENCE x", "SELECT 1"], "sequence x .* is not of arena"),
    "type of another program": (
        ["CREATE TYPE mood AS ENUM ('a')", "SELECT 1"],
        "type mood .* is not of arena",
    ),
    "macro": (["CREATE MACRO trunc(x) AS 0", "SELECT 1"], "macro trunc .* is not of arena"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_named(there: Path, name: str) -> None:
    statements, pattern = EDITS[name]
    problems = problems_after(there, [statements] if isinstance(statements, str) else statements)
    assert re.search(pattern, problems, re.IGNORECASE), problems


def problems_since(folder: Path, statement: str) -> tuple[str, str]:
    """Return what an audit of submission 8 and what followed it says after an edit, and a whole."""
    path = folder / "c" / DATABASE
    with Store.open(path, create=False) as store:
        (last,) = [e for e in store.events("submission") if e.payload["submission"] == 8]
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    with Store.open(path, create=False) as store:
        since = store.audit(since=last.sequence - 1)
        return "\n".join(since), "\n".join(store.audit())


ALWAYS_NAMED = [
    *("seed", "settings", "result", "labels", "usage", "row removed", "second solution"),
    *("submission added", "release removed", "score removed", "score added"),
    *("count lowered", "count added", "actor", "payload", "previous", "standing", "a rank more"),
    "release of the epoch removed",
]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ALWAYS_NAMED)
def test_an_audit_since_an_event_names_what_is_compared_as_a_whole(there: Path, name: str) -> None:
    statement, pattern = EDITS[name]
    assert isinstance(statement, str)
    since, whole = problems_since(there, statement)
    assert re.search(pattern, since, re.IGNORECASE), since
    assert set(since.splitlines()) <= set(whole.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE predictions SET value = 0.5 WHERE submission = {}", "predictions of submission 8"),
        ("UPDATE submissions SET key = 'x' WHERE submission = {}", "Submission 8 was changed"),
        ("UPDATE scores SET private_score = 0.9 WHERE submission = {}", "scores of submission 8"),
    ],
)
def test_an_audit_since_an_event_compares_the_content_that_followed(
    finished: Path, tmp_path: Path, statement: str, said: str
) -> None:
    later = Path(shutil.copytree(finished, tmp_path / "later"))
    assert said in problems_since(later, statement.format(8))[0]
    earlier = Path(shutil.copytree(finished, tmp_path / "earlier"))
    since, whole = problems_since(earlier, statement.format(2))
    assert (since, said.replace("8", "2") in whole) == ("", True)


def test_every_column_is_edited(finished: Path) -> None:
    """A column that is added to the tables needs an edit here."""
    text = " ".join(str(statement) for statement, _ in EDITS.values())
    with duckdb.connect(str(finished / "c" / DATABASE), read_only=True) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
    whole = {"texts", "solution_extra", "solution_soft_labels"}
    keys = {("labels", "solution"), ("labels", "target"), ("solution_rows", "solution"),
            ("solutions", "solution"), ("meta", "name"), ("predictions", "submission"),
            ("releases", "release"), ("team_counts", "phase"), ("team_counts", "team"),
            ("standings", "phase"), ("standings", "team"),
            ("instances", "instance"), ("scores", "submission"),
            ("events", "sequence"), ("results", "version")}  # fmt: skip
    for table, column in columns:
        assert f"{table}" in text
        if table not in whole and (table, column) not in keys:
            assert re.search(rf"{table}\b[^,]*\b{column} = |INSERT INTO {table}", text), column


OTHERWISE = {
    "INTEGER": ("{} + 1", "-7", "2147483647", "NULL"),
    "DOUBLE": ("nextafter({}, 1e9::DOUBLE)", "'nan'::DOUBLE", "'inf'::DOUBLE", "NULL"),
    "VARCHAR": (
        "{} || ' '",
        "''",
        "{} || chr(0)",
        "translate({}, 'aeo', '\u0430\u0435\u043e')",
        "repeat('[', 100000)",
        "NULL",
    ),
    "BOOLEAN": ("NOT {}", "NULL"),
    "TIMESTAMP": ("{} + INTERVAL 1 MICROSECOND", "'infinity'::TIMESTAMP", "NULL"),
}
"""The type of a column -> what stands in one of its cells after an edit."""
OTHERWISE |= {"BIGINT": OTHERWISE["INTEGER"], "USMALLINT": ("7", "NULL")}


TURNED_TABLES = (
    "INSERT INTO {} SELECT * FROM {} WHERE rowid = (SELECT max(rowid) FROM {})",
    "DELETE FROM {} WHERE rowid = (SELECT min(rowid) FROM {})",
    "DELETE FROM {} WHERE rowid = (SELECT max(rowid) FROM {})",
    "DELETE FROM {}",
)
"""What happens to a table as a whole: its last row twice, its first or last row or all removed."""
EXCHANGED = (
    "UPDATE {0} SET {1} = CASE rowid WHEN (SELECT min(rowid) FROM {0}) "
    "THEN (SELECT {1} FROM {0} ORDER BY rowid DESC LIMIT 1) "
    "ELSE (SELECT {1} FROM {0} ORDER BY rowid LIMIT 1) END "
    "WHERE rowid IN (SELECT min(rowid) FROM {0} UNION SELECT max(rowid) FROM {0})"
)
"""The cells of a column in the first and the last row are exchanged."""


def _edits_of(path: Path) -> list[str]:
    """Return statements that change one cell: each type of edit of each column, in the middle."""
    with duckdb.connect(str(path), read_only=True) as connection:
        query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        columns = connection.execute(f"{query} ORDER BY ALL").fetchall()
    tables = dict.fromkeys(table for table, _, _ in columns)
    return [
        *(
            f"UPDATE {table} SET {column} = {value.format(column)} WHERE rowid = "  # noqa: S608
            f"(SELECT quantile_disc(rowid, 0.5) FROM {table})"
            for table, column, kind in columns
            for value in OTHERWISE.get(kind, ())
        ),
        *(EXCHANGED.format(table, column) for table, column, _ in columns),
        *(turned.replace("{}", table) for table in tables for turned in TURNED_TABLES),
    ]


def _content(connection: duckdb.DuckDBPyConnection, table: str) -> object:
    query = f"SELECT list(t::VARCHAR ORDER BY t::VARCHAR) FROM {table} t"  # noqa: S608
    return connection.execute(query).fetchall()


@pytest.mark.slow
@pytest.mark.parametrize("share", [12, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_kind_of_edit_of_every_column_is_named(
    finished: Path, tmp_path: Path, share: int
) -> None:
    """What the table above did not think of: in one sentence each, and with no fault."""
    database = finished / "c" / DATABASE
    named = 0
    for number, statement in enumerate(_edits_of(database)[::share]):
        folder = tmp_path / str(number)
        shutil.copytree(finished / "c", folder / "c")
        with duckdb.connect(str(folder / "c" / DATABASE)) as connection:
            table = re.split(r"\b(?:UPDATE|INTO|FROM) ", statement)[1].split()[0]
            before = _content(connection, table)
            try:
                connection.execute(statement)
            except duckdb.ConstraintException:
                continue
            if _content(connection, table) == before:
                continue
        problems = problems_after(folder, ["SELECT 1"])
        assert problems, statement
        assert max(map(len, problems.splitlines())) < 1_000, statement
        named += 1
        shutil.rmtree(folder)
    assert named > 100 // share


@pytest.mark.slow
def test_a_clock_that_goes_backwards_breaks_no_record(scenario: Scenario) -> None:
    with scenario.create(per_day=1) as competition:
        assert competition.submit(scenario.file(1), "one").status == "accepted"
        scenario.clock.now -= timedelta(days=1)
        assert competition.submit(scenario.file(2), "one").status == "accepted"
        scenario.clock.now += timedelta(days=1)
        assert competition.submit(scenario.file(3), "one").status == "refused"
        competition.finalize()
        (problem,) = competition.audit()
        assert problem.startswith("Time runs backwards: event 3 (submission")
        assert competition.verify_events() is None


TURNED: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "removed": lambda lines, place: lines[:place] + lines[place + 1 :],
    "twice": lambda lines, place: lines[: place + 1] + lines[place:],
    "again at the end": lambda lines, place: [*lines, lines[place]],
    "moved to the end": lambda lines, place: [*lines[:place], *lines[place + 1 :], lines[place]],
    "changed": lambda lines, place: [
        *lines[:place],
        lines[place].replace(b'"', b"'", 1),
        *lines[place + 1 :],
    ],
    "cut off": lambda lines, place: lines[:place],
    "zeros before it": lambda lines, place: [*lines[:place], bytes(99) + b"\n", *lines[place:]],
}
"""A journal's lines, and the position of one -> the lines of a changed journal."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", TURNED)
@pytest.mark.parametrize("where", ["begin", "head", "middle", "tail"])
def test_a_changed_journal_is_named(there: Path, kind: str, where: str) -> None:
    """The record is whole without its journal; the audit says what the journal cannot confirm."""
    journal = there / "c" / f"{DATABASE}.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    of_submissions = [1, *(position for position, line in enumerate(lines) if b'"status"' in line)]
    middle = len(of_submissions) // 2
    place = of_submissions[{"begin": 0, "head": 2, "middle": middle, "tail": -1}[where]]
    if (kind, where) == ("moved to the end", "tail"):
        place = of_submissions[-2]
    journal.write_bytes(b"".join(TURNED[kind](lines, place)))
    try:
        with Store.open(there / "c" / DATABASE, create=False, read_only=True) as store:
            faults = (*store.audit(), *store.journal_faults(), store.events_without_journal())
    except ArenaError as error:
        faults = (str(error),)
    assert any(faults), faults


@pytest.mark.slow
@pytest.mark.parametrize("left", range(2, 8))
def test_first_lines_that_the_journal_lacks_are_counted(there: Path, left: int) -> None:
    journal = there / "c" / f"{DATABASE}.journal"
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([header, *lines[left:]]))
    with Store.open(there / "c" / DATABASE, create=False, read_only=True) as store:
        assert "before its first: " in "\n".join(store.journal_faults())
        assert store.audit() == ()


def test_the_journal_of_a_competition_has_no_faults(finished: Path) -> None:
    with Store.open(finished / "c" / DATABASE, create=False, read_only=True) as store:
        assert store.journal_faults() == ()


# -- edits that arena would record by going on -----------------------------------------------------


def submits_again(folder: Path) -> None:
    scenario = Scenario(folder, clock=Clock(START + timedelta(days=1)))
    change(folder / "c", "total = 5", "total = 50")
    with scenario.reopen() as competition:
        for team in ("one", "two", "three"):
            competition.submit(scenario.file(20), team)


def is_upgraded(folder: Path) -> None:
    """As if an older arena had written it: an upgrade records everything that is stored."""
    with duckdb.connect(str(folder / "c" / DATABASE)) as connection:
        results = connection.execute("SELECT * FROM results").fetchall()
        add_positions(connection)
        connection.execute("DROP TABLE objects")
        connection.execute("UPDATE meta SET value = '5' WHERE name = 'schema_version'")
    assert upgrade(folder / "c" / DATABASE).before == 5
    with duckdb.connect(str(folder / "c" / DATABASE)) as connection:
        connection.executemany("INSERT INTO results VALUES (?, ?, ?)", results)


def is_upgraded_from_the_oldest(folder: Path) -> None:
    as_older_version(folder / "c" / DATABASE, with_digests=True)
    assert upgrade(folder / "c" / DATABASE).before == 2


def is_rescored_and_finalized(folder: Path) -> None:
    clock = Clock(START + timedelta(days=2))  # after the last event
    with Scenario(folder, clock=clock).reopen() as competition:
        competition.rescore(apply=True)
        competition.finalize(intervals=False)


GOES_ON = [submits_again, is_upgraded, is_upgraded_from_the_oldest, is_rescored_and_finalized]
RECORDED_BEFORE = [
    *("seed", "settings", "no settings", "labels", "usage", "ids", "sha256 of the solution"),
    *("rejected", "accepted", "received", "faults", "key of a submission", "team"),
    *("predictions half overwritten", "last digit", "released", "ranked by", "improved", "state"),
    *("public score", "private score", "count lowered", "count raised", "count removed"),
    *("time of a release", "release of the epoch", "result", "identity"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "goes_on"),
    [
        pytest.param(
            name,
            goes_on,
            id=f"{name}-{goes_on.__name__}",
            # Two of the four ways for each edit, and each way for half of the edits.
            marks=() if (edit + way) % 4 < 2 else pytest.mark.campaign,
        )
        for edit, name in enumerate(RECORDED_BEFORE)
        for way, goes_on in enumerate(GOES_ON)
    ],
)
def test_an_edit_is_named_after_arena_went_on(
    there: Path, name: str, goes_on: Callable[[Path], None]
) -> None:
    """What arena stores after an edit does not make the edit a part of the record."""
    if (name, goes_on) == ("result", is_rescored_and_finalized):
        return  # it is computed again
    statement, _ = EDITS[name]
    with duckdb.connect(str(there / "c" / DATABASE)) as connection:
        connection.execute(str(statement))
    try:
        goes_on(there)
    except (ArenaError, LookupError, ValueError) as error:
        refused = str(error)
    else:
        refused = problems_after(there, ["SELECT 1"])
    assert refused


@pytest.mark.slow
@pytest.mark.parametrize("goes_on", GOES_ON, ids=lambda function: function.__name__)
def test_what_arena_stores_without_an_edit_agrees_with_the_record(
    there: Path, goes_on: Callable[[Path], None]
) -> None:
    if goes_on is is_upgraded_from_the_oldest:
        as_older_version(there / "c" / DATABASE)
        upgrade(there / "c" / DATABASE)
    else:
        goes_on(there)
    assert problems_after(there, ["SELECT 1"]) == ""


def test_a_setting_that_was_edited_is_not_replaced(there: Path) -> None:
    """Otherwise the record would have the new settings, and no trace of the edit."""
    with duckdb.connect(str(there / "c" / DATABASE)) as connection:
        connection.execute(str(EDITS["settings"][0]))
    with pytest.raises(StoreFormatError, match="'settings' .* was changed by another program"):
        submits_again(there)
    assert "'settings' in meta was changed" in problems_after(there, ["SELECT 1"])


# -- edits before the end, told by verify from the export ------------------------------------------

BEFORE_THE_END: dict[str, tuple[Sequence[str], str]] = {
    "predictions swapped": (
        [swapped_predictions(3, 2)],
        "does not contain the predictions of submission 2",
    ),
    "predictions half overwritten": (
        ["UPDATE predictions SET value = 0.5 WHERE submission = 2 AND value > 0.2"],
        "does not contain the predictions of submission 2",
    ),
    "usage exchanged": (
        ["UPDATE solution_rows SET usage = 1 - usage WHERE position < 40"],
        "usage.csv is not the split of this competition",
    ),
    "accepted marked rejected": (
        ["UPDATE submissions SET status = 'rejected' WHERE submission = 5"],
        "submission 5: status is rejected, and events.jsonl records accepted",
    ),
    "received": (
        ["UPDATE submissions SET received = '2020-01-01' WHERE submission = 5"],
        "submission 5: received is 2020",
    ),
    "released": (
        ["UPDATE releases SET score = 0.75 WHERE submission = 5"],
        "the score of submission 5 differs from events.jsonl",
    ),
}


def exported(folder: Path) -> Path:
    clock = Clock(START + timedelta(days=10_000))  # after an upgrade with this machine's time
    with Scenario(folder, clock=clock).reopen() as competition:
        competition.finalize()
        competition.export(folder / "out")
    return folder / "out"


def verified(folder: Path, solution: Path | None = None) -> tuple[str, ...]:
    solution = solution or folder / "solution.csv"
    return verify_bundle(folder / "out", solution, PluginManager(), NoProgress())


@pytest.mark.slow
def test_an_export_without_an_edit_is_whole(there: Path) -> None:
    exported(there)
    assert verified(there) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", BEFORE_THE_END)
def test_an_edit_before_the_end_is_named_by_verify(there: Path, name: str) -> None:
    statements, sentence = BEFORE_THE_END[name]
    assert problems_after(there, statements)
    exported(there)
    assert sentence in "\n".join(verified(there))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["predictions swapped", "predictions half overwritten", "usage exchanged"]
)
def test_an_edit_before_an_upgrade_is_named_by_verify(there: Path, name: str) -> None:
    statements, sentence = BEFORE_THE_END[name]
    assert problems_after(there, statements)
    is_upgraded(there)
    exported(there)
    assert sentence in "\n".join(verified(there))


@pytest.mark.slow
def test_another_truth_is_told_first(there: Path) -> None:
    assert problems_after(there, ["UPDATE labels SET value = 1 - value WHERE position < 20"])
    lines = (there / "solution.csv").read_text().splitlines()
    rows = (line.split(",") for line in lines[1:21])
    flipped = [f"{row_id},{1 - int(label)},{usage}" for row_id, label, usage in rows]
    (there / "other.csv").write_text("\n".join([lines[0], *flipped, *lines[21:]]) + "\n")
    exported(there)
    problems = verified(there, there / "other.csv")
    assert problems[0].startswith("This is not the solution of this competition")


# -- what cannot be noticed without an anchor outside --------------------------------------------


@pytest.mark.slow
def test_an_end_cut_off_everywhere_shows_only_by_a_receipt(there: Path) -> None:
    """Without what was noted elsewhere, the files are those of a shorter competition."""
    path = there / "c" / DATABASE
    with Store.open(path) as store:
        (last,) = [e for e in store.events("submission") if e.payload["submission"] == 8]
    cut = [
        f"DELETE FROM events WHERE sequence >= {last.sequence}",  # noqa: S608
        "DELETE FROM meta WHERE name IN ('final_result', 'final_report')",
        "DELETE FROM submissions WHERE submission = 8",
        "DELETE FROM predictions WHERE submission = 8",
        "DELETE FROM releases WHERE submission = 8",
        "DELETE FROM scores WHERE submission = 8",
        "DELETE FROM places WHERE team = 'three' AND day IN ('2026-03-02', '2026-W10')",
        "DELETE FROM results",
        "UPDATE places SET used = 1 WHERE team = 'three' AND day = 'total'",
    ]
    path.with_name(f"{DATABASE}.journal").unlink()
    with duckdb.connect(str(path)) as connection:
        for statement in cut:
            connection.execute(statement)
        rebuild(connection.cursor())
    assert problems_after(there, ["SELECT 1"]) == ""
    with Store.open(path) as store:
        events = store.events()
    assert len(events) == last.sequence - 1
    assert missing_hash(events, last.hash)
    assert missing_hash(events, events[-1].hash) == ()
    (there / "receipt.txt").write_text(f"submission 8: {last.hash}\n")
    (problem,) = receipt_problems(there / "receipt.txt", events)
    assert "does not contain the event" in problem
    assert not verified_receipt(there, events[1].hash, events)


@pytest.mark.parametrize("noted", [[], {}, 7, None])
def test_a_receipt_of_another_form_is_no_fault(there: Path, noted: object) -> None:
    with Store.open(there / "c" / DATABASE, create=False, read_only=True) as store:
        events = store.events()
    document = {"answers": [{"receipt": noted, "note": events[1].hash}]}
    assert verified_receipt(there, json.dumps(document), events) == ()


def verified_receipt(folder: Path, noted: str, events: Sequence[object]) -> tuple[str, ...]:
    (folder / "note.txt").write_text(noted)
    return receipt_problems(folder / "note.txt", events)  # type: ignore[arg-type]
