"""How much submissions depend on each other, estimated from their predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.evaluation.ranks import doubled_mean_ranks
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.components import component_numbers
from arena.utils.tabular import Tabular

COPIES = 0.95
"""Submissions with a larger correlation count as one."""

BLOCK = 512
"""Submissions, or columns, of a block of a product of matrices."""
CORRELATED_AT_ONCE = 2**26
"""Values in one block of submissions whose correlations are computed."""
_EVERY, FEWEST_ROWS = 4, 2_000
"""Pairs are compared on every fourth row first, if there are rows enough."""
_MARGIN = 1e-3
"""Far more than the relative rounding errors of single precision."""
CELLS = 2**22
"""Values that are ranked or standardised at a time."""

_Stored = npt.NDArray[np.integer[Any]]
"""``(m, n)`` values as integers, which take an eighth or half of the memory of float64."""


@dataclass(frozen=True, slots=True, eq=False)
class Dependence(Tabular):
    """How strongly the submissions depend on each other."""

    rho_pair: float
    """The mean correlation of two submissions of different clusters; NaN for a single cluster."""
    rho_pair_interval: tuple[float, float]
    """Its confidence interval, over the choice of rows."""
    rho0: float
    """The correlation with the common cause: the square root of ``rho_pair``, at least 0."""
    rho0_interval: tuple[float, float]
    clusters: IntArray
    """``(m,)`` the cluster of each submission, from 0: near-duplicates share one."""
    representatives: IntArray
    """``(c,)`` the first submission of each cluster, which represents it."""

    @property
    def n_clusters(self) -> int:
        """The number of submissions, near-duplicates counted once."""
        return len(self.representatives)


def estimate_dependence(
    correct: npt.NDArray[np.bool_],
    *,
    level: float = DEFAULT_LEVEL,
    groups: IntArray | None = None,
) -> Dependence:
    """Estimate rho0 from which rows each submission got right.

    Submissions with a correlation above 0.95 are one cluster, and chains of them too; rho_jk is
    the mean over pairs of one submission of each cluster. Its standard error comes from the
    influence of each row on the correlations; groups of rows count as one.

    Parameters
    ----------
    correct
        ``(m, n)``.
    level
        Of the interval, in (0, 1).
    groups
        ``(n,)`` codes of rows that belong together.

    Returns
    -------
    A :class:`Dependence`. Memory besides the argument: blocks of up to 512 submissions as float32
    (512 MB), and of 100 MB as float64.

    Raises
    ------
    UsageError
        If there is no submission, fewer than two rows, or the level is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> easy = rng.random(4_000) < 0.8
    >>> right = rng.random((30, 4_000)) < np.where(easy, 0.9, 0.4)
    >>> found = estimate_dependence(np.concatenate([right, right[:1]]))
    >>> found.n_clusters, abs(found.rho0 - 0.5) < 0.05
    (30, True)
    """
    if correct.ndim != 2 or correct.shape[0] < 1 or correct.shape[1] < 2:
        raise UsageError("Estimating the dependence needs at least one submission and two rows.")
    check_level(level)
    values = _Values.of(np.asarray(correct, dtype=np.bool_).view(np.uint8))
    clusters = _groups_of([_links(values)], len(correct))
    _, first = np.unique(clusters, return_index=True)
    mean, error = _mean_correlation(values, first, groups)
    return _dependence(mean, error, level=level, clusters=clusters, first=first)


class ClassRanks:
    """Ranks of m submissions within each of two classes, given submission by submission.

    Memory: four bytes for each submission and row, and 200 MB while ranks are computed.

    Raises
    ------
    UsageError
        If a class has fewer than two rows.
    """

    def __init__(self, truth: npt.NDArray[np.bool_], m: int) -> None:
        self.parts = (truth, ~truth)
        """``(n,)`` masks of the positive and of the negative rows."""
        sizes = [int(part.sum()) for part in self.parts]
        if min(sizes) < 2:
            raise UsageError("Rank correlations need at least two rows of each class.")
        self.doubled = tuple(
            np.empty((m, size), np.int32 if size < 2**30 else np.int64) for size in sizes
        )
        """Twice the ranks within each class, which are integers: ties share their mean rank."""

    def put(self, start: int, scores: npt.NDArray[Any]) -> None:
        """Rank the ``(k, n)`` scores of the submissions from ``start`` on."""
        size = max(1, CELLS // scores.shape[1])
        for first in range(0, len(scores), size):
            block = np.asarray(scores[first : first + size], dtype=np.float64)
            rows = slice(start + first, start + first + len(block))
            for part, doubled in zip(self.parts, self.doubled, strict=True):
                doubled[rows] = doubled_mean_ranks(block[:, part])


def auc_dependence(ranks: ClassRanks, *, level: float = DEFAULT_LEVEL) -> Dependence:
    """Estimate the common component of ranked scores, from rank correlations in each class.

    A rank correlation r of normal scores is the correlation ``2 sin(pi r / 6)``. Here ``rho_pair``
    is the rho of :func:`~arena_sota.binormal.auc_maximum`, the mean over the two classes weighted
    by their rows, and copies have a rank correlation above 0.95 in both.

    Raises
    ------
    UsageError
        If the level is out of range.
    """
    check_level(level)
    # Correlations do not depend on the unit: doubled ranks give the same to the last digit.
    ranked = [_Values.of(doubled) for doubled in ranks.doubled]
    links = _links(ranked[0])
    clusters = _groups_of([links, _links(ranked[1], links)], len(ranked[0].stored))
    _, first = np.unique(clusters, return_index=True)
    shares = np.array([part.mean() for part in ranks.parts])
    correlations = [_mean_correlation(ranks, first, None) for ranks in ranked]
    means = np.array([2 * np.sin(np.pi * mean / 6) for mean, _ in correlations])
    slopes = np.array([np.pi / 3 * np.cos(np.pi * mean / 6) for mean, _ in correlations])
    errors = slopes * np.array([error for _, error in correlations])
    return _dependence(
        float(shares @ means), float(np.sqrt((shares * errors) @ (shares * errors))), level=level,
        clusters=clusters, first=first,
    )  # fmt: skip


def _dependence(
    mean: float, error: float, level: float, clusters: IntArray, first: IntArray
) -> Dependence:
    reach = float(special.ndtri((1 + level) / 2)) * error
    low, high = max(mean - reach, -1.0), min(mean + reach, 1.0)
    root = [float(np.sqrt(max(value, 0.0))) for value in (mean, low, high)]
    return Dependence(
        mean,
        (low, high),
        rho0=root[0],
        rho0_interval=(root[1], root[2]),
        clusters=clusters,
        representatives=first,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Values of m submissions, standardised in parts."""

    stored: _Stored
    means: FloatArray
    """``(m,)``."""
    deviations: FloatArray

    @classmethod
    def of(cls, stored: _Stored) -> _Values:
        means, deviations = np.empty((2, len(stored)))
        for rows in _slices(len(stored), max(1, CELLS // stored.shape[1])):
            block = stored[rows].astype(np.float64)
            means[rows], deviations[rows] = block.mean(axis=1), block.std(axis=1)
        return cls(stored, means, deviations)

    def standardised(
        self, submissions: IntArray, columns: slice = slice(None)
    ) -> npt.NDArray[np.float64]:
        """Return float64 of mean 0 and variance 1."""
        block = np.asarray(self.stored[submissions, columns], dtype=np.float64, order="C")
        block -= self.means[submissions, np.newaxis]
        block /= self.deviations[submissions, np.newaxis]
        return block

    def rounded(
        self, rows: slice | IntArray, columns: slice = slice(None)
    ) -> npt.NDArray[np.float32]:
        """Return them as float32; 0 for a submission whose values are all equal."""
        block = self.stored[rows, columns].astype(np.float32, order="C")
        block -= self.means[rows, np.newaxis].astype(np.float32)
        scale = np.where(self.deviations > 0, self.deviations, np.inf)[rows]
        block /= scale[:, np.newaxis].astype(np.float32)
        return block


def _slices(n: int, size: int) -> Iterator[slice]:
    """Yield slices of ``size`` up to n; the last one is the longest, up to twice as long."""
    starts = range(0, max(1, n // size) * size, size)
    for start in starts:
        yield slice(start, n if start == starts[-1] else start + size)


def _links(values: _Values, among: npt.NDArray[np.intp] | None = None) -> npt.NDArray[np.intp]:
    """Return ``(k, 2)`` pairs whose values are correlated above 0.95, or equal, block by block.

    Each pair is found once, the smaller position first. ``among`` are pairs: blocks without any of
    them are left out, since only common pairs count.
    """
    m, n = values.stored.shape
    means, deviations = values.means, values.deviations
    size = min(BLOCK, max(1, CORRELATED_AT_ONCE // n))
    links = []
    asked_blocks = None
    if among is not None:
        different = among[among[:, 0] != among[:, 1]]
        asked_blocks = {(a, b) for a, b in np.unique(np.sort(different // size), axis=0).tolist()}
    for start in range(0, m, size):
        rows = np.arange(start, min(start + size, m))
        links += [
            _linked(values, rows, np.arange(other, min(other + size, m)))
            for other in range(start, m, size)
            if asked_blocks is None or (start // size, other // size) in asked_blocks
        ]
    constant = np.flatnonzero(deviations == 0)
    constant = constant[np.argsort(means[constant], kind="stable")]
    same = [(min(a, b), max(a, b)) for a, b in pairwise(constant) if means[a] == means[b]]
    return np.concatenate([*links, np.array(same, dtype=np.intp).reshape(-1, 2)])


def _linked(values: _Values, rows: IntArray, columns: IntArray) -> npt.NDArray[np.intp]:
    """Return the pairs j < k of two blocks of submissions whose values are correlated above 0.95.

    The squared distance of two submissions, ``2 n (1 - correlation)``, is at least that on some of
    the rows. Most pairs are therefore left out after a quarter of them.
    """
    n = values.stored.shape[1]
    most = (1 + _MARGIN) * n * (1 - COPIES)  # half the squared distance
    near = rows[:, np.newaxis] < columns
    for every in (_EVERY, 1) if n >= FEWEST_ROWS else (1,):
        first, second = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
        rows, columns, near = rows[first], columns[second], near[np.ix_(first, second)]
        if not len(rows):
            break
        these = values.rounded(rows, slice(None, None, every))
        others = values.rounded(columns, slice(None, None, every))
        products = these @ others.T
        if every == 1:
            near &= products > COPIES * n
        else:
            squares = (
                np.einsum("jr,jr->j", values_of_pair, values_of_pair) / 2
                for values_of_pair in (these, others)
            )
            near &= np.add.outer(*squares) - products <= most
    first, second = np.nonzero(near)
    return np.stack([rows[first], columns[second]], axis=1)


def _groups_of(links: list[npt.NDArray[np.intp]], m: int) -> IntArray:
    """Return the connected components of the pairs that every list holds, by first member."""
    keys = [pairs[:, 0] * m + pairs[:, 1] for pairs in links]
    common = keys[0]
    for other in keys[1:]:
        common = np.intersect1d(common, other)
    labels = component_numbers(common // m, common % m, m)
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(first)
    renamed = np.empty_like(order)
    renamed[order] = np.arange(len(order))
    return np.asarray(renamed[labels], dtype=np.intp)


def _mean_correlation(
    values: _Values, submissions: IntArray, groups: IntArray | None
) -> tuple[float, float]:
    """Return the mean correlation of two of the submissions, and its standard error.

    Their standardised values are computed three times, in blocks, rather than held.
    """
    chosen = submissions[values.deviations[submissions] > 0]
    c, n = len(chosen), values.stored.shape[1]
    if c < 2:
        return float("nan"), float("nan")
    # In fours: a product with a matrix of more rows is the same to the last digit.
    blocks = list(_slices(c, max(4, CELLS // n // 4 * 4)))
    summed = np.zeros(n)
    for rows in blocks:
        for submission in values.standardised(chosen[rows]):
            summed += submission
    pairs = c * (c - 1)
    mean = float(((summed @ summed) / n - c) / pairs)
    with_others = np.empty(c)  # sums of the correlations with others
    for rows in blocks:
        with_others[rows] = values.standardised(chosen[rows]) @ summed / n - 1
    influence: FloatArray = np.empty(n)
    for columns in _slices(n, max(BLOCK, CELLS // c // BLOCK * BLOCK)):
        squares = values.standardised(chosen, columns)
        np.square(squares, out=squares)
        total = squares.sum(axis=0)
        influence[columns] = (summed[columns] ** 2 - total - with_others @ squares) / pairs
    if groups is not None:
        influence = np.asarray(np.bincount(groups, weights=influence), dtype=np.float64)
    units = len(influence)
    return mean, float(np.sqrt(units / max(units - 1, 1) * (influence @ influence)) / n)
