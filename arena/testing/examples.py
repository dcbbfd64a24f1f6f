"""The smallest metric and mechanism that conform: what the suite's own doctests run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import Evaluation
from arena.types import PredictionKind, Release

__all__ = ["MeanAbsolute", "Repeat"]


@dataclass(frozen=True, slots=True)
class MeanAbsolute:
    """The mean absolute difference, called as a whole."""

    name: str = "mean_absolute"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the weighted mean of the absolute differences."""
        return float(np.average(np.abs(truth - prediction), weights=weight))


@dataclass(frozen=True, slots=True)
class Repeat:
    """Release every score as it is."""

    name: str = "repeat"

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the score, and no state but the last submission."""
        return Release(evaluation.score, not state, {"last": evaluation.submission})
