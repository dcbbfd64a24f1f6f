"""A metric of documents ranked per query; the bootstrap resamples whole queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import (
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)
from arena_metrics.parameters import require_choice, require_whole
from arena_metrics.rows import bound_copy

_QUERIES_AT_ONCE = 4_096
_LARGEST_RELEVANCE = 1_000.0
"""Its exponential gain does not overflow."""


@dataclass(frozen=True)
class NdcgAtK:
    """Normalised discounted cumulative gain of the first k documents, averaged over the queries.

    A row is one document of one query. The target is the document's relevance, a larger prediction
    ranks the document higher, and the cluster column names the query. The gain at position i is
    multiplied by ``1 / log2(i + 1)``; documents with equal predictions share the mean discount of
    their positions, as in scikit-learn. A query without a relevant document counts 0.

    Parameters
    ----------
    k
        How many top documents of a query count, at least 1.
    gain
        ``linear``: the relevance itself (Järvelin and Kekäläinen 2002), as in scikit-learn;
        ``exponential``: 2 ** relevance - 1 (Burges et al. 2005).

    Notes
    -----
    The bootstrap draws whole queries; each resampled score is the exact mean over the drawn ones.

    Examples
    --------
    >>> context = RowContext("id", None, ("y",), ("y",), clusters=np.array([0, 0, 1, 1]))
    >>> metric = NdcgAtK(k=1).for_rows(context)
    >>> metric.score(np.array([1.0, 0.0, 0.0, 2.0]), np.array([0.9, 0.1, 0.5, 0.4]))
    0.5
    """

    k: int = 10
    gain: str = "linear"
    _queries: IntArray | None = field(default=None, init=False, repr=False, compare=False)

    name = "ndcg_at_k"
    greater_is_better = True
    prediction = PredictionKind.VALUE

    def __post_init__(self) -> None:
        require_whole(self.name, "k", self.k, 1)
        require_choice(self.name, "gain", self.gain, ("linear", "exponential"))

    @property
    def traits(self) -> MetricTraits:
        """Relevance must not be negative."""
        return MetricTraits(truth_range=(0.0, _LARGEST_RELEVANCE), score_range=(0.0, 1.0))

    def for_rows(self, context: RowContext) -> NdcgAtK:
        """Return the metric bound to the queries of these rows.

        Raises
        ------
        MetricError
            If the rows have no clusters.
        """
        if context.clusters is None:
            raise MetricError(
                "The metric 'ndcg_at_k' ranks the documents of each query: name the column that "
                "holds the query with --cluster (cluster in [data] of competition.toml)."
            )
        return bound_copy(self, _queries=np.asarray(context.clusters, dtype=np.intp))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the (weighted) mean over the queries; NaN if there are none."""
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        return float(self._means(truth, prediction[np.newaxis], weights[:, np.newaxis])[0, 0])

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` means over the queries under each column of weights.

        Uses ``(m, n_queries)`` values and 4,096 float64 per weighting besides the result.

        Raises
        ------
        ValueError
            If rows of the same query have different weights.
        """
        return self._means(truth, predictions, weights)

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values: a query's value divided equally among its rows."""
        groups = _Groups(self._bound())
        values = self._of_queries(groups, truth, predictions)
        deviations = values - values.mean(axis=1, keepdims=True)
        shares = len(truth) / (len(groups.sizes) * groups.sizes)
        return np.asarray((deviations * shares)[:, groups.of_row])

    def _bound(self) -> IntArray:
        if self._queries is None:
            raise MetricError(
                "The metric 'ndcg_at_k' needs the query of every row: call for_rows first."
            )
        return self._queries

    def _means(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: npt.NDArray[Any]
    ) -> FloatArray:
        groups = _Groups(self._bound())
        of_queries = groups.weights(weights)
        values = self._of_queries(groups, truth, predictions)
        sums = np.zeros((len(values), weights.shape[1]))
        for start in range(0, len(of_queries), _QUERIES_AT_ONCE):
            some = slice(start, start + _QUERIES_AT_ONCE)
            sums += values[:, some] @ of_queries[some].astype(np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / of_queries.sum(axis=0, dtype=np.float64))

    def _of_queries(
        self, groups: _Groups, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return the ``(m, n_queries)`` scores of the queries."""
        relevance = np.asarray(truth, dtype=np.float64)
        gains = relevance if self.gain == "linear" else np.exp2(relevance) - 1.0
        ideal = groups.discounted(gains, gains, self.k)
        discounted_gains = np.stack(
            [groups.discounted(gains, prediction, self.k) for prediction in predictions]
        )
        return np.divide(
            discounted_gains, ideal, out=np.zeros_like(discounted_gains), where=ideal > 0
        )


class _Groups:
    """The rows of each query."""

    def __init__(self, codes: IntArray) -> None:
        _, self.of_row = np.unique(codes, return_inverse=True)
        self.sizes = np.bincount(self.of_row)
        self.order = np.argsort(self.of_row, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def weights(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n_queries, B)`` from ``(n, B)`` weights of rows."""
        of_queries = weights[self.order[self.starts]]
        for start in range(0, len(weights), _QUERIES_AT_ONCE):
            rows = slice(start, start + _QUERIES_AT_ONCE)
            if not np.array_equal(weights[rows], of_queries[self.of_row[rows]]):
                raise ValueError("rows of the same query must have the same weight")
        return np.asarray(of_queries)

    def discounted(self, gains: FloatArray, scores: npt.NDArray[Any], k: int) -> FloatArray:
        """Return the ``(n_queries,)`` sums of discounted gains, rows ranked by descending score."""
        order = np.lexsort((-np.asarray(scores), self.of_row))
        positions = np.arange(len(order)) - np.repeat(self.starts, self.sizes)
        discounts = np.where(positions < k, 1.0 / np.log2(positions + 2.0), 0.0)
        ordered = scores[order]
        begins = (positions == 0) | np.concatenate([[True], ordered[1:] != ordered[:-1]])
        if not begins.all():
            ties = np.flatnonzero(begins)
            lengths = np.diff(np.append(ties, len(order)))
            discounts = np.repeat(np.add.reduceat(discounts, ties) / lengths, lengths)
        return np.asarray(np.add.reduceat(discounts * gains[order], self.starts))
