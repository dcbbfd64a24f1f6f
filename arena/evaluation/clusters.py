"""Clusters of rows: blocks of time, and corrections for clusters of unequal size."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray

_LARGEST_SHARE = 0.999


def cluster_leverage(units: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Return ``(U,)`` factors for the sums of centred values over clusters of unequal size.

    A cluster with a large share h of the rows, or of their weights, pulls the mean towards itself,
    so that its own deviation is underestimated. Dividing by ``1 - h`` gives the jackknife estimate
    of the variance (MacKinnon, Nielsen and Webb 2023, CV3). The factors are 1 for clusters of equal
    size.

    Parameters
    ----------
    units
        ``(n,)`` codes 0 … U-1 of the cluster of each row, U >= 2.
    weights
        ``(n,)`` weights of the rows, not negative; None: all are equal.

    Examples
    --------
    >>> cluster_leverage(np.array([0, 0, 1, 1])).tolist()
    [1.0, 1.0]
    >>> cluster_leverage(np.array([0, 0, 0, 1])).round(2).tolist()
    [2.0, 0.67]
    """
    sizes = np.bincount(units, weights).astype(np.float64)
    share = np.minimum(sizes / sizes.sum(), _LARGEST_SHARE)
    n_units = len(share)
    return np.asarray((1 - 1 / n_units) / (1 - share))


def size_degrees_of_freedom(units: IntArray, weights: FloatArray | None = None) -> float:
    """Return the degrees of freedom that the sizes of clusters leave, at most U - 1.

    If the rows of a cluster move together, its sum varies with the square of its size s, and
    ``(sum s^2)^2 / sum s^4`` clusters of equal size would carry the same information. With
    ``(n,)`` weights of the rows, s is the weight of a cluster.

    >>> size_degrees_of_freedom(np.array([0, 0, 1, 1, 2, 2]))
    2.0
    """
    sizes = np.bincount(units, weights).astype(np.float64)
    scale = 1.0 if weights is None else sizes.max()  # weights may be tiny or huge
    squares = np.square(sizes / scale)
    return float(squares.sum() ** 2 / (squares**2).sum() - 1)


def effective_rows(weights: FloatArray) -> float:
    """Return the number of rows of equal weight with the same variance of a mean (Kish 1965).

    >>> effective_rows(np.array([1.0, 1.0, 1.0])), effective_rows(np.array([1.0, 1.0, 0.0]))
    (3.0, 2.0)
    """
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / np.square(shares).sum())


def fewest_units(
    codes: npt.NDArray[np.generic], clusters: IntArray | None, weights: FloatArray | None = None
) -> float:
    """Return the effective number (Kish) of the rows, or clusters, that hold the rarest code.

    Of 20 rows of which 17 weigh next to nothing, and of 20 rows of which 18 are in one of three
    clusters, few are left.

    Parameters
    ----------
    codes
        ``(n,)`` codes of classes or tasks.
    clusters
        ``(n,)`` codes of clusters; None: every row is one.
    weights
        ``(n,)`` weights of the rows, at least 0; None: all are equal.

    Examples
    --------
    >>> fewest_units(np.array([0, 0, 0, 1]), None)
    1.0
    >>> fewest_units(np.zeros(4), np.array([0, 0, 1, 1]))
    2.0
    >>> round(fewest_units(np.zeros(4), None, np.array([1.0, 1.0, 0.001, 0.001])), 1)
    2.0
    """
    fewest = np.inf
    for code in np.unique(codes):
        rows = codes == code
        sizes = np.ones(rows.sum()) if weights is None else weights[rows]
        if clusters is not None:
            sizes = np.bincount(clusters[rows], sizes)
        fewest = min(fewest, effective_rows(sizes) if sizes.any() else 0.0)
    return fewest


def time_blocks(times: FloatArray) -> IntArray:
    """Return ``(n,)`` codes of blocks of consecutive times, as clusters of rows in time order.

    T different times make ``sqrt(T)`` blocks of ``sqrt(T)`` times: both grow with T, so that the
    variance between blocks becomes that of dependent rows (Flegal and Jones 2010). Rows of the same
    time are in the same block.

    Parameters
    ----------
    times
        ``(n,)`` numbers; only their order counts.

    Examples
    --------
    >>> time_blocks(np.array([30.0, 10.0, 20.0, 40.0, 10.0])).tolist()
    [1, 0, 0, 1, 0]
    """
    codes = np.unique(times, return_inverse=True)[1]
    count = int(codes.max(initial=0)) + 1
    return np.asarray(codes * math.isqrt(count) // count, dtype=np.intp)
