"""A competition that lasts, driven from Python, while it runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition import create
from arena.competition.competition import Competition
from arena.competition.release_log import PublicRowReader
from arena.config import Settings
from arena.errors import ArenaError, InputError, UsageError
from arena.public_board.releaser import read_public_rows
from arena.store import Store
from arena.types import Usage
from few_rows import ShareRight, manager_of_few
from program import write_csv
from scenario import N_ROWS, START, Scenario


@pytest.mark.slow
def test_a_share_of_each_class_is_made_public(scenario: Scenario) -> None:
    del scenario.solution["Usage"]
    with scenario.create(metric="roc_auc", public_share=0.5) as competition:
        usage, truth = competition.solution.usage, competition.solution.truth
        for code in (0, 1):
            public = (usage[truth == code] == Usage.PUBLIC).mean()
            assert public == pytest.approx(0.5, abs=0.02)
    sample = (scenario.folder / "sample_submission.csv").read_text().splitlines()
    assert sample[0] == "id,y"
    assert len(sample) == N_ROWS + 1
    with scenario.reopen() as competition:
        answer = competition.submit(scenario.folder / "sample_submission.csv", "sample")
        assert answer.status == "accepted"
        assert answer.released == 0.5


def test_nothing_is_written_where_a_competition_cannot_be_made(scenario: Scenario) -> None:
    with pytest.raises(ArenaError, match="Did you mean 'full'"):
        scenario.create(mechanism="fulll")
    assert not scenario.folder.exists()
    scenario.folder.mkdir()
    (scenario.folder / "sample_submission.csv").write_text("mine")
    with pytest.raises(InputError, match="already contains sample_submission.csv"):
        scenario.create()
    assert [path.name for path in scenario.folder.iterdir()] == ["sample_submission.csv"]
    assert (scenario.folder / "sample_submission.csv").read_text() == "mine"


def test_a_submission_is_released_and_stored_once(scenario: Scenario) -> None:
    with scenario.create() as competition:
        first = competition.submit(scenario.file(1), "one")
        assert first.status == "accepted"
        assert first.released is not None
        again = competition.submit(scenario.file(1), "one")
        assert again == first
        assert (first.known, again.known) == (False, True)
        assert first.receipt
        assert replace(first, receipt=None) == first  # an answer is the same without its proof
    with scenario.reopen() as competition:
        assert competition.submit(scenario.file(1), "one") == first
        (row,) = competition.submissions()
        assert row["released"] == first.released
        assert [event.kind for event in competition.events()] == ["created", "submission"]
        assert competition.verify_events() is None


@pytest.mark.slow
def test_earlier_predictions_are_read_in_the_order_asked_for(scenario: Scenario) -> None:
    with scenario.create() as competition:
        for number in (1, 2):
            competition.submit(scenario.file(number), "one")
    store = Store.open(scenario.folder / "arena.duckdb")
    rows = np.arange(N_ROWS) < 20
    first, second = (read_public_rows(store, rows, [number])[0] for number in (1, 2))
    assert not np.array_equal(first, second)
    # The store cannot read that of the open transaction.
    third = np.arange(20.0)[np.newaxis]
    read = PublicRowReader(store, rows, {3: third})
    np.testing.assert_array_equal(read([2, 3, 1]), [second, third[0], first])
    store.close()


@pytest.mark.slow
def test_limits_are_counted_by_day_and_in_total(scenario: Scenario) -> None:
    with scenario.create(per_day=2, total=3) as competition:

        def status(number: int) -> str:
            return competition.submit(scenario.file(number), "one").status

        assert [status(1), status(2), status(3)] == ["accepted", "accepted", "refused"]
        scenario.clock.now += timedelta(hours=2)  # past midnight, UTC
        assert [status(3), status(4)] == ["accepted", "refused"]
        scenario.clock.now += timedelta(days=1)
        answer = competition.submit(scenario.file(4), "one")
        assert answer.status == "refused"
        assert answer.faults[0].kind == "limit"
        assert "3 submissions in all" in answer.faults[0].message
        assert competition.submit(scenario.file(4), "other").status == "accepted"


@pytest.mark.slow
@pytest.mark.parametrize(("counted", "expected"), [(False, "accepted"), (True, "refused")])
def test_rejected_files_use_up_a_place_if_the_settings_say_so(
    tmp_path: Path, scenario: Scenario, counted: bool, expected: str
) -> None:
    (tmp_path / "bad.csv").write_text("id,y\nr0,much\n")
    with scenario.create(total=1, count_rejected=counted) as competition:
        assert competition.submit(tmp_path / "bad.csv", "one").status == "rejected"
        assert competition.submit(scenario.file(1), "one").status == expected


@pytest.mark.slow
def test_nothing_is_taken_after_the_deadline(scenario: Scenario) -> None:
    with scenario.create(deadline=START + timedelta(hours=1)) as competition:
        scenario.clock.now += timedelta(hours=1)
        assert competition.submit(scenario.file(1), "one").status == "accepted"
        scenario.clock.now += timedelta(seconds=1)
        answer = competition.submit(scenario.file(2), "one")
        assert answer.status == "refused"
        assert answer.faults[0].kind == "deadline"


@pytest.mark.slow
def test_an_import_knows_no_limit_and_goes_on_where_it_stopped(
    tmp_path: Path, scenario: Scenario
) -> None:
    folder = tmp_path / "folder"
    for number in range(5):
        (folder / "one").mkdir(parents=True, exist_ok=True)
        scenario.file(number).rename(folder / "one" / f"{number}.csv")
    with scenario.create(total=1) as competition:
        answers = competition.import_folder(folder)
        assert [next(answers).submission, next(answers).submission] == [1, 2]
        answers.close()  # type: ignore[attr-defined]
        again = list(competition.import_folder(folder))
        assert [answer.submission for answer in again] == [1, 2, 3, 4, 5]
        assert len(competition.submissions()) == 5


@pytest.mark.slow
def test_the_public_board_shows_the_best_release(scenario: Scenario) -> None:
    with scenario.create(baseline="base") as competition:
        best_releases = {}
        for number, team in enumerate(["one", "two", "one", "base"]):
            released = competition.submit(scenario.file(number), team).released
            best_releases[team] = max(released or 0, best_releases.get(team, 0))
        board = competition.leaderboard()
        assert {row["team"]: row["score"] for row in board} == best_releases
        assert {row["team"]: row["rank"] for row in board}["base"] is None
        assert sorted(row["rank"] for row in board if row["team"] != "base") == [1, 2]
        assert {row["team"]: row["n_submissions"] for row in board}["one"] == 2
        best = next(row for row in board if row["team"] == "one")["submission"]
        competition.disqualify(best, "shared an account")
        after = next(row for row in competition.leaderboard() if row["team"] == "one")
        assert after["submission"] != best


@pytest.mark.slow
def test_choices_are_checked_and_recorded(scenario: Scenario) -> None:
    with scenario.create(final_rule="chosen", final_count=1) as competition:
        first = competition.submit(scenario.file(1), "one").submission
        second = competition.submit(scenario.file(2), "one").submission
        other = competition.submit(scenario.file(3), "two").submission
        with pytest.raises(UsageError, match="may select 1 submission, not 2"):
            competition.select("one", [first, second])
        with pytest.raises(UsageError, match="not an accepted submission of this team"):
            competition.select("one", [other])
        with pytest.raises(UsageError, match="No submission of a team"):
            competition.select("three", [other])
        competition.select("one", [first])
        competition.select("one", [second])
        assert [row["selected"] for row in competition.submissions()] == [False, True, False]
        with pytest.raises(UsageError, match="needs a reason"):
            competition.disqualify(first, " ")
        with pytest.raises(UsageError, match="no submission 99"):
            competition.disqualify(99, "because")
        with pytest.raises(UsageError, match="no submission 99"):
            competition.consequences_of_disqualifying(99, reason="because")
        kinds = [event.kind for event in competition.events()]
        assert kinds == ["created", *["submission"] * 3, "selection", "selection"]


def test_a_folder_holds_one_competition(scenario: Scenario) -> None:
    scenario.create().close()
    with pytest.raises(InputError, match="already contains a competition"):
        scenario.create()


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True])
def test_a_failed_init_leaves_the_folder_as_it_was(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, *, exists: bool
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(create, "write_sample", fail)
    if exists:
        scenario.folder.mkdir()
        (scenario.folder / "rules.md").write_text("Be fair.")
    with pytest.raises(OSError, match="the disk is full"):
        scenario.create()
    assert [path.name for path in scenario.root.glob("c/*")] == ["rules.md"] * exists
    assert scenario.folder.exists() == exists
    monkeypatch.undo()
    scenario.create().close()


@pytest.mark.slow
def test_what_an_interrupted_init_left_is_said(scenario: Scenario) -> None:
    scenario.create().close()
    (scenario.folder / "competition.toml").unlink()
    with pytest.raises(InputError, match="an interrupted `arena init` left it, delete the folder"):
        scenario.create()


def test_no_label_is_in_the_record(scenario: Scenario) -> None:
    labels = [f"{i * 7919 % 100003}.{i:04d}77" for i in range(1, N_ROWS + 1)]
    scenario.solution["y"] = labels
    with scenario.create(metric="mae") as competition:
        competition.submit(scenario.file(1), "one")
        texts = "".join(str(event) for event in competition.events())
        texts += str(competition.submissions()) + str(competition.leaderboard())
    for name in ("competition.toml", "sample_submission.csv"):
        texts += (scenario.folder / name).read_text()
    assert not [label for label in labels if label in texts]


# -- the end -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_metric_of_arena_is_run_on_private_rows_at_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it can be scored, and how long that takes, would tell of private labels."""
    usage = ["Public"] * 4 + ["Private"] * 8
    ids = [f"r{row}" for row in range(12)]
    truth = [row % 2 for row in range(12)]
    write_csv(
        tmp_path / "solution.csv", ["id", "y", "Usage"], list(zip(ids, truth, usage, strict=True))
    )
    write_csv(tmp_path / "a.csv", ["id", "y"], list(zip(ids, truth, strict=True)))
    n_rows: list[int] = []
    row_values = ShareRight.row_values

    def recorded(self: ShareRight, truth: Any, predictions: Any) -> Any:
        n_rows.append(len(truth))
        return row_values(self, truth, predictions)

    monkeypatch.setattr(ShareRight, "row_values", recorded)
    settings = Settings.model_validate(
        {"metric": {"name": "share_right"}, "analysis": {"resamples": 2}}
    )
    folder, manager = tmp_path / "c", manager_of_few()
    made_here = Competition.create(folder, tmp_path / "solution.csv", settings, manager=manager)
    with made_here as competition:
        n_rows.clear()
        assert competition.submit(tmp_path / "a.csv", "a").status == "accepted"
        assert set(n_rows) == {4}
