"""Metrics of how well the order of predicted numbers follows that of the targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.engine import Engine, choose_engine
from arena_metrics.ranks import Ranking
from arena_metrics.rows import constant, drawn_rows

__all__ = ["Gini", "Spearman"]

_RESAMPLES_AT_ONCE = 128


class _RankCorrelation(ABC):
    """A ratio of sums of ranks. Undefined (NaN) if the targets are constant."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """What the metric declares."""
        return MetricTraits(score_range=(-1.0, 1.0))

    @abstractmethod
    def _score(self, truth: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
        """Return the score of rows that all have weight."""

    @abstractmethod
    def _resample(
        self, engine: Engine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
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
        """Return the score of one submission; NaN where it is not defined."""
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        return np.nan if constant(truth) else self._score(truth, prediction, weight)

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Beside the result it holds 512 bytes per row, and 40.
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
            return np.stack(self._influence(truth, predictions))


def _bilinear(values: FloatArray, ranking: Ranking) -> tuple[np.float64, FloatArray]:
    """Return E[values * midrank], and its influence values: each row is once i and once j."""
    own = values * ranking.midranks()
    mean = np.float64(own.mean())
    return mean, own + ranking.above(values) - 0.5 * values.mean() - 2.0 * mean


@dataclass(frozen=True)
class Gini(_RankCorrelation):
    """Normalised Gini: the covariance of target and rank of prediction, over the best possible.

    Ties share their mean rank. For targets 0 and 1 it is 2 AUC - 1. Kaggle's ``gini`` breaks ties
    by the order of the file, which rewards nothing but that order.

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
        self, engine: Engine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
    ) -> FloatArray:
        response = np.broadcast_to((truth - truth.mean())[:, np.newaxis], weights.shape)
        best, spread = engine.rank_sums(truth[np.newaxis], response, weights)
        products, _ = engine.rank_sums(predictions, response, weights)
        return np.asarray(np.where(spread > 0, products / best, np.nan))

    def _influence(self, truth: FloatArray, predictions: FloatArray) -> list[FloatArray]:
        response = truth - truth.mean()
        best, of_best = _bilinear(response, Ranking(truth))
        parts = [_bilinear(response, Ranking(prediction)) for prediction in predictions]
        return [(of_mean - mean / best * of_best) / best for mean, of_mean in parts]


@dataclass(frozen=True)
class Spearman(_RankCorrelation):
    """Spearman's rank correlation, ties sharing their mean rank; NaN if either is constant.

    Examples
    --------
    >>> Spearman().score(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """

    name = "spearman"

    def _score(self, truth: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
        if constant(prediction):
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
        self, engine: Engine, truth: FloatArray, predictions: FloatArray, weights: WeightArray
    ) -> FloatArray:
        ranks = engine.centred_midranks(truth, weights)
        _, of_truth = engine.rank_sums(truth[np.newaxis], ranks, weights)
        products, of_predictions = engine.rank_sums(predictions, ranks, weights)
        return np.asarray(np.clip(products / np.sqrt(of_predictions * of_truth), -1.0, 1.0))

    def _influence(self, truth: FloatArray, predictions: FloatArray) -> list[FloatArray]:
        true = Ranking(truth)
        return [_spearman_influence(true, Ranking(prediction)) for prediction in predictions]


def _spearman_influence(true: Ranking, predicted: Ranking) -> FloatArray:
    """Return the influence values of the correlation of the midranks."""
    of_true, of_predicted = true.midranks(), predicted.midranks()
    product, influence = _product_influence(of_true, of_predicted)
    influence += true.above(of_predicted)
    influence += predicted.above(of_true)
    scale = 1.0
    for ranking, ranks in ((true, of_true), (predicted, of_predicted)):
        variance, of_variance = _product_influence(ranks, ranks)
        of_variance += 2.0 * ranking.above(ranks)
        of_variance *= 0.5 * product / variance
        influence -= of_variance
        scale *= np.sqrt(variance)
    influence /= scale
    return influence


def _product_influence(of_a: FloatArray, of_b: FloatArray) -> tuple[np.float64, FloatArray]:
    """Return E[rank a * rank b], and how it moves with a row, but for the ranks of the others."""
    products = of_a * of_b
    mean = np.float64(products.mean())
    products -= 3.0 * mean
    return mean, products
