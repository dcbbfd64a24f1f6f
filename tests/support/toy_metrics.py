"""Small metrics of each kind, for tests of what the host does with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.types import FloatArray, PredictionKind


@dataclass(frozen=True)
class BlackBoxRmse:
    """Offers a score and nothing else."""

    name: str = "black_box_rmse"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return float(np.sqrt(np.average((prediction - truth) ** 2, weights=weight)))


@dataclass(frozen=True)
class PointwiseRmse(BlackBoxRmse):
    """Offers row values."""

    name: str = "pointwise_rmse"

    def row_values(self, truth: Any, predictions: Any) -> FloatArray:
        return np.asarray((predictions - truth) ** 2)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return np.sqrt(mean)


@dataclass(frozen=True)
class ResampledRmse(BlackBoxRmse):
    """Offers a fast path of its own."""

    name: str = "resampled_rmse"

    def resample(self, truth: Any, predictions: Any, weights: Any) -> FloatArray:
        return np.sqrt((predictions - truth) ** 2 @ (weights / weights.sum(axis=0)))


@dataclass(frozen=True)
class Recall:
    """Undefined without a positive row; says so by an error, as a stranger's metric may."""

    name: str = "recall"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.LABEL

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        if not truth.any():
            raise ValueError("no positive row")
        return float(np.average(prediction[truth == 1], weights=weight))
