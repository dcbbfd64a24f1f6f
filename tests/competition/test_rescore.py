"""What changes under way: limits, mechanism, labels, metric."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from arena.competition import rescore
from arena.competition.competition import Competition
from arena.competition.record.ledger import Ledger
from arena.errors import InputError, MetricError, UsageError
from arena.utils.parallel import NoProgress
from competition_folder import as_older_version
from program import run_here
from scenario import Scenario


@pytest.mark.slow
def test_a_change_of_a_limit_is_recorded_and_counts_at_once(scenario: Scenario) -> None:
    with scenario.create(total=1) as competition:
        competition.submit(scenario.file(1), "one")
        assert competition.submit(scenario.file(2), "one").status == "refused"
    scenario.configure(total=2)
    with scenario.reopen() as competition:
        assert competition.submit(scenario.file(2), "one").status == "accepted"
        changed = [event for event in competition.events() if event.kind == "configuration"]
        assert [event.payload["changes"] for event in changed] == [[["limits.total", 1, 2]]]
    with scenario.reopen() as competition:
        kinds = [event.kind for event in competition.events()]
        assert kinds.count("configuration") == 1


def test_another_metric_waits_for_a_rescore(scenario: Scenario) -> None:
    with scenario.create() as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(scenario.file(number), team)
        assert competition.notes == ()
    scenario.configure(metric="f1")
    with scenario.reopen() as competition:
        assert "until you run arena rescore --apply" in competition.notes[0]
        assert competition.finalize().metric == "accuracy"
        with mock.patch.object(rescore, "full_scores", wraps=rescore.full_scores) as scored:
            competition.rescore(apply=True)
        assert min(call.kwargs["workers"] for call in scored.call_args_list) >= 1
        assert competition.notes == ()
        assert competition.finalize().metric == "f1"
    scenario.configure(metric="roc_auc")
    with pytest.raises(InputError, match=r"\[metric\] name: roc_auc .* Choose another metric"):
        scenario.reopen()


HITS = """
def score(solution, submission, row_id_column_name):
    return float((solution["y"] == submission["y"]).mean()){}
"""


def test_the_file_of_a_metric_that_changed_waits_for_a_rescore(scenario: Scenario) -> None:
    file = scenario.root / "hits.py"
    file.write_text(HITS.format(""))
    metric = f"kaggle:{file}(lower_is_better=False)"
    with scenario.create(metric=metric) as competition:
        assert competition.submit(scenario.file_right_on(60), "one").released == 0.6
        assert competition.notes == ()
    file.write_text(HITS.format(" / 2"))
    with scenario.reopen() as competition:
        assert competition.notes == (
            f"The code of {metric} has changed. The scores use the previous code until "
            "you run arena rescore --apply.",
        )
        assert competition.submit(scenario.file_right_on(70), "two").released == 0.7
        competition.rescore(apply=True, workers=1)
        assert competition.notes == ()
        assert [row["score"] for row in competition.leaderboard()] == [0.35, 0.3]
    file.unlink()
    with scenario.reopen() as competition:
        (note,) = competition.notes
        assert note.endswith(" The scores use the stored copy of its code.")


IDS = ["p1", "p2", "s1", "s2", "s3", "s4"]
USAGE = ["Public", "Public", "Private", "Private", "Private", "Private"]


class Said(NoProgress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def small(tmp_path: Path, metric: str, truth: list[Any], **settings: Any) -> Competition:
    """Return a new competition of two public and four private rows."""
    scenario = Scenario(tmp_path, {"id": IDS, "y": truth, "Usage": USAGE})
    return scenario.create(metric=metric, **settings)


def test_a_team_that_was_disqualified_during_a_rescore_has_its_scores_after_it(
    scenario: Scenario,
) -> None:
    boards = []
    with scenario.create() as competition:
        scenario.send(competition, ("a", 90), ("a", 70), ("b", 80))
        for is_disqualified in (False, True):
            if is_disqualified:
                competition.disqualify_team("a", "two accounts")
            competition.rescore(scenario.solution_file, apply=True)
            if is_disqualified:
                competition.reinstate(team="a", reason="a mistake")
            rows = competition.finalize().standings
            boards.append([(row["team"], row["submission"]) for row in rows])
    assert boards[0] == boards[1]
    assert ("a", 1) in boards[0]


def test_a_disqualification_is_not_undone_without_the_scores_that_an_earlier_arena_left_out(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario.create() as competition:
        scenario.send(competition, ("a", 90), ("b", 80), ("b", 70))
        competition.disqualify_team("a", "two accounts")
        competition.disqualify(3, "a leak")
        with monkeypatch.context() as earlier:
            earlier.setattr(Ledger, "accepted_teams", lambda _ledger: {2: "b"})
            competition.rescore(scenario.solution_file, apply=True)
        competition.submit(scenario.file(4), "b")
        undone: list[dict[str, Any]] = [{"team": "a"}, {"submission": 3}]
        for decision in undone:
            with pytest.raises(UsageError, match="has no score since the last rescore"):
                competition.reinstate(**decision, reason="a mistake")
        competition.rescore(scenario.solution_file, apply=True)
        for decision in undone:
            competition.reinstate(**decision, reason="a mistake")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("usage", "moved"),
    [
        (["Private", "Private", "Public", "Private", "Private", "Private"], 3),
        (USAGE, 0),
        (["Private"] * 6, 0),  # as a file without the column is read
        (None, 0),
    ],
)
def test_a_correction_says_how_many_labels_differ_and_that_its_split_is_ignored(
    tmp_path: Path, usage: list[str] | None, moved: int
) -> None:
    with small(tmp_path, "accuracy", [0, 1, 0, 1, 0, 1]) as competition:
        competition.submit({"id": IDS, "y": [0, 1, 0, 1, 1, 1]}, "ant")
        progress = Said()
        corrected = {"id": IDS[::-1], "y": [0, 1, 1, 0, 1, 0]}  # of s4, s3, s2, s1, p2, p1
        split = {} if usage is None else {"Usage": usage[::-1]}
        (change,) = competition.rescore({**corrected, **split}, progress=progress, workers=1)
    assert (change.score_before, change.score_after) == (3 / 4, 3 / 4)  # not s3, then not s4
    assert change.phase == ""
    sentence = "Labels differ from the stored solution in 2 of 6 rows."
    ignored = f"Usage differs in {moved} rows and is ignored: the split is not changed."
    changes = "This changes no released score and no published result."
    assert progress.sentences == [sentence, *([ignored] if moved else []), changes]


def test_a_correction_on_which_the_metric_is_undefined_is_refused(tmp_path: Path) -> None:
    with small(tmp_path, "roc_auc", [0, 1, 0, 1, 0, 1]) as competition:
        competition.submit({"id": IDS, "y": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]}, "ant")
        for labels, split in (([0, 1, 1, 1, 1, 1], "private"), ([1, 1, 0, 1, 0, 1], "public")):
            with pytest.raises(MetricError, match=split):
                competition.rescore({"id": IDS, "y": labels, "Usage": USAGE}, apply=True)
        assert competition.finalize(workers=1).standings[0]["score"] == 1
        assert [event.kind for event in competition.events("rescored")] == []


def test_a_preview_breaks_ties_by_the_secondary_metric_as_the_final_board_does(
    tmp_path: Path,
) -> None:
    predictions = {
        "dog": [0, 1, -0.1, 1, 0, 1],
        "bee": [0, 1, 0.2, 0.8, 0.2, 0.8],
        "ant": [0, 1, 0.2, 0.9, 0.2, 0.9],
    }
    # Every file puts the rows in the right order. The Brier score is smallest for ant, and has no
    # meaning for dog, which has a number that is no probability: its formula gives less.
    board = [(1, "ant"), (2, "bee"), (3, "dog")]
    settings = {"secondary": "brier", "ties": "secondary"}
    with small(tmp_path, "roc_auc", [0, 1, 0, 1, 0, 1], **settings) as competition:
        for team, values in predictions.items():
            competition.submit({"id": IDS, "y": values}, team)
        standings = competition.finalize(workers=1).standings
        changes = competition.rescore(workers=1)
    assert [(row["rank"], row["team"]) for row in standings] == board
    for ranks in ("rank_before", "rank_after"):
        assert [(getattr(change, ranks), change.team) for change in changes] == board


@pytest.mark.slow
def test_an_upgraded_competition_is_verified_with_its_last_labels(
    tmp_path: Path, scenario: Scenario
) -> None:
    labels = [[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]]
    for number, truth in enumerate(labels, 1):
        scenario.write(str(number), {"id": IDS, "y": truth, "Usage": USAGE})
    with small(tmp_path, "accuracy", labels[0]) as competition:
        competition.submit({"id": IDS, "y": labels[2]}, "ant")
        for number in (2, 3):
            competition.rescore(tmp_path / f"{number}.csv", apply=True, workers=1)
    as_older_version(scenario.folder / "arena.duckdb")
    assert run_here("upgrade", cwd=scenario.folder).returncode == 0
    scenario.clock.now = datetime.now(UTC)  # as the upgrade
    with scenario.reopen() as competition:
        assert competition.finalize(workers=1).standings[0]["score"] == 1
        competition.export(tmp_path / "export")
    sentence = "This is not the solution of this competition after its last correction"
    for number in (1, 2, 3):
        called = run_here("verify", "export", f"{number}.csv", cwd=tmp_path)
        output = " ".join((called.stdout + called.stderr).split())
        assert (called.returncode, sentence in output) == ((1, True) if number < 3 else (0, False))


def test_another_solution_is_no_correction(scenario: Scenario) -> None:
    with scenario.create() as competition:
        text = scenario.solution_file.read_text()
        scenario.solution_file.write_text(text.replace("r199,", "r200,"))
        with pytest.raises(InputError, match="use the same ids"):
            competition.rescore(scenario.solution_file)
        scenario.solution_file.write_text(text.replace(",1,", ",2,"))
        with pytest.raises(InputError, match="classes"):
            competition.rescore(scenario.solution_file)
