"""Base class of the metrics that are a function of a mean over the rows; classification losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.interfaces import PointwiseMetric
from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.parameters import require_inside
from arena_metrics.rows import as_codes

_LOGARITHMS_PER_ROW_WEIGHT = 4
"""In plain numpy, one logarithm costs a quarter of sorting one row weight."""


class Pointwise(PointwiseMetric):
    """A pointwise metric; by default a non-negative error, so smaller is better."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """Errors are not negative."""
        return MetricTraits(score_range=(0.0, np.inf))


@dataclass(frozen=True)
class Accuracy(Pointwise):
    """Fraction of rows with the correct label. Takes labels; does not threshold probabilities.

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
        """Return 1 where the label is correct and 0 elsewhere."""
        return np.asarray(predictions == truth, dtype=np.float64)


@dataclass(frozen=True)
class LogLoss(Pointwise):
    """Negative mean log-likelihood of the true classes, in nats.

    Parameters
    ----------
    clip
        Probabilities are clipped to [clip, 1 - clip], so that one confident mistake does not
        dominate the score; between 0 and 0.5. None: the resolution of float64, 2.2e-16, as in
        scikit-learn, with which a single row can still cost 36.

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
            require_inside(
                self.name, "clip", value=self.clip, low=np.finfo(np.float64).tiny, high=0.5
            )

    @property
    def traits(self) -> MetricTraits:
        """Predictions are probabilities; with ``clip``, the loss of a row is bounded."""
        bounds = None if self.clip is None else (-np.log1p(-self.clip), -np.log(self.clip))
        return MetricTraits(
            prediction_range=(0.0, 1.0), row_range=bounds, score_range=(0.0, np.inf)
        )

    @property
    def _clip(self) -> float:
        return float(np.finfo(np.float64).eps) if self.clip is None else self.clip

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return minus the logarithm of the probability of the true class."""
        if predictions.ndim == 2:
            engine = choose_engine(predictions.size // _LOGARITHMS_PER_ROW_WEIGHT)
            losses = engine.log_losses(predictions, truth == 1, self._clip)
        else:
            codes = as_codes(truth)[np.newaxis, :, np.newaxis]
            chosen = np.take_along_axis(predictions, codes, axis=2)[:, :, 0]
            losses = -np.log(np.clip(chosen, self._clip, 1.0 - self._clip))
        # Logarithms of two libraries may differ in the last digit; stay inside the declared range.
        bounds = self.traits.row_range
        return losses if bounds is None else np.clip(losses, *bounds, out=losses)


@dataclass(frozen=True)
class Brier(Pointwise):
    """Mean squared error of probabilities (Brier 1950).

    Two classes: the squared error of the probability of the positive class, between 0 and 1. More
    classes: the sum over the classes, between 0 and 2. As in scikit-learn.

    Examples
    --------
    >>> Brier().score(np.array([0, 1]), np.array([0.5, 0.5]))
    0.25
    """

    name = "brier"
    prediction = PredictionKind.CLASS_PROBABILITIES

    @property
    def traits(self) -> MetricTraits:
        """Predictions are probabilities; row values are at most 1 for two classes, else 2."""
        return MetricTraits(prediction_range=(0.0, 1.0), row_range=(0.0, 2.0))

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared errors, summed over the classes if there are more than two."""
        if predictions.ndim == 2:
            return np.asarray(np.square(predictions - (truth == 1)))
        errors = predictions.copy()
        errors[:, np.arange(len(truth)), as_codes(truth)] -= 1.0
        return np.asarray(np.einsum("mnk,mnk->mn", errors, errors))
