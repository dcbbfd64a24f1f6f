"""Metrics that are a mean over the rows, or a function of one. Base, and those of classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.engine import choose_engine
from arena_metrics.parameters import require_inside
from arena_metrics.rows import as_codes, drawn_rows

__all__ = ["Accuracy", "Brier", "LogLoss", "Pointwise"]

_LOGARITHMS_PER_ROW_WEIGHT = 4
"""A row's logarithm costs plain numpy a quarter of a sorted row weight."""


class Pointwise(ABC):
    """A metric whose score is ``from_mean`` of the weighted mean of its row values.

    A subclass gives the row values, ``(m, n)``, and the library's function for one submission.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """What the metric declares."""
        return MetricTraits(score_range=(0.0, np.inf))

    @abstractmethod
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` row values of ``(m, n)`` or ``(m, n, n_classes)`` predictions."""

    @abstractmethod
    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        """Return the score as the library computes it."""

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the score of a mean of row values, elementwise."""
        return mean

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN if no row has a weight."""
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        with np.errstate(over="ignore"):
            return float(self._library_score(truth, prediction, weight)) if len(truth) else np.nan


@dataclass(frozen=True)
class Accuracy(Pointwise):
    """The share of rows whose label was predicted. Never thresholds a probability.

    Examples
    --------
    >>> Accuracy().score(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 1]))
    0.75
    """

    name = "accuracy"
    greater_is_better = True
    prediction = PredictionKind.LABEL

    @property
    def traits(self) -> MetricTraits:
        """Row values are 0 or 1."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return 1 where the label was predicted, and 0 elsewhere."""
        return np.asarray(predictions == truth, dtype=np.float64)

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        from sklearn.metrics import accuracy_score

        score: float = accuracy_score(as_codes(truth), as_codes(prediction), sample_weight=weight)
        return score


@dataclass(frozen=True)
class LogLoss(Pointwise):
    """Minus the mean logarithm of the probability that was given to the true class, in nats.

    Parameters
    ----------
    clip
        Probabilities are moved into [clip, 1 - clip], so that one confident mistake does not
        cost everything; between 0 and 0.5. None: the resolution of float64, 2.2e-16, as
        scikit-learn has it, which is no bound worth the name (a row can cost 36).

    Examples
    --------
    >>> round(LogLoss().score(np.array([0, 1]), np.array([0.5, 0.25])), 6)
    1.039721
    >>> round(LogLoss(clip=0.4).score(np.array([0, 1]), np.array([0.5, 0.25])), 6)
    0.804719
    """

    clip: float | None = None

    name = "log_loss"
    prediction = PredictionKind.CLASS_PROBABILITIES

    def __post_init__(self) -> None:
        if self.clip is not None:
            require_inside(self.name, "clip", self.clip, np.finfo(np.float64).tiny, 0.5)

    @property
    def traits(self) -> MetricTraits:
        """Probabilities; with a clip, what a row can cost is bounded."""
        bounds = None if self.clip is None else (-np.log1p(-self.clip), -np.log(self.clip))
        return MetricTraits(prediction_range=(0.0, 1.0), row_range=bounds)

    @property
    def _clip(self) -> float:
        return float(np.finfo(np.float64).eps) if self.clip is None else self.clip

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return minus the logarithm of the probability of the true class; holds ``8 * m * n``."""
        if predictions.ndim == 2:
            engine = choose_engine(predictions.size // _LOGARITHMS_PER_ROW_WEIGHT)
            losses = engine.log_losses(predictions, truth == 1, self._clip)
        else:
            codes = as_codes(truth)[np.newaxis, :, np.newaxis]
            chosen = np.take_along_axis(predictions, codes, axis=2)[:, :, 0]
            losses = -np.log(np.clip(chosen, self._clip, 1.0 - self._clip))
        # Two libraries' logarithms may differ in the last digit, which must not leave the range.
        bounds = self.traits.row_range
        return losses if bounds is None else np.clip(losses, *bounds, out=losses)

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        from sklearn.metrics import log_loss

        if prediction.ndim == 1:
            prediction = np.column_stack([1.0 - prediction, prediction])
        chosen = np.take_along_axis(prediction, as_codes(truth)[:, np.newaxis], axis=1)[:, 0]
        # Of the chosen probability only: whether a row sums to one is the intake's concern.
        clipped = np.clip(chosen, self._clip, 1.0 - self._clip)
        score: float = log_loss(
            np.ones(len(truth), dtype=np.intp), clipped, sample_weight=weight, labels=[0, 1]
        )
        return score


@dataclass(frozen=True)
class Brier(Pointwise):
    """Mean squared error of probabilities (Brier 1950).

    Two classes: of the probability of the positive class, between 0 and 1. More: summed over the
    classes, between 0 and 2. So it is in scikit-learn.

    Examples
    --------
    >>> Brier().score(np.array([0, 1]), np.array([0.5, 0.5]))
    0.25
    """

    name = "brier"
    prediction = PredictionKind.CLASS_PROBABILITIES

    @property
    def traits(self) -> MetricTraits:
        """Probabilities; row values are at most 1 for two classes, and 2 for more."""
        return MetricTraits(prediction_range=(0.0, 1.0), row_range=(0.0, 2.0))

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared errors, summed over the classes if there are more than two."""
        if predictions.ndim == 2:
            return np.asarray(np.square(predictions - (truth == 1)))
        errors = predictions.copy()
        errors[:, np.arange(len(truth)), as_codes(truth)] -= 1.0
        return np.asarray(np.einsum("mnk,mnk->mn", errors, errors))

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        from sklearn.metrics import brier_score_loss, mean_squared_error

        if prediction.ndim == 1:
            score: float = brier_score_loss(truth == 1, prediction, sample_weight=weight)
            return score
        indicator = np.equal.outer(truth, np.arange(prediction.shape[1]))
        squared: float = mean_squared_error(indicator, prediction, sample_weight=weight)
        return float(squared * prediction.shape[1])
