"""Paired tests between submissions, corrected for the number of comparisons.

The tests are those of Blum and Hardt (2015), *The Ladder: A Reliable Leaderboard for Machine
Learning Competitions*, section 6.1 and equation 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray, IntArray

_BLOCK = 64
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PairedTests:
    """Two-sided paired tests of one submission against each of the others."""

    top: int
    """The position of the submission that was tested against the others."""
    others: IntArray
    """``(m - 1,)`` positions of the others, ascending."""
    difference: FloatArray
    """``(m - 1,)`` score of the top less score of the other, natural sign."""
    statistic: FloatArray
    """``(m - 1,)`` difference over its standard error; 0 for a tied pair."""
    raw: FloatArray
    """``(m - 1,)`` p-values before any correction."""
    bonferroni: FloatArray
    """``(m - 1,)`` times the number of comparisons, at most 1."""
    holm: FloatArray
    """``(m - 1,)`` by Holm (1979): familywise error, never larger than Bonferroni's."""
    benjamini_hochberg: FloatArray
    """``(m - 1,)`` by Benjamini and Hochberg (1995): false discovery rate."""
    comparisons: int
    """The number of comparisons that the corrections count."""


def paired_p_values(
    differences: npt.ArrayLike, standard_errors: npt.ArrayLike, degrees_of_freedom: int
) -> tuple[FloatArray, FloatArray]:
    """Return paired t statistics and their two-sided p-values.

    ``t = D / SE``; with ``SE = std(u - v) / sqrt(n)`` of the row values u and v this is
    ``sqrt(n) mean(u - v) / std(u - v)``, the paired t test with n - 1 degrees of freedom
    (``scipy.stats.ttest_rel``). For other metrics influence values replace the row values; with U
    clusters there are U - 1 degrees of freedom. A pair with standard error 0 is tied: statistic 0,
    p-value 1.

    Raises
    ------
    UsageError
        If there are no degrees of freedom.

    Examples
    --------
    >>> statistic, p_value = paired_p_values([0.25, 0.1], [0.25, 0.0], 3)
    >>> statistic.tolist(), p_value.round(4).tolist()
    ([1.0, 0.0], [0.391, 1.0])
    """
    from scipy.special import stdtr  # scipy.stats, which does the same, takes a second to import

    if degrees_of_freedom < 1:
        raise UsageError("A paired test needs at least two rows, or two clusters of rows.")
    difference, error = np.broadcast_arrays(
        np.asarray(differences, dtype=np.float64), np.asarray(standard_errors, dtype=np.float64)
    )
    statistic = np.zeros(difference.shape)
    np.divide(difference, error, out=statistic, where=error > 0)
    return statistic, np.asarray(2 * stdtr(degrees_of_freedom, -np.abs(statistic)))


def top_against_others(
    scores: FloatArray,
    standard_errors: FloatArray,
    degrees_of_freedom: int,
    top: int,
    *,
    chosen_elsewhere: bool = False,
) -> PairedTests:
    """Test the top submission against each of the others.

    If the top submission was selected on the same rows, correcting for m - 1 comparisons leaves a
    familywise error far above the nominal one, so the corrections count all m (m - 1) / 2 pairs. If
    it was selected on other rows (top of the public board, tested on the private rows), they count
    m - 1.

    Parameters
    ----------
    scores
        ``(m,)`` natural sign.
    standard_errors
        ``(m, m)`` standard errors of the differences.
    degrees_of_freedom
        Rows less 1, or clusters less 1.
    top
        The position of the top submission.
    chosen_elsewhere
        Whether the top submission was selected on other rows.

    Returns
    -------
    A :class:`PairedTests`. Memory: one array of m (m - 1) / 2 numbers, 40 MB for 3,000
    submissions, unless ``chosen_elsewhere``.

    Raises
    ------
    UsageError
        If ``top`` is no position, or there are no degrees of freedom.

    Examples
    --------
    >>> errors = np.full((3, 3), 0.01)
    >>> tests = top_against_others(np.array([0.93, 0.92, 0.90]), errors, 1999, 0)
    >>> tests.comparisons, tests.raw.round(3).tolist(), tests.bonferroni.round(3).tolist()
    (3, [0.317, 0.003], [0.952, 0.008])
    """
    m = len(scores)
    if not 0 <= top < m:
        raise UsageError(f"The top submission must be one of the {m}.")
    others = np.delete(np.arange(m), top)
    difference = scores[top] - scores[others]
    statistic, raw = paired_p_values(difference, standard_errors[top, others], degrees_of_freedom)
    sizes = np.abs(statistic) if chosen_elsewhere else _sizes(scores, standard_errors)
    holm, benjamini_hochberg = corrected_p_values(sizes, np.abs(statistic), degrees_of_freedom)
    return PairedTests(
        top=top,
        others=others,
        difference=difference,
        statistic=statistic,
        raw=raw,
        bonferroni=np.minimum(raw * len(sizes), 1.0),
        holm=holm,
        benjamini_hochberg=benjamini_hochberg,
        comparisons=len(sizes),
    )


def _sizes(scores: FloatArray, standard_errors: FloatArray) -> FloatArray:
    """Return the ``(m (m - 1) / 2,)`` absolute statistics of all pairs, row by row."""
    m = len(scores)
    sizes, stop = np.zeros(m * (m - 1) // 2), 0
    for j in range(m - 1):
        start, stop = stop, stop + m - 1 - j
        errors = standard_errors[j, j + 1 :]
        np.divide(scores[j] - scores[j + 1 :], errors, out=sizes[start:stop], where=errors > 0)
    return np.abs(sizes, out=sizes)


def corrected_p_values(
    sizes: FloatArray, asked: FloatArray, degrees_of_freedom: int
) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of the statistics ``asked`` by Holm, and by Benjamini and Hochberg.

    The family is ``sizes``, the absolute statistics of all k tests, which are overwritten. Sorting
    them takes a tenth of the time of sorting p-values with their positions.
    """
    tails = np.negative(sizes, out=sizes)
    tails.sort()
    family = _Family(tails, degrees_of_freedom)
    # Of equal tests Holm's value is that of the first, and the other one that of the last.
    first = np.minimum(np.searchsorted(tails, -asked), len(tails) - 1)
    last = np.maximum(np.searchsorted(tails, -asked, side="right") - 1, 0)
    return family.holm(first), family.benjamini_hochberg(last)


class _Family:
    """All tests of a family by ascending p-value, of which few are computed.

    A p-value takes a hundred times as long as a comparison. Those at the ends of blocks of tests
    bound all others, and tell which blocks can hold the extreme that a correction asks for.
    """

    def __init__(self, tails: FloatArray, degrees_of_freedom: int) -> None:
        """Take the absolute statistics of k tests, with a minus sign and ascending."""
        self.tails, self.degrees_of_freedom = tails, degrees_of_freedom
        self.starts = np.arange(0, len(tails), _BLOCK)
        self.ends = np.minimum(self.starts + _BLOCK, len(tails)) - 1

    def p_values(self, positions: IntArray) -> FloatArray:
        """Return two-sided p-values."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.degrees_of_freedom, self.tails[positions]))

    def holm(self, positions: IntArray) -> FloatArray:
        """Return the largest ``p_r (k - r)`` up to each position r, at most 1."""
        k, block_of_position = len(self.tails), positions // _BLOCK
        at_starts = self.p_values(self.starts) * (k - self.starts)
        most = self.p_values(self.ends) * (k - self.starts)
        # A block counts from the next position that is asked for on.
        largest_so_far, asked_blocks = (
            np.maximum.accumulate(at_starts),
            np.unique(block_of_position),
        )
        following = np.searchsorted(asked_blocks, np.arange(asked_blocks[-1] + 1))
        reached = largest_so_far[asked_blocks[following]]
        blocks = np.flatnonzero((most[: len(reached)] > (1 - _ROUNDING) * reached) & (reached < 1))
        rows = self.rows(blocks)
        inside = np.maximum.accumulate(self.p_values(rows) * (k - rows), axis=1)
        of_block = at_starts.copy()
        of_block[blocks] = inside[:, -1]
        before = np.concatenate([[0.0], np.maximum.accumulate(of_block)])[block_of_position]
        adjusted = np.maximum(before, at_starts[block_of_position])
        looked, places = _members(block_of_position, blocks)
        within = inside[places, positions[looked] % _BLOCK]
        adjusted[looked] = np.maximum(adjusted[looked], within)
        return np.asarray(np.minimum(adjusted, 1.0))

    def benjamini_hochberg(self, positions: IntArray) -> FloatArray:
        """Return the smallest ``k p_r / (r + 1)`` from each position r on, at most 1."""
        k, block_of_position = len(self.tails), positions // _BLOCK
        at_ends = self.p_values(self.ends) / ((self.ends + 1.0) / k)
        least = self.p_values(self.starts) / ((self.ends + 1.0) / k)
        # A block counts up to the last position before it that is asked for.
        smallest_so_far, asked_blocks = (
            np.minimum.accumulate(at_ends[::-1])[::-1],
            np.unique(block_of_position),
        )
        preceding = (
            np.searchsorted(
                asked_blocks, np.arange(asked_blocks[0], len(smallest_so_far)), side="right"
            )
            - 1
        )
        reached, possible = smallest_so_far[asked_blocks[preceding]], least[asked_blocks[0] :]
        blocks = asked_blocks[0] + np.flatnonzero(
            (possible < (1 + _ROUNDING) * reached) & (possible < 1)
        )
        rows = self.rows(blocks)
        stepped_up = self.p_values(rows) / ((rows + 1.0) / k)
        inside = np.minimum.accumulate(stepped_up[:, ::-1], axis=1)[:, ::-1]
        of_block = at_ends.copy()
        of_block[blocks] = inside[:, 0]
        after = np.append(np.minimum.accumulate(of_block[::-1])[::-1], np.inf)[
            block_of_position + 1
        ]
        adjusted = np.minimum(after, at_ends[block_of_position])
        looked, places = _members(block_of_position, blocks)
        within = inside[places, positions[looked] % _BLOCK]
        adjusted[looked] = np.minimum(adjusted[looked], within)
        return np.asarray(np.minimum(adjusted, 1.0))

    def rows(self, blocks: IntArray) -> IntArray:
        """Return ``(b, _BLOCK)`` positions of the tests of blocks; the last is repeated."""
        rows = self.starts[blocks][:, np.newaxis] + np.arange(_BLOCK)
        return np.asarray(np.minimum(rows, len(self.tails) - 1))


def _members(values: IntArray, ascending: IntArray) -> tuple[IntArray, IntArray]:
    """Return which values occur in an ascending array, and where."""
    places = np.searchsorted(ascending, values)
    occur = np.flatnonzero(np.append(ascending, -1)[places] == values)
    return occur, places[occur]
