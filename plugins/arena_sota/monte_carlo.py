"""The sample maximum by simulation: to check exact results, and for other dependence models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray, IntArray
from arena_sota.checks import (
    check_numbers,
    check_theta0,
    no_classifier_message,
    success_probabilities,
)
from arena_sota.dependence import conditional_probabilities, inside_bounds

__all__ = ["DrawCounts", "simulate_maximum"]

DrawCounts: TypeAlias = Callable[[np.random.Generator], npt.ArrayLike]
"""``draw(rng) -> (m,)`` numbers of right rows of m classifiers on the same rows."""


def simulate_maximum(
    n_rows: int,
    theta: npt.ArrayLike | DrawCounts,
    repetitions: int,
    rng: np.random.Generator,
    *,
    random: bool = False,
    rho0: float = 0.0,
    theta0: float | None = None,
    correct0: int | None = None,
) -> FloatArray:
    """Draw the best of m observed scores many times.

    Given the number of easy rows, a classifier's count is the sum of two binomials, so rows are not
    drawn one by one as in the papers.

    Parameters
    ----------
    n_rows
        The number n of rows.
    theta
        ``(m,)`` success probabilities, one for each classifier; or a function that draws the
        counts of all classifiers at once, for any other dependence.
    repetitions
        How often to draw.
    rng
        The random number generator.
    random, rho0, theta0, correct0
        As in :func:`~arena_sota.maximum.sample_maximum`; ignored if ``theta`` is a function.

    Returns
    -------
    ``(repetitions,)`` scores.

    Raises
    ------
    UsageError
        As :func:`~arena_sota.maximum.sample_maximum`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> best = simulate_maximum(3_000, np.full(100, 0.9), 1_000, rng)
    >>> abs(float(best.mean()) - 0.9135) < 4 * 0.00225 / 1_000**0.5
    True
    >>> copies = simulate_maximum(100, lambda rng: np.full(3, rng.binomial(100, 0.5)), 200, rng)
    >>> abs(float(copies.mean()) - 0.5) < 0.02
    True
    """
    if repetitions < 1:
        raise UsageError("A simulation needs at least one repetition.")
    if callable(theta):
        drawn_best = [float(np.max(np.asarray(theta(rng)))) for _ in range(repetitions)]
        return np.asarray(drawn_best) / n_rows
    values = success_probabilities(theta)
    theta0 = float(values.max()) if theta0 is None else theta0
    check_numbers(n_rows, None, rho0, theta0, correct0)
    check_theta0(rho0, theta0)
    inside = inside_bounds(values, rho0, theta0)
    if not inside.any():
        raise UsageError(no_classifier_message(values, rho0, theta0))
    right, wrong = conditional_probabilities(values, rho0, theta0)
    easy = rng.binomial(n_rows, theta0, repetitions) if correct0 is None else None
    largest = np.empty(repetitions, dtype=np.intp)
    for repetition in range(repetitions):
        count = int(easy[repetition]) if easy is not None else int(correct0 or 0)
        drawn = _drawn(len(values), inside, random, rng)
        successes = _successes(n_rows, count, right[drawn], wrong[drawn], rng)
        largest[repetition] = successes.max(initial=0)
    return np.asarray(largest / n_rows)


def _drawn(
    size: int, inside: npt.NDArray[np.bool_], random: bool, rng: np.random.Generator
) -> IntArray:
    """Return the classifiers of one repetition that are possible."""
    drawn = rng.integers(size, size=size) if random else np.arange(size)
    return drawn[inside[drawn]]


def _successes(
    n_rows: int, easy: int, right: FloatArray, wrong: FloatArray, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    return rng.binomial(easy, right) + rng.binomial(n_rows - easy, wrong)
