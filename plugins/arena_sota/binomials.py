"""Binomial probabilities on the few counts that matter, for many success probabilities at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

_NEGLIGIBLE = 1e-16
_SMALLEST = 1e-300
_LARGEST = 1 - 2.0**-53


def reach(variance: npt.ArrayLike, negligible: float = _NEGLIGIBLE) -> FloatArray:
    """Return how far a sum of independent 0/1 variables may deviate from its mean.

    By Bernstein's inequality, for sums with this variance a larger deviation to one side has
    probability at most ``negligible``.

    >>> round(float(reach(900.0)), 1)
    270.1
    """
    log = -np.log(negligible)
    return np.asarray(log / 3 + np.sqrt(log**2 / 9 + 2 * log * np.asarray(variance)))


def likely_counts(n: int, p: FloatArray, negligible: float = _NEGLIGIBLE) -> tuple[int, int]:
    """Return the first and last number of successes of n trials that has a noticeable probability.

    ``p`` is ``(q,)``; the range holds the counts that are likely under any of them.

    >>> likely_counts(10_000, np.array([0.5]))
    (4558, 5442)
    """
    strays = reach(n * p * (1 - p), negligible)
    low = int(np.floor((n * p - strays).min()))
    high = int(np.ceil((n * p + strays).max()))
    return max(low, 0), min(high, n)


def binomial_pmf(n: int, p: FloatArray, low: int, high: int) -> FloatArray:
    """Return ``(q, high - low + 1)`` probabilities of low … high successes in n trials.

    The range must hold all but a negligible part of each of the ``(q,)`` distributions: each row
    of the result is made to sum to 1. Sums of logarithms of ratios of neighbours stay near 0, so
    that the error is near 1e-12 of each probability even at a million trials.

    >>> binomial_pmf(2, np.array([0.5]), 0, 2).round(3).tolist()
    [[0.25, 0.5, 0.25]]
    """
    p = np.clip(p, _SMALLEST, _LARGEST)[:, np.newaxis]
    before = np.arange(low, high, dtype=np.float64)
    ratios = np.concatenate([[0.0], np.cumsum(np.log((n - before) / (before + 1)))])
    steps = np.arange(high - low + 1, dtype=np.float64)
    logs = ratios + steps * (np.log(p) - np.log1p(-p))
    pmf = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(pmf / pmf.sum(axis=1, keepdims=True))


def convolve_rows(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the convolution of each row with its partner, absolute error about 1e-17.

    >>> convolve_rows(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])).round(3).tolist()
    [[0.25, 0.5, 0.25]]
    """
    length = first.shape[1] + second.shape[1] - 1
    if second.shape[1] == 1:
        return first * second
    from scipy import fft  # an area under the ROC curve needs none of it

    size = fft.next_fast_len(length, real=True)
    product = fft.rfft(first, size, axis=1) * fft.rfft(second, size, axis=1)
    summed = fft.irfft(product, size, axis=1)[:, :length]
    return np.maximum(summed, 0.0)
