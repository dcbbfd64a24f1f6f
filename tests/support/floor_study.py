"""Boards with soft labels, as an analysis receives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.predictions import ArrayPredictions
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.types import FloatArray

MANAGER = PluginManager()


def study_of(
    metric: str,
    soft: FloatArray,
    truth: npt.NDArray[Any] | None = None,
    predictions: npt.NDArray[Any] | None = None,
    **more: Any,
) -> Study:
    """Return a study of m predictions ``(m, n)``, or of none."""
    truth = np.zeros(len(soft), dtype=np.intp) if truth is None else truth
    predictions = np.zeros((0, len(soft))) if predictions is None else predictions
    m = len(predictions)
    resolved = MANAGER.metrics.resolve(metric)
    scores = np.array([resolved.score(truth, own) for own in predictions])
    return Study(
        metric=resolved,
        truth=truth,
        teams=tuple(f"team {number}" for number in range(m)),
        submissions=np.arange(1, m + 1),
        predictions=ArrayPredictions(predictions),
        scores=scores,
        resampled=np.repeat(scores[:, None], 50, axis=1),
        level=0.95,
        soft_labels=soft,
        **more,
    )
