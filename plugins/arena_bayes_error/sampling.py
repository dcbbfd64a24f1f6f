"""The sampling units, rows or whole groups of them, and the mean loss over them.

Losses are added block by block, and memory does not grow with the number of rows: rows are kept as
a histogram, groups as two numbers each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.clusters import cluster_leverage, size_degrees_of_freedom
from arena.evaluation.mean_bounds import Units
from arena.types import FloatArray, IntArray
from arena.utils.text import plural

_ROWS = 2**15
_BINS = 1024
_DRAWN = 50
_MOST_GROUPS = 4096


@dataclass(frozen=True, slots=True)
class Moments:
    """What the units tell of the uncertainty of their mean."""

    standard_error: float
    """Of the mean; for groups of unequal size that of the jackknife."""
    kurtosis: float
    """Fourth over squared second central moment of what the units add to the mean."""
    most_degrees: float
    """The degrees of freedom that the sizes of the units leave."""


class MeanLoss(Protocol):
    """The mean of the losses that were added."""

    @property
    def mean(self) -> float:
        """Return the mean over the rows that were added."""

    @property
    def n_units(self) -> int:
        """Return how many rows, or groups of rows, were drawn independently."""

    def add(self, rows: slice, loss: FloatArray) -> None:
        """Add the ``(k,)`` losses of a slice of the rows; slices come in order."""

    def standard_error(self) -> float:
        """Return the standard error of the mean."""

    def share_of_squares(self) -> float:
        """Return the sum of the squared shares that units have of the rows, 1/n of n rows."""

    def moments(self) -> Moments:
        """Return what an interval needs to know of the units."""

    def units(self) -> Units:
        """Return what each unit tells of the mean, around it, for one submission."""

    def resampled(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return ``(resamples,)`` means of bootstrap resamples of the units."""


def blocks(n: int, size: int = _ROWS) -> Iterator[slice]:
    """Return slices that cover n rows."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def mean_loss(top: float, codes: IntArray | None) -> MeanLoss:
    """Return an empty mean of losses in [0, top], of rows or of the groups of these codes."""
    return _RowSampling(top) if codes is None else _GroupSampling(codes)


def group_codes(clusters: npt.ArrayLike | None, n: int) -> IntArray | None:
    """Return ``(n,)`` codes from 0 of the groups of rows, each of which occurs; None for None.

    Raises
    ------
    UsageError
        If there is not one group for each row, or one group only.

    Examples
    --------
    >>> group_codes(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    if clusters is None:
        return None
    groups, codes = np.unique(np.asarray(clusters), return_inverse=True)
    if codes.shape != (n,):
        raise UsageError(
            f"{plural(codes.size, 'group')} for {plural(n, 'row')}: give one for each row."
        )
    if len(groups) < 2:
        raise UsageError("An interval needs at least two groups of rows, but all rows are in one.")
    return np.asarray(codes, dtype=np.intp)


class _RowSampling:
    """Sampling of single rows.

    The bootstrap draws counts of 1,024 bins of losses, each worth the mean of its rows: exact for
    losses of few values, and otherwise without the variance within bins, at most (top/2048)².
    """

    def __init__(self, top: float) -> None:
        self.mean = 0.0
        self.n_units = 0
        self._squares = 0.0
        self._bins_per_loss = _BINS / top
        self._counts, self._sums = np.zeros(_BINS, dtype=np.intp), np.zeros(_BINS)

    def add(self, rows: slice, loss: FloatArray) -> None:
        mean_loss, done = float(loss.mean()), rows.start
        share = len(loss) / (done + len(loss))
        # Not a matrix product: BLAS threads cost more than a block on a busy machine.
        self._squares += (
            float(np.square(loss - mean_loss).sum()) + (mean_loss - self.mean) ** 2 * done * share
        )
        self.mean += (mean_loss - self.mean) * share
        self.n_units += len(loss)
        bins = np.minimum((loss * self._bins_per_loss).astype(np.intp), _BINS - 1)
        self._counts += np.bincount(bins, minlength=_BINS)
        self._sums += np.bincount(bins, weights=loss, minlength=_BINS)

    def standard_error(self) -> float:
        return math.sqrt(self._squares / (self.n_units - 1) / self.n_units)

    def share_of_squares(self) -> float:
        return 1 / self.n_units

    def moments(self) -> Moments:
        some = self._counts > 0
        counts = self._counts[some]
        squares = np.square(self._sums[some] / counts - self.mean)
        return Moments(
            self.standard_error(),
            _kurtosis(float(counts @ squares), float(counts @ np.square(squares)), self.n_units),
            self.n_units - 1,
        )

    def units(self) -> Units:
        some = self._counts > 0
        counts = self._counts[some].astype(np.float64)
        return Units((self._sums[some] / counts)[np.newaxis], counts[np.newaxis])

    def resampled(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        return _of_bins(self._counts, self._sums, resamples, rng)


class _GroupSampling:
    """Sampling of whole groups; the mean over all rows is a ratio of sums over groups.

    The bootstrap draws groups; of more than 4,096, counts of 1,024 bins of what they add to the
    mean, as a first-order change of the ratio.
    """

    def __init__(self, codes: IntArray) -> None:
        self._codes = codes
        self._sizes = np.bincount(codes).astype(np.float64)
        self._sums = np.zeros(len(self._sizes))

    @property
    def n_units(self) -> int:
        return len(self._sizes)

    @property
    def mean(self) -> float:
        return float(self._sums.sum() / self._sizes.sum())

    def add(self, rows: slice, loss: FloatArray) -> None:
        self._sums += np.bincount(self._codes[rows], weights=loss, minlength=self.n_units)

    def standard_error(self) -> float:
        g = self.n_units
        return math.sqrt(float(np.square(self._shifts()).sum()) * g / (g - 1))

    def _shifts(self) -> FloatArray:
        """Return ``(g,)`` what each group adds to the mean; they sum to 0."""
        return np.asarray((self._sums - self.mean * self._sizes) / self._sizes.sum())

    def share_of_squares(self) -> float:
        return float(np.square(self._sizes / self._sizes.sum()).sum())

    def moments(self) -> Moments:
        g = self.n_units
        squares = np.square(self._shifts() * cluster_leverage(self._codes))
        total = float(squares.sum())
        return Moments(
            math.sqrt(total * g / (g - 1)),
            _kurtosis(total, float(np.square(squares).sum()), g),
            size_degrees_of_freedom(self._codes),
        )

    def units(self) -> Units:
        moved = self._shifts() * cluster_leverage(self._codes) * self.n_units
        return Units.of(self.mean + moved[np.newaxis])

    def resampled(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        g = self.n_units
        if g > _MOST_GROUPS:
            shifts = self._shifts()
            width = max(float(np.ptp(shifts)), np.finfo(float).tiny)
            bins = np.minimum(((shifts - shifts.min()) / width * _BINS).astype(np.intp), _BINS - 1)
            counts = np.bincount(bins, minlength=_BINS)
            sums = np.asarray(np.bincount(bins, weights=shifts, minlength=_BINS), dtype=np.float64)
            return np.asarray(self.mean + g * _of_bins(counts, sums, resamples, rng))
        means = np.empty(resamples)
        for part in blocks(resamples, _DRAWN):
            drawn = rng.multinomial(g, np.full(g, 1 / g), size=part.stop - part.start)
            means[part] = (drawn @ self._sums) / (drawn @ self._sizes)
        return means


def _kurtosis(squares: float, fourth: float, units: int) -> float:
    """Return the kurtosis from sums of powers of the deviations; 3 if all are 0."""
    return units * fourth / squares**2 if squares > 0 else 3.0


def _of_bins(
    counts: IntArray, sums: FloatArray, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return ``(resamples,)`` means of as many draws as there are, of bins worth their means."""
    some, n = counts > 0, int(counts.sum())
    worth = sums[some] / counts[some]
    means = np.empty(resamples)
    for part in blocks(resamples, _DRAWN):
        drawn = rng.multinomial(n, counts[some] / n, size=part.stop - part.start)
        means[part] = drawn @ worth / n
    return means
