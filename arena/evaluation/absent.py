"""Submissions that lack a part of a combination, where a fixed score counts instead.

Their cells in the part are marked. The score is a number, which no resample changes: it has no
error, and intervals of the rest hold as for other submissions. The predictions of another
submission in its place would not do: one that is chosen for its score on the same rows looks worse
than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.scores import influence_values, is_black_box, resample_block
from arena.evaluation.served_kinds import Conversion
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import HasInfluenceValues, HasRowValues, Metric
from arena.types import FloatArray, WeightArray


def absent_cell(dtype: np.dtype[Any]) -> float | int | None:
    """Return what marks cells of a submission as absent: NaN, of labels -1, of texts None."""
    return {"f": np.nan, "i": -1}.get(dtype.kind)


def _are_absent(block: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return ``(k,)`` which submissions of a block ``(k, n, …)`` are marked."""
    first = block.reshape(len(block), -1)[:, 0]
    if first.dtype.kind == "O":
        return np.array([cell is None for cell in first], dtype=np.bool_)
    return np.isnan(first) if first.dtype.kind == "f" else first < 0


def with_score_of_absent(metric: Metric, score: float, convert: Conversion | None) -> Metric:
    """Return a metric by which an absent submission has a score.

    ``convert`` converts the predictions of the others to those of the metric.
    """
    if is_black_box(metric):
        return _WithScore(metric, score, convert)
    influenced = isinstance(metric, HasRowValues | HasInfluenceValues)
    return (_Influenced if influenced else _Resampled)(metric, score, convert)


@dataclass(frozen=True)
class _WithScore(WrappedMetric):
    score_of_absent: float
    convert: Conversion | None

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission."""
        block = prediction[np.newaxis]
        if _are_absent(block)[0]:
            return self.score_of_absent
        return self.metric.score(truth, self._converted(block)[0], weight)

    def _converted(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return block if self.convert is None else self.convert(block)


class _Resampled(_WithScore):
    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of counts."""
        scores = np.full((len(predictions), weights.shape[1]), self.score_of_absent)
        present = ~_are_absent(predictions)
        if present.any():
            block = self._converted(predictions[present])
            scores[present] = resample_block(self.metric, truth, block, weights)
        return scores


class _Influenced(_Resampled):
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)``: 0 of an absent submission, whose score depends on no row."""
        values = np.zeros(predictions.shape[:2])
        present = ~_are_absent(predictions)
        if present.any():
            block = self._converted(predictions[present])
            influence = influence_values(self.metric, truth, block)
            if influence is None:
                raise MetricError(f"{self.metric.name} has no influence values.")
            values[present] = influence
        return values
