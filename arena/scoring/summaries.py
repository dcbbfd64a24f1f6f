"""Sets aside the cases and algorithms of a table that sum up the others, such as its averages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arena.evaluation.case_metrics import ranks_within_cases
from arena.interfaces.faults import show
from arena.scoring.case_matrix import CaseMatrix
from arena.types import FloatArray, IntArray

_NAMES = {
    *("mean", "average", "avg", "avg.", "median", "std", "sd", "total", "sum", "overall", "rank"),
    *("avg rank", "avg. rank", "average rank", "mean rank", "summary", "macro avg"),
}
"""What tables call a row or a column that sums up the others."""
_MOST_DECIMALS = 9
_LARGEST_ERROR = 0.1
"""By how much a summary may be rounded, relative to the range of the values that it sums up."""


def without_summaries(matrix: CaseMatrix) -> tuple[CaseMatrix, tuple[str, ...]]:
    """Return the matrix without the cases and algorithms that sum up the others, and notes.

    They have a name such as Average, and values that are the mean, median, sum, standard deviation,
    mean rank or place of the others, as far as they are rounded. If only the name says so, a note
    does.

    Examples
    --------
    >>> from arena.interfaces import CaseScores
    >>> from arena.scoring.case_matrix import case_matrix
    >>> values = np.array([1.0, 2.0, 1.5, 2.0, 5.0, 3.5])
    >>> matrix = case_matrix(CaseScores(["a"] * 3 + ["b"] * 3, ["x", "y", "Mean"] * 2, values))
    >>> kept, notes = without_summaries(matrix)
    >>> kept.cases, notes
    (('x', 'y'), ("'Mean' sums up other cases and does not count as one.",))
    """
    cases, case_notes = positions_that_count("case", matrix.cases, matrix.values.T, matrix.tasks)
    matrix = matrix.with_cases(cases)
    algorithms, notes = positions_that_count("algorithm", matrix.algorithms, matrix.values, None)
    return matrix.subset(algorithms), (*case_notes, *notes)


def positions_that_count(
    what: str, names: Sequence[str], values: FloatArray, tasks: IntArray | None
) -> tuple[list[int], list[str]]:
    """Return the positions of the names that are no summaries, and notes.

    Parameters
    ----------
    values
        ``(n_names, n_others)`` values.
    tasks
        ``(n_names,)`` codes: the names of a task, which are those before a slash, are summed up.
    """
    last_names = names if tasks is None else [name.partition("/")[2] for name in names]
    is_named = np.array([name.strip().casefold() in _NAMES for name in last_names], dtype=np.bool_)
    is_counting, notes = np.ones(len(names), dtype=np.bool_), []
    for position in np.flatnonzero(is_named).tolist():
        others = ~is_named if tasks is None else ~is_named & (tasks == tasks[position])
        is_counting[position] = not summarizes_columns(values[position], values[others])
        notes.append(
            f"{show(names[position])} counts as a{'n' * (what[0] == 'a')} {what}: remove it if it "
            "sums up the others."
            if is_counting[position]
            else f"{show(names[position])} sums up other {what}s and does not count as one."
        )
    return np.flatnonzero(is_counting).tolist(), notes


def summarizes_columns(summary: FloatArray, values: FloatArray) -> bool:
    """Return whether each of ``(n,)`` values sums up a column of ``(m, n)`` others.

    >>> ratings = np.array([[3.0, 2.0], [5.0, 4.0]])
    >>> [summarizes_columns(np.array(overall), ratings) for overall in ([4.0, 3.0], [5.0, 4.0])]
    [True, False]
    """
    if len(values) < 2 or np.isnan(values).all(axis=0).any() or np.isnan(summary).any():
        return False
    unit = last_decimal_place(values)
    # Whole numbers are often ratings, which are not rounded: an overall rating is near the mean of
    # the others without being it.
    error = 0.5 * (last_decimal_place(summary) + (unit if unit < 1 else 0.0))
    # Any answers, right (1) or wrong (0), are within half a unit of some summary.
    error = min(error, _LARGEST_ERROR * float(np.nanmax(values) - np.nanmin(values)))
    with np.errstate(invalid="ignore"):  # infinite values
        return any(
            np.allclose(summary, total, rtol=1e-9, atol=error)
            for total in possible_summaries(values)
        )


def possible_summaries(values: FloatArray) -> Iterator[FloatArray]:
    """Yield what columns of ``(m, n)`` values are summed up by, ``(n,)`` each."""
    yield np.nanmean(values, axis=0)
    yield np.nanmedian(values, axis=0)
    yield np.nansum(values, axis=0)
    for ddof in (0, 1):
        yield np.nanstd(values, axis=0, ddof=ddof)
    ranks = ranks_within_cases(values.T, greater_is_better=True).mean(axis=1)
    means = np.nanmean(values, axis=0)
    places = (
        ranks_within_cases(scores[:, np.newaxis], greater_is_better=greater)[:, 0]
        for scores, greater in ((ranks, False), (means, True))
    )
    for total in (ranks, *places):
        yield total
        yield values.shape[1] + 1 - total


def last_decimal_place(values: FloatArray) -> float:
    """Return the last decimal place that values have.

    >>> last_decimal_place(np.array([0.25, 3.0]))
    0.01
    """
    present = values[~np.isnan(values)]
    decimals = range(_MOST_DECIMALS)
    fewest = (d for d in decimals if np.array_equal(np.round(present, d), present))
    return float(10.0 ** -next(fewest, _MOST_DECIMALS))
