"""Bounds of row values: the bound that is suggested, and how many rows reach one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.config import Settings
from arena.interfaces import HasInfluenceValues, PublicBoard, traits_of
from arena.plugin.manager import PluginManager
from arena.public_board import mechanism
from arena.public_board.clipping import (
    clip_values,
    conceivable_scores,
    share_at_bounds,
    suggested_clip,
)
from arena.public_board.mechanism import review_mechanism
from arena.types import MetricTraits, PredictionKind, Solution, Target, Usage
from few_rows import FIVE_ROWS
from toy_metrics import BlackBoxRmse

MAE = PluginManager().metrics.resolve("mae")


def test_the_suggested_bound_is_of_the_public_rows_and_rounded_up() -> None:
    assert suggested_clip(MAE, FIVE_ROWS) == (0, 10)  # four rows cost 1.5, 0.5, 0.5 and 7.5
    assert suggested_clip(
        MAE, replace(FIVE_ROWS, truth=FIVE_ROWS.truth + np.r_[0, 0, 0, 0.71, 0])
    ) == (0, 11)
    assert suggested_clip(MAE, replace(FIVE_ROWS, truth=100 * FIVE_ROWS.truth)) == (0, 1000)
    assert suggested_clip(MAE, replace(FIVE_ROWS, truth=0.01 * FIVE_ROWS.truth)) == (0, 0.1)
    # Not rounded up to 5.4, although the sum exceeds 5.3 by a rounding error.
    assert suggested_clip(MAE, replace(FIVE_ROWS, truth=0.53 * FIVE_ROWS.truth)) == (0, 5.3)


@pytest.mark.parametrize(
    ("labels", "end"),
    [
        # With the share 3/4 of its own label, three rows cost 0.288 and one 1.386; on average 0.562
        ([0, 0, 0, 1], 2.3),
        # Two rows of a label of half the rows cost log(2), two others log(4); on average 1.040
        ([0, 0, 1, 2], 4.2),
    ],
)
def test_the_shares_of_classes_are_the_constant_prediction(labels: list[int], end: float) -> None:
    classes = tuple("abc"[: max(labels) + 1])
    several = len(classes) > 2
    rows = replace(
        FIVE_ROWS,
        targets=(Target("y", classes),),
        columns=classes if several else ("y",),
        kind=PredictionKind.CLASS_PROBABILITIES if several else PredictionKind.PROBABILITY,
        truth=np.array([*labels, 0]),
    )
    assert suggested_clip(PluginManager().metrics.resolve("log_loss"), rows) == (0, end)


@pytest.mark.parametrize(
    "rows",
    [
        replace(FIVE_ROWS, truth=np.full(5, 3.0)),  # the constant is right everywhere
        replace(FIVE_ROWS, usage=np.full(5, Usage.PRIVATE, dtype=np.uint8)),
        replace(FIVE_ROWS, kind=PredictionKind.PROBABILITY),
    ],
    ids=["constant", "no public rows", "probabilities"],
)
def test_there_is_no_bound_to_suggest(rows: Solution) -> None:
    assert suggested_clip(MAE, rows) is None


def test_the_widest_bound_of_several_targets_and_the_shares_of_classes_count() -> None:
    two = replace(
        FIVE_ROWS,
        targets=(Target("y", None), Target("z", None)),
        columns=("y", "z"),
        truth=np.column_stack([FIVE_ROWS.truth, 10 * FIVE_ROWS.truth]),
    )
    assert suggested_clip(MAE, two) == (0, 100)
    binary = replace(
        FIVE_ROWS,
        targets=(Target("y", ("a", "b")),),
        kind=PredictionKind.CLASS_PROBABILITIES,
        truth=np.array([0, 1, 0, 1, 0]),
    )
    log_loss = PluginManager().metrics.resolve("log_loss")
    assert suggested_clip(log_loss, binary) == (0, 2.8)  # 4 log 2: probabilities below 1/16
    r2 = PluginManager().metrics.resolve("r2")
    assert suggested_clip(r2, FIVE_ROWS) == (-1.4, 1)  # the constant has -0.2


@pytest.mark.parametrize("name", ["ladder", "ladder-free(clip=4)", "full"])
def test_a_board_without_public_rows_is_not_reviewed(name: str) -> None:
    private = replace(FIVE_ROWS, usage=np.full(5, Usage.PRIVATE, dtype=np.uint8))

    def read_no_solution() -> Solution:
        raise AssertionError

    settings = Settings.of(metric="mae", mechanism=name)
    manager = PluginManager()
    assert review_mechanism(settings, private.outline, read_no_solution, manager) == []


def test_every_target_needs_a_bound_and_every_constant_something_to_lose() -> None:
    truth = np.column_stack([FIVE_ROWS.truth, np.full(5, 3.0)])
    targets = (Target("y", None), Target("z", None))
    solution = replace(FIVE_ROWS, targets=targets, columns=("y", "z"), truth=truth)
    assert suggested_clip(MAE, solution) is None  # the constant is right everywhere on z

    class Bounded(BlackBoxRmse):
        traits = MetricTraits(score_range=(0.0, np.inf))

    # The median of 0, 1, 2 and 9 is 1.5: the root of (2.25 + 0.25 + 0.25 + 56.25) / 4 is 3.841.
    assert suggested_clip(Bounded(), FIVE_ROWS) == (0, 7.7)
    assert suggested_clip(Bounded(), replace(FIVE_ROWS, truth=np.full(5, 3.0))) is None
    assert suggested_clip(BlackBoxRmse(), FIVE_ROWS) is None  # no best score is known

    class TimeLimited(Bounded):
        traits = MetricTraits(score_range=(0.0, np.inf), time_limit=9.0)

    assert suggested_clip(TimeLimited(), FIVE_ROWS) is None


def test_a_mechanism_reviews_the_board_of_the_public_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    boards: list[PublicBoard] = []

    class Reviewer:
        def review(self, board: PublicBoard) -> list[str]:
            boards.append(board)
            return ["A note."]

    monkeypatch.setattr(mechanism, "find_mechanism", lambda settings, manager: Reviewer())
    manager = PluginManager()
    for name, kind in (("mae", PredictionKind.VALUE), ("accuracy", PredictionKind.LABEL)):
        solution = replace(FIVE_ROWS, kind=kind)
        settings = Settings.of(metric=name, baseline="base", per_day=2)
        notes = review_mechanism(
            settings,
            solution.outline,
            read_solution=lambda: FIVE_ROWS,
            manager=manager,
            baseline=0.5,
        )
        assert notes == ["A note."]
    value, label = boards
    assert (value.n_rows, value.has_baseline, value.baseline, value.scope) == (4, True, 0.5, "team")
    # Only where scores have no bound one is suggested.
    assert (value.metric, value.score_range, value.suggested_clip) == ("mae", None, (0, 10))
    assert (label.metric, label.score_range, label.suggested_clip) == ("accuracy", (0, 1), None)
    assert (value.greater_is_better, label.greater_is_better) == (False, True)


def test_one_row_cannot_make_a_bound_absurd() -> None:
    mape = PluginManager().metrics.resolve("mape")
    truth = np.r_[np.linspace(1, 2, 99), 1e-14]
    many = replace(
        FIVE_ROWS,
        truth=truth,
        usage=np.zeros(100, np.uint8),
        ids=pa.array([str(i) for i in range(100)]),
    )
    low, high = suggested_clip(mape, many) or (0, 0)
    assert (low, high < 2) == (0, True)
    # 95 of 100 rows have no loss: the bound is four times the mean, 5 / 100.
    assert suggested_clip(MAE, replace(many, truth=np.r_[np.zeros(95), np.ones(5)])) == (0, 0.2)


def test_a_row_at_the_upper_bound_counts_and_one_at_the_lower_does_not() -> None:
    truth, predictions = np.zeros(4), np.array([[0.0, 1.0, 5.0, 9.0], [1.0, 2.0, 3.0, 4.0]])
    shares = share_at_bounds(MAE, (1.0, 5.0), truth, predictions)
    assert shares is not None
    assert shares.tolist() == [0.75, 0.0]
    assert (
        share_at_bounds(PluginManager().metrics.resolve("r2"), (0, 1), truth, predictions) is None
    )


def test_no_bound_comes_from_rows_without_a_finite_value() -> None:
    class Infinite(type(MAE)):  # type: ignore[misc]
        def row_values(self, truth: Any, predictions: Any) -> Any:
            return np.full(predictions.shape, np.inf)

    assert suggested_clip(Infinite(), FIVE_ROWS) is None


def test_the_range_of_scores_follows_from_that_of_the_clipped_rows() -> None:
    rmse = PluginManager().metrics.resolve("rmse")
    traits = traits_of(clip_values(rmse, (1.0, 25.0)))
    assert (traits.row_range, traits.score_range) == ((1.0, 25.0), (1.0, 5.0))
    assert conceivable_scores(clip_values(rmse, (1.0, 25.0))) == (1.0, 5.0)
    assert conceivable_scores(rmse) is None


def test_a_clipped_metric_scores_the_clipped_rows() -> None:
    truth, prediction = np.zeros(4), np.array([0.5, 2.0, 9.0, 3.0])
    clipped = clip_values(MAE, (1.0, 5.0))
    assert clipped.score(truth, prediction) == pytest.approx((1 + 2 + 5 + 3) / 4)
    weight = np.array([1.0, 0.0, 3.0, 0.0])
    assert clipped.score(truth, prediction, weight) == pytest.approx((1 + 3 * 5) / 4)


@pytest.mark.parametrize(
    ("metric", "has"), [(PluginManager().metrics.resolve("r2"), True), (BlackBoxRmse(), False)]
)
def test_a_score_is_clipped_whether_or_not_it_has_influence_values(metric: Any, has: bool) -> None:
    clipped = clip_values(metric, (0.25, 0.75))
    assert isinstance(metric, HasInfluenceValues) == has
    assert isinstance(clipped, HasInfluenceValues) == has
    assert traits_of(clipped).score_range == (0.25, 0.75)
    truth = np.array([0.0, 1.0, 2.0, 3.0])
    scores = [clipped.score(truth, truth + off) for off in (0.0, 9.0)]
    assert sorted(scores) == [0.25, 0.75]
    if isinstance(clipped, HasInfluenceValues):
        rows = np.array([[0.1, 0.4, 2.35, 3.8]])
        np.testing.assert_array_equal(
            clipped.influence_values(truth, rows), metric.influence_values(truth, rows)
        )
