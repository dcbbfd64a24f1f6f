"""Rows for attacks: public rows that the board scores, hidden rows that measure the bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.interfaces import Metric, NeedsRowContext, Participation
from arena.types import IntArray, PredictionKind, Solution, Usage
from arena_competitors.attackers.overfitter import random_values
from arena_competitors.scoring import ScoreOf, expected_score, scorer


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The truth of n public and h hidden rows, and their positions in a submission of N rows."""

    metric: Metric
    n_classes: int | None
    n_rows: int
    public: IntArray
    """``(n,)`` positions in a submission."""
    public_truth: npt.NDArray[Any]
    hidden: IntArray
    """``(h,)`` positions in a submission."""
    hidden_truth: npt.NDArray[Any]
    baseline: npt.NDArray[Any] | None
    """The baseline's predictions for all rows."""
    expected: Callable[[npt.NDArray[Any]], float] | None = None
    """The expected score of a prediction on new rows, if known."""
    score: ScoreOf = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", scorer(self.metric))

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out the score, a function that cannot be pickled by name: it is made again."""
        field_values = tuple(getattr(self, field.name) for field in fields(self) if field.init)
        return type(self), field_values

    def participation(self, submissions: int, baseline_score: float | None) -> Participation:
        """Return what a participant is allowed to know about the rows."""
        return Participation(
            metric=self.metric,
            n_rows=self.n_rows,
            n_public=len(self.public),
            n_classes=self.n_classes,
            submissions=submissions,
            baseline=self.baseline,
            baseline_score=baseline_score,
        )

    def hidden_score(self, prediction: npt.NDArray[Any]) -> float:
        """Return the score on the hidden rows."""
        return self.score(self.hidden_truth, prediction[self.hidden])

    def true_score(self, prediction: npt.NDArray[Any]) -> float:
        """Return the expected score on new rows, or the hidden score if it is not known."""
        return self.expected(prediction) if self.expected else self.hidden_score(prediction)


def synthetic_rows(
    metric: Metric, n_public: int, n_rows: int, n_classes: int, rng: np.random.Generator
) -> Rows:
    """Return rows with random labels: uniform over the classes, or exponential numbers.

    The public rows are drawn at random. If all rows are public, the hidden rows are the same rows
    with newly drawn labels.

    Raises
    ------
    UsageError
        If the numbers of rows or classes are inconsistent, or the metric takes texts.

    Examples
    --------
    >>> from arena_metrics.pointwise import Accuracy
    >>> rows = synthetic_rows(Accuracy(), 40, 100, 2, np.random.default_rng(0))
    >>> len(rows.public), len(rows.hidden), rows.true_score(np.zeros(100, dtype=int))
    (40, 60, 0.5)
    """
    if n_public < 2 or n_rows < n_public:
        raise UsageError(
            f"There must be at least 2 public rows, and as many rows in all: not {n_public:,} of "
            f"{n_rows:,}."
        )
    if n_classes < 2:
        raise UsageError(f"There must be at least 2 classes, not {n_classes}.")
    if metric.prediction is PredictionKind.TEXT:
        raise UsageError(f"{metric.name} takes texts, and no attack can guess texts.")
    numeric = metric.prediction is PredictionKind.VALUE

    def truths(size: int) -> npt.NDArray[Any]:
        return random_values(size, rng) if numeric else rng.integers(0, n_classes, size)

    order = rng.permutation(n_rows)
    public = np.sort(order[:n_public])
    hidden = np.sort(order[n_public:]) if n_rows > n_public else public
    return Rows(
        metric=metric,
        n_classes=None if numeric else n_classes,
        n_rows=n_rows,
        public=public,
        public_truth=truths(n_public),
        hidden=hidden,
        hidden_truth=truths(len(hidden)),
        baseline=constant_prediction(metric, n_rows, None if numeric else n_classes),
        expected=expected_score(metric, None if numeric else n_classes, n_rows),
    )


def constant_prediction(
    metric: Metric, n_rows: int, n_classes: int | None, *, mean: float = 1.0
) -> npt.NDArray[Any]:
    """Return a constant submission: the first label, equal probabilities, or a mean."""
    if metric.prediction is PredictionKind.LABEL:
        return np.zeros(n_rows, dtype=np.intp)
    if n_classes is None or n_classes == 2:
        return np.full(n_rows, 0.5 if n_classes else mean)
    return np.full((n_rows, n_classes), 1.0 / n_classes)


def competition_rows(solution: Solution, metric: Metric) -> Rows:
    """Return the public rows of a solution as attacked rows, and its private rows as hidden rows.

    The baseline is a constant prediction, like ``sample_submission.csv``. The private rows estimate
    the true score.

    Raises
    ------
    InputError
        If there are several targets or too few public or private rows, or if the metric needs more
        than the truth of each row.
    """
    if len(solution.targets) != 1:
        raise InputError("Attacks are run on solutions with one target; this one has several.")
    if isinstance(metric, NeedsRowContext) or metric.prediction is PredictionKind.TEXT:
        raise InputError(f"There is no attack on {metric.name}: it needs further columns.")
    public, private = (
        np.flatnonzero(solution.usage == np.uint8(usage)) for usage in (Usage.PUBLIC, Usage.PRIVATE)
    )
    if len(public) < 2 or len(private) < 2:
        raise InputError(
            "An attack needs at least two public rows, and two private rows to measure its bias."
        )
    classes = solution.targets[0].classes
    n_classes = None if classes is None else len(classes)
    truth: npt.NDArray[Any] = solution.truth.reshape(solution.n_rows)
    return Rows(
        metric=metric,
        n_classes=n_classes,
        n_rows=solution.n_rows,
        public=public,
        public_truth=truth[public],
        hidden=private,
        hidden_truth=truth[private],
        baseline=constant_prediction(
            metric, solution.n_rows, n_classes, mean=float(truth[public].mean())
        ),
    )
