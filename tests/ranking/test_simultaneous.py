"""Rank intervals, tiers, closure: worked by hand, and what must not change them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.errors import UsageError
from arena_ranking import simultaneous
from arena_ranking.differences import standard_errors_from_resamples
from arena_ranking.max_statistics import compiled_maxima, largest_differences, numpy_maxima
from arena_ranking.simultaneous import PairFamily, rank_intervals, tiers, transitive_closure
from thinned import examples

SETTINGS = settings(max_examples=examples(30))
seeds = st.integers(0, 2**32 - 1)


def board(seed: int, m: int = 8, resamples: int = 200):
    """Scores with gaps, and correlated resamples of them, all rounded to 12 decimals."""
    rng = np.random.default_rng(seed)
    scores = np.round(0.8 + 0.02 * rng.integers(0, 8, m) + 0.001 * rng.normal(size=m), 12)
    noise = rng.normal(size=resamples) + rng.normal(size=(m, resamples))
    return scores, np.round(scores[:, None] + 0.008 * noise, 12)


def by_the_book(scores, resampled, level, all_pairs):
    """The definition, pair by pair, without any shortcut: better, low, high, tier, c and rounds."""
    m, b, alpha = len(scores), resampled.shape[1], 1 - level
    share = 1 if all_pairs else 0.5
    errors = resampled - scores[:, None]
    se = {
        (j, k): np.std(resampled[j] - resampled[k], ddof=1)
        for j, k in itertools.permutations(range(m), 2)
    }
    family, better, criticals = set(se), set(), []
    while True:
        largest = np.max([(errors[j] - errors[k]) / se[j, k] for j, k in sorted(family)], axis=0)
        c = np.sort(largest)[int(np.ceil((1 - share * alpha) * (b + 1) - 1e-9)) - 1]
        criticals.append(c)
        new = {(j, k) for j, k in family if scores[j] - scores[k] > c * se[j, k]}
        if not new:
            break
        family -= new
        better |= new
    while True:
        implied = {(j, n) for j, k in better for i, n in better if k == i} - better
        if not implied:
            break
        better |= implied
    possible = {j for j in range(m) if not any(k == j for _, k in better)}
    if not all_pairs:
        for j in sorted(possible):
            others = [k for k in range(m) if k != j]
            lead = max((scores[k] - scores[j]) / se[k, j] for k in others)
            leads = np.max([(errors[k] - errors[j]) / se[k, j] for k in others], axis=0)
            exceed = np.sum((leads >= lead) & (leads <= criticals[0]))
            if lead > 0 and (1 + exceed) / (b + 1) <= alpha / 4:
                possible.remove(j)
        leader = int(np.argmax(scores))
        least = min((scores[leader] - scores[k]) / se[leader, k] for k in range(m) if k != leader)
        possible = {leader} if least > stats.norm.isf(alpha / 8) else possible
    if len(possible) == 1:
        better |= {(j, k) for j in possible for k in range(m) if k != j}
    order = sorted(range(m), key=lambda j: -scores[j])
    low, tier = {}, {}
    for k in order:
        above = [j for j in order if (j, k) in better]
        low[k] = max([1 + len(above), 1 + (k not in possible), *(1 + low[j] for j in above)])
        tier[k] = max([1 + (k not in possible), *(1 + tier[j] for j in above)])
    high = [m - sum((j, k) in better for k in range(m)) for j in range(m)]
    sets = [low[j] for j in range(m)], high, [tier[j] for j in range(m)], sorted(possible)
    return better, sets, criticals


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("all_pairs", [False, True])
def test_the_definition_pair_by_pair(seed, level, all_pairs):
    scores, resampled = board(seed)
    ranks = rank_intervals(scores, resampled, level, all_pairs=all_pairs)
    better, sets, criticals = by_the_book(scores, resampled, level, all_pairs)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(ranks.better)), strict=True)) == better
    actual = ranks.low, ranks.high, ranks.tier, np.flatnonzero(ranks.possible_winner)
    assert tuple(array.tolist() for array in actual) == sets
    assert ranks.rounds == len(criticals)
    assert ranks.critical_value == pytest.approx(criticals[-1], rel=1e-12)


def test_the_stepdown_takes_several_rounds_and_decides_more_for_it():
    rounds_and_gains = []
    for seed in range(20):
        scores, resampled = board(seed, m=12)
        ranks = rank_intervals(scores, resampled, 0.9, all_pairs=True)
        se = standard_errors_from_resamples(resampled)
        errors = resampled - scores[:, None]
        pairs = ~np.eye(12, dtype=bool)
        first = largest_differences(errors, np.divide(1, se, where=pairs, out=se * 0), pairs)
        single_step = np.sort(first)[int(np.ceil(0.9 * 201)) - 1]
        assert ranks.critical_value <= single_step
        rounds_and_gains.append((ranks.rounds, ranks.critical_value < single_step))
    assert max(rounds for rounds, _ in rounds_and_gains) >= 3
    assert any(smaller for _, smaller in rounds_and_gains)


def test_a_critical_value_by_hand():
    # Two submissions, SE = 0.1 given, four resamples: |D* - D| / SE is 1, 2, 3 and 4.
    resampled = np.array([[0.6, 0.7, 0.8, 0.1], [0.0, 0.0, 0.0, 0.0]])
    se = np.array([[0.0, 0.1], [0.1, 0.0]])
    ranks = rank_intervals(np.array([0.5, 0.0]), resampled, 0.6, standard_errors=se, all_pairs=True)
    # Undecided, the 3rd of 4 is 3 (0.6 * 5), and 0.5 > 0.3 decides; then only the reverse pair is
    # left, whose values are -1, -2, -3 and 4, so that c is 0 at least: max(-1, 0).
    assert ranks.better.tolist() == [[False, True], [False, False]]
    assert (ranks.rounds, ranks.critical_value) == (2, 0.0)
    assert (ranks.low.tolist(), ranks.high.tolist()) == ([1, 2], [1, 2])


def test_a_difference_on_the_boundary_decides_nothing():
    # 0.3 / 0.1 in floating point lies beside the critical value 3 of (0.9 - 0.6) / 0.1.
    resampled = np.array([[0.6, 0.6], [0.0, 0.0]])
    se = np.array([[0.0, 0.1], [0.1, 0.0]])
    for lead, decided in ((0.3, False), (0.31, True)):
        ranks = rank_intervals(
            np.array([lead, 0.0]), resampled + np.array([[lead - 0.3], [0.0]]), 0.6,
            standard_errors=se, all_pairs=True,
        )  # fmt: skip
        assert ranks.better.any() == decided


def test_closure_and_tiers_by_hand():
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    better = np.zeros((4, 4), dtype=bool)
    better[0, 1] = better[1, 2] = better[0, 3] = True
    closed = transitive_closure(better, scores)
    assert np.argwhere(closed).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2]]
    assert tiers(closed, scores).tolist() == tiers(better, scores).tolist() == [1, 2, 3, 2]


@SETTINGS
@given(seeds)
def test_closure_is_closed_and_adds_only_what_follows(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=20)
    better = (rng.random((20, 20)) < 0.1) & (scores[:, None] > scores)
    closed = transitive_closure(better, scores)
    step = closed.astype(int)
    assert (((step @ step) > 0) <= closed).all()
    reached = np.linalg.matrix_power(np.eye(20) + better, 20) > 0
    np.testing.assert_array_equal(closed, reached & ~np.eye(20, dtype=bool))


@SETTINGS
@given(seeds, st.sampled_from([0.5, 0.8, 0.95]))
def test_permuted_submissions_have_permuted_ranks(seed, level):
    scores, resampled = board(seed)
    order = np.random.default_rng(seed).permutation(len(scores))
    se = standard_errors_from_resamples(resampled)
    intervals = rank_intervals(scores, resampled, level, standard_errors=se)
    other = rank_intervals(
        scores[order], resampled[order], level, standard_errors=se[np.ix_(order, order)]
    )
    for name in ("low", "high", "tier"):
        np.testing.assert_array_equal(getattr(other, name), getattr(intervals, name)[order])
    np.testing.assert_array_equal(other.better, intervals.better[np.ix_(order, order)])
    assert other.critical_value == intervals.critical_value


@SETTINGS
@given(seeds, st.floats(-100, 100))
def test_a_constant_on_all_scores_changes_nothing(seed, constant):
    scores, resampled = board(seed)
    intervals = rank_intervals(scores, resampled, 0.9)
    other = rank_intervals(scores + constant, resampled + constant, 0.9)
    np.testing.assert_array_equal(intervals.better, other.better)
    assert other.critical_value == pytest.approx(intervals.critical_value, rel=1e-9)


@SETTINGS
@given(seeds)
def test_a_loss_is_the_mirror_image_of_a_score(seed):
    scores, resampled = board(seed)
    intervals = rank_intervals(scores, resampled, 0.9)
    other = rank_intervals(-scores, -resampled, 0.9, greater_is_better=False)
    np.testing.assert_array_equal(intervals.better, other.better)
    assert intervals.critical_value == other.critical_value


@SETTINGS
@given(seeds)
def test_what_must_hold_of_every_result(seed):
    scores, resampled = board(seed, m=10)
    ranks = rank_intervals(scores, resampled, 0.8)
    place = 1 + (scores > scores[:, None]).sum(axis=1)
    assert (ranks.low <= place).all()
    assert (place <= ranks.high).all()
    assert ranks.tier.min() == 1
    assert ranks.tier[np.argmax(scores)] == 1
    assert (ranks.tier <= ranks.low).all()
    assert (scores[:, None] > scores)[ranks.better].all()
    # One claim: nothing that is said of a rank, a tier or the first place contradicts the others.
    for first in (ranks.low == 1, ranks.tier == 1, ranks.possible_top(1)):
        assert (first == ranks.possible_winner).all()
    above, below = np.nonzero(ranks.better)
    assert (ranks.tier[above] < ranks.tier[below]).all()
    assert (ranks.low[above] < ranks.low[below]).all()
    assert (ranks.high[above] < ranks.high[below]).all()
    assert (ranks.possible_winner.sum() == 1) == (ranks.high.min() == 1)


@SETTINGS
@given(seeds)
def test_duplicates_are_tied(seed):
    scores, resampled = board(seed, m=6)
    twice = np.r_[np.arange(6), 2, 2]
    ranks = rank_intervals(scores[twice], resampled[twice], 0.9)
    for values in (ranks.low, ranks.high, ranks.tier):
        assert values[2] == values[6] == values[7]
    assert not ranks.better[2, 6]
    assert not ranks.better[6, 2]


def test_higher_levels_decide_less():
    total = np.zeros(3, dtype=int)
    for seed in range(5):
        scores, resampled = board(seed, m=12)
        levels = (0.3, 0.8, 0.99)
        decided = [rank_intervals(scores, resampled, level).better for level in levels]
        assert (decided[1] <= decided[0]).all()
        assert (decided[2] <= decided[1]).all()
        total += [int(better.sum()) for better in decided]
    assert total[0] > total[1] > total[2]


def test_one_submission_and_all_the_same():
    intervals = rank_intervals(np.array([0.5]), np.full((1, 10), 0.5))
    assert (intervals.low.tolist(), intervals.high.tolist(), intervals.tier.tolist()) == (
        [1],
        [1],
        [1],
    )
    tied = rank_intervals(np.full(3, 0.5), np.full((3, 10), 0.5))
    assert (tied.low.tolist(), tied.high.tolist(), tied.tier.tolist()) == (
        [1] * 3,
        [3] * 3,
        [1] * 3,
    )


def test_undefined_resamples_are_left_out():
    scores, resampled = board(1)
    with_gaps = np.insert(resampled, [0, 7], np.nan, axis=1)
    whole, gapped = rank_intervals(scores, resampled), rank_intervals(scores, with_gaps)
    np.testing.assert_array_equal(whole.better, gapped.better)
    assert whole.critical_value == gapped.critical_value


@SETTINGS
@given(seeds, st.integers(2, 70), st.integers(1, 40))
def test_the_compiled_kernel_has_the_bits_of_the_numpy_form(seed, m, resamples):
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(m, resamples))
    precisions = rng.random((m, m))
    precisions += precisions.T
    open_pairs = rng.random((m, m)) < rng.random()
    np.fill_diagonal(open_pairs, False)
    expected = numpy_maxima(errors, precisions, open_pairs)
    for workers in (1, 2):
        maxima = compiled_maxima(errors, precisions, open_pairs, workers=workers)
        np.testing.assert_array_equal(maxima, expected)


@pytest.mark.slow
def test_a_large_board_takes_the_compiled_path_and_gives_the_same_on_any_workers(monkeypatch):
    scores, resampled = board(5, m=350, resamples=1000)
    intervals = rank_intervals(scores, resampled, workers=1)
    two = rank_intervals(scores, resampled, workers=2)
    monkeypatch.setattr("arena_ranking.max_statistics.COMPILE_ABOVE", np.inf)
    plain = rank_intervals(scores, resampled)
    for other in (two, plain):
        np.testing.assert_array_equal(intervals.better, other.better)
        assert (intervals.critical_value, intervals.rounds) == (other.critical_value, other.rounds)


@pytest.mark.parametrize(
    ("scores", "resampled", "level", "message"),
    [
        ([], np.zeros((0, 5)), 0.9, "at least one submission"),
        ([np.nan, 1.0], np.zeros((2, 5)), 0.9, "every score finite"),
        ([1.0, 2.0], np.zeros((3, 5)), 0.9, "one row per submission"),
        ([1.0, 2.0], np.zeros((2, 5)), 1.0, "between 0 and 1"),
        ([1.0, 2.0], np.full((2, 5), np.nan), 0.9, "at least two resamples"),
    ],
)
def test_what_does_not_fit_is_refused(scores, resampled, level, message):
    with pytest.raises(UsageError, match=message):
        rank_intervals(np.array(scores), resampled, level)


def test_standard_errors_of_another_shape_are_refused():
    with pytest.raises(UsageError, match="one row and one column"):
        rank_intervals(np.ones(2), np.ones((2, 5)), standard_errors=np.ones((3, 3)))


@pytest.mark.parametrize("m", [70, pytest.param(150, marks=pytest.mark.slow)])
def test_compiled_closure_is_the_same(m, monkeypatch):
    """For 70 submissions, which are two words of bits, the source of the loop runs."""
    if m < 100:
        monkeypatch.setattr(simultaneous, "compiled", lambda function: function)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=m)
    better = (rng.random((m, m)) < 0.02) & (scores[:, None] > scores)
    closed = transitive_closure(better, scores)
    monkeypatch.setattr(simultaneous, "COMPILE_ABOVE", 0)
    np.testing.assert_array_equal(transitive_closure(better, scores), closed)
    assert closed.sum() > better.sum()


def test_units_and_resamples_that_are_enough_for_a_critical_value_of_all_pairs():
    """There must be 50 units, and 19 resamples: the largest of 20 values has probability 0.05."""
    for n_units, resamples, enough in (
        (None, 19, True),
        (50, 19, True),
        (49, 19, False),
        (50, 18, False),
    ):
        family = SimpleNamespace(n_units=n_units, of_pairs=0.05, errors=np.empty((2, resamples)))
        assert PairFamily.by_resamples.fget(family) == enough
