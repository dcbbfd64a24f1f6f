"""Errors of a metric that can only be called as a whole, from calls on parts of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from arena import PluginManager
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.group_jackknife import CALLS, Jackknife, group_jackknife, resampled_linearly
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import Study
from arena.scoring.private_board import PrivateBoard, RankedRows, Resampling, analyse, study_of
from arena.scoring.settings import BoardSettings
from arena.types import FloatArray, PredictionKind
from arena.utils.parallel import NoProgress

N, M = 600, 4
RNG = np.random.default_rng(7)
TRUTH = RNG.normal(size=N)
SENT = TRUTH + RNG.normal(size=(M, N)) * np.linspace(0.5, 1.2, M)[:, np.newaxis]
MEAN: Callable[[FloatArray], float] = lambda errors: float(np.abs(errors).mean())  # noqa: E731
RMSE: Callable[[FloatArray], float] = lambda errors: float(np.sqrt(np.square(errors).mean()))  # noqa: E731
SETTINGS = BoardSettings(workers=1)
PROBES = 2 * 4
"""The calls on parts of the rows of the first two submissions that tell whether it is a mean."""


@dataclass(frozen=True)
class Whole:
    """A function of the errors that has nothing but ``score``."""

    of_errors: Callable[[FloatArray], float]
    fewest: int = 0
    name: str = "whole"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE
    calls: list[int] = field(default_factory=list)

    def score(self, truth: Any, prediction: Any) -> float:
        self.calls.append(len(truth))
        if len(truth) < self.fewest:
            raise ValueError("too few rows")
        return self.of_errors(prediction - truth)


def jackknife(metric: Whole, **given: Any) -> Jackknife:
    predictions = ArrayPredictions(SENT)
    scores = full_scores(metric, TRUTH, predictions)
    metric.calls.clear()
    return group_jackknife(
        metric, TRUTH, predictions, scores, seed=3, workers=1, progress=NoProgress(), **given
    )


def board(metric: Any, **settings: Any) -> tuple[Study, Resampling, PrivateBoard]:
    predictions, chosen = ArrayPredictions(SENT), BoardSettings(workers=1, **settings)
    study, resampling = study_of(
        metric,
        RankedRows(TRUTH, None),
        tuple("abcd"),
        np.arange(M),
        predictions,
        full_scores(metric, TRUTH, predictions),
        chosen,
    )
    return study, resampling, analyse(study, chosen, PluginManager(), resampling.weights)


def test_the_approximation_of_a_mean_is_exact() -> None:
    metric = Whole(MEAN)
    estimate = jackknife(metric)
    assert estimate.is_mean
    assert len(metric.calls) == PROBES + M * 100
    assert sum(metric.calls) == 2 * N + M * N  # no more rows than two further scores
    influence = estimate.influence
    assert influence is not None
    scores = np.abs(SENT - TRUTH).mean(axis=1)
    linear = resampled_linearly(metric, influence, scores, 50, 11)
    weights = draw_resamples(influence.values.shape[1], 50, 11).weights[influence.groups]
    assert linear == pytest.approx(np.abs(SENT - TRUTH) @ weights / weights.sum(axis=0))


def _share_of_errors_among_large(errors: FloatArray) -> float:
    """Return a ratio of two sums, as precision is; it is 1 where no error is small."""
    large = np.abs(errors) > 1
    return float(large.sum() / max((np.abs(errors) > 0.5).sum(), 1))


SCORES: dict[str, tuple[Callable[[FloatArray], float], bool]] = {
    "mean": (MEAN, True),
    "share": (lambda errors: float(100 * (np.abs(errors) < 1).mean()), True),
    "root": (RMSE, False),
    "median": (lambda errors: float(np.median(np.abs(errors))), False),
    "sum": (lambda errors: float(np.abs(errors).sum()), False),
    "ratio": (_share_of_errors_among_large, False),
    "rounded": (lambda errors: round(MEAN(errors), 2), False),
}


@pytest.mark.parametrize(("of_errors", "is_mean"), SCORES.values(), ids=SCORES)
def test_a_mean_is_recognised_by_its_scores_on_parts(of_errors: Any, is_mean: bool) -> None:
    assert jackknife(Whole(of_errors)).is_mean == is_mean


def test_two_scores_that_do_not_vary_make_no_mean() -> None:
    """Both first submissions are perfect: every part of them has the score of the whole."""
    errors = (SENT - TRUTH).copy()
    errors[:2] = 0.0
    metric, predictions = Whole(RMSE), ArrayPredictions(TRUTH + errors)
    scores = full_scores(metric, TRUTH, predictions)
    estimate = group_jackknife(
        metric, TRUTH, predictions, scores, seed=3, workers=1, progress=NoProgress()
    )
    assert not estimate.is_mean
    assert estimate.influence is not None


def test_few_rows_of_a_mean_are_its_groups() -> None:
    rows, metric = slice(0, 200), Whole(MEAN)
    predictions = ArrayPredictions(SENT[:, rows])
    scores = full_scores(metric, TRUTH[rows], predictions)
    estimate = group_jackknife(
        metric, TRUTH[rows], predictions, scores, seed=3, workers=1, progress=NoProgress()
    )
    assert estimate.influence is not None
    of_rows = estimate.influence.values[:, estimate.influence.groups]
    errors = np.abs(SENT - TRUTH)[:, rows]
    np.testing.assert_allclose(of_rows, errors - errors.mean(axis=1, keepdims=True), atol=1e-9)


@pytest.mark.parametrize("of_errors", [np.median, lambda errors: np.abs(errors).max()])
def test_scores_that_do_not_follow_from_parts_are_resampled(of_errors: Any) -> None:
    """A median and a maximum move with few rows, so that parts without them tell nothing."""
    estimate = jackknife(Whole(of_errors))
    assert estimate.influence is None
    assert estimate.groups == 70
    assert estimate.agreement < 0.95


def test_a_part_without_a_score_is_no_part() -> None:
    assert jackknife(Whole(MEAN, fewest=N)).groups == 0
    assert jackknife(Whole(MEAN, fewest=N // 2 + 1)).influence is None


def test_clusters_stay_together_and_classes_are_spread() -> None:
    clusters = np.arange(N) // 4
    together = jackknife(Whole(RMSE), clusters=clusters).influence
    assert together is not None
    assert all(len(np.unique(together.groups[clusters == code])) == 1 for code in range(150))
    strata = (np.arange(N) < 70).astype(np.intp)
    spread = jackknife(Whole(RMSE), strata=strata).influence
    assert spread is not None
    assert np.bincount(spread.groups[strata == 1]).tolist() == [1] * 70
    few = jackknife(Whole(RMSE), clusters=np.arange(N) % 9)
    assert (few.influence, few.groups) == (None, 0)
    ten = jackknife(Whole(RMSE), clusters=np.arange(N) % 10)
    assert (ten.influence is None, ten.groups) == (False, 10)


def test_clusters_of_unequal_sizes_count_by_their_rows() -> None:
    """Cluster k has the rows from k^2 up to (k + 1)^2; up to 500 are groups of their own."""
    clusters = np.floor(np.sqrt(np.arange(N))).astype(np.intp)
    influence = jackknife(Whole(MEAN), clusters=clusters).influence
    assert influence is not None
    errors = np.abs(SENT - TRUTH)
    linear = resampled_linearly(Whole(MEAN), influence, errors.mean(axis=1), 20, 11)
    weights = draw_resamples(influence.values.shape[1], 20, 11).weights[influence.groups]
    assert linear == pytest.approx(errors @ weights / weights.sum(axis=0))


@pytest.mark.parametrize(("n_units", "groups"), [(500, 500), (501, 100)])
def test_up_to_500_clusters_of_a_mean_are_groups(n_units: int, groups: int) -> None:
    assert jackknife(Whole(MEAN), clusters=np.arange(N) % n_units).groups == groups


@pytest.mark.parametrize(("undefined", "holds"), [(10, True), (11, False)])
def test_ten_of_twenty_halves_need_a_score(undefined: int, holds: bool) -> None:
    halves = [0]

    def scores_of_halves(errors: FloatArray) -> float:
        if abs(len(errors) - N // 2) < N // 10:
            halves[0] += 1
            return RMSE(errors) if halves[0] > undefined else float("nan")
        return RMSE(errors)

    estimate = jackknife(Whole(scores_of_halves))
    assert (estimate.influence is not None, estimate.groups) == (holds, 70 * holds)


@pytest.mark.slow
def test_a_board_needs_a_tenth_of_the_calls_and_says_the_same() -> None:
    """The same metric by its row values is the reference: 4 teams whose errors differ."""
    metric = Whole(RMSE)
    study, resampling, analysis = board(metric)
    assert len(metric.calls) == PROBES + M * (1 + CALLS)
    full = Whole(RMSE)
    _, by_calls, usual = board(full, full_bootstrap=True)
    assert len(full.calls) == M * (1 + 1_000 + 400)
    assert by_calls.jackknife is None
    exact, _, pointwise = board(PluginManager().metrics.resolve("rmse"))
    for other in (usual, pointwise):
        assert analysis.columns["rank_low"] == other.columns["rank_low"]
        assert analysis.columns["rank_high"] == other.columns["rank_high"]
        assert analysis.corrected.estimate == pytest.approx(other.corrected.estimate, rel=0.01)
    spread = study.resampled.std(axis=1)
    assert spread == pytest.approx(exact.resampled.std(axis=1), rel=0.25)
    assert resampling.jackknife is not None
