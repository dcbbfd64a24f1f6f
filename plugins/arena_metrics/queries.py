"""A metric of documents that are ranked for queries: the query is what is resampled."""

from __future__ import annotations

import copy
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

__all__ = ["NdcgAtK"]

_QUERIES_AT_ONCE = 4_096
_LARGEST_RELEVANCE = 1_000.0
"""Its exponential gain is still a number."""


@dataclass(frozen=True)
class NdcgAtK:
    """Normalised discounted cumulative gain of the first k documents, the mean over the queries.

    A row is a query and a document; the target is the document's relevance, the prediction any
    number that is larger for documents to be shown earlier, and the cluster column names the
    query. The gain of a document at place i counts ``1 / log2(i + 1)``, and documents with equal
    predictions share the mean of their places' discounts, as in scikit-learn. A query without a
    relevant document counts 0.

    Parameters
    ----------
    k
        How many documents of a query count, at least 1.
    gain
        ``linear``: the relevance itself (Järvelin and Kekäläinen 2002), as in scikit-learn;
        ``exponential``: 2 ** relevance - 1 (Burges et al. 2005).

    Notes
    -----
    Queries are drawn whole, and what is drawn is exact: the mean over the queries drawn.

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
        """A relevance is not negative."""
        return MetricTraits(truth_range=(0.0, _LARGEST_RELEVANCE), score_range=(0.0, 1.0))

    def for_rows(self, context: RowContext) -> NdcgAtK:
        """Return the metric that knows the queries of these rows.

        Raises
        ------
        MetricError
            If the rows have no groups.
        """
        if context.clusters is None:
            raise MetricError(
                "The metric 'ndcg_at_k' ranks the documents of each query, and nothing says which "
                "rows are of one query: name the column with --cluster (cluster in [data] of "
                "competition.toml)."
            )
        bound = copy.copy(self)
        object.__setattr__(bound, "_queries", np.asarray(context.clusters, dtype=np.intp))
        return bound

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the mean over the queries, weighted if a weight is given; NaN without any."""
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        return float(self._means(truth, prediction[np.newaxis], weights[:, np.newaxis])[0, 0])

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` means over the queries under each column of weights.

        Beside the result it holds ``(m, n_queries)`` values and 4,096 float64 per weighting.

        Raises
        ------
        ValueError
            If the rows of a query differ in weight.
        """
        return self._means(truth, predictions, weights)

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values: those of a query, shared out among its rows."""
        groups = _Groups(self._bound())
        values = self._of_queries(groups, truth, predictions)
        deviations = values - values.mean(axis=1, keepdims=True)
        shares = len(truth) / (len(groups.sizes) * groups.sizes)
        return np.asarray((deviations * shares)[:, groups.of_row])

    def _bound(self) -> IntArray:
        if self._queries is None:
            raise MetricError(
                "The metric 'ndcg_at_k' must know which rows are of one query: call for_rows first."
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
        """Return ``(m, n_queries)`` values."""
        relevance = np.asarray(truth, dtype=np.float64)
        gains = relevance if self.gain == "linear" else np.exp2(relevance) - 1.0
        ideal = groups.discounted(gains, gains, self.k)
        found = np.stack([groups.discounted(gains, one, self.k) for one in predictions])
        return np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)


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
                raise ValueError("rows of one query must have one weight: queries are drawn whole")
        return np.asarray(of_queries)

    def discounted(self, gains: FloatArray, scores: npt.NDArray[Any], k: int) -> FloatArray:
        """Return ``(n_queries,)`` discounted gains of the rows in descending order of score."""
        order = np.lexsort((-np.asarray(scores), self.of_row))
        places = np.arange(len(order)) - np.repeat(self.starts, self.sizes)
        discounts = np.where(places < k, 1.0 / np.log2(places + 2.0), 0.0)
        ordered = scores[order]
        begins = (places == 0) | np.concatenate([[True], ordered[1:] != ordered[:-1]])
        if not begins.all():
            ties = np.flatnonzero(begins)
            lengths = np.diff(np.append(ties, len(order)))
            discounts = np.repeat(np.add.reduceat(discounts, ties) / lengths, lengths)
        return np.asarray(np.add.reduceat(discounts * gains[order], self.starts))
