"""Ranks, ties, and the best of several submissions of one team."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from arena.evaluation.ranks import (
    best_first,
    best_of_each_team,
    doubled_mean_ranks,
    minimum_ranks,
    tied_ranks,
)
from thinned import examples

SETTINGS = settings(max_examples=examples(40))


@SETTINGS
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.booleans())
def test_a_rank_is_one_more_than_the_number_of_better_scores(
    values: list[int], greater_is_better: bool
) -> None:
    sign = 1 if greater_is_better else -1
    expected = [1 + sum(sign * other > sign * value for other in values) for value in values]
    ranks = minimum_ranks(np.array(values), greater_is_better=greater_is_better)
    assert ranks.tolist() == expected
    order = best_first(np.array(values), greater_is_better=greater_is_better)
    assert ranks[order].tolist() == sorted(expected)


@SETTINGS
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 30), st.integers(1, 20))
def test_ranks_of_ties_are_those_of_scipy(seed: int, k: int, n: int, values: int) -> None:
    scores = np.random.default_rng(seed).integers(0, values, (k, n)) / 7
    assert (doubled_mean_ranks(scores) == 2 * rankdata(scores, axis=1)).all()
    first, last = tied_ranks(scores)
    assert (first == rankdata(scores, method="min", axis=0)).all()
    assert (last == rankdata(scores, method="max", axis=0)).all()


def test_a_score_that_is_not_finite_is_not_ranked() -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            minimum_ranks([0.5, value], greater_is_better=True)


@SETTINGS
@given(st.integers(0, 10**6), st.booleans())
def test_each_resample_chooses_the_best_of_each_team_again(
    seed: int, greater_is_better: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores, resampled = rng.random(9), rng.random((9, 20))
    teams = tuple(rng.choice(["b", "a", "ä"], 9).tolist())
    best = best_of_each_team(scores, resampled, teams, greater_is_better=greater_is_better)
    pick = np.max if greater_is_better else np.min
    names = [teams[position] for position in best.positions]
    assert names == list(dict.fromkeys(teams))
    for position, name in enumerate(names):
        own = [team == name for team in teams]
        assert best.scores[position] == scores[best.positions[position]] == pick(scores[own])
        np.testing.assert_array_equal(best.resampled[position], pick(resampled[own], axis=0))


def test_one_submission_each_is_left_as_it_is() -> None:
    scores, resampled = np.array([0.3, 0.9]), np.array([[0.2, 0.4], [0.8, 1.0]])
    best = best_of_each_team(scores, resampled, ("x", "y"), greater_is_better=True)
    assert best.positions.tolist() == [0, 1]
    np.testing.assert_array_equal(best.resampled, resampled)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_there_may_be_nothing_to_rank(shape):
    assert minimum_ranks(np.zeros(shape), greater_is_better=True).shape == shape
