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
        (0.6, 0.6, (0.6, 0.7)),  # exactly the lowest
        (0.61, 0.6, (0.6, 0.7)),
        (0.88, 0.9, (0.8, 0.9)),
    ],
)
def test_crop_brackets_the_target_by_neighbours_and_takes_the_nearer(target, kept, bracket):
    solved = crop(SCORES, 0.5, gap_to(target), 1e-6)
    assert (solved.side, solved.parameter) == (0, kept)
    assert tuple(best for best, _ in solved.neighbours) == bracket
    assert solved.performances.tolist() == SCORES[kept >= SCORES].tolist()
    for best, performances in solved.neighbours:
        assert performances.max() == best


@pytest.mark.parametrize("size", [2, 3, 8, 57])
def test_crop_finds_the_same_step_as_a_search_of_all(size):
    rng = np.random.default_rng(size)
    scores = np.unique(rng.random(size))
    for target in rng.uniform(scores[0], scores[-1], 20):
        low, high = (best for best, _ in crop(scores, 0.0, gap_to(target), 1e-6).neighbours)
        assert low <= target < high
        assert np.searchsorted(scores, high) - np.searchsorted(scores, low) == 1


@pytest.mark.parametrize("find", [crop, shrink])
def test_a_board_on_which_even_the_least_is_too_good(find):
    solved = find(SCORES, 0.55, gap_to(0.5), 1e-6)
    assert solved.side == -1
    assert solved.performances.max() == (0.6 if find is crop else 0.55)
    assert solved.parameter == (0.6 if find is crop else 0.0)
    assert solved.neighbours == ()


@pytest.mark.parametrize("find", [crop, shrink])
def test_a_board_on_which_even_the_scores_are_not_enough(find):
    solved = find(SCORES, 0.5, gap_to(0.95), 1e-6)
    assert (solved.side, solved.parameter) == (1, 0.9 if find is crop else 1.0)
    assert solved.performances.tolist() == SCORES.tolist()


def test_equal_scores_are_a_single_crop():
    solved = crop(np.array([0.7, 0.7]), 0.5, gap_to(0.7), 1e-6)
    assert (solved.side, solved.parameter) == (0, 0.7)


def test_shrink_finds_the_weight_of_the_scores():
    solved = shrink(SCORES, 0.5, gap_to(0.75), 1e-12)
    assert (solved.side, solved.neighbours) == (0, ())
    assert solved.parameter == pytest.approx(0.625)  # 0.5 + 0.625 * (0.9 - 0.5) = 0.75
    assert solved.performances == pytest.approx(0.625 * SCORES + 0.375 * 0.5)


@pytest.mark.parametrize("off", [-0.9e-9, 0.0, 0.9e-9])
def test_scores_that_give_what_was_observed_are_not_shrunk(off):
    solved = shrink(SCORES, 0.5, gap_to(0.9 + off), 1e-6)
    assert (solved.side, solved.parameter) == (0, 1.0)
    assert solved.performances.tolist() == SCORES.tolist()


def test_a_weight_is_found_to_many_digits():
    """Of a gap that is no straight line: a step of the secant does not end at the root."""

    def gap(performances):
        assert ((performances >= 0.5) & (performances <= 0.9)).all()  # from chance to the best
        return float(performances.max()) ** 3 - 0.75**3

    solved = shrink(SCORES, 0.5, gap, 1e-12)
    assert solved.parameter == pytest.approx(0.625, rel=1e-8)


@pytest.mark.parametrize("find", [crop, shrink])
@pytest.mark.parametrize("off", [-1e-9, 1e-9])
def test_a_gap_of_just_the_tolerance_is_none(find, off):
    solved = find(
        SCORES, 0.5, lambda performances: off if performances.max() == 0.9 else -0.1, 1e-6
    )
    assert (solved.side, solved.parameter) == (0, 0.9 if find is crop else 1.0)


def test_chance_alone_can_be_the_solution():
    solved = shrink(SCORES, 0.5, gap_to(0.5), 1e-6)
    assert solved.side == 0
    assert solved.parameter == pytest.approx(0.0, abs=1e-6)


def test_a_gap_above_rounding_is_one():
    for find in (shrink, crop):
        assert find(SCORES, 0.5, gap_to(0.9 + 2e-9), 1e-6).side == 1
        assert find(SCORES, 0.5, gap_to(0.9 + 0.5e-9), 1e-6).side == 0
    assert shrink(SCORES, 0.5, gap_to(0.9 - 2e-9), 1e-12).parameter < 1
    solved = crop(SCORES, 0.5, gap_to(0.6), 1e-6)  # exactly what the lowest crop gives
    assert (solved.side, solved.parameter) == (0, 0.6)
