"""Drawn predictions: their quality, and whole competitions of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from arena import simulate
from arena.config_sections import FinalSection
from arena.errors import InputError, UsageError
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import BaseMetric
from arena.simulation.competition import drawn
from arena.simulation.competition.drawing import open_drawing
from arena.simulation.competition.drawn import PlayedSubmission, SubmissionPlayer, outcome_of_played
from arena.simulation.past.boards import read_boards
from arena.types import PredictionKind, Solution, Target, Usage
from simulated_competition import few_plugins

ROWS = 1_200


@pytest.fixture(scope="module")
def manager():
    return few_plugins()


def solution(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    classes = None if n_classes is None else tuple("abcdef"[:n_classes])
    truth = rng.normal(5, 2, ROWS) if n_classes is None else rng.integers(0, n_classes, ROWS)
    usage = np.where(np.arange(ROWS) % 3 == 0, Usage.PUBLIC, Usage.PRIVATE).astype(np.uint8)
    usage[::50] = Usage.IGNORED
    kind = PredictionKind.VALUE if n_classes is None else PredictionKind.LABEL
    return Solution(
        id_column="id",
        targets=(Target("y", classes),),
        columns=("y",),
        kind=kind,
        ids=[],
        truth=truth,
        usage=usage,
        sha256="",
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("metric", "n_classes"),
    [("accuracy", 2), ("roc_auc", 2), ("log_loss", 2), ("accuracy", 4), ("rmse", None)],
)
def test_a_gap_is_a_distance_of_scores_on_each_part_of_the_rows(manager, metric, n_classes):
    metric, data = manager.metrics.resolve(metric), solution(n_classes)
    drawing = open_drawing(metric, data, 4.0, np.random.default_rng(0))
    gaps = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    seeds = [(number,) for number in range(6)]
    predictions = drawing.predictions(gaps[::-1], gaps, seeds)
    assert np.array_equal(predictions, drawing.predictions(gaps[::-1], gaps, seeds))
    assert np.isfinite(predictions).all()
    sign = 1 if metric.greater_is_better else -1
    for usage, order in ((Usage.PRIVATE, 1), (Usage.PUBLIC, -1)):
        rows = data.usage == usage
        scores = sign * full_scores(
            metric, data.truth[rows], ArrayPredictions(predictions[:, rows])
        )
        scores = scores[::order]
        assert (np.diff(scores[:5]) < 0).all()
        width = scores[0] - scores[4]
        assert scores[0] - scores[:5] == pytest.approx(gaps[:5] / 4 * width, abs=0.12 * width)
        assert scores[5] == pytest.approx(scores[4], abs=0.12 * width)


class Constant(BaseMetric):
    name = "constant"
    greater_is_better = True
    prediction = PredictionKind.LABEL

    def score(self, truth, prediction):
        return 0.5


def test_a_metric_that_does_not_see_noise_is_refused():
    with pytest.raises(InputError, match="have no better score"):
        open_drawing(Constant(), solution(2), 3.0, np.random.default_rng(0))


@pytest.mark.slow
def test_drawn_teams_play_and_improve_and_are_like_the_past_board(tmp_path, manager):
    rng = np.random.default_rng(3)
    scores = np.sort(1 - rng.exponential(0.1, 80))[::-1]
    lines = [
        f"t{rank},{rank + 1},{score},{rank + 1},{score},{1 + rank % 9}"
        for rank, score in enumerate(scores)
    ]
    header = "team,private_rank,private_score,public_rank,public_score,entries"
    (tmp_path / "past.csv").write_text("\n".join([header, *lines]))
    own = {"rows": 600, "train_rows": 30, "validation_rows": 20, "manager": manager}
    fields = {"teams": 60, "days": 6, "per_day": 3, "drawn": True, **own}
    fields["like"] = tmp_path / "past.csv"
    simulation = simulate(tmp_path / "s", ["full", "ladder-free(minimum_step=0.01)"], **fields)
    full, ladder = simulation.stories[0].outcomes
    assert full["truth"] == "exact"
    assert full["submissions"] == ladder["submissions"] > 200
    assert [standing["submissions"] for standing in full["standings"]] != [1] * 60
    days = full["days"]
    assert days[-1]["true_best"] > days[0]["true_best"]
    assert full["agreement"]["private_true"] > 0.7
    (board,) = read_boards(tmp_path / "s" / "full" / "board.csv")
    assert board.n_teams == 60
    assert sorted(board.entries) == sorted(
        standing["submissions"] for standing in full["standings"]
    )
    again = simulate(tmp_path / "again", ["full"], **fields)
    first = {**again.stories[0].outcomes[0], "folder": full["folder"]}
    assert json.dumps(first) == json.dumps(full)


@pytest.mark.parametrize(
    ("block", "improved", "dtype"),
    [
        ([[3, 255]], True, np.uint8),
        ([[3, 256]], True, np.intp),
        ([[0.25, 0.75]], True, np.float64),
        ([[3, 255]], False, None),
    ],
)
def test_improvements_are_kept_as_they_are(block, improved, dtype):
    release = SimpleNamespace(improved=improved, score=0.5)
    player = object.__new__(SubmissionPlayer)
    player._releaser = SimpleNamespace(release=lambda *_: SimpleNamespace(release=release))
    player._public = np.array([True, False, True])
    player._log, player._number, player._kept = None, 7, {}
    prediction = np.insert(np.array(block), 1, 9, axis=1)
    assert player._release("t", prediction, 0.25) == 0.5
    kept_arrays = {number: (array.dtype, array.tolist()) for number, array in player._kept.items()}
    assert kept_arrays == ({7: (dtype, block)} if improved else {})


@pytest.mark.parametrize(
    ("greater", "order"), [(True, [("b", 3), ("a", 2)]), (False, [("a", 1), ("b", 3)])]
)
def test_the_best_private_score_of_a_team_counts(monkeypatch, greater, order):
    """Team a sends private scores of 0.25 and 0.5, team b then one of 0.75 on the next day."""
    monkeypatch.setattr(drawn, "truth_kind", lambda *_: "exact")
    monkeypatch.setattr(drawn, "agreement_of", lambda *_: {})
    monkeypatch.setattr(drawn, "degenerate_reason", lambda *_: None)
    settings = SimpleNamespace(
        final=SimpleNamespace(rule="best_private", ties=FinalSection().ties),
        public=SimpleNamespace(mechanism="full", scope="own"),
        analysis=SimpleNamespace(level=0.9),
    )
    state = SimpleNamespace(
        settings=settings, metric=SimpleNamespace(greater_is_better=greater), solution=None,
        folder="f",
    )  # fmt: skip
    rows = [(0, 0.25), (0, 0.5), (1, 0.75)]
    played = [
        PlayedSubmission(
            number, team, public=0.5, private=private, true=number / 8, shown=number / 4
        )
        for number, (team, private) in enumerate(rows, start=1)
    ]
    start = datetime(2001, 1, 1, tzinfo=UTC)
    outcome = outcome_of_played(
        state, [SimpleNamespace(team=lambda name=name: name) for name in "ab"], played,
        when=[start, start, start + timedelta(days=1)], days=3, start=start, baseline=None,
    )  # fmt: skip
    assert [(team.team, round(8 * team.true_score)) for team in outcome.teams] == order
    assert [team.rank for team in outcome.teams] == [1, 2]
    assert {team.team: team.submissions for team in outcome.teams} == {"a": 2, "b": 1}
    assert (outcome.submissions, [day.day for day in outcome.days]) == (3, [1, 2, 3])


def test_competitors_do_not_play_with_drawn_teams(tmp_path, manager):
    with pytest.raises(UsageError, match="no competitor plays"):
        simulate(tmp_path / "s", drawn=True, kinds="copycat", manager=manager)


@pytest.mark.slow
def test_trained_teams_come_as_often_as_those_of_the_past_board(tmp_path, manager):
    lines = [f"{number + 1},{1 - number / 10},{2 if number else 400}" for number in range(8)]
    (tmp_path / "past.csv").write_text("\n".join(["rank,score,entries", *lines]))
    simulation = simulate(
        tmp_path / "s", ["full"], teams=5, days=4, rows=200, train_rows=30, validation_rows=20,
        kinds="random-search", baseline="none", like=tmp_path / "past.csv", manager=manager,
    )  # fmt: skip
    counts = [
        standing["submissions"] for standing in simulation.stories[0].outcomes[0]["standings"]
    ]
    assert set(counts) <= {2, 7, 8}
    assert 2 in counts
    assert any("12% of the past teams sent more than the 8" in note for note in simulation.notes)
