"""A metric: how often a prediction is near the truth."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arena.interfaces import PointwiseMetric
from arena.types import MetricTraits, PredictionKind


@dataclass(frozen=True)
class Within(PointwiseMetric):
    """Share of predictions within some percent of the truth: ``within(percent=5)``."""

    percent: float = 10.0
    name: ClassVar[str] = "within"
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    def __post_init__(self):
        if not self.percent > 0:
            raise ValueError("percent must be positive.")

    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    # The score, resampling by a matrix product and standard errors follow from the row values.
    def row_values(self, truth, predictions):
        return (np.abs(predictions - truth) <= self.percent / 100 * np.abs(truth)).astype(float)
