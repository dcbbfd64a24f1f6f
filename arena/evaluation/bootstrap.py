"""Joint bootstrap of the rows.

Rows are resampled jointly for all submissions: a resample is one draw of the test set. It is a
column of small integer weights: how often each row was drawn.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from arena.errors import MetricError, UsageError
from arena.types import IntArray, WeightArray
from arena.utils.parallel import run_tasks
from arena.utils.text import plural

__all__ = ["Resamples", "draw_halves", "draw_resamples"]

_MAX_REDRAWS = 1_000
_RESAMPLES_PER_TASK = 64
TASK_BYTES = 128 * 2**20
_KEPT_DRAWS, _KEPT_BYTES = 4, 2**22
"""Most draws of all rows that are kept, as they are often drawn again, and most bytes of one."""
_LARGEST_BLOCK = 2**16
"""Rows of a block: the row of a draw then fits into two bytes."""
_ROWS_IN_CACHE = 1_024
"""Weights are transposed so many rows at a time: whole columns do not fit the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """B joint resamples of n rows."""

    weights: WeightArray
    """``(n, B)``: how often each row was drawn, one byte each."""
    redrawn: int
    """Number of resamples redrawn because a class was missing."""


def draw_resamples(
    n_rows: int,
    resamples: int,
    seed: int,
    *,
    strata: IntArray | None = None,
    clusters: IntArray | None = None,
    required: IntArray | None = None,
    first: int = 0,
    workers: int = 1,
) -> Resamples:
    """Draw ``resamples`` bootstrap samples of the rows, with replacement.

    Resample b draws from ``SeedSequence(seed, spawn_key=(b,))``, so it depends neither on the
    number of resamples nor on the number of workers.

    Parameters
    ----------
    n_rows
        The number n of rows, at least 1.
    resamples
        The number B of resamples, at least 1.
    seed
        An integer, 0 or more.
    strata
        ``(n,)`` codes; each stratum keeps its number of rows.
    clusters
        ``(n,)`` codes; whole clusters are drawn instead of rows. Excludes ``strata``.
    required
        ``(n,)`` codes 0 … k-1; a resample in which a code does not occur is redrawn and counted.
    first
        Draws the resamples ``first`` to ``first + resamples - 1``, for those who draw in parts.

    Raises
    ------
    UsageError
        If the numbers are out of range, or strata and clusters are both given.
    MetricError
        If a class is so rare that a thousand consecutive draws lacked it.

    Examples
    --------
    >>> draw_resamples(4, 2, seed=0).weights.sum(axis=0)
    array([4, 4], dtype=uint64)
    """
    if n_rows < 1 or resamples < 1 or seed < 0:
        raise UsageError("Resampling needs at least one row, one resample and a seed of 0 or more.")
    if strata is not None and clusters is not None:
        raise UsageError("Rows can be resampled within classes or by cluster, not both.")
    plain = all(codes is None for codes in (strata, clusters, required))
    if plain and n_rows * resamples <= _KEPT_BYTES:
        shared = _draw_plain(n_rows, resamples, seed=seed, first=first, workers=workers)
        return replace(shared, weights=shared.weights.copy())  # callers may change theirs
    groups = None
    if strata is not None:
        groups = [np.flatnonzero(strata == code) for code in np.unique(strata)]
        if required is not None and np.array_equal(strata, required):
            required = None  # each class keeps its rows, so that none can be absent
        if required is not None:
            required = required[np.concatenate(groups)]
    sampler = Sampler(
        n_rows, seed, groups=groups, clusters=clusters, required=required, first=first
    )
    return _drawn_by(sampler, resamples, workers=workers)


@functools.lru_cache(maxsize=_KEPT_DRAWS)
def _draw_plain(n_rows: int, resamples: int, *, seed: int, first: int, workers: int) -> Resamples:
    """Draw from all rows. Competitions that differ in their mechanism only repeat this draw."""
    sampler = Sampler(n_rows, seed, groups=None, clusters=None, required=None, first=first)
    return _drawn_by(sampler, resamples, workers=workers)


def _drawn_by(sampler: Sampler, resamples: int, *, workers: int) -> Resamples:
    n_rows = sampler.n_rows
    weights = np.empty((n_rows, resamples), dtype=np.uint8)
    # Several columns at once, so that each cache line of the array is written few times.
    step = min(_RESAMPLES_PER_TASK, max(8, TASK_BYTES // n_rows))
    tasks = ((weights[:, start : start + step], start) for start in range(0, resamples, step))
    return Resamples(weights, sum(run_tasks(sampler.fill, tasks, workers=workers)))


def draw_halves(
    n_rows: int,
    resamples: int,
    seed: int,
    *,
    strata: IntArray | None = None,
    clusters: IntArray | None = None,
) -> WeightArray:
    """Draw ``(n, B)`` samples of half of the rows, without replacement: 1 for each row drawn.

    They are for a metric that refuses repeated rows. The mean of m of n rows that are drawn without
    replacement has the variance s^2 (1 - m/n) / m, where s^2 is the sample variance. For m = n / 2
    this is s^2 / n, the variance of a bootstrap mean up to n / (n - 1), so that the deviations need
    no rescaling (the delete-d jackknife with d = n / 2, Shao and Wu 1989). An odd row is drawn in
    every second sample on average. Parameters and seeds are those of :func:`draw_resamples`.

    Examples
    --------
    >>> draw_halves(6, 3, seed=0).sum(axis=0)
    array([3, 3, 3], dtype=uint64)
    """
    units = np.arange(n_rows) if clusters is None else clusters
    n_units = int(units.max()) + 1
    if clusters is None and strata is not None:
        groups = [np.flatnonzero(strata == code) for code in np.unique(strata)]
    else:
        groups = [np.arange(n_units)]
    weights = np.empty((n_rows, resamples), dtype=np.uint8)
    for b in range(resamples):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
        drawn = np.zeros(n_units, dtype=np.uint8)
        for group in groups:
            size = (len(group) + int(rng.integers(2))) // 2
            drawn[rng.permutation(group)[: max(size, 1)]] = 1
        weights[:, b] = drawn[units]
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    n_rows: int
    seed: int
    groups: list[IntArray] | None
    """The rows of each stratum; None: all rows are one. Counts are in this order of the rows."""
    clusters: IntArray | None
    required: IntArray | None
    """``(n,)`` codes, in the same order."""
    first: int
    """Which resample the first column is."""

    def fill(self, weights: WeightArray, start: int) -> int:
        """Fill columns from resample ``start`` on; return how many were redrawn."""
        columns, redrawn = np.empty(weights.shape[::-1], dtype=np.uint8), 0
        for b, column in enumerate(columns):
            column[:], times = self.draw(self.first + start + b)
            redrawn += times
        order = None if self.groups is None else np.concatenate(self.groups)
        for begin in range(0, self.n_rows, _ROWS_IN_CACHE):
            part = slice(begin, begin + _ROWS_IN_CACHE)
            weights[part if order is None else order[part]] = columns[:, part].T
        return redrawn

    def draw(self, b: int) -> tuple[WeightArray, int]:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(b,)))
        for redrawn in range(_MAX_REDRAWS):
            counts = self.counts(rng)
            if counts is not None and self.complete(counts):
                return counts, redrawn
        raise MetricError(
            "The metric needs every class, but a class is so rare among the "
            f"{plural(self.n_rows, 'ranked row')} that {_MAX_REDRAWS:,} consecutive resamples "
            "lacked it. Stratify the resamples by class (--stratify), or choose a metric that "
            "does not need every class."
        )

    def counts(self, rng: np.random.Generator) -> WeightArray | None:
        """Return how often each row is drawn; None if that does not fit into a byte."""
        n = self.n_rows if self.clusters is None else int(self.clusters.max()) + 1
        counts, start = np.zeros(n, dtype=np.uint8), 0
        for size in (n,) if self.groups is None else map(len, self.groups):
            _count_draws(rng, counts[start : start + size])
            start += size
        if int(counts.sum(dtype=np.int64)) != n:  # a byte that overflows lacks 256
            return None
        return counts if self.clusters is None else counts[self.clusters]

    def complete(self, counts: WeightArray) -> bool:
        if self.required is None:
            return True
        return bool((np.bincount(self.required, weights=counts) > 0).all())


def _count_draws(rng: np.random.Generator, counts: WeightArray) -> None:
    """Draw n of n with replacement, and add to the count of each.

    Of many, first the number of draws from each block of neighbours is drawn, then these: the draws
    and the counts of a block fit into a processor's cache.
    """
    n = len(counts)
    if n <= _LARGEST_BLOCK:
        np.add.at(counts, rng.integers(0, n, n), np.uint8(1))
        return
    blocks = [counts[start : start + _LARGEST_BLOCK] for start in range(0, n, _LARGEST_BLOCK)]
    sizes = np.array([len(block) for block in blocks])
    for block, draws in zip(blocks, rng.multinomial(n, sizes / n), strict=True):
        places = rng.integers(0, len(block), draws, dtype=np.uint16)
        np.add.at(block, places, np.uint8(1))
