"""Metrics that compare the order of predicted numbers with that of the targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.kernels.engine import KernelEngine, choose_engine
from arena_metrics.ranks import CachedLast, Ranking, cumulative_sums
from arena_metrics.rows import as_matrix, drawn_rows, is_constant

_RESAMPLES_AT_ONCE = 128


class _RankCorrelation(ABC):
    """A ratio of sums of ranks. Undefined (NaN) if the targets are constant."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """The traits of the metric."""
        return MetricTraits(score_range=(-1.0, 1.0))

    @abstractmethod
    def _score(self, truth: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
        """Return the score of rows with positive weights."""

    @abstractmethod
    def _resample(
        self, engine: KernelEngine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores."""

    @abstractmethod
    def _influence(self, truth: FloatArray, predictions: FloatArray) -> list[FloatArray]:
        """Return the influence values of each submission."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN where undefined."""
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        return np.nan if is_constant(truth) else self._score(truth, prediction, weight)

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Uses about 550 bytes per row besides the result.
        """
        engine = choose_engine(predictions.size * weights.shape[1])
        truth = np.asarray(truth, dtype=np.float64)
        predictions = np.asarray(predictions, dtype=np.float64)
        starts = range(0, weights.shape[1], _RESAMPLES_AT_ONCE)
        with np.errstate(divide="ignore", invalid="ignore"):
            strips = [
                self._resample(
                    engine,
                    truth,
                    predictions,
                    np.ascontiguousarray(weights[:, start : start + _RESAMPLES_AT_ONCE]),
                )
                for start in starts
            ]
        return np.concatenate(strips, axis=1)

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN where the score is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return as_matrix(self._influence(truth, predictions))


def _bilinear(values: FloatArray, ranking: Ranking) -> tuple[np.float64, FloatArray]:
    """Return E[values * midrank] of centred values, and its influence values plus a constant.

    The constant is twice the mean; it cancels in a ratio of two such means.
    Each row contributes twice: with its own rank, and to the ranks of the rows above it.
    """
    n = len(values)
    in_order = ranking.to_rank_order(values)
    influence = ranking.integer_midranks() * (0.5 / n)
    influence *= in_order
    mean = np.float64(influence.mean())
    below = ranking.doubled_sums(cumulative_sums(in_order))
    below *= 0.5 / n
    influence -= below
    return mean, ranking.to_row_order(influence)


@dataclass(frozen=True)
class Gini(_RankCorrelation):
    """Normalised Gini: the covariance of target and predicted rank, relative to the best possible.

    Ties get their mean rank. For targets 0 and 1 it equals 2 AUC - 1. Kaggle's ``gini`` instead
    breaks ties by the order of the rows in the file, which is arbitrary.

    Examples
    --------
    >>> Gini().score(np.array([0.0, 0.0, 1.0, 3.0]), np.array([0.1, 0.2, 0.4, 0.3])).__round__(6)
    0.6
    """

    name = "gini"

    def _score(self, truth: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
        response = truth - np.average(truth, weights=weight)
        of_prediction = Ranking(prediction, weight).midranks() * response
        of_truth = Ranking(truth, weight).midranks() * response
        return float(
            np.average(of_prediction, weights=weight) / np.average(of_truth, weights=weight)
        )

    def _resample(
        self, engine: KernelEngine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
    ) -> FloatArray:
        response = truth - truth.mean()
        best, spread = engine.rank_sums(truth[np.newaxis], response, weights)
        products, _ = engine.rank_sums(predictions, response, weights)
        return np.asarray(np.where(spread > 0, products / best, np.nan))

    def _influence(self, truth: FloatArray, predictions: FloatArray) -> list[FloatArray]:
        best = _BEST_GINI(truth)
        influences = []
        for prediction in predictions:
            mean, influence = _bilinear(best.response, Ranking(prediction))
            influence -= mean / best.mean * best.of_mean
            influence /= best.mean
            influences.append(influence)
        return influences


@dataclass(frozen=True, slots=True, eq=False)
class _BestGini:
    """The Gini statistic of the truth as its own prediction; NaN if constant."""

    response: FloatArray
    """``(n,)``: the truth minus its mean."""
    mean: np.float64
    of_mean: FloatArray
    """``(n,)`` influence values of the mean, plus a constant."""


def _best_gini(truth: FloatArray) -> _BestGini:
    response = np.full(len(truth), np.nan) if is_constant(truth) else truth - truth.mean()
    return _BestGini(response, *_bilinear(response, Ranking(truth)))


_BEST_GINI = CachedLast(_best_gini)


@dataclass(frozen=True)
class Spearman(_RankCorrelation):
    """Spearman's rank correlation; ties get their mean rank. NaN if either side is constant.

    Examples
    --------
    >>> Spearman().score(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """

    name = "spearman"

    def _score(self, truth: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
        if is_constant(prediction):
            return np.nan
        of_truth = Ranking(truth, weight).midranks()
        of_prediction = Ranking(prediction, weight).midranks()
        product, true, predicted = (
            np.average(a * b, weights=weight)
            for a, b in (
                (of_truth, of_prediction),
                (of_truth, of_truth),
                (of_prediction, of_prediction),
            )
        )
        return float(np.clip(product / np.sqrt(true * predicted), -1.0, 1.0))

    def _resample(
        self, engine: KernelEngine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
    ) -> FloatArray:
        ranks = engine.centred_midranks(truth, weights)
        _, of_truth = engine.rank_sums(truth[np.newaxis], ranks, weights)
        products, of_predictions = engine.rank_sums(predictions, ranks, weights)
        return np.asarray(np.clip(products / np.sqrt(of_predictions * of_truth), -1.0, 1.0))

    def _influence(self, truth: FloatArray, predictions: FloatArray) -> list[FloatArray]:
        true = _RANKED_TRUTH(truth)
        return [_spearman_influence(true, _ranked(prediction)) for prediction in predictions]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """The ranks of one side (truth or prediction) and their variance."""

    ranking: Ranking
    ranks: npt.NDArray[np.int64]
    """``(n,)``: the centred midranks times 2n: integers, whose sums are fast and exact."""
    variance: float
    """Of the midranks: (1 - sum of p**3) / 12, where p are the fractions of tied rows per value."""
    of_variance: FloatArray | float
    """``(n,)`` influence values of the variance, relative to it; 0 without ties."""


def _ranked(values: FloatArray) -> _Ranked:
    n, ranking = len(values), Ranking(values)
    ranks = ranking.integer_midranks()
    shares = ranking.tie_shares()
    if shares is None:
        return _Ranked(ranking, ranking.to_row_order(ranks), (1.0 - 1.0 / n**2) / 12.0, 0.0)
    squares = np.square(shares)
    of_ties = float(squares.mean())  # a mean over rows is the sum of cubes over groups
    of_variance = np.divide(3.0 * (of_ties - squares), 1.0 - of_ties)
    return _Ranked(ranking, ranking.to_row_order(ranks), (1.0 - of_ties) / 12.0, of_variance)


_RANKED_TRUTH = CachedLast(_ranked)


def _spearman_influence(true: _Ranked, predicted: _Ranked) -> FloatArray:
    """Return the influence values of the correlation of the midranks.

    A row affects the mean product directly and through the ranks of the other rows on both sides;
    with ties it also affects both variances.
    """
    moved = true.ranks * predicted.ranks
    product, n = moved.mean(), len(moved)
    moved -= true.ranking.doubled_kernel_sums(predicted.ranks)
    moved -= predicted.ranking.doubled_kernel_sums(true.ranks)
    influence = moved - 3.0 * product
    influence -= 0.5 * product * (true.of_variance + predicted.of_variance)
    influence /= 4.0 * n * n * np.sqrt(true.variance * predicted.variance)
    return np.asarray(influence)
