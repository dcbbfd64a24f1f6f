"""What a foreign metric refuses on the private rows is said at submission, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from competition_folder import change
from program import UNPROTECTED, run_here, write_csv

ROWS = {f"r{row}": (row % 2, "Public" if row < 4 else "Private") for row in range(8)}
PRIVATE = "r6"
METRIC = """
class ParticipantVisibleError(Exception): ...

def score(solution, submission, row_id_column_name):
    if (submission["y"] == 13).any():
        raise ParticipantVisibleError(f"the label of {solution['id'][0]} is {solution['y'][0]}")
    if (submission["y"] == 14).any():
        raise ParticipantVisibleError(f"{solution['y'].sum()} labels are 1")
    if (submission["y"] == 15).any() and solution["y"].iloc[0] == 0:
        raise ParticipantVisibleError("no")
    if (bad := submission["y"] == 16).any():
        raise ParticipantVisibleError(f"{bad.sum()} bad rows, first {submission.id[bad].iloc[0]}")
    if (submission["y"] == 0.125).any() and len(submission) < 8:
        raise ParticipantVisibleError(f"{len(submission)} rows are too few")
    if (submission["y"] > 1).any():
        raise ParticipantVisibleError("y must be at most 1 in every row")
    if (submission["y"] < 0).any():
        raise KeyError(f"secret labels {solution['y'].tolist()}")
    if (submission["y"] == 0.25).any():
        return float("nan")
    return float(((submission["y"] > 0.5) == solution["y"]).mean())
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    rows = [(id, label, usage) for id, (label, usage) in ROWS.items()]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    (tmp_path / "metric.py").write_text(METRIC)
    called = run_here(
        "init",
        "c",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "kaggle:metric.py",
        cwd=tmp_path,
    )
    assert called.returncode == 0, called.stderr
    change(tmp_path / "c", "# total =", "total = 2")
    return tmp_path


def sent(work: Path, value: float, **other: float) -> Any:
    """Send 0.75 in every row but a private one."""
    cells = dict.fromkeys(ROWS, 0.75) | {PRIVATE: value} | other
    path = work / f"{value}-{len(other)}.csv"
    write_csv(path, ["id", "y"], list(cells.items()))
    return run_here("submit", path, "--team", "a", "--json", cwd=work / "c")


@pytest.mark.slow
def test_the_team_hears_in_time_of_what_the_private_rows_refuse(work: Path) -> None:
    called = sent(work, 2.0)
    answer = json.loads(called.stdout)
    assert (answer["status"], answer["released"]) == ("rejected", None)
    (fault,) = answer["faults"]
    assert fault["kind"] == "refused by the metric"
    assert fault["message"] == "y must be at most 1 in every row"


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [pytest.param("r0", id="public", marks=pytest.mark.slow), pytest.param(PRIVATE, id="private")],
)
def test_what_the_metric_refuses_takes_a_place(work: Path, row: str) -> None:
    answers = [json.loads(sent(work, 0.75, **{row: 2.0 + number}).stdout) for number in range(3)]
    faults = [answer["faults"][0] for answer in answers]
    assert [answer["status"] for answer in answers] == ["rejected", "rejected", "refused"]
    assert [fault["kind"] for fault in faults] == [*["refused by the metric"] * 2, "limit"]
    assert "at most 1" not in faults[2]["message"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(13.0, id="a label", marks=pytest.mark.slow),
        pytest.param(14.0, id="a count of labels", marks=pytest.mark.slow),
        pytest.param(15.0, id="that depends on a label", marks=pytest.mark.slow),
    ],
)
def test_a_text_for_participants_that_depends_on_labels_is_for_the_organiser(
    work: Path, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    called = sent(work, 0.75, r0=value)
    answer = json.loads(called.stdout)
    assert answer["status"] == "rejected"
    (fault,) = answer["faults"]
    assert fault["kind"] == "could not be scored"
    messages = [record.message for record in caplog.records if record.levelname != "DEBUG"]
    assert "refuses a submission: " in messages[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        ("r1", "r5", "r7"),
        pytest.param(("r1", "r2", "r3"), marks=pytest.mark.slow),
        pytest.param(("r5", "r6", "r7"), marks=pytest.mark.slow),
    ],
    ids=["both", "public", "private"],
)
def test_a_text_for_participants_is_about_all_rows(work: Path, rows: tuple[str, ...]) -> None:
    called = sent(work, 0.75, **dict.fromkeys(rows, 16.0))
    (fault,) = json.loads(called.stdout)["faults"]
    assert fault["message"] == f"3 bad rows, first {rows[0]}"


@pytest.mark.slow
def test_a_text_that_is_not_raised_on_all_rows_is_for_the_organiser(work: Path) -> None:
    (fault,) = json.loads(sent(work, 0.75, r0=0.125).stdout)["faults"]
    assert fault["kind"] == "could not be scored"
    answer = json.loads(sent(work, 0.125).stdout)
    assert (answer["status"], answer["faults"]) == ("accepted", [])


@pytest.mark.slow
def test_no_such_text_tells_of_private_labels(work: Path) -> None:
    answers = [json.loads(sent(work, value).stdout) for value in (13.0, 14.0)]
    assert [answer["status"] for answer in answers] == ["accepted", "accepted"]
    assert [answer["faults"] for answer in answers] == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(-1.0, id="an error"),
        pytest.param(0.25, id="no finite score", marks=pytest.mark.slow),
    ],
)
def test_nothing_else_of_the_private_rows_is_told(
    work: Path, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    called = sent(work, value)
    answer = json.loads(called.stdout)
    assert answer["status"] == "accepted"
    assert answer["released"] == 0.5
    assert answer["faults"] == []
    # For the organiser, who can mend the metric before the end.
    (message,) = (record.message for record in caplog.records if record.levelname != "DEBUG")
    what = "failed with KeyError at" if value < 0 else "has no finite value."
    assert message.startswith(f"{value}-0.csv of a, on the private rows: kaggle:metric.py {what}")
    assert "secret" not in message + called.stderr
