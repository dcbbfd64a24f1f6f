"""The searches themselves, with gaps whose roots are known."""

from __future__ import annotations

import numpy as np
import pytest

from arena_sota.shrink_and_crop import crop, shrink

SCORES = np.array([0.9, 0.6, 0.7, 0.8, 0.6])


def gap_to(target):
    """Return the gap for a best score that is simply the largest performance."""
    return lambda performances: float(performances.max()) - target


@pytest.mark.parametrize(
    ("target", "kept", "bracket"),
    [
        (0.74, 0.7, (0.7, 0.8)),
        (0.76, 0.8, (0.7, 0.8)),
        (0.75, 0.7, (0.7, 0.8)),  # as near: the lower one
        (0.7, 0.7, (0.7, 0.8)),  # exactly: the solution is the lower one
        (0.61, 0.6, (0.6, 0.7)),
        (0.88, 0.9, (0.8, 0.9)),
    ],
)
def test_crop_brackets_the_target_by_neighbours_and_takes_the_nearer(target, kept, bracket):
    found = crop(SCORES, 0.5, gap_to(target), 1e-6)
    assert (found.side, found.parameter) == (0, kept)
    assert tuple(one for one, _ in found.neighbours) == bracket
    assert found.performances.tolist() == SCORES[kept >= SCORES].tolist()
    for one, performances in found.neighbours:
        assert performances.max() == one


@pytest.mark.parametrize("size", [2, 3, 8, 57])
def test_crop_finds_the_same_step_as_a_search_of_all(size):
    rng = np.random.default_rng(size)
    scores = np.unique(rng.random(size))
    for target in rng.uniform(scores[0], scores[-1], 20):
        low, high = (one for one, _ in crop(scores, 0.0, gap_to(target), 1e-6).neighbours)
        assert low <= target < high
        assert np.searchsorted(scores, high) - np.searchsorted(scores, low) == 1


@pytest.mark.parametrize("find", [crop, shrink])
def test_a_board_on_which_even_the_least_is_too_good(find):
    found = find(SCORES, 0.55, gap_to(0.5), 1e-6)
    assert found.side == -1
    assert found.performances.max() == (0.6 if find is crop else 0.55)
    assert found.neighbours == ()


@pytest.mark.parametrize("find", [crop, shrink])
def test_a_board_on_which_even_the_scores_are_not_enough(find):
    found = find(SCORES, 0.5, gap_to(0.95), 1e-6)
    assert found.side == 1
    assert found.performances.tolist() == SCORES.tolist()


def test_equal_scores_are_a_single_crop():
    found = crop(np.array([0.7, 0.7]), 0.5, gap_to(0.7), 1e-6)
    assert (found.side, found.parameter) == (0, 0.7)
