"""The rows of a simulation: for training, for early stopping, and the population of all tests."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.simulation.drift import divide_with_drift
from arena.types import FloatArray

HUNDRED = 100
"""Probabilities are multiples of 1/100, so that a true score is an exact sum of whole counts."""

_FEATURES = 10
_LEAST_ROWS = 20
"""Of each kind, when the numbers are made smaller to fit a file."""
_WORLD_STREAM = (2**32 - 2,)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows there are of each kind.

    Raises
    ------
    UsageError
        If a number is not positive.
    """

    training: int = 10_000
    validation: int = 5_000
    population: int = 100_000

    def __post_init__(self) -> None:
        if min(self.training, self.validation, self.population) < 2:
            raise UsageError("Training, validation and population need at least two rows each.")

    @property
    def total(self) -> int:
        """All rows together."""
        return self.training + self.validation + self.population

    def changed(self, **sizes: int | None) -> tuple[Sizes, tuple[str, ...]]:
        """Return sizes with the given ones that are not None, and the names of those.

        >>> Sizes().changed(training=100, population=None)
        (Sizes(training=100, validation=5000, population=100000), ('training',))
        """
        changes = {name: value for name, value in sizes.items() if value is not None}
        return replace(self, **changes), tuple(changes)

    def shrunk(self, n_rows: int, given_sizes: Collection[str]) -> Sizes | None:
        """Return sizes that fit into this number of rows; None if there are none.

        Those named in ``given`` stay, and the others become smaller by a common factor.

        >>> Sizes(3_000, 1_000, 6_000).shrunk(6_000, {"training"})
        Sizes(training=3000, validation=428, population=2571)
        """
        sizes = {name: getattr(self, name) for name in ("training", "validation", "population")}
        fixed = sum(size for name, size in sizes.items() if name in given_sizes)
        free = self.total - fixed
        if not free or n_rows - fixed < _LEAST_ROWS * (3 - len(set(given_sizes) & set(sizes))):
            return self if self.total <= n_rows else None
        factor = min(1.0, (n_rows - fixed) / free)
        return Sizes(
            **{
                name: size if name in given_sizes else int(factor * size)
                for name, size in sizes.items()
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows with their targets."""

    features: FloatArray
    """``(n, d)``; NaN where unknown."""
    target: npt.NDArray[np.generic]
    """``(n,)`` codes of classes, or numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """The rows that every competitor trains on."""

    training: LabelledRows
    validation: LabelledRows
    """On which training stops early."""
    n_classes: int | None
    """None: the target is a number."""
    categorical: tuple[int, ...] = ()
    """Columns with category codes."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The rows that tests are drawn from."""

    features: FloatArray
    """``(n, d)``."""
    target: npt.NDArray[np.generic]
    """``(n,)`` codes of classes, or numbers."""
    chance: npt.NDArray[np.uint8] | None = None
    """``(n,)`` 0 … 100: probability of a positive label in hundredths; None: not known."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.target)


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Training rows and population of a simulation."""

    name: str
    """Description for reports."""
    rows: TrainingRows
    population: Population
    classes: tuple[str, ...] | None
    """The labels in the order of their codes; None: numeric."""
    identity: str
    """A hash of everything, for the folder of models."""
    notes: tuple[str, ...] = ()
    """For the organiser, in sentences."""


def synthetic_world(sizes: Sizes, seed: int, drift: float = 0.0) -> World:
    """Draw rows with a known P(y = 1 | x).

    Ten uniform features; the log-odds are a sum of waves, products and steps of seven of them,
    and the chance of a positive is rounded to whole hundredths. With it the score of a model on
    the distribution itself is computed exactly, without drawing a label.

    Parameters
    ----------
    sizes
        Of each kind of rows. Held: 80 bytes a row.
    seed
        Not negative.
    drift
        How far the features of the population are from those of the training rows, in [0, 1]; see
        :func:`~arena.simulation.drift.divide_with_drift`.

    Examples
    --------
    >>> world = synthetic_world(Sizes(100, 50, 200), seed=0)
    >>> world.population.features.shape, world.rows.n_classes
    ((200, 10), 2)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_WORLD_STREAM))
    features = rng.random((sizes.total, _FEATURES))
    chance = np.round(HUNDRED / (1 + np.exp(-true_log_odds(features)))).astype(np.uint8)
    target = (rng.integers(0, HUNDRED, sizes.total) < chance).astype(np.intp)
    order = np.arange(sizes.total)
    if drift:
        n_labelled = sizes.training + sizes.validation
        order = np.concatenate(divide_with_drift(features, n_labelled, drift, rng))
    parts = np.split(order, [sizes.training, sizes.training + sizes.validation])
    training, validation = (LabelledRows(features[part], target[part]) for part in parts[:2])
    population = Population(features[parts[2]], target[parts[2]], chance[parts[2]])
    rows = TrainingRows(training, validation, 2)
    return World(
        "synthetic rows with a known chance of a positive",
        rows,
        population=population,
        classes=("0", "1"),
        identity=fingerprint(rows, population),
    )


def true_log_odds(x: FloatArray) -> FloatArray:
    """Return the ``(n,)`` log odds of ``(n, p)`` features, by which labels are drawn."""
    waves = np.sin(2 * np.pi * x[:, 0]) + 2 * (x[:, 1] - 0.5) * (x[:, 2] > 0.4)
    steps = np.floor(4 * x[:, 3]) / 3 - 2 * np.abs(x[:, 4] - 0.5)
    return np.asarray(1.3 * waves + steps + 3 * (x[:, 5] - 0.5) * (x[:, 6] - 0.5) - 1.2)


def fingerprint(rows: TrainingRows, population: Population) -> str:
    """Return a hash of all rows and their targets."""
    digest = hashlib.sha256(repr((rows.n_classes, rows.categorical)).encode())
    for part in (rows.training, rows.validation, population):
        for array in (part.features, part.target):
            digest.update(np.ascontiguousarray(array).tobytes())
    if population.chance is not None:
        digest.update(population.chance.tobytes())
    return digest.hexdigest()
