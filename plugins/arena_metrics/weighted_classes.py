"""Metrics of classes with weights: log loss by class, and the significance of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.interfaces import MetricOfSums
from arena.types import FloatArray, MetricTraits, PredictionKind, RowContext
from arena_metrics.parameters import require_inside
from arena_metrics.rows import as_codes, bound_copy

_REGULARISATION = 10.0


@dataclass(frozen=True)
class ClassWeightedLogLoss(MetricOfSums):
    """Log loss as the weighted mean of the mean losses of the classes, as in PLAsTiCC.

    Classes that do not occur in the split have no weight in it.

    Parameters
    ----------
    weights
        ``label:weight`` for labels whose weight is not 1, separated by spaces: ``15:2 64:2``.
    clip
        Probabilities are clipped to [clip, 1 - clip]. Kaggle's is 1e-15; the default of
        scikit-learn, 2.2e-16, gives other scores where a true class has the probability 0.

    Examples
    --------
    >>> truth, chances = np.array([0, 0, 1]), np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    >>> ClassWeightedLogLoss().score(truth, chances).__round__(6)
    1.039721
    """

    weights: str = ""
    clip: float = 1e-15

    name = "class_weighted_log_loss"
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.CLASS_PROBABILITIES
    _classes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        require_inside(self.name, "clip", value=self.clip, low=0, high=0.5)
        self._parsed()

    @property
    def traits(self) -> MetricTraits:
        """Predictions are probabilities."""
        return MetricTraits(prediction_range=(0.0, 1.0), score_range=(0.0, np.inf))

    def for_classes(self, classes: Sequence[str]) -> ClassWeightedLogLoss:
        """Return the metric with the weights of these labels.

        Raises
        ------
        MetricError
            If a label with a weight is none of them.
        """
        if unknown := [label for label in self._parsed() if label not in classes]:
            raise MetricError(
                f"{self.name} has a weight for {unknown[0]!r}, which is no label of the solution."
            )
        return bound_copy(self, _classes=tuple(classes))

    def _parsed(self) -> dict[str, float]:
        weights = {}
        for part in str(self.weights).split():
            label, _, weight = part.rpartition(":")
            try:
                weights[label] = float(weight)
            except ValueError:
                weights[label] = -1.0
            if not label or not 0 <= weights[label] < np.inf:
                raise UsageError(f"{self.name} needs weights such as 15:2 64:2, not {part!r}.")
        return weights

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the loss and the count of the class of each row."""
        if predictions.ndim == 2:
            predictions = np.stack([1.0 - predictions, predictions], axis=-1)
        codes = as_codes(truth)
        n_classes = predictions.shape[-1]
        chosen = np.take_along_axis(predictions, codes[np.newaxis, :, np.newaxis], axis=2)[..., 0]
        member = codes[:, np.newaxis] == np.arange(n_classes)
        losses = -np.log(np.clip(chosen, self.clip, 1.0 - self.clip))
        statistics = np.zeros((*chosen.shape, 2 * n_classes))
        statistics[..., :n_classes] = losses[..., np.newaxis] * member
        statistics[..., n_classes:] = member
        return statistics

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the weighted mean of the mean losses of the classes that occur."""
        losses, counts = np.split(sums, 2, axis=-1)
        weight_of = self._parsed()
        names = self._classes or tuple(map(str, range(losses.shape[-1])))
        weights = np.where(counts > 0, [weight_of.get(name, 1.0) for name in names], 0.0)
        means = np.divide(losses, counts, out=np.zeros_like(losses), where=counts > 0)
        return np.asarray((weights * means).sum(axis=-1) / weights.sum(axis=-1))


@dataclass(frozen=True)
class ApproximateMedianSignificance(MetricOfSums):
    """Approximate median significance of the rows selected as signal, as in the Higgs challenge.

    sqrt(2 ((s + b + 10) log(1 + s / (b + 10)) - s), with the weights s of selected signal and b of
    selected background (Adam-Bourdarios et al. 2014). The solution has a column ``Weight``; the
    positive label is the signal. Weights are sums over the split: a split needs its own weights,
    which add up to the whole.

    Examples
    --------
    >>> truth, sent = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    >>> ApproximateMedianSignificance().score(truth, sent).__round__(6)
    0.297108
    """

    # The score grows with the number of events: a weight is not only a share of them.
    influence_values = None  # type: ignore[assignment]

    name = "ams"
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.LABEL
    _weights: ClassVar[npt.NDArray[np.float64] | None] = None

    @property
    def traits(self) -> MetricTraits:
        """Two classes, and the weights of the events."""
        return MetricTraits(
            score_range=(0.0, np.inf), max_classes=2, extra_columns=("Weight",), row_weights=False
        )

    def for_rows(self, context: RowContext) -> ApproximateMedianSignificance:
        """Return the metric with the weights of these rows.

        Raises
        ------
        MetricError
            If the solution has no column ``Weight``, or a weight is negative.
        """
        weights = context.extra.get("Weight")
        if weights is None or (weights < 0).any():
            raise MetricError(
                "ams needs a column 'Weight' of numbers of 0 or more in the solution."
            )
        return bound_copy(self, _weights=weights)

    def example_extra(self, n_rows: int) -> dict[str, FloatArray]:
        """Return weights for the conformance suite."""
        return {"Weight": np.full(n_rows, 2.0)}

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the weights of selected signal and background."""
        weights = np.ones(len(truth)) if self._weights is None else self._weights
        selected = (predictions == 1) * weights
        return np.stack([selected * (truth == 1), selected * (truth != 1)], axis=-1)

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the significance."""
        signal, background = sums[..., 0], sums[..., 1] + _REGULARISATION
        squared = 2.0 * ((signal + background) * np.log1p(signal / background) - signal)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
