"""Each procedure for one score beside an implementation that shares no code with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
from arena.evaluation.score_intervals import (
    errors_from_resamples,
    own_intervals,
    score_errors,
)
from arena.plugin.manager import PluginManager

METRICS = PluginManager().metrics
RNG = np.random.default_rng(7)
TRUTH = RNG.normal(size=30)
NUMBERS = TRUTH + RNG.normal(size=30)
CLASSES, SIGNS = (np.arange(30) % 3 == 0).astype(int), (NUMBERS > 0).astype(int)
SKEWED = np.exp(RNG.normal(size=37))


def spread_of(units: np.ndarray) -> tuple[float, float]:
    """Return the standard error of a mean and its degrees of freedom by the fourth moment."""
    n, centred = len(units), units - units.mean()
    kurtosis = np.mean(centred**4) / np.mean(centred**2) ** 2
    return stats.sem(units), min(n - 1, 2 * n / (kurtosis - 1))


def proportion(score: float, units: np.ndarray, low: float = 0.0) -> tuple[float, float]:
    """Return the ends of Korn and Graubard: an exact proportion of an effective number of rows."""
    error, degrees = spread_of(units)
    share = (score - low) / (1 - low)
    rows = share * (1 - share) / (error / (1 - low)) ** 2
    rows *= (stats.norm.ppf(0.975) / stats.t.ppf(0.975, degrees)) ** 2
    right = share * rows
    ends = (
        stats.beta.ppf(0.025, right, rows - right + 1),
        stats.beta.ppf(0.975, right + 1, rows - right),
    )
    return low + (1 - low) * ends[0], low + (1 - low) * ends[1]


def pearson() -> tuple[float, float]:
    score = stats.pearsonr(TRUTH, NUMBERS).statistic
    without = np.array([
        stats.pearsonr(np.delete(TRUTH, i), np.delete(NUMBERS, i)).statistic for i in range(30)
    ])  # fmt: skip
    return proportion(score, 29 * (score - without), low=-1.0)


def spearman() -> tuple[float, float]:
    score = stats.spearmanr(TRUTH, NUMBERS).statistic
    ranks = np.array([stats.rankdata(x) for x in (TRUTH, NUMBERS)])

    # The ranks are those of the whole sample, of which a row's weight is taken away.
    def of_weights(weights: np.ndarray) -> float:
        mid = [[weights[x < v].sum() + weights[x == v].sum() / 2 for v in x] for x in ranks]
        return float(np.cov(mid, aweights=weights)[0, 1] / np.sqrt(
            np.prod(np.diag(np.cov(mid, aweights=weights)))))  # fmt: skip

    without = np.array([of_weights(np.where(np.arange(30) == i, 0.0, 1.0)) for i in range(30)])
    return proportion(score, 29 * (score - without), low=-1.0)


def median() -> tuple[float, float]:
    test = stats.quantile_test(SKEWED, q=1.0, p=0.5)
    return tuple(test.confidence_interval(0.95))


def clopper_pearson() -> tuple[float, float]:
    right = int(((NUMBERS > 0) == CLASSES).sum())
    return tuple(stats.binomtest(right, 30).proportion_ci(0.95, "exact"))


def gaffke() -> tuple[float, float]:
    values = 1 / (1 + SKEWED)
    weights = np.random.default_rng(1).dirichlet(np.ones(38), size=50_000)
    low, high = (weights @ np.r_[values, worst] for worst in (0.0, 1.0))
    return float(np.quantile(low, 0.025)), float(np.quantile(high, 0.975))


def scores_of(study_of: Any, name: str, truth: Any, predictions: Any) -> tuple[float, float]:
    errors = score_errors(study_of(METRICS.resolve(name), truth, predictions[np.newaxis]))
    low, high = own_intervals(errors, 0.95)
    return float(low[0]), float(high[0])


def cases(study_of: Any, metric: Any, values: np.ndarray) -> tuple[float, float]:
    study = study_of(metric, np.zeros(len(values)), values[np.newaxis])
    low, high = own_intervals(score_errors(study), 0.95)
    return float(low[0]), float(high[0])


def resampled(score_range: tuple[float, float]) -> tuple[float, float]:
    draws = np.random.default_rng(2).normal(2.0, 0.3, size=(1, 4_000))
    errors = errors_from_resamples(np.array([2.0]), draws, 40, score_range=score_range)
    low, high = own_intervals(errors, 0.95)
    return float(low[0]), float(high[0])


def student(*, logarithmic: bool) -> tuple[float, float]:
    draws = np.random.default_rng(2).normal(2.0, 0.3, size=4_000)
    half = stats.t.ppf(0.975, 39) * draws.std(ddof=1) * np.sqrt(40 / 39)
    if logarithmic:
        return 2 * np.exp(-half / 2), 2 * np.exp(half / 2)
    return 2 - half, 2 + half


MEDIAN = MedianOfCases("median", greater_is_better=True)
SHARE = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
Interval = Callable[[], tuple[float, float]]
BESIDE: dict[str, tuple[Callable[[Any], tuple[float, float]], Interval, float]] = {
    # What arena gives, the other implementation, and the tolerance.
    "share of rows": (
        lambda study_of: scores_of(study_of, "accuracy", CLASSES, SIGNS),
        clopper_pearson,
        1e-9,
    ),
    "mean in a range": (lambda study_of: cases(study_of, SHARE, 1 / (1 + SKEWED)), gaffke, 4e-3),
    "median": (lambda study_of: cases(study_of, MEDIAN, SKEWED), median, 1e-12),
    "Pearson, jackknife": (
        lambda study_of: scores_of(study_of, "pearson", TRUTH, NUMBERS),
        pearson,
        1e-6,
    ),
    "Spearman, jackknife": (
        lambda study_of: scores_of(study_of, "spearman", TRUTH, NUMBERS),
        spearman,
        1e-6,
    ),
    "resamples only": (
        lambda _: resampled((-np.inf, np.inf)),
        lambda: student(logarithmic=False),
        1e-9,
    ),
    "resamples of a loss": (
        lambda _: resampled((0.0, np.inf)),
        lambda: student(logarithmic=True),
        1e-9,
    ),
}


@pytest.mark.parametrize(
    "procedure",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "median")) for name in BESIDE],
)
def test_an_interval_is_that_of_another_implementation(study_of: Any, procedure: str) -> None:
    ours, theirs, tolerance = BESIDE[procedure]
    assert ours(study_of) == pytest.approx(theirs(), abs=tolerance)
