"""An audit names every edit of what is stored, and the event that it contradicts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from arena.errors import StoreFormatError
from arena.store import ScoreRecord, Store
from submit_work import make_solution, submit, values_of

N_ROWS = 6
OF_TABLE = "derived from the history, does not follow from it. The public board may have been shown"
EDITS = {
    "UPDATE meta SET value = 'edited' WHERE name = 'settings'": (
        "The value 'settings' in meta was changed: event 1 (created"
    ),
    "INSERT INTO meta VALUES ('stranger', 'x')": (
        "The value 'stranger' in meta is not in the record."
    ),
    "UPDATE solutions SET sha256 = 'x'": (
        "The file, columns, metric or time of solution 1 was changed: event 1 (created"
    ),
    "UPDATE submissions SET status = 'rejected' WHERE submission = 1": (
        "Submission 1 was changed: it is not what event 2 (submission, 2026-01-01T00:01:00)"
    ),
    "UPDATE submissions SET team = 't9' WHERE submission = 2": (
        'Submission 2 was changed: team is "t9", and event 3 (submission, 2026-01-01T00:02:00) '
        'recorded "t2".'
    ),
    "DELETE FROM submissions WHERE submission = 3": "Submission 3 is missing: event 4 (submission",
    "DELETE FROM predictions WHERE submission = 7": (
        "The predictions of submission 7 are incomplete."
    ),
    "UPDATE predictions SET value = 9 WHERE submission = 6": (
        "The predictions of submission 6 were changed: event 7 (submission"
    ),
    "UPDATE releases SET score = 9 WHERE submission = 4": (
        "Release 4 (submission 4) was changed: it is not what event 5 (submission"
    ),
    "DELETE FROM releases WHERE submission = 5": "Release 5 is missing: event 6 (submission",
    "INSERT INTO scores SELECT 7, 1, 0, 0": (
        "Revision 7 of the scores of submission 1 is not in the record."
    ),
    "DELETE FROM scores WHERE submission = 5 AND revision = 1": (
        "Revision 1 of the scores of submission 5 is missing: event 6 (submission"
    ),
    "UPDATE scores SET public_score = 9 WHERE submission = 4 AND revision = 2": (
        "One of the scores of submission 1 to 8 was changed: event 10 (rescored"
    ),
    "UPDATE results SET document = '{}' WHERE version = 1": (
        "Result 1 was changed: it is not what event 11 (published"
    ),
    "DELETE FROM results WHERE version = 2": "Result 2 is missing: event 12 (published",
    "INSERT INTO places VALUES ('ghost', 'total', 1)": (
        "The count of submissions of the team ghost (total) is 1, and the record has 0."
    ),
    "UPDATE places SET used = 9 WHERE team = 't6' AND day = 'total'": (
        "The count of submissions of the team t6 (total) is 9, and event 7 (submission, "
        "2026-01-01T00:06:00) recorded 1."
    ),
    "DELETE FROM places WHERE team = 't7' AND day <> 'total'": (
        "The count of submissions of the team t7 (on 2026-01-01) is missing, and event 8"
    ),
}
"""An edit -> what begins the sentence on it; all are made in one database."""
DERIVED = ["team_counts", "standings", "instances"]
HIDING = {
    "UPDATE meta SET value = 'edited' WHERE name = 'record_key'": [
        "The key of the record (record_key in meta) was changed: restore a backup."
    ],
    "UPDATE solutions SET solution = 2": [
        "Solution 1 is missing: event 1 (created",
        "Solution 2 is not in the record.",
        "The database contains rows of a solution that is not in the record.",
    ],
}
"""Edits after which others cannot be seen, each made alone."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of eight submissions, two revisions of their scores, and two results."""
    path = tmp_path_factory.mktemp("audit") / "x.duckdb"
    with Store.open(path) as store:
        with store.transaction() as transaction:
            transaction.put_solution(make_solution(N_ROWS))
            transaction.put_meta("settings", "{}")
            transaction.append_event("created", "host", {})
        for number in range(1, 9):
            submit(store, number, values_of(number, N_ROWS))
        with store.transaction() as transaction:
            transaction.put_all_scores(2, [ScoreRecord(n, n / 2, 0.0) for n in range(1, 9)])
            transaction.append_event("rescored", "host", {})
        for version in (1, 2):
            with store.transaction() as transaction:
                assert transaction.add_result({"board": version}) == version
                transaction.append_event("published", "host", {})
        assert store.audit() == ()
    return path


def problems_after(written: Path, folder: Path, *edits: str) -> list[str]:
    path = Path(shutil.copytree(written.parent, folder / "copy")) / written.name
    with Store.open(path) as store:
        for edit in edits:
            with store.transaction() as transaction:
                transaction._cursor.execute(edit)
        return list(store.audit())


@pytest.mark.parametrize(
    "edit", ["payload = '{'", "payload = '[]'", "submission = 7", "submission = NULL"]
)
def test_an_event_that_was_edited_is_not_read(written: Path, tmp_path: Path, edit: str) -> None:
    path = Path(shutil.copytree(written.parent, tmp_path / "copy")) / written.name
    with Store.open(path) as store:
        with store.transaction() as transaction:
            transaction._cursor.execute(f"UPDATE events SET {edit} WHERE sequence = 3")  # noqa: S608
        with pytest.raises(
            StoreFormatError, match=r"broken: event 3 \(submission, 2026-01-01T00:02"
        ):
            store.events()


def test_a_database_with_foreign_tables_names_three_of_them(written: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(written.parent, tmp_path / "copy")) / written.name
    with duckdb.connect(str(path)) as connection:
        for name in "abcde":
            connection.execute(f"CREATE TABLE foreign_{name} (x INTEGER)")
    with pytest.raises(StoreFormatError, match=r"foreign_c.* is not of arena\. 2 more differ\."):
        Store.open(path)


def test_every_edit_is_named(written: Path, tmp_path: Path) -> None:
    problems = problems_after(written, tmp_path, *EDITS)
    for sentence in EDITS.values():
        (problem,) = [problem for problem in problems if problem.startswith(sentence)]
        problems.remove(problem)
    assert [
        re.findall(r"The table (\w+), which is derived", problem)[0] for problem in problems
    ] == DERIVED


@pytest.mark.parametrize("edit", HIDING)
def test_an_edit_that_hides_others_is_named(written: Path, tmp_path: Path, edit: str) -> None:
    problems = problems_after(written, tmp_path, edit)
    for problem, sentence in zip(problems, HIDING[edit], strict=True):
        assert problem.startswith(sentence)


def test_an_edit_is_named_if_any_event_since_then_recorded_the_row() -> None:
    with Store.open() as store:
        with store.transaction() as transaction:
            transaction.put_solution(make_solution(N_ROWS))
            transaction.append_event("created", "host", payload={})
        submit(store, 1, values_of(1, N_ROWS))
        with store.transaction() as transaction:
            transaction.bind_everything()
            transaction.append_event("repair", "host", payload={})
        with store.database.transaction() as cursor:
            cursor.execute("UPDATE submissions SET file = 'other.csv'")
        # Event 2 recorded the submission, and event 3 everything again.
        for since, named in ((1, "event 2 (submission, "), (2, "event 3 (repair, ")):
            (problem,) = store.audit(since=since)
            assert problem.startswith(f"Submission 1 was changed: it is not what {named}")
        assert store.audit(since=3) == ()
