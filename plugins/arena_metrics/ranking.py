"""Metrics of how well scores rank the positive rows: ROC AUC and average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.engine import choose_engine
from arena_metrics.parameters import require_choice
from arena_metrics.ranks import Ranking, running_sums
from arena_metrics.rows import as_codes, as_matrix, constant, drawn_rows, positive_rows

__all__ = ["AveragePrecision", "RocAuc"]


@dataclass(frozen=True)
class RocAuc:
    """Area under the ROC curve: the share of pairs of rows of two classes ranked rightly.

    A tie counts half. Under integer weights the score is that of the repeated rows exactly.

    Parameters
    ----------
    average
        With more than two classes, each is set against the rest: ``macro`` is the mean of their
        areas, ``weighted`` that mean weighted by the rows of each class.

    Notes
    -----
    Undefined (NaN) unless every class occurs. Influence values are the placements of DeLong,
    DeLong and Clarke-Pearson (1988), with the number of positives as random as it is.

    Examples
    --------
    >>> metric = RocAuc()
    >>> truth, scores = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.4, 0.8])
    >>> metric.score(truth, scores)
    0.875
    >>> metric.resample(truth, scores[np.newaxis], np.array([[1, 2, 1, 0]], np.uint8).T)
    array([[0.66666667]])
    """

    average: str = "macro"

    name = "roc_auc"
    greater_is_better = True
    prediction = PredictionKind.SCORE

    def __post_init__(self) -> None:
        require_choice(self.name, "average", self.average, ("macro", "weighted"))

    @property
    def traits(self) -> MetricTraits:
        """Every class must occur; the score does not depend on how often (``macro``)."""
        return MetricTraits(score_range=(0.0, 1.0), needs_every_class=True, stratify_by_class=True)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the area of one submission; NaN if a class does not occur."""
        from sklearn.metrics import roc_auc_score

        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        parts = self._one_against_rest(truth, prediction[np.newaxis])
        if any(constant(positive) for positive, _ in parts):
            return np.nan
        areas = [
            roc_auc_score(positive, scores[0], sample_weight=weight) for positive, scores in parts
        ]
        rows = [np.average(positive, weights=weight) for positive, _ in parts]
        return float(areas @ self._shares(np.array(rows)))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` areas under each column of weights; NaN where a class is absent.

        Beside the result it holds ``n * B / 2`` bytes of packed weights, and 40 bytes per row.
        """
        engine = choose_engine(predictions.size * weights.shape[1])
        areas = []
        for positive, scores in self._one_against_rest(truth, predictions):
            doubled, pairs = engine.pairs_won(scores, positive, weights)
            with np.errstate(invalid="ignore"):
                areas.append(doubled / (2 * pairs))
        if predictions.ndim == 2:
            return areas[0]
        codes = as_codes(truth)
        rows = np.stack([engine.column_sums(weights[codes == k]) for k in range(len(areas))])
        shares = self._shares(rows)
        return np.asarray(np.einsum("kmb,kb->mb", np.stack(areas), shares))

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if a class does not occur."""
        parts = self._one_against_rest(truth, predictions)
        if len(parts) == 1:
            ((positive, scores),) = parts
            return as_matrix([_area_and_influence(positive, one)[1] for one in scores])
        shares = self._shares(np.array([positive.mean() for positive, _ in parts]))
        values = np.zeros((len(predictions), len(truth)))
        for (positive, scores), share in zip(parts, shares, strict=True):
            for j, one in enumerate(scores):
                area, influence = _area_and_influence(positive, one)
                influence *= share
                values[j] += influence
                if self.average == "weighted":
                    values[j] += (positive - share) * area
        return values

    def _one_against_rest(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> list[tuple[npt.NDArray[np.bool_], FloatArray]]:
        """Return ``(n,)`` positives and ``(m, n)`` scores: one pair, or one for each class."""
        if predictions.ndim == 2:
            return [(positive_rows(self.name, truth), _floats(predictions))]
        codes = as_codes(truth)
        return [(codes == k, _floats(predictions[:, :, k])) for k in range(predictions.shape[2])]

    def _shares(self, rows: npt.NDArray[Any]) -> FloatArray:
        """Return what each class counts, given its rows: ``(n_classes, ...)``, of sum 1."""
        counted = rows if self.average == "weighted" else np.ones(rows.shape)
        return np.asarray(counted / counted.sum(axis=0))


def _floats(predictions: npt.NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(predictions, dtype=np.float64)


def _area_and_influence(
    positive: npt.NDArray[np.bool_], scores: FloatArray
) -> tuple[float, FloatArray]:
    """Return the area, and how it moves with each row: ``(placement - area) / class share``."""
    n = len(scores)
    n_positives = int(np.count_nonzero(positive))
    n_negatives = n - n_positives
    if not n_positives or not n_negatives:
        return np.nan, np.full(n, np.nan)
    ranking = Ranking(scores)
    of_positive = positive[ranking.order]
    # Ties count half, so pairs are counted twice: a positive's with the negatives below it, and
    # a negative's with the positives above it, which are those that are not below it.
    below = running_sums(~of_positive)
    twice_won = ranking.astride(below)
    not_below = ranking.astride(np.arange(n + 1, dtype=np.int32))
    np.subtract(2 * n_positives, not_below, out=not_below)
    not_below *= ~of_positive
    twice_won += not_below
    pairs = n_positives * n_negatives
    area = float(twice_won.sum(dtype=np.int64) / (4 * pairs))  # each pair at both of its rows
    in_order = twice_won * (n / (2 * pairs))
    in_order -= area * n / n_negatives
    influence = np.multiply(
        of_positive, area * n * (1 / n_positives - 1 / n_negatives), dtype=np.float64
    )
    in_order -= influence
    influence[ranking.order] = in_order
    return area, influence


@dataclass(frozen=True)
class AveragePrecision:
    """Average precision: the precision at each threshold, weighted by the recall that it gains.

    As scikit-learn has it: no interpolation, and equal scores share one threshold.

    Notes
    -----
    Undefined (NaN) without a positive row. It depends on prevalence, so resampling is not
    stratified by class. Two classes only.

    Examples
    --------
    >>> metric = AveragePrecision()
    >>> metric.score(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])).__round__(6)
    0.833333
    """

    name = "average_precision"
    greater_is_better = True
    prediction = PredictionKind.SCORE

    @property
    def traits(self) -> MetricTraits:
        """Two classes, both of which must occur."""
        return MetricTraits(score_range=(0.0, 1.0), needs_every_class=True, max_classes=2)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the average precision of one submission; NaN without a positive row."""
        from sklearn.metrics import average_precision_score

        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        positive = positive_rows(self.name, truth)
        if not positive.any():
            return np.nan
        return float(average_precision_score(positive, prediction, sample_weight=weight))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN without a positive row."""
        engine = choose_engine(predictions.size * weights.shape[1])
        positive = positive_rows(self.name, truth)
        sums = engine.precision_sums(_floats(predictions), positive, weights)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / engine.column_sums(weights[positive]))

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN without a positive row."""
        positive = positive_rows(self.name, truth)
        if not positive.any():
            return np.full(predictions.shape, np.nan)
        return as_matrix([_precision_influence(positive, one) for one in _floats(predictions)])


def _precision_influence(positive: npt.NDArray[np.bool_], scores: FloatArray) -> FloatArray:
    """Return how the mean precision over the positives moves with each row.

    With P and N the shares of positives and of rows at or above a score, and pi that of all
    positives, the score is E[y P(s) / N(s)] / pi: a row moves its own term, P and N of every
    positive at or below it, and pi.
    """
    ranking = Ranking(scores)
    of_positive = positive[ranking.order]
    n, n_positives = len(scores), np.count_nonzero(positive)
    # Positives, and rows, at or above each place.
    found = n_positives - ranking.before(running_sums(of_positive))
    per_row_seen = of_positive / ranking.before(np.arange(n, -1, -1))
    hits = found * per_row_seen
    own = ranking.through(running_sums(per_row_seen))
    own -= hits.sum() / n_positives
    own *= of_positive
    own += hits
    hits *= per_row_seen
    own -= ranking.through(running_sums(hits))
    own *= n / n_positives
    return ranking.by_row(own)
