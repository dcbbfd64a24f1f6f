"""What is drawn independently: rows, or clusters of them, of equal size or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.clusters import cluster_leverage, size_degrees_of_freedom
from arena.types import FloatArray, IntArray

_BLOCK_BYTES = 2**24
_CACHE_BYTES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class SamplingUnits:
    """What is drawn independently: rows, or clusters of them, of equal size or not."""

    n: int
    clusters: IntArray | None
    """``(n,)`` codes from 0."""
    weights: FloatArray | None
    """``(n,)`` of the rows."""
    order: IntArray
    """``(n,)`` rows by cluster; empty without clusters."""
    starts: IntArray
    """``(U,)`` first positions of the clusters in that order."""
    sizes: FloatArray
    """``(U,)`` numbers of rows, or their weights, over the mean."""
    leverage: FloatArray | None
    """``(U,)`` factors of a jackknife; None: sizes are equal."""
    most_degrees: float

    @classmethod
    def of(
        cls, n: int, clusters: IntArray | None, weights: FloatArray | None = None
    ) -> SamplingUnits:
        """Return the units of n rows, with ``(n,)`` codes of clusters and weights, if any."""
        codes = np.arange(n)
        order = starts = np.empty(0, dtype=np.intp)
        if clusters is not None:
            codes = np.unique(clusters, return_inverse=True)[1]
            order = np.argsort(codes, kind="stable")
            starts = np.unique(codes[order], return_index=True)[1]
        sizes = np.bincount(codes, weights).astype(np.float64)
        uneven = len(sizes) > 1 and bool((sizes != sizes[0]).any())
        return cls(
            n,
            None if clusters is None else codes,
            weights,
            order,
            starts,
            sizes / sizes.mean(),
            cluster_leverage(codes, weights) if uneven else None,
            max(size_degrees_of_freedom(codes, weights), 1.0),
        )

    @property
    def n_units(self) -> int:
        """The number U of units."""
        return len(self.sizes)

    @property
    def another(self) -> float:
        """The size of another unit, over the mean: the mean over what is in the units (Kish)."""
        return float(np.square(self.sizes).sum() / self.sizes.sum())

    def sums(self, values: FloatArray) -> FloatArray:
        """Return ``(k, U)`` sums over units of ``(k, n)`` values."""
        if self.clusters is None:
            return values
        return np.asarray(np.add.reduceat(values[:, self.order], self.starts, axis=1))

    def means(self, values: FloatArray) -> FloatArray:
        """Return ``(k, U)`` means of units of ``(k, n)`` row values."""
        if self.weights is not None:
            values = values * (self.weights / self.weights.mean())
        elif self.clusters is None:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            means = self.sums(values) / (self.sizes * (self.n / self.n_units))
        return np.where(self.sizes > 0, means, np.nan)

    def moved(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(k,)`` means and ``(k, U)`` what each unit adds to them, times U."""
        if self.leverage is None:
            mean = means.mean(axis=1)
            return mean, means - mean[:, np.newaxis]
        mean = np.nansum(means * self.sizes, axis=1) / self.n_units
        shifts = np.where(self.sizes > 0, (means - mean[:, np.newaxis]) * self.sizes, 0.0)
        return mean, shifts * self.leverage

    def of_units(self, sums: FloatArray) -> FloatArray:
        """Return ``(k, U)`` what each unit adds, times U, from sums of influence values."""
        values = sums * (self.n_units / self.n)
        return values if self.leverage is None else values * self.leverage

    def standard_errors(self, shifts: FloatArray) -> FloatArray:
        """Return ``(k,)`` standard errors from what each unit adds."""
        units = shifts.shape[1]
        return np.asarray(np.sqrt(np.square(shifts).sum(axis=1) / max(units - 1, 1) / units))

    def degrees_of_freedom(self, shifts: FloatArray) -> FloatArray:
        """Return ``min(U - 1, 2 U / (kurtosis - 1))``, from the variance of a sample's variance."""
        units, squares = shifts.shape[1], np.square(shifts)
        total, fourth = squares.sum(axis=1), np.square(squares).sum(axis=1)
        is_positive = total > 0
        kurtosis = np.divide(
            units * fourth, total**2, out=np.full(len(total), 3.0), where=is_positive
        )
        degrees = 2 * units / np.maximum(kurtosis - 1, 1e-9)
        return np.asarray(np.clip(degrees, 1.0, max(min(units - 1, self.most_degrees), 1.0)))


def block_size(n_values: int) -> int:
    """Return how many submissions of so many values are read at once."""
    return max(1, _BLOCK_BYTES // (8 * n_values))


def in_cache(block: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield a block of submissions in parts whose row values stay in the processor's cache.

    >>> [len(part) for part in in_cache(np.zeros((5, 2**16)))]
    [2, 2, 1]
    """
    step = max(1, _CACHE_BYTES // (8 * max(block[:1].size, 1)))
    for start in range(0, len(block), step):
        yield block[start : start + step]
