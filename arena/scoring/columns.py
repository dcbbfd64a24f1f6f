"""The roles of columns from keywords, and the meaning of those of a submission in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arena.interfaces import Metric, traits_of
from arena.types import PredictionKind, Solution, SolutionColumns

_MEANINGS = {
    PredictionKind.PROBABILITY: "the probability of the positive class",
    PredictionKind.SCORE: "or any score that is larger for the positive class",
}


_PROBE = (np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 0]))
"""Labels and predictions with one false positive of three, and one false negative of two."""


def meaning_of_columns(solution: Solution, *metrics: Metric) -> list[str]:
    """Return a sentence on each column that is about the positive class of two.

    A team that predicts the other class gets a reversed board.
    """
    usage = [] if solution.guessed_usage is None else [usage_note(solution.guessed_usage)]
    positives = [
        (column, target.classes[1])
        for column, target in zip(solution.columns, solution.targets, strict=False)
        if target.classes is not None and len(target.classes) == 2
    ]
    if solution.kind in _MEANINGS:
        meaning = _MEANINGS[solution.kind]
        sentences = [
            f"In a submission, column {name} = P({label}), {meaning}" for name, label in positives
        ]
    elif solution.kind is PredictionKind.LABEL and any(map(_has_positive_class, metrics)):
        sentences = [f"The positive class of column {name} is {label}" for name, label in positives]
    else:
        sentences = []
    return [*usage, *(f"{sentence}; --positive names another class." for sentence in sentences)]


def _has_positive_class(metric: Metric) -> bool:
    """Return whether a score of labels changes if the two classes are swapped."""
    if traits_of(metric).time_limit is not None:  # the organiser's code is called for scores only
        return False
    truth, prediction = _PROBE
    try:
        return metric.score(truth, prediction) != metric.score(1 - truth, 1 - prediction)
    except Exception:  # noqa: BLE001 - it fails again, and is named, when it scores
        return False


def usage_note(column: str) -> str:
    """Return the sentence about a usage column that was recognised by its cells."""
    return (
        f"Column {column} holds Public and Private, so it says which rows are public; --usage "
        "names another column."
    )


def given_columns(
    *,
    target: str | Sequence[str] = (),
    soft_labels: str | Sequence[str] = (),
    submission_columns: str | Sequence[str] = (),
    classes: Sequence[Any] = (),
    no_header: Sequence[str] = (),
    positive: Any = None,
    **others: str,
) -> SolutionColumns:
    """Return the roles of columns from keywords named as in ``competition.toml``.

    >>> given_columns(target="y", positive=1).positive
    '1'
    """

    def names(columns: str | Sequence[str]) -> tuple[str, ...]:
        return (columns,) if isinstance(columns, str) else tuple(columns)

    return SolutionColumns(
        targets=names(target),
        soft_labels=names(soft_labels),
        submission=names(submission_columns),
        classes=tuple(map(str, classes)),
        no_header=names(no_header),
        positive=None if positive is None else str(positive),
        row_sets=(),  # only a competition has phases, and labels that arrive later
        pending_labels=False,
        **others,
    )
