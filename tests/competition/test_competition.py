"""A competition that lasts, driven from Python."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from arena.bundle import verify_bundle
from arena.competition import Competition
from arena.config import Settings
from arena.errors import ArenaError, InputError, UsageError
from arena.execution import Silence
from arena.plugin_manager import PluginManager
from arena.types import Usage
from program import write_csv

N_ROWS = 60
START = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    rows = [(f"r{i}", int(rng.random() < 0.5)) for i in range(N_ROWS)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    return tmp_path / "solution.csv"


def made(tmp_path: Path, solution: Path, clock: Clock, **sections: Any) -> Competition:
    settings = Settings.model_validate({"metric": {"name": "roc_auc"}, **sections})
    return Competition.create(
        tmp_path / "c", solution, settings, public_share=0.5, seed=1, clock=clock
    )


def file_of(tmp_path: Path, number: int) -> Path:
    rng = np.random.default_rng(number)
    path = tmp_path / f"file-{number}.csv"
    write_csv(path, ["id", "y"], [(f"r{i}", repr(float(rng.random()))) for i in range(N_ROWS)])
    return path


def test_a_share_of_each_class_is_made_public(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock) as competition:
        usage, truth = competition.solution.usage, competition.solution.truth
        for code in (0, 1):
            public = (usage[truth == code] == Usage.PUBLIC).mean()
            assert public == pytest.approx(0.5, abs=0.02)
    sample = (tmp_path / "c" / "sample_submission.csv").read_text().splitlines()
    assert sample[0] == "id,y"
    assert len(sample) == N_ROWS + 1
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        answer = competition.submit(tmp_path / "c" / "sample_submission.csv", "sample")
        assert answer.status == "accepted"
        assert answer.released == 0.5


def test_nothing_is_written_where_a_competition_cannot_be_made(
    tmp_path: Path, solution: Path
) -> None:
    folder = tmp_path / "c"
    settings = Settings.model_validate(
        {"metric": {"name": "roc_auc"}, "public": {"mechanism": "fulll"}}
    )
    with pytest.raises(ArenaError, match="Did you mean 'full'"):
        Competition.create(folder, solution, settings)
    assert not folder.exists()
    folder.mkdir()
    (folder / "sample_submission.csv").write_text("mine")
    with pytest.raises(InputError, match="has a sample_submission.csv already"):
        Competition.create(folder, solution, "roc_auc")
    assert [path.name for path in folder.iterdir()] == ["sample_submission.csv"]
    assert (folder / "sample_submission.csv").read_text() == "mine"


def test_a_submission_is_released_and_stored_once(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock) as competition:
        first = competition.submit(file_of(tmp_path, 1), "one")
        assert first.status == "accepted"
        assert first.released is not None
        assert competition.submit(file_of(tmp_path, 1), "one") == first
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert competition.submit(file_of(tmp_path, 1), "one") == first
        (row,) = competition.submissions()
        assert row["released"] == first.released
        assert [event.kind for event in competition.events()] == ["created", "submission"]
        assert competition.verify_events() is None


def test_limits_are_counted_by_day_and_in_total(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, limits={"per_day": 2, "total": 3}) as competition:

        def status(number: int) -> str:
            return competition.submit(file_of(tmp_path, number), "one").status

        assert [status(1), status(2), status(3)] == ["accepted", "accepted", "refused"]
        clock.now += timedelta(hours=2)  # past midnight, UTC
        assert [status(3), status(4)] == ["accepted", "refused"]
        clock.now += timedelta(days=1)
        answer = competition.submit(file_of(tmp_path, 4), "one")
        assert answer.status == "refused"
        assert answer.faults[0].kind == "limit"
        assert "3 submissions in all" in answer.faults[0].message
        assert competition.submit(file_of(tmp_path, 4), "other").status == "accepted"


@pytest.mark.parametrize(("counted", "expected"), [(False, "accepted"), (True, "refused")])
def test_rejected_files_use_up_a_place_if_the_settings_say_so(
    tmp_path: Path, solution: Path, clock: Clock, counted: bool, expected: str
) -> None:
    limits = {"total": 1, "count_rejected": counted}
    (tmp_path / "bad.csv").write_text("id,y\nr0,much\n")
    with made(tmp_path, solution, clock, limits=limits) as competition:
        assert competition.submit(tmp_path / "bad.csv", "one").status == "rejected"
        assert competition.submit(file_of(tmp_path, 1), "one").status == expected


def test_nothing_is_taken_after_the_deadline(tmp_path: Path, solution: Path, clock: Clock) -> None:
    deadline = {"deadline": START + timedelta(hours=1)}
    with made(tmp_path, solution, clock, competition=deadline) as competition:
        clock.now += timedelta(hours=1)
        assert competition.submit(file_of(tmp_path, 1), "one").status == "accepted"
        clock.now += timedelta(seconds=1)
        answer = competition.submit(file_of(tmp_path, 2), "one")
        assert answer.status == "refused"
        assert answer.faults[0].kind == "deadline"


def test_an_import_knows_no_limit_and_goes_on_where_it_stopped(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    folder = tmp_path / "folder"
    for number in range(5):
        (folder / "one").mkdir(parents=True, exist_ok=True)
        file_of(tmp_path, number).rename(folder / "one" / f"{number}.csv")
    with made(tmp_path, solution, clock, limits={"total": 1}) as competition:
        answers = competition.import_folder(folder)
        assert [next(answers).submission, next(answers).submission] == [1, 2]
        answers.close()  # type: ignore[attr-defined]
        again = list(competition.import_folder(folder))
        assert [answer.submission for answer in again] == [1, 2, 3, 4, 5]
        assert len(competition.submissions()) == 5


def test_the_public_board_shows_the_best_release(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, competition={"baseline": "base"}) as competition:
        shown = {}
        for number, team in enumerate(["one", "two", "one", "base"]):
            released = competition.submit(file_of(tmp_path, number), team).released
            shown[team] = max(released or 0, shown.get(team, 0))
        board = competition.leaderboard()
        assert {row["team"]: row["score"] for row in board} == shown
        assert {row["team"]: row["rank"] for row in board}["base"] is None
        assert sorted(row["rank"] for row in board if row["team"] != "base") == [1, 2]
        assert {row["team"]: row["n_submissions"] for row in board}["one"] == 2
        best = next(row for row in board if row["team"] == "one")["submission"]
        competition.disqualify(best, "shared an account")
        after = next(row for row in competition.leaderboard() if row["team"] == "one")
        assert after["submission"] != best


def test_choices_are_checked_and_recorded(tmp_path: Path, solution: Path, clock: Clock) -> None:
    final = {"rule": "chosen", "count": 1}
    with made(tmp_path, solution, clock, final=final) as competition:
        first = competition.submit(file_of(tmp_path, 1), "one").submission
        second = competition.submit(file_of(tmp_path, 2), "one").submission
        other = competition.submit(file_of(tmp_path, 3), "two").submission
        with pytest.raises(UsageError, match="may choose 1 submission, not 2"):
            competition.select("one", [first, second])
        with pytest.raises(UsageError, match="none of this team's"):
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
        kinds = [event.kind for event in competition.events()]
        assert kinds == ["created", *["submission"] * 3, "selection", "selection"]


def test_a_folder_holds_one_competition(tmp_path: Path, solution: Path, clock: Clock) -> None:
    made(tmp_path, solution, clock).close()
    with pytest.raises(InputError, match="holds a competition already"):
        made(tmp_path, solution, clock)


def test_no_label_is_in_the_record(tmp_path: Path, clock: Clock) -> None:
    labels = [f"{i * 7919 % 100003}.{i:04d}77" for i in range(1, N_ROWS + 1)]
    rows = [(f"r{i}", label) for i, label in enumerate(labels)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    settings = Settings.model_validate({"metric": {"name": "mae"}})
    with Competition.create(
        tmp_path / "c", tmp_path / "solution.csv", settings, clock=clock
    ) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
        shown = "".join(str(event) for event in competition.events())
        shown += str(competition.submissions()) + str(competition.leaderboard())
    for name in ("competition.toml", "sample_submission.csv"):
        shown += (tmp_path / "c" / name).read_text()
    assert not [label for label in labels if label in shown]


# -- the end -------------------------------------------------------------------------------------


def test_finalizing_twice_is_finalizing_once(tmp_path: Path, solution: Path, clock: Clock) -> None:
    analysis = {"resamples": 50}
    with made(tmp_path, solution, clock, analysis=analysis) as competition:
        with pytest.raises(UsageError, match="no accepted submission"):
            competition.finalize()
        with pytest.raises(UsageError, match="arena finalize first"):
            competition.private_leaderboard()
        for number, team in enumerate(["one", "two", "one"]):
            competition.submit(file_of(tmp_path, number), team)
        first = competition.finalize().to_dict()
        clock.now += timedelta(days=1)
        assert competition.finalize().to_dict() == first
        assert [event.kind for event in competition.events()].count("finalized") == 1
        best = {row["team"]: row["submission"] for row in competition.leaderboard()}
        board = competition.private_leaderboard()
        assert {row["team"]: row["submission"] for row in board} == best
        assert [row["n_submissions"] for row in sorted(board, key=lambda row: row["team"])] == [
            2,
            1,
        ]
        competition.disqualify(best["one"], "a leak")
        after = {row["team"]: row["submission"] for row in competition.finalize().standings}
        assert after["one"] != best["one"]
        assert [event.kind for event in competition.events()].count("finalized") == 2


def test_the_rule_decides_which_submission_counts(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    results = {}
    for rule in ("best_public", "last", "chosen", "best_private"):
        folder = tmp_path / rule
        folder.mkdir()
        sections = {"final": {"rule": rule, "count": 1}, "analysis": {"resamples": 20}}
        with made(folder, solution, clock, **sections) as competition:
            for number in range(6):
                competition.submit(file_of(tmp_path, number), "one")
            competition.submit(file_of(tmp_path, 9), "base")
            competition.select("one", [2])
            results[rule] = competition.finalize()
    own = {
        rule: next(row for row in result.standings if row["team"] == "one")
        for rule, result in results.items()
    }
    assert own["last"]["submission"] == 6
    assert own["chosen"]["submission"] == 2
    assert own["best_public"]["public_score"] >= max(row["public_score"] for row in own.values())
    assert own["best_private"]["score"] >= max(row["score"] for row in own.values())
    assert any("too good" in note for note in results["best_private"].notes)
    assert not any("too good" in note for note in results["last"].notes)


def test_the_baseline_stands_unranked_on_the_private_board_and_is_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"competition": {"baseline": "base"}, "analysis": {"resamples": 20}}
    with made(tmp_path, solution, clock, **sections) as competition:
        for number, team in enumerate(["one", "base"]):
            competition.submit(file_of(tmp_path, number), team)
        result = competition.finalize()
        assert [row["team"] for row in result.standings] == ["one"]
        ranked, marked = competition.private_leaderboard()
        assert list(ranked) == list(marked)
        assert (ranked["rank"], marked["rank"]) == (1, None)
        assert (ranked["baseline"], marked["baseline"]) == (False, True)
        truth, usage = competition.solution.truth, competition.solution.usage
        rows = usage == Usage.PRIVATE
        scores = np.random.default_rng(1).random(N_ROWS)
        assert marked["score"] == pytest.approx(roc_auc_score(truth[rows], scores[rows]))
        competition.export(tmp_path / "export")
    manager = PluginManager()
    assert verify_bundle(tmp_path / "export", solution, manager, Silence()) == ()
    changed = json.loads((tmp_path / "export" / "result.json").read_text())
    changed["baseline"]["score"] += 0.01
    (tmp_path / "export" / "result.json").write_text(json.dumps(changed))
    told = verify_bundle(tmp_path / "export", solution, manager, Silence())
    assert "score of the baseline differs." in told


def test_of_more_chosen_than_are_allowed_by_now_the_best_on_public_count(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 3}, "analysis": {"resamples": 20}}
    with made(tmp_path, solution, clock, **sections) as competition:
        answers = [competition.submit(file_of(tmp_path, n), "one") for n in range(3)]
        competition.select("one", [answer.submission for answer in answers])
        assert competition.finalize().notes[-1].startswith("A team that chose several")
    config = tmp_path / "c" / "competition.toml"
    config.write_text(config.read_text().replace("count = 3", "count = 1"))
    best = max(answers, key=lambda answer: answer.released or 0.0).submission
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        result = competition.finalize()
        assert [row["submission"] for row in result.standings] == [best]
        assert "The team one chose 3 submissions" in result.notes[-1]


def test_tied_teams_share_a_rank_or_the_earlier_is_ahead(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    for ties, ranks in (("shared", [1, 1]), ("earliest", [1, 2])):
        folder = tmp_path / ties
        folder.mkdir()
        sections = {"final": {"ties": ties}, "analysis": {"resamples": 20}}
        with made(folder, solution, clock, **sections) as competition:
            for team in ("zebra", "ape"):
                competition.submit(file_of(tmp_path, 1), team)
            standings = competition.finalize().standings
            assert [(row["team"], row["rank"]) for row in standings] == list(
                zip(["zebra", "ape"], ranks, strict=True)
            )


def test_an_export_is_the_same_bytes_and_can_be_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 2}, "analysis": {"resamples": 50}}
    with made(tmp_path, solution, clock, **sections) as competition:
        with pytest.raises(UsageError, match="arena finalize first"):
            competition.export(tmp_path / "early")
        for number, team in enumerate(["=one", "two", "=one", "three"]):
            competition.submit(file_of(tmp_path, number), team)
        competition.select("=one", [1, 3])
        competition.finalize()
        competition.export(tmp_path / "first")
        competition.finalize()
        competition.export(tmp_path / "second")
        with pytest.raises(InputError, match="not empty"):
            competition.export(tmp_path / "second")
    names = sorted(str(p.relative_to(tmp_path / "first")) for p in (tmp_path / "first").rglob("*"))
    for name in names:
        one, two = tmp_path / "first" / name, tmp_path / "second" / name
        assert one.is_dir() or one.read_bytes() == two.read_bytes()
    assert "'=one" in (tmp_path / "first" / "private.csv").read_text()
    manager = PluginManager()
    assert verify_bundle(tmp_path / "first", solution, manager, Silence()) == ()
    final = next((tmp_path / "second" / "finals").glob("2.csv"))
    lines = final.read_text().splitlines()
    final.write_text("\n".join([lines[0], *(f"{line.split(',')[0]},0.5" for line in lines[1:])]))
    events = (tmp_path / "second" / "events.jsonl").read_text()
    (tmp_path / "second" / "events.jsonl").write_text(events.replace('"two"', '"owt"'))
    problems = verify_bundle(tmp_path / "second", solution, manager, Silence())
    assert any("score of the team two differs" in problem for problem in problems)
    assert any("was changed after it was written" in problem for problem in problems)


# -- changes -------------------------------------------------------------------------------------


def test_a_change_of_a_limit_is_recorded_and_counts_at_once(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, limits={"total": 1}) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
        assert competition.submit(file_of(tmp_path, 2), "one").status == "refused"
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace("total = 1", "total = 2"))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert competition.submit(file_of(tmp_path, 2), "one").status == "accepted"
        changed = [event for event in competition.events() if event.kind == "configuration"]
        assert [event.payload for event in changed] == [{"changes": [["limits.total", 1, 2]]}]
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        kinds = [event.kind for event in competition.events()]
        assert kinds.count("configuration") == 1


def test_the_mechanism_stays_once_scores_were_released(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"full"', '"kaggle(rounding=0.01)"'))
    with pytest.raises(InputError, match="Scores were released by the mechanism full"):
        Competition.open(tmp_path / "c", clock=clock)
    toml.write_text(toml.read_text().replace("kaggle(", "kagle("))
    with pytest.raises(ArenaError, match="Did you mean 'kaggle'"):
        Competition.open(tmp_path / "c", clock=clock)


def test_corrected_labels_are_shown_first_and_then_applied(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, analysis={"resamples": 20}) as competition:
        for number, team in enumerate(["one", "two", "three"]):
            competition.submit(file_of(tmp_path, number), team)
        before = [row["team"] for row in competition.finalize().standings]
        released = competition.submissions()
        lines = solution.read_text().splitlines()
        flipped = [f"{line[:-1]}{1 - int(line[-1])}" for line in lines[1:]]
        solution.write_text("\n".join([lines[0], *reversed(flipped)]))
        changes = competition.rescore(solution)
        assert [change.team for change in changes] == before[::-1]
        assert [(change.rank_before, change.rank_after) for change in changes] == [
            (3, 1),
            (2, 2),
            (1, 3),
        ]
        assert changes[0].score_after == pytest.approx(1 - (changes[0].score_before or 0))
        assert [row["team"] for row in competition.finalize().standings] == before
        assert competition.rescore(solution, apply=True) == changes
        assert [row["team"] for row in competition.finalize().standings] == before[::-1]
        assert competition.submissions() == released
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert [row["team"] for row in competition.private_leaderboard()] == before[::-1]
        assert competition.events()[-2].kind == "rescored"
        assert competition.verify_events() is None
        assert competition.rescore() == competition.rescore()
        assert not any(change.changed for change in competition.rescore())


def test_another_metric_waits_for_a_rescore(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock, analysis={"resamples": 20}) as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(file_of(tmp_path, number), team)
        assert competition.notes == ()
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"roc_auc"', '"average_precision"'))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert "until arena rescore --apply" in competition.notes[0]
        assert competition.finalize().metric == "roc_auc"
        competition.rescore(apply=True)
        assert competition.notes == ()
        assert competition.finalize().metric == "average_precision"
    toml.write_text(toml.read_text().replace('"average_precision"', '"mae"'))
    with (
        Competition.open(tmp_path / "c", clock=clock) as competition,
        pytest.raises(InputError, match="another kind of prediction"),
    ):
        competition.rescore()


def test_another_solution_is_no_correction(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock) as competition:
        text = solution.read_text()
        solution.write_text(text.replace("r59,", "r60,"))
        with pytest.raises(InputError, match="other ids"):
            competition.rescore(solution)
        solution.write_text(text.replace(",1", ",2"))
        with pytest.raises(InputError, match="other classes"):
            competition.rescore(solution)
