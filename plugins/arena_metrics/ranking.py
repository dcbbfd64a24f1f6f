"""Metrics that evaluate a ranking of positive and negative rows: ROC AUC, average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.parameters import require_choice
from arena_metrics.ranks import Ranking, cumulative_sums
from arena_metrics.rows import as_codes, as_matrix, drawn_rows, floats, is_constant, positive_rows


@dataclass(frozen=True)
class RocAuc:
    """Area under the ROC curve: the fraction of positive-negative pairs in the correct order.

    A tie counts one half. Integer weights are exactly equivalent to repeating the rows.

    Parameters
    ----------
    average
        With more than two classes, one class is compared with the rest at a time: ``macro`` is the
        mean of the areas, ``weighted`` the mean weighted by the number of rows of each class.

    Notes
    -----
    Undefined (NaN) unless every class occurs. Influence values are based on the placements of
    DeLong, DeLong and Clarke-Pearson (1988) and account for the random number of positives.

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
        """Every class must occur; bootstrap draws are stratified by class."""
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
        if any(is_constant(positive) for positive, _ in parts):
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

        Uses ``n * B / 2`` bytes of packed weights and 40 bytes per row besides the result.
        """
        engine = choose_engine(predictions.size * weights.shape[1])
        areas = []
        for positive, scores in self._one_against_rest(truth, predictions):
            doubled, pairs = engine.concordant_pairs(scores, positive, weights)
            with np.errstate(invalid="ignore"):
                areas.append(doubled / (2 * pairs))
        if predictions.ndim == 2:
            return areas[0]
        rows = engine.category_counts(as_codes(truth)[np.newaxis], len(areas), weights)[0]
        shares = self._shares(rows)
        return np.asarray(np.einsum("kmb,kb->mb", np.stack(areas), shares))

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if a class does not occur."""
        parts = self._one_against_rest(truth, predictions)
        if len(parts) == 1:
            ((positive, scores),) = parts
            return as_matrix([_area_and_influence(positive, score)[1] for score in scores])
        shares = self._shares(np.array([positive.mean() for positive, _ in parts]))
        values = np.zeros((len(predictions), len(truth)))
        for (positive, scores), share in zip(parts, shares, strict=True):
            for j, score in enumerate(scores):
                area, influence = _area_and_influence(positive, score)
                influence *= share
                values[j] += influence
                if self.average == "weighted":
                    values[j] += (positive - share) * area
        return values

    def _one_against_rest(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> list[tuple[npt.NDArray[np.bool_], FloatArray]]:
        """Return ``(n,)`` positive rows and ``(m, n)`` scores, for each class if more than two."""
        if predictions.ndim == 2:
            return [(positive_rows(self.name, truth), floats(predictions))]
        codes = as_codes(truth)
        return [(codes == k, floats(predictions[:, :, k])) for k in range(predictions.shape[2])]

    def _shares(self, rows: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(n_classes, ...)`` weights of the classes, which sum to 1."""
        counted = rows if self.average == "weighted" else np.ones(rows.shape)
        return np.asarray(counted / counted.sum(axis=0))


def _area_and_influence(
    positive: npt.NDArray[np.bool_], scores: FloatArray
) -> tuple[float, FloatArray]:
    """Return the area and its influence values: ``(placement - area) / class frequency``."""
    n = len(scores)
    n_positives = int(np.count_nonzero(positive))
    n_negatives = n - n_positives
    if not n_positives or not n_negatives:
        return np.nan, np.full(n, np.nan)
    ranking = Ranking(scores)
    of_positive = ranking.to_rank_order(positive)
    # Ties count half, so everything is doubled to stay in integers. A positive counts the
    # negatives below it, a negative the positives above it (all positives less those below it).
    below = cumulative_sums(~of_positive)
    twice_won = ranking.doubled_sums(below)
    not_below = ranking.doubled_sums(np.arange(n + 1, dtype=np.int32))
    np.subtract(2 * n_positives, not_below, out=not_below)
    not_below *= ~of_positive
    twice_won += not_below
    pairs = n_positives * n_negatives
    area = float(twice_won.sum(dtype=np.int64) / (4 * pairs))  # each pair is counted at both rows
    in_order = twice_won * (n / (2 * pairs))
    in_order -= area * n / n_negatives
    influence = np.multiply(
        of_positive, area * n * (1 / n_positives - 1 / n_negatives), dtype=np.float64
    )
    in_order -= influence
    influence[ranking.order] = in_order  # to_row_order without allocating another array
    return area, influence


@dataclass(frozen=True)
class AveragePrecision:
    """Average precision: the mean of the precisions at each threshold, weighted by gain in recall.

    As in scikit-learn: no interpolation, and equal scores share one threshold.

    Notes
    -----
    Undefined (NaN) without positive rows. It depends on the prevalence, so bootstrap draws are not
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
        """Return the average precision of one submission; NaN without positive rows."""
        from sklearn.metrics import average_precision_score

        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        positive = positive_rows(self.name, truth)
        if not positive.any():
            return np.nan
        return float(average_precision_score(positive, prediction, sample_weight=weight))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN without positive rows."""
        engine = choose_engine(predictions.size * weights.shape[1])
        positive = positive_rows(self.name, truth)
        return engine.weighted_average_precision(floats(predictions), positive, weights)

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN without positive rows."""
        positive = positive_rows(self.name, truth)
        if not positive.any():
            return np.full(predictions.shape, np.nan)
        return as_matrix([_precision_influence(positive, scores) for scores in floats(predictions)])


def _precision_influence(positive: npt.NDArray[np.bool_], scores: FloatArray) -> FloatArray:
    """Return the influence values of the average precision.

    With P(s) and N(s) the fractions of positives and of rows at or above a score s, and pi the
    fraction of positives, the score is E[y P(s) / N(s)] / pi. A row affects its own term, P and N
    of every positive at or below it, and pi.
    """
    ranking = Ranking(scores)
    of_positive = ranking.to_rank_order(positive)
    n, n_positives = len(scores), np.count_nonzero(positive)
    # Positives found, and rows seen, at or above each position.
    n_above = n_positives - ranking.sums_below(cumulative_sums(of_positive))
    per_row_seen = of_positive / ranking.sums_below(np.arange(n, -1, -1))
    hits = n_above * per_row_seen
    influence = ranking.sums_through(cumulative_sums(per_row_seen))
    influence -= hits.sum() / n_positives
    influence *= of_positive
    influence += hits
    hits *= per_row_seen
    influence -= ranking.sums_through(cumulative_sums(hits))
    influence *= n / n_positives
    return ranking.to_row_order(influence)
