"""Input checks of the estimators; messages give row numbers and never a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.intake.submission import SUM_TOLERANCE
from arena.intake.table import count_from_one
from arena.types import RowNumber
from arena.utils.text import plural
from arena_bayes_error.sampling import blocks

_SHOWN = 5
_MOST_LABELS = 1_000_000
"""Of a class and row; with a thousand times as many no labels can be drawn."""
Array = npt.NDArray[Any]


def as_rows(values: npt.ArrayLike, what: str, dimensions: tuple[int, ...] = (1,)) -> Array:
    """Return numbers as an array without a copy; raises UsageError for another shape or type."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"The {what} must be numbers.")
    if array.ndim not in dimensions:
        shapes = " or ".join({1: "(n,)", 2: "(n, columns)"}[d] for d in dimensions)
        raise UsageError(f"The {what} must have the shape {shapes}, not {array.shape}.")
    return array


def check_rows(
    is_wrong: Callable[[slice], npt.NDArray[np.bool_]],
    n: int,
    sentence: str,
    row_number: RowNumber | None,
) -> None:
    """Raise InputError that names the first rows that are wrong, if there are any.

    >>> wrong = np.array([False, True, True])
    >>> check_rows(lambda rows: wrong[rows], 3, "{rows}: not a number.", None)
    Traceback (most recent call last):
    ...
    arena.errors.InputError: Rows 2 and 3: not a number.
    """
    rows_shown: list[int] = []
    total = 0
    for rows in blocks(n):
        wrong = is_wrong(rows)
        if wrong.any():
            positions = rows.start + np.flatnonzero(wrong)
            total += len(positions)
            rows_shown += positions[: _SHOWN - len(rows_shown)].tolist()
    if total:
        name = row_number or count_from_one
        raise InputError(sentence.format(rows=_listed([name(p) for p in rows_shown], total)))


def check_labelled_scores(
    scores: Array,
    positive: npt.NDArray[np.bool_],
    *,
    purpose: str,
    row_number: RowNumber | None,
) -> None:
    """Check scores and their labels; ``purpose`` says what both labels are needed for.

    Raises
    ------
    InputError
        If a score is not a finite number, or all labels are the same.
    UsageError
        If there is not one label for each score.
    """
    if len(scores) != len(positive):
        raise UsageError(
            f"{plural(len(positive), 'label')} for {plural(len(scores), 'score')}: give one each."
        )
    check_rows(
        lambda rows: ~np.isfinite(scores[rows]),
        len(scores),
        "{rows}: the score is not a finite number.",
        row_number,
    )
    if positive.all() or not positive.any():
        raise InputError(f"All labels are the same: {purpose} the scores needs both labels.")


def _listed(numbers: list[int], total: int) -> str:
    if total == 1:
        return f"Row {numbers[0]}"
    row_numbers = [str(number) for number in numbers]
    more = total - len(numbers)
    if more:
        return f"Rows {', '.join(row_numbers)} and {more:,} more"
    return f"Rows {', '.join(row_numbers[:-1])} and {row_numbers[-1]}"


def check_unit(
    values: Array, what: str, hint: str, row_number: RowNumber | None, top: float = 1.0
) -> None:
    """Raise InputError for values outside [0, top] and missing values."""
    n = len(values)
    try:
        sentence = f"{{rows}}: the {what} is not between 0 and {top:g}. {hint}"
        check_rows(lambda rows: _outside(values[rows], top), n, sentence, row_number)
    except InputError as error:
        missing = _missing(values)
        if missing.any() and not (_outside(values, top) & ~missing).any():
            sentence = f"{{rows}}: the {what} is missing (NaN). Fill it in, or remove such rows."
            check_rows(lambda rows: missing[rows], n, sentence, row_number)
        raise InputError(f"{error}{_what_it_may_be(values)}") from None


def _missing(values: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isnan(values).reshape(len(values), -1).any(axis=1))


def _what_it_may_be(values: Array) -> str:
    """Return a hint on what numbers outside the range may be instead."""
    if np.isnan(values).any():
        return " Some are missing (NaN)."
    if values.min() < 0 or not np.isfinite(values.max()):
        return ""
    if values.ndim == 2 and np.array_equal(values, np.floor(values)):
        return " If they are numbers of labels, use --kind counts."
    return " If they are percentages, divide by 100." if 1 < values.max() <= 100 else ""


def _outside(values: Array, top: float) -> npt.NDArray[np.bool_]:
    # Compare the extremes first: two passes without a temporary array, as values are usually valid.
    if values.size and values.min() >= 0 and values.max() <= top:
        return np.zeros(len(values), dtype=np.bool_)
    wrong = ~((values >= 0) & (values <= top))
    return np.asarray(wrong.reshape(len(values), -1).any(axis=1))


def check_shares(shares: Array, row_number: RowNumber | None) -> None:
    """Raise InputError for class probabilities outside [0, 1] and rows that do not sum to 1."""
    if shares.shape[1] < 2:
        raise UsageError("Class probabilities need at least two columns, one for each class.")
    hint = "Give the probability of each class, one column for each."
    check_unit(shares, "probability of a class", hint, row_number)
    check_rows(
        lambda rows: np.asarray(np.abs(shares[rows].sum(axis=1) - 1) > SUM_TOLERANCE),
        len(shares),
        "{rows}: the probabilities do not sum to 1. Divide each by the sum of its row; for "
        "numbers of labels use --kind counts.",
        row_number,
    )


def class_counts(counts: npt.ArrayLike, row_number: RowNumber | None) -> Array:
    """Return numbers of labels ``(n, n_classes)``; raises InputError if they are invalid."""
    array = as_rows(counts, "counts", (2,))
    if array.shape[1] < 2:
        raise UsageError("Counts need at least two columns, one for each class.")
    check_rows(
        lambda rows: _outside(array[rows], _MOST_LABELS),
        len(array),
        f"{{rows}}: a count is not a number from 0 to {_MOST_LABELS:,}.",
        row_number,
    )
    check_rows(
        lambda rows: np.asarray((array[rows] != np.floor(array[rows])).any(axis=1)),
        len(array),
        "{rows}: a count is not a whole number. For shares of labels use --kind soft.",
        row_number,
    )
    check_rows(
        lambda rows: np.asarray(array[rows].sum(axis=1) == 0),
        len(array),
        "{rows}: the row has no labels. Remove such rows.",
        row_number,
    )
    if len(array) and array.sum(axis=1).max() < 2:
        raise InputError(
            "Each row has only one label, which says nothing about how uncertain its class is. "
            "Give several labels per row, or add a sign label, the likelier class (--kind hard). "
            "With only features and hard labels you get bounds: --kind features."
        )
    return array


def two_valued(values: npt.ArrayLike, what: str) -> npt.NDArray[np.bool_]:
    """Return whether each is the positive one of two values: 0 and 1, -1 and 1, or booleans.

    >>> two_valued([-1, 1, 1], "sign labels")
    array([False,  True,  True])

    Raises
    ------
    InputError
        If there are other values.
    """
    array = as_rows(values, what)
    distinct = np.unique(array)
    if not (np.isin(distinct, (0, 1)).all() or np.isin(distinct, (-1, 1)).all()):
        raise InputError(
            f"The {what} must have two values, 0 and 1 or -1 and 1, but there are "
            f"{len(distinct):,} different ones. A probability is not a sign label: "
            f"use --kind soft or noisy."
        )
    return np.asarray(array > 0)
