"""The base of metrics of predicted labels that are a function of the confusion matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.delta import gradient
from arena_metrics.engine import choose_engine
from arena_metrics.rows import as_codes, drawn_rows

__all__ = ["FunctionOfConfusion"]

_COUNTS_PER_ROW_WEIGHT = 8
"""Counting costs plain numpy an eighth of a sorted row weight."""


class FunctionOfConfusion(ABC):
    """A metric of labels that is ``of_confusion`` of the counts of (true, predicted) classes.

    Resampling counts the cells under every weighting, not ``n_classes**2`` columns of indicators;
    influence values follow by the delta method from the shares of the cells.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.LABEL

    @property
    def traits(self) -> MetricTraits:
        """What the metric declares."""
        return MetricTraits(score_range=(-1.0, 1.0))

    @abstractmethod
    def of_confusion(self, matrix: Any) -> Any:
        """Return the score of ``(n_classes, n_classes, ...)`` counts, true classes first.

        A class without a row and without a prediction makes no difference. Analytic around
        positive counts, for complex numbers too. NaN where undefined.
        """

    @abstractmethod
    def _library_score(
        self,
        truth: npt.NDArray[np.int64],
        prediction: npt.NDArray[np.int64],
        weight: FloatArray | None,
    ) -> float:
        """Return the score as scikit-learn computes it; NaN where it would warn."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN where it is not defined."""
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if not len(truth):
            return np.nan
        return float(self._library_score(as_codes(truth), as_codes(prediction), weight))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Holds ``8 * n_classes**2 * B`` bytes per submission.
        """
        cells, n_classes = _cells(truth, predictions)
        engine = choose_engine(predictions.size * weights.shape[1] // _COUNTS_PER_ROW_WEIGHT)
        counts = engine.category_counts(cells, n_classes**2, weights)
        matrix = counts.transpose(1, 0, 2).astype(np.float64)
        shape = (n_classes, n_classes, *matrix.shape[1:])
        return np.asarray(self._quietly(matrix.reshape(shape)))

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values by the delta method; NaN where undefined.

        Takes time as ``n_classes**4``.
        """
        cells, n_classes = _cells(truth, predictions)
        values = np.empty(cells.shape)
        for cell, row in zip(cells, values, strict=True):
            shares = np.bincount(cell, minlength=n_classes**2) / len(cell)
            slopes = gradient(
                lambda means: self._quietly(means.reshape(n_classes, n_classes, -1)),
                shares,
                np.flatnonzero(shares),
            )
            row[:] = slopes[cell] - slopes @ shares
        return values

    def _quietly(self, matrix: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.of_confusion(matrix)


def _cells(
    truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], int]:
    """Return ``(m, n)`` codes of the cell of each row, and the number of classes."""
    true, predicted = as_codes(truth), as_codes(predictions)
    n_classes = int(max(true.max(initial=1), predicted.max(initial=1))) + 1
    return true * n_classes + predicted, n_classes
