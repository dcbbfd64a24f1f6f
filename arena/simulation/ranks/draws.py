"""Tests drawn from a population, and the population as one exact test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.simulation.data import HUNDRED, Population
from arena.types import IntArray, WeightArray
from arena.utils.text import plural

_TEST_STREAM = 2**32 - 3
_MOST_REDRAWS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTest:
    """One test."""

    rows: IntArray
    """``(n,)`` positions in the population, ascending; some occur twice."""
    target: npt.NDArray[np.generic]
    """``(n,)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Several tests as counts of the rows that occur in any of them."""

    rows: IntArray
    """``(r,)`` positions in the population; twice where it was drawn with both labels."""
    target: npt.NDArray[np.generic]
    """``(r,)``."""
    weights: WeightArray
    """``(r, C)``; r * C bytes, where r is at most C times the rows of a test."""


def draw_test(
    population: Population, n_rows: int, number: int, seed: int, *, n_classes: int | None
) -> DrawnTest:
    """Draw one test of ``n_rows`` rows, with replacement, and labels where probabilities are known.

    Test ``number`` depends on the seed, its number and its size only.

    Parameters
    ----------
    n_classes
        Redraw until this many classes occur; None: any number.

    Raises
    ------
    MetricError
        If a class is too rare to occur in such a test.
    """
    key = (_TEST_STREAM, n_rows, number)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    for _ in range(_MOST_REDRAWS):
        rows = np.sort(rng.integers(0, population.n_rows, n_rows))
        if population.chance is None:
            target = population.target[rows]
        else:
            drawn = rng.integers(0, HUNDRED, n_rows) < population.chance[rows]
            target = drawn.astype(np.intp)
        if n_classes is None or len(np.unique(target)) == n_classes:
            return DrawnTest(rows, target)
    raise MetricError(
        f"A class is so rare that {_MOST_REDRAWS:,} tests of {plural(n_rows, 'row')} lacked it. "
        "Use more rows with --test-rows, or another metric."
    )


def draw_tests(
    population: Population, n_rows: int, tests: int, seed: int, *, n_classes: int | None
) -> Draws:
    """Draw tests 0 … C-1 and count how often each row is in each.

    Raises
    ------
    UsageError
        If the population is smaller than a test.
    MetricError
        See :func:`draw_test`.

    Examples
    --------
    >>> population = Population(np.zeros((9, 1)), np.arange(9) % 2)
    >>> draw_tests(population, 5, 3, seed=0, n_classes=2).weights.sum(axis=0).tolist()
    [5, 5, 5]
    """
    if population.n_rows < n_rows:
        raise UsageError(
            f"Tests of {plural(n_rows, 'row')} need a population of at least as many; it has "
            f"{population.n_rows:,}. Ask for more with --population, or for fewer --test-rows."
        )
    drawn = [
        draw_test(population, n_rows, number, seed, n_classes=n_classes) for number in range(tests)
    ]
    labelled = population.chance is not None
    codes = [
        test.rows * 2 + test.target.astype(np.intp) if labelled else test.rows for test in drawn
    ]
    occurs = np.zeros(2 * population.n_rows, dtype=np.bool_)
    for stratum in codes:
        occurs[stratum] = True
    occurring, place = np.flatnonzero(occurs), np.cumsum(occurs) - 1
    weights = np.empty((len(occurring), tests), dtype=np.uint8)
    for number, stratum in enumerate(codes):
        weights[:, number] = np.bincount(place[stratum], minlength=len(occurring))
    if labelled:
        return Draws(occurring // 2, occurring % 2, weights)
    return Draws(occurring, population.target[occurring], weights)


def whole_population(population: Population) -> Draws:
    """Return the population as one test without sampling error.

    Where probabilities are known, every row counts with both labels, in whole hundredths.

    >>> population = Population(np.zeros((2, 1)), np.array([0, 1]), np.array([10, 60], np.uint8))
    >>> draws = whole_population(population)
    >>> draws.target.tolist(), draws.weights[:, 0].tolist()
    ([1, 1, 0, 0], [10, 60, 90, 40])
    """
    rows = np.arange(population.n_rows)
    if population.chance is None:
        ones = np.ones((population.n_rows, 1), dtype=np.uint8)
        return Draws(rows, population.target, ones)
    both = np.concatenate([population.chance, np.uint8(HUNDRED) - population.chance])
    target = np.repeat(np.array([1, 0]), population.n_rows)
    return Draws(np.concatenate([rows, rows]), target, both[:, np.newaxis])
