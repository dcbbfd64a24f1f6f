"""A metric that is computed by another one, and has its direction, kind, traits and modality."""

from __future__ import annotations

from dataclasses import dataclass

from arena.interfaces import Metric, Modality, modality_of, traits_of
from arena.types import MetricTraits, PredictionKind


@dataclass(frozen=True)
class WrappedMetric:
    """What a metric has in common with the one that it calls; ``score`` is still to be defined."""

    metric: Metric

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def greater_is_better(self) -> bool:
        """Whether larger scores are better."""
        return self.metric.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        """The kind of predictions."""
        return self.metric.prediction

    @property
    def traits(self) -> MetricTraits:
        """The traits of the metric."""
        return traits_of(self.metric)

    @property
    def modality(self) -> Modality:
        """The modality of the metric."""
        return modality_of(self.metric)
