"""Minimal conforming metrics, a mechanism and a competitor, for the doctests of the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import Evaluation, Feedback, Move, Participation
from arena.types import MetricTraits, PredictionKind, Release


@dataclass(frozen=True, slots=True)
class MeanAbsolute:
    """The mean absolute difference, as a black-box metric."""

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
    """Release every score unchanged."""

    name: str = "repeat"

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the score; the state is the id of the last submission."""
        return Release(evaluation.score, not state, {"last": evaluation.submission})


@dataclass(frozen=True, slots=True)
class ShareRight:
    """The share of right labels, with its row values."""

    name: str = "share_right"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.LABEL

    @property
    def traits(self) -> MetricTraits:
        """The range of a row and of the score."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the weighted share of equal labels."""
        return float(np.average(truth == prediction, weights=weight))

    def row_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` ones where a label is right."""
        return np.asarray(predictions == truth, dtype=np.float64)

    def from_mean(self, mean: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the score of a mean of row values: the mean itself."""
        return mean


@dataclass(frozen=True, slots=True)
class Guess:
    """A competitor that submits random labels and keeps the best ones."""

    name: str = "guess"

    def start(self, participation: Participation, rng: np.random.Generator) -> _Guesses:
        """Return a player."""
        return _Guesses(participation, rng)


class _Guesses:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._n_rows, self._n_classes = participation.n_rows, participation.n_classes or 2
        self._rng, self._best = rng, -np.inf
        self._sent = self._kept = np.zeros(self._n_rows, dtype=np.intp)

    def submit(self) -> Move:
        self._sent = self._rng.integers(0, self._n_classes, self._n_rows)
        return Move(self._sent)

    def receive(self, feedback: Feedback) -> None:
        if feedback.score > self._best:
            self._best, self._kept = feedback.score, self._sent

    def finish(self) -> Move:
        return Move(self._kept)
