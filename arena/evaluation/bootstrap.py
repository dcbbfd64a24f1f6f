"""Joint bootstrap of the rows.

Rows are resampled jointly for all submissions: a resample is one draw of the test set. It is a
column of small integer weights: how often each row was drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.types import IntArray, WeightArray
from arena.utils.parallel import run_tasks
from arena.utils.text import plural

__all__ = ["Resamples", "draw_halves", "draw_resamples"]

_MAX_REDRAWS = 1_000
_RESAMPLES_PER_TASK = 64
TASK_BYTES = 128 * 2**20
"""Of the counts of clusters, which are held besides those of the rows."""
_KEPT_DRAWS, _KEPT_BYTES = 4, 2**22
"""Most draws of all rows that are kept, as they are often drawn again, and most bytes of one."""
_LARGEST_BLOCK = 2**16
"""Rows of a block: the row of a draw then fits into two bytes."""
_LINE_BYTES = 64
"""Between columns: those a power of 2 apart would share few lines of a processor's cache."""
_ROWS_CHECKED = 1_024
"""Rows that are searched for all classes at a time: mostly the first ones hold them."""


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
    memory: WeightArray | None = None,
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
    memory
        The weights of an earlier part, at least as many, that are no longer needed: they are
        overwritten, as fresh memory takes the system as long as a third of the drawing.

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
    sampler = Sampler(
        n_rows, seed, groups=groups, clusters=clusters, required=required, first=first
    )
    return _drawn_by(sampler, resamples, workers=workers, memory=memory)


@functools.lru_cache(maxsize=_KEPT_DRAWS)
def _draw_plain(n_rows: int, resamples: int, *, seed: int, first: int, workers: int) -> Resamples:
    """Draw from all rows. Competitions that differ in their mechanism only repeat this draw."""
    sampler = Sampler(n_rows, seed, groups=None, clusters=None, required=None, first=first)
    return _drawn_by(sampler, resamples, workers=workers)


def _drawn_by(
    sampler: Sampler, resamples: int, *, workers: int, memory: WeightArray | None = None
) -> Resamples:
    n_rows = sampler.n_rows
    cells = np.empty(n_rows * resamples, dtype=np.uint8) if memory is None else memory.reshape(-1)
    weights = cells[: n_rows * resamples].reshape(n_rows, resamples)
    # Several columns at once, so that each cache line of the array is written few times.
    step = -(-resamples // -(-resamples // _RESAMPLES_PER_TASK))
    if sampler.clusters is not None:
        step = min(step, max(8, TASK_BYTES // n_rows))
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
    clusters: IntArray | None
    required: IntArray | None
    first: int
    """Which resample the first column is."""

    def fill(self, weights: WeightArray, start: int) -> int:
        """Fill columns from resample ``start`` on; return how many were redrawn."""
        numbers = range(self.first + start, self.first + start + weights.shape[1])
        rngs = [
            np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
            for number in numbers
        ]
        redraws = (
            self.redraw(rngs[b], weights[:, b : b + 1])
            for b in np.flatnonzero(~self.draw(rngs, weights))
        )
        return sum(redraws)

    def redraw(self, rng: np.random.Generator, weights: WeightArray) -> int:
        """Draw ``(n, 1)`` weights until they are usable; return how often they were drawn."""
        for redrawn in range(1, _MAX_REDRAWS):
            if self.draw([rng], weights)[0]:
                return redrawn
        raise MetricError(
            "The metric needs every class, but a class is so rare among the "
            f"{plural(self.n_rows, 'ranked row')} that {_MAX_REDRAWS:,} consecutive resamples "
            "lacked it. Stratify the resamples by class (--stratify), or choose a metric that "
            "does not need every class."
        )

    def draw(
        self, rngs: Sequence[np.random.Generator], weights: WeightArray
    ) -> npt.NDArray[np.bool_]:
        """Draw a column by each generator; return which fit into bytes and lack no class."""
        if self.clusters is not None:
            of_clusters = np.empty((int(self.clusters.max()) + 1, len(rngs)), dtype=np.uint8)
            usable = _draw_counts(rngs, of_clusters, slice(len(of_clusters)))
            for start in range(0, self.n_rows, _LARGEST_BLOCK):
                part = slice(start, start + _LARGEST_BLOCK)
                weights[part] = of_clusters[self.clusters[part]]
        else:
            usable = np.ones(len(rngs), dtype=np.bool_)
            groups: Sequence[IntArray | slice] = self.groups or [slice(self.n_rows)]
            for rows in groups:
                usable &= _draw_counts(rngs, weights, rows)
        return usable if self.required is None else usable & _all_drawn(self.required, weights)


def _draw_counts(
    rngs: Sequence[np.random.Generator], weights: WeightArray, rows: IntArray | slice
) -> npt.NDArray[np.bool_]:
    """Draw n of n rows by each generator, with replacement, and count each in a byte.

    Of many, first the number of draws from each block of neighbours is drawn, then these: the draws
    and the counts of a block fit into a processor's cache. Returns whose counts fit into bytes.
    """
    n = rows.stop if isinstance(rows, slice) else len(rows)
    starts = range(0, n, _LARGEST_BLOCK)
    sizes = np.diff([*starts, n])
    many = len(starts) > 1
    dtype: Any = np.uint16 if many else np.int64
    n_draws = np.array([rng.multinomial(n, sizes / n) if many else [n] for rng in rngs])
    n_counted = np.zeros(len(rngs), dtype=np.int64)
    lines = np.empty((len(rngs), sizes[0] + _LINE_BYTES), dtype=np.uint8)
    for start, size, of_block in zip(starts, sizes, n_draws.T, strict=True):
        counts = lines[:, :size]
        counts[:] = 0
        for rng, column, draws in zip(rngs, counts, of_block, strict=True):
            np.add.at(column, rng.integers(0, size, draws, dtype=dtype), np.uint8(1))
        n_counted += counts.sum(axis=1, dtype=np.uint32)
        block = slice(start, start + size)
        weights[block if isinstance(rows, slice) else rows[block]] = counts.T
    return np.asarray(n_counted == n)  # a byte that overflows lacks 256


def _all_drawn(codes: IntArray, weights: WeightArray) -> npt.NDArray[np.bool_]:
    """Return ``(B,)``: whether each code 0 … k-1 occurs among the drawn rows."""
    drawn = np.zeros((int(codes.max()) + 1, weights.shape[1]), dtype=np.bool_)
    for start in range(0, len(codes), _ROWS_CHECKED):
        part = slice(start, start + _ROWS_CHECKED)
        order = np.argsort(codes[part], kind="stable")
        occurring, first = np.unique(codes[part][order], return_index=True)
        drawn[occurring] |= np.logical_or.reduceat(weights[part][order], first, axis=0)
        if drawn.all():
            break
    return np.asarray(drawn.all(axis=0))
