"""What every distribution of a best score tells, whether it was computed or simulated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from arena.types import DEFAULT_LEVEL
from arena.utils.tabular import Tabular


class BestScoreDistribution(Tabular, ABC):
    """The distribution of the best of m observed scores."""

    __slots__ = ()

    theta_sota: float
    left_out: float

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected best score."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation of the best score."""

    @abstractmethod
    def cdf(self, score: float) -> float:
        """Return the probability that the best score is at most ``score``."""

    @abstractmethod
    def quantile(self, share: float) -> float:
        """Return the score that the best one does not exceed with this probability."""

    @property
    def simulation_error(self) -> float | None:
        """Standard error of the simulated mean; None: this distribution is exact."""
        return None

    @property
    def std_simulation_error(self) -> float | None:
        """Standard error of the simulated standard deviation; None: it is exact."""
        return None

    def at_least_error(self, score: float) -> float | None:  # noqa: ARG002 - of a simulation
        """Return the standard error of the simulated ``at_least``; None: it is exact."""
        return None

    def quantile_error(self, share: float) -> float | None:  # noqa: ARG002
        """Return the standard error of a simulated quantile; None: it is exact."""
        return None

    @property
    def bias(self) -> float:
        """The selection bias: the expected best score minus the best true performance."""
        return self.mean - self.theta_sota

    def interval(self, level: float = DEFAULT_LEVEL) -> tuple[float, float]:
        """Return the two quantiles between which the best score lies with this probability."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        return {
            "mean": self.mean,
            "std": self.std,
            "interval": list(self.interval()),
            "theta_sota": self.theta_sota,
            "bias": self.bias,
            "left_out": self.left_out,
        }
