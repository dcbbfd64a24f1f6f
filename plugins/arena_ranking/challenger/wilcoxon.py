"""One-sided Wilcoxon signed-rank tests of all ordered pairs of submissions.

One sort per unordered pair serves both directions. The definition is that of R's ``wilcox.test``
with ``exact=FALSE, paired=TRUE``, which challengeR calls.
"""

from __future__ import annotations

import numpy as np

from arena.errors import UsageError
from arena.types import FloatArray
from arena.utils.parallel import run_tasks

_GRID = 2.0**40
"""Relative precision of the differences, so that mathematically equal differences tie."""


def signed_rank_p_values(values: FloatArray, *, workers: int = 1) -> FloatArray:
    """Return the p-values of "j has larger values than k" for all ordered pairs (j, k).

    Wilcoxon's signed-rank test of the paired differences, in its normal approximation with the
    corrections for ties and for continuity; differences of zero are dropped. The same as
    ``scipy.stats.wilcoxon(v_j, v_k, alternative="greater", zero_method="wilcox",
    correction=True, method="asymptotic")``, except that differences are first rounded to 2^-40
    of the largest absolute value, since 0.3 - 0.1 and 0.4 - 0.2 must tie.

    Parameters
    ----------
    values
        ``(m, n)`` finite; larger is better.
    workers
        Threads.

    Returns
    -------
    ``(m, m)``; 1 on the diagonal and for pairs that never differ. Memory besides the values: a
    copy of them, and some arrays of n per worker.

    Raises
    ------
    UsageError
        If the values are not a matrix of finite numbers.

    Examples
    --------
    >>> values = np.array([[3.0, 5, 4, 6, 7, 9], [1.0, 2, 4, 5, 5, 5]])
    >>> signed_rank_p_values(values).round(3).tolist()
    [[1.0, 0.029], [0.985, 1.0]]
    """
    if values.ndim != 2 or not np.isfinite(values).all():
        raise UsageError("Signed-rank tests need one row of finite values per submission.")
    m, largest = len(values), float(np.abs(values).max(initial=0.0))
    scaled = values * (_GRID / largest) if largest > 0 else values
    sums = np.zeros((m, m))
    counts, ties = np.zeros((m, m)), np.zeros((m, m))
    tasks = ((scaled, j, sums, counts, ties) for j in range(m - 1))
    for _ in run_tasks(_compare_with_later, tasks, workers=workers):
        pass
    return _p_values(sums, counts, ties)


def _compare_with_later(
    scaled: FloatArray, j: int, sums: FloatArray, counts: FloatArray, ties: FloatArray
) -> None:
    """Fill the pairs (j, k) and (k, j) for every k after j."""
    for k in range(j + 1, len(scaled)):
        positive, count, tied = _signed_ranks(scaled[j], scaled[k])
        sums[j, k], sums[k, j] = positive, count * (count + 1) / 2 - positive
        counts[j, k] = counts[k, j] = count
        ties[j, k] = ties[k, j] = tied


def _signed_ranks(first: FloatArray, second: FloatArray) -> tuple[float, int, float]:
    """Return the rank sum of the positive differences, their number, and the sum of t^3 - t."""
    steps = np.rint(first - second).astype(np.int64)
    steps = steps[steps != 0]
    if not len(steps):
        return 0.0, 0, 0.0
    positive = steps > 0
    keys = np.abs(steps)
    keys <<= 1
    keys |= positive  # the sign is kept in the lowest bit, so that one sort is enough
    keys.sort()
    sizes = keys >> 1
    changes = sizes[1:] != sizes[:-1]
    if changes.all():
        return float((keys & 1) @ np.arange(1, len(keys) + 1)), len(keys), 0.0
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    ends = np.concatenate([starts[1:], [len(keys)]])
    wins = np.add.reduceat(keys & 1, starts)
    lengths = (ends - starts).astype(np.float64)
    return float(wins @ ((starts + ends + 1) / 2)), len(keys), float((lengths**3 - lengths).sum())


def _p_values(sums: FloatArray, counts: FloatArray, ties: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    mean = counts * (counts + 1) / 4
    variance = counts * (counts + 1) * (2 * counts + 1) / 24 - ties / 48
    differ = counts > 0
    statistic = np.full(counts.shape, -np.inf)
    excess = sums - mean - 0.5
    np.divide(excess, np.sqrt(variance), out=statistic, where=differ)
    return np.asarray(ndtr(-statistic))
