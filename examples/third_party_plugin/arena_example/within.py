"""A metric: how often a prediction is near the truth."""

from dataclasses import dataclass

import numpy as np

from arena.types import MetricTraits, PredictionKind


@dataclass(frozen=True)
class Within:
    """Share of predictions within some percent of the truth: ``within(percent=5)``."""

    percent: float = 10.0
    name: str = "within"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.VALUE

    def __post_init__(self):
        if not self.percent > 0:
            raise ValueError("percent must be positive.")

    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    def score(self, truth, prediction, weight=None):
        rows = self.row_values(truth, prediction[np.newaxis])[0]
        return float(np.average(rows, weights=weight))

    # These two are optional. With them arena resamples by a matrix product, not call by call,
    # and knows the standard error of a difference.

    def row_values(self, truth, predictions):
        return (np.abs(predictions - truth) <= self.percent / 100 * np.abs(truth)).astype(float)

    def from_mean(self, mean):
        return mean
