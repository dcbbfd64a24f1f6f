"""Base class of the metrics that are functions of the confusion matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.delta_method import gradient
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.rows import as_codes

_COUNTS_PER_ROW_WEIGHT = 8
"""In plain numpy, counting costs an eighth of sorting, per row weight."""


class FunctionOfConfusion(ABC):
    """A metric of predicted labels, computed by :meth:`from_confusion` from the confusion matrix.

    Resampling counts the cells of the matrix under every weighting at once. Influence values come
    from the delta method applied to the cell frequencies.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.LABEL

    @property
    def traits(self) -> MetricTraits:
        """The traits of the metric."""
        return MetricTraits(score_range=(-1.0, 1.0))

    @abstractmethod
    def from_confusion(self, matrix: Any) -> Any:
        """Return the score of ``(n_classes, n_classes, ...)`` counts, true classes first.

        Classes with neither rows nor predictions must not change the score. The function must be
        analytic at positive counts and accept complex numbers. NaN where undefined.
        """

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN where undefined."""
        cells, n_classes = _cells(truth, prediction)
        counts = np.bincount(cells, weights=weight, minlength=n_classes**2).astype(np.float64)
        return float(self._quietly(counts.reshape(n_classes, n_classes)))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Uses ``8 * n_classes**2 * B`` bytes per submission.
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

        The cost grows with ``n_classes**4``.
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
            return self.from_confusion(matrix)


def _cells(
    truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the ``(m, n)`` cell of the confusion matrix of each row, and the number of classes."""
    true, predicted = as_codes(truth), as_codes(predictions)
    n_classes = int(max(true.max(initial=1), predicted.max(initial=1))) + 1
    return true * n_classes + predicted, n_classes
