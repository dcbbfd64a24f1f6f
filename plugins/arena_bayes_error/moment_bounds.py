"""Bounds of the Bayes error from several labels per row, without a model of the probabilities.

If the K labels of a row are independent given its probability c, the counts of positive labels have
the distribution h(k) = ∫ Bin(k; K, c) dG(c). The data determine h, that is K moments of G, and not
G itself. The sharp bounds of the Bayes error are the smallest and the largest value of
∫ min(c, 1 - c) dG over all G with these moments: two linear programs over a grid of c (the
moment spaces of Tian, Kong and Valiant 2017, "Learning populations of parameters").

The bounds are of the population of rows. The interval adds the sampling error of the counts. Each
cell of the counts gets an exact interval (Clopper and Pearson), all of them together at the
confidence level, and the programmes run over every G within these intervals. Their dual solutions
are functions of the count whose mean is at most, or at least, the Bayes error. A t interval for
such a mean is usually narrower and is then used, with the function for each fifth of the rows
taken from the other four. (With a function from the same rows, 0.67 were covered in one
simulation; without pseudo rows in the t interval, 0.65.) Coverage at nominal 0.95 for 300 rows, 40
to 60 repetitions each:

====================================== ===== ======
probabilities                          K = 3 K = 10
====================================== ===== ======
0.02, 0.9 and 0.5 (60, 30, 10% each)  1.00  0.95
0 and 1, and 2% of rows at 0.5        1.00  0.98
uniform                                1.00  1.00
====================================== ===== ======

With K = 50 the second one was covered in 0.97, and with 20 rows all in 1.00.

If no G lies within the intervals, the labels of a row are not independent draws: they agree too
rarely, or too regularly. The opposite, annotators who copy each other, gives counts that some
other G explains, and cannot be seen in counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.tabular import Tabular

_GRID_POINTS = 401
_MOST_CELLS = 11
"""Counts of more than ten labels per row are grouped into this many cells."""
_FOLDS = 5
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class MomentBounds(Tabular):
    """Bounds of the Bayes error of two classes for any distribution of the probabilities."""

    low: float
    """The smallest Bayes error of the distributions that fit the counts best."""
    high: float
    """The largest one."""
    interval: tuple[float, float] | None
    """Both bounds with the sampling error of the counts, at the confidence level; None if the
    counts contradict independent labels."""
    labels_per_row: int
    """The number K of labels of each row that were used."""
    n: int
    """The number of rows with at least two labels."""


@dataclass(frozen=True, slots=True, eq=False)
class _Programme:
    """The distributions of c on the grid, and what they say of J functions of the count."""

    grid: FloatArray
    functions: FloatArray
    """``(J, K + 1)``: indicators of cells, and with more than ten labels min(k, K - k)/K."""
    means: FloatArray
    """``(J, grid)`` their means given c."""
    n_cells: int


def moment_bounds(
    counts: FloatArray,
    rng: np.random.Generator,
    *,
    level: float = DEFAULT_LEVEL,
    codes: IntArray | None = None,
) -> MomentBounds | None:
    """Return the bounds of the Bayes error of two classes; None if no row has two labels.

    Rows with one label are excluded. If rows have different numbers of labels, the smallest number
    is drawn from each row without replacement.

    Parameters
    ----------
    counts
        ``(n, 2)`` labels outside and inside the positive class.
    rng
        The generator for the drawing of labels.
    level
        Confidence level of the interval, in (0, 1).
    codes
        ``(n,)`` codes of groups of rows that were sampled whole. The cells then have the sampling
        error of that many groups (Kish's effective number).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ones = rng.binomial(5, rng.choice([0.02, 0.9], 4_000, p=[0.6, 0.4]))
    >>> found = moment_bounds(np.column_stack([5 - ones, ones]).astype(float), rng)
    >>> truth = 0.6 * 0.02 + 0.4 * 0.1
    >>> found.interval[0] < truth < found.interval[1], found.labels_per_row
    (True, 5)
    """
    drawn = _same_number(counts, rng, codes)
    if drawn is None:
        return None
    ones, k, codes = drawn
    programme = programme_of(k)
    nearest = nearest_ends(programme, ones)
    sharp = [
        float("nan")
        if (optimum := optimum_of(programme, sign, *nearest)) is None
        else sign * optimum[0]
        for sign in (1, -1)
    ]
    interval = interval_of_bounds(programme, ones, level=level, codes=codes, rng=rng)
    return MomentBounds(
        max(sharp[0], 0.0), min(sharp[1], 0.5), interval=interval, labels_per_row=k, n=len(ones)
    )


def contradicts_independence(
    counts: FloatArray,
    rng: np.random.Generator,
    *,
    level: float = DEFAULT_LEVEL,
    codes: IntArray | None = None,
) -> bool:
    """Return whether the counts of several classes contradict independent labels.

    Each class against all others is tested, at ``level`` for all classes together. The test
    detects labels that agree too rarely or too regularly, never annotators who copy each other.

    Parameters
    ----------
    counts
        ``(n, n_classes)``.
    rng, level, codes
        As in :func:`moment_bounds`.

    Examples
    --------
    >>> alternating = np.tile([2.0, 2.0], (200, 1))  # always two against two
    >>> contradicts_independence(alternating, np.random.default_rng(0))
    True
    """
    n_classes = counts.shape[1]
    totals = counts.sum(axis=1)
    for position in range(1 if n_classes == 2 else n_classes):
        counts_of_annotator = counts[:, position]
        drawn_moments = _same_number(
            np.column_stack([totals - counts_of_annotator, counts_of_annotator]), rng, codes
        )
        if drawn_moments is None:
            return False
        programme = programme_of(drawn_moments[1])
        shared = 1 - (1 - level) / (1 if n_classes == 2 else n_classes)
        low, high = cell_intervals(programme, drawn_moments[0], shared, drawn_moments[2])
        if optimum_of(programme, 1, low, high) is None:
            return True
    return False


def _same_number(
    counts: FloatArray, rng: np.random.Generator, codes: IntArray | None
) -> tuple[IntArray, int, IntArray | None] | None:
    """Return ``(n,)`` positive labels of K each, K, and the groups of the rows that are left."""
    totals = counts.sum(axis=1).astype(np.int64)
    several = totals > 1
    if not several.any():
        return None
    k = int(totals[several].min())
    negative, positive = counts[several].astype(np.int64).T
    ones = np.asarray(rng.hypergeometric(positive, negative, k), dtype=np.intp)
    left = None if codes is None else np.unique(codes[several], return_inverse=True)[1]
    return ones, k, left


@lru_cache(maxsize=8)
def programme_of(k: int) -> _Programme:
    """Return the linear programme of ``k`` annotators a row."""
    from scipy.stats import binom

    # Even steps on the arcsine scale; 0, 1/2 and 1 are on the grid.
    grid = np.sin(np.pi * np.arange(_GRID_POINTS) / (2 * (_GRID_POINTS - 1))) ** 2
    given: FloatArray = np.asarray(binom.pmf(np.arange(k + 1)[:, None], k, grid))
    if k < _MOST_CELLS:
        return _Programme(grid, np.eye(k + 1), given, k + 1)
    edges = np.sin(np.pi * np.arange(1, _MOST_CELLS) / (2 * _MOST_CELLS)) ** 2
    cells = np.searchsorted(np.round((k + 1) * edges), np.arange(k + 1), side="right")
    smaller = np.minimum(np.arange(k + 1), np.arange(k, -1, -1)) / k
    functions = np.vstack([np.eye(_MOST_CELLS)[:, cells], smaller])
    return _Programme(grid, functions, functions @ given, _MOST_CELLS)


def effective_units(n: int, codes: IntArray | None) -> float:
    """Return how many independent rows ``n`` rows in clusters are worth; None: no clusters."""
    if codes is None:
        return float(n)
    shares = np.bincount(codes) / n
    return float(1 / np.square(shares).sum())


def cell_intervals(
    programme: _Programme, ones: IntArray, level: float, codes: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return ``(J,)`` ends of intervals that hold all means at once (Bonferroni)."""
    from scipy.special import betaincinv

    n, k = len(ones), programme.functions.shape[1] - 1
    size = effective_units(n, codes)
    total = len(programme.functions)
    alpha = (1 - level) / total
    share = programme.functions @ np.bincount(ones, minlength=k + 1) / n
    cells = share[: programme.n_cells] * size
    # Without a count on one side the end is 0, or 1.
    some, rest = np.maximum(cells, _SLACK), np.maximum(size - cells, _SLACK)
    low = np.asarray(betaincinv(some, size - cells + 1, alpha / 2), dtype=np.float64)
    high = np.asarray(betaincinv(cells + 1, rest, 1 - alpha / 2), dtype=np.float64)
    if total > programme.n_cells:
        smaller, fold = programme.functions[-1:], np.zeros(n, dtype=np.intp)
        below = t_bound(smaller, ones, fold=fold, level=1 - alpha, codes=codes)
        above = -t_bound(-smaller, ones, fold=fold, level=1 - alpha, codes=codes)
        low, high = np.append(low, below), np.append(high, above)
    return low, high


def interval_of_bounds(
    programme: _Programme,
    ones: IntArray,
    level: float,
    codes: IntArray | None,
    rng: np.random.Generator,
) -> tuple[float, float] | None:
    """Return the interval of both bounds; None if no distribution fits the counts."""
    low, high = cell_intervals(programme, ones, level, codes)
    whole = [optimum_of(programme, sign, low, high) for sign in (1, -1)]
    units = len(ones) if codes is None else int(codes.max()) + 1
    if units == 1:  # there are no other rows to choose a function on
        least, most = whole
        return None if least is None or most is None else (least[0], -most[0])
    folds = rng.permutation(units) % min(_FOLDS, units)
    fold = folds if codes is None else folds[codes]
    ends = []
    for sign, optimum in zip((1, -1), whole, strict=True):
        if optimum is None:
            return None
        functions = []
        for position in range(int(folds.max()) + 1):
            is_in_other_folds = fold != position
            left = (
                None
                if codes is None
                else np.unique(codes[is_in_other_folds], return_inverse=True)[1]
            )
            limits = cell_intervals(programme, ones[is_in_other_folds], level, left)
            other = optimum_of(programme, sign, *limits) or optimum
            functions.append(other[1] @ programme.functions + other[2])
        tail = t_bound(np.array(functions), ones, fold=fold, level=level, codes=codes)
        ends.append(sign * max(optimum[0], tail))
    return max(ends[0], 0.0), min(ends[1], 0.5)


def t_bound(
    functions: FloatArray, ones: IntArray, fold: IntArray, level: float, codes: IntArray | None
) -> float:
    """Return the lower end of a two-sided t interval for the mean of functions of the count.

    ``functions`` are ``(folds, K + 1)``, and each row of counts uses that of its ``fold``. Pseudo
    rows, evenly spread over the counts, are added to the rows.
    """
    from scipy.special import stdtrit

    values = functions[fold, ones]
    n, size = len(values), effective_units(len(values), codes)
    units = n if codes is None else int(codes.max()) + 1
    quantile = float(stdtrit(max(units - 1, 1), (1 + level) / 2))
    # As Agresti and Coull do for a proportion, since rare counts make the mean skewed; but pseudo
    # rows are no evidence, and never raise the bound.
    pseudo = quantile**2 * n / size
    mean = min(float(values.sum() + pseudo * functions.mean()) / (n + pseudo), float(values.mean()))
    away = values - values.mean()
    sums = away if codes is None else np.bincount(codes, weights=away)
    variance = float(sums @ sums) * units / max(units - 1, 1) / (n + pseudo) ** 2
    spread = float(np.square(functions - mean).mean())
    variance += pseudo / (n + pseudo) / (size + quantile**2) * spread
    return mean - quantile * float(np.sqrt(variance))


def optimum_of(
    programme: _Programme, sign: int, low: FloatArray, high: FloatArray
) -> tuple[float, FloatArray, float] | None:
    """Return min of ``sign`` times the Bayes error, and the dual function of the count.

    The dual is ``weights @ functions + constant``: given any c its mean is at most ``sign`` times
    min(c, 1 - c). None if no distribution keeps the means between ``low`` and ``high``.
    """
    from scipy.optimize import linprog

    objective = sign * np.minimum(programme.grid, 1 - programme.grid)
    solution = linprog(
        objective,
        A_ub=np.vstack([programme.means, -programme.means]),
        b_ub=np.concatenate([high, -low]),
        A_eq=np.ones((1, len(objective))),
        b_eq=[1.0],
        method="highs",
    )
    if solution.status != 0 or solution.fun is None:
        return None
    upper, lower = np.split(solution.ineqlin.marginals, 2)
    return float(solution.fun), upper - lower, float(solution.eqlin.marginals[0])


def nearest_ends(programme: _Programme, ones: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return ``(J,)`` ends around the observed means, as narrow as a distribution can meet them.

    Sampling moves the counts out of what any distribution gives; all ends are a common multiple of
    the standard errors away.
    """
    from scipy.optimize import linprog

    n, k = len(ones), programme.functions.shape[1] - 1
    observed = programme.functions @ np.bincount(ones, minlength=k + 1) / n
    spread = np.sqrt(np.maximum(observed * (1 - observed), 1 / n) / n)
    size = len(programme.grid)
    solution = linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.vstack(
            [
                np.column_stack([programme.means, -spread]),
                np.column_stack([-programme.means, -spread]),
            ]
        ),
        b_ub=np.concatenate([observed, -observed]),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        method="highs",
    )
    # Some distance is always large enough; without a solution the means are not constrained.
    distance = np.inf if solution.x is None else float(solution.x[-1])
    reach = (distance + 1e-7) * spread + _SLACK
    return observed - reach, observed + reach
