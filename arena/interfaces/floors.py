"""The interface of estimators of the Bayes error, which ``arena bayes-error --kind`` selects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.types import IntArray


class FloorSettings(TypedDict, total=False):
    """The options that every estimator takes besides its data."""

    level: float
    """Confidence level of the intervals, in (0, 1); 0.95 by default."""
    delta: float
    """The bound holds with a probability of at least 1 - delta; 0.05 by default."""
    resamples: int
    """Bootstrap resamples, at least 2; 1,000 by default."""
    rng: np.random.Generator
    """The generator of the bootstrap; by default ``numpy.random.default_rng(0)``."""
    clusters: npt.ArrayLike
    """``(n,)`` the group of each row, if rows of a group are dependent, such as those of a patient:
    groups are then the sampling units in every interval and in the bound."""
    row_number: Callable[[int], int]
    """Position -> the row number in a message; counted from 1 by default."""


@dataclass(frozen=True, slots=True, eq=False)
class FloorEstimate:
    """The estimated Bayes error, a share of rows in [0, 1], as a plugin returns it.

    Raises
    ------
    ValueError
        If the estimate or an end of the interval is not in [0, 1], or the level not in (0, 1).
    """

    estimate: float
    """The lowest error rate that any classifier can reach, as estimated."""
    interval: tuple[float, float]
    """Its confidence interval."""
    level: float
    """The level of the interval."""
    n: int
    """The number of rows."""
    assumptions: tuple[str, ...]
    """Assumptions of the estimate, in sentences."""
    standard_error: float | None = None
    """The standard error of the estimate; None: unknown."""
    n_clusters: int | None = None
    """The number of groups of rows that were sampled; None: each row was."""
    bias_bound: tuple[float, float] | None = None
    """The smallest and the largest possible bias; None: no bound is known."""

    def __post_init__(self) -> None:
        low, high = self.interval
        if not 0 <= self.estimate <= 1:
            raise ValueError(f"The estimate must be from 0 to 1, not {self.estimate}.")
        if not 0 <= low <= high <= 1:
            raise ValueError(f"The interval must ascend from 0 to 1, not {low} to {high}.")
        if not 0 < self.level < 1 or self.n < 1:
            raise ValueError("The level must be between 0 and 1, and n at least 1.")


class LabelColumns(Protocol):
    """The columns of a file of labels, and the options that name them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns named with ``--column``; empty: none."""

    @property
    def sign(self) -> str | None:
        """The column named with ``--sign``."""

    @property
    def label(self) -> str | None:
        """The column named with ``--label``."""

    @property
    def positive(self) -> str | None:
        """The text given with ``--positive``."""

    @property
    def prior(self) -> float | None:
        """The number given with ``--prior``."""

    @property
    def neighbours(self) -> int | None:
        """The number given with ``--neighbours``."""

    def data_columns(self) -> tuple[str, ...]:
        """Return the named columns, else those that no other option names.

        Raises
        ------
        UsageError
            If it is ambiguous which columns are meant.
        """

    def column(self, what: str) -> npt.NDArray[np.float64]:
        """Return ``(n,)`` the single column of numbers; ``what`` names it in messages.

        Raises
        ------
        UsageError
            If there are several.
        InputError
            If a cell is no finite number.
        """

    def numbers(self, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Return ``(n, k)`` of the columns named, all finite; raises InputError."""

    def codes(self, name: str, what: str) -> IntArray:
        """Return ``(n,)`` a number for each different text of a column; raises InputError."""


@runtime_checkable
class FloorEstimator(Protocol):
    """An estimator of the Bayes error from what is known of each row."""

    @property
    def name(self) -> str:
        """The name for ``--kind``."""

    @property
    def description(self) -> str:
        """The information on each row, in one sentence."""

    @property
    def options(self) -> frozenset[str]:
        """The options that it uses; others are refused.

        Of ``sign``, ``label``, ``positive``, ``prior``, ``cluster``, ``metric``, ``neighbours``.
        """

    def parse(self, labels: LabelColumns) -> Any:
        """Read what :meth:`estimate` needs from the columns.

        Raises
        ------
        UsageError
            If an option is missing.
        InputError
            If the columns do not hold labels of this kind.
        """

    def estimate(self, parsed: Any, settings: FloorSettings) -> FloorEstimate:
        """Return the estimate from what :meth:`parse` returned; arrays only, no file."""
