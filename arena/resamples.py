"""Joint bootstrap of the rows: what is drawn.

Rows are resampled jointly over all submissions, so that a resample is one draw of the test set.
A resample is a column of small integer weights: how often each row was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.execution import run_tasks
from arena.types import IntArray, WeightArray

__all__ = ["Resamples", "draw_resamples"]

_MAX_REDRAWS = 1_000
_RESAMPLES_PER_DRAWING = 64


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """B joint resamples of n rows."""

    weights: WeightArray
    """``(n, B)``: how often each row was drawn. Held as one byte each: n * B bytes."""
    redrawn: int
    """How many drawings were thrown away because a class was missing in them."""


def draw_resamples(
    n_rows: int,
    resamples: int,
    seed: int,
    *,
    strata: IntArray | None = None,
    clusters: IntArray | None = None,
    required: IntArray | None = None,
    workers: int = 1,
) -> Resamples:
    """Draw ``resamples`` bootstrap samples of the rows, with replacement.

    Resample b draws from ``SeedSequence(seed, spawn_key=(b,))``, so that the first resamples are
    the same however many are asked for, on any number of workers.

    Parameters
    ----------
    n_rows
        The number n of rows, at least 1.
    resamples
        The number B of resamples, at least 1.
    seed
        A number that is not negative.
    strata
        ``(n,)`` codes; within each stratum as many rows are drawn as it has.
    clusters
        ``(n,)`` codes; whole clusters are drawn instead of rows. Excludes ``strata``.
    required
        ``(n,)`` codes 0 … k-1; a resample in which one of the codes does not occur is redrawn,
        and counted.

    Raises
    ------
    UsageError
        If the numbers are out of range, or strata and clusters are both given.
    MetricError
        If a class is so rare that a thousand drawings in a row lacked it.

    Examples
    --------
    >>> draw_resamples(4, 2, seed=0).weights.sum(axis=0)
    array([4, 4], dtype=uint64)
    """
    if n_rows < 1 or resamples < 1 or seed < 0:
        raise UsageError("Resampling needs at least one row, one resample and a seed of 0 or more.")
    if strata is not None and clusters is not None:
        raise UsageError("Rows are resampled either within classes or by clusters, not both.")
    drawing = _Drawing(n_rows, seed, _groups(strata), clusters, required)
    weights = np.empty((n_rows, resamples), dtype=np.uint8)
    starts = range(0, resamples, _RESAMPLES_PER_DRAWING)
    tasks = ((weights, start) for start in starts)
    return Resamples(weights, sum(run_tasks(drawing.fill, tasks, workers=workers)))


def _groups(strata: IntArray | None) -> list[IntArray] | None:
    if strata is None:
        return None
    return [np.flatnonzero(strata == code) for code in np.unique(strata)]


@dataclass(frozen=True, slots=True, eq=False)
class _Drawing:
    n_rows: int
    seed: int
    groups: list[IntArray] | None
    clusters: IntArray | None
    required: IntArray | None

    def fill(self, weights: WeightArray, start: int) -> int:
        """Fill a few columns at once: one at a time would touch every cache line of the array."""
        stop = min(start + _RESAMPLES_PER_DRAWING, weights.shape[1])
        drawn = [self.draw(b) for b in range(start, stop)]
        weights[:, start:stop] = np.stack([column for column, _ in drawn], axis=1)
        return sum(redrawn for _, redrawn in drawn)

    def draw(self, b: int) -> tuple[WeightArray, int]:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(b,)))
        for redrawn in range(_MAX_REDRAWS):
            counts = self.counts(rng)
            if counts.max(initial=0) <= np.iinfo(np.uint8).max and self.complete(counts):
                return counts.astype(np.uint8), redrawn
        raise MetricError(
            f"The metric needs every class, but one is so rare among the {self.n_rows:,} ranked "
            f"rows that {_MAX_REDRAWS:,} drawings in a row had none of it. Stratify the resamples "
            f"by class (--stratify), or choose a metric that is defined without it."
        )

    def counts(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if self.clusters is not None:
            n_clusters = int(self.clusters.max()) + 1
            drawn = rng.integers(0, n_clusters, n_clusters)
            return np.bincount(drawn, minlength=n_clusters)[self.clusters]
        if self.groups is None:
            return np.bincount(rng.integers(0, self.n_rows, self.n_rows), minlength=self.n_rows)
        counts = np.zeros(self.n_rows, dtype=np.int64)
        for rows in self.groups:
            counts[rows] = np.bincount(rng.integers(0, len(rows), len(rows)), minlength=len(rows))
        return counts

    def complete(self, counts: npt.NDArray[np.int64]) -> bool:
        if self.required is None:
            return True
        return bool((np.bincount(self.required, weights=counts) > 0).all())
