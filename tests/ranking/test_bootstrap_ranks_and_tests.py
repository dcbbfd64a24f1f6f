"""Spread of ranks, prizes, selection, paired tests, verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from arena.errors import UsageError
from arena.evaluation.multiplicity import correct_p_values
from arena_ranking.bootstrap_ranks import (
    bootstrap_rank_ranges,
    prize_shares,
    share_in_top,
)
from arena_ranking.paired_tests import (
    corrected_p_values,
    paired_p_values,
    top_against_others,
)
from arena_ranking.verdict import ranks_verdict
from thinned import examples

SETTINGS = settings(max_examples=examples(25))
seeds = st.integers(0, 2**32 - 1)
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "ladder"


@pytest.mark.slow
@SETTINGS
@given(seed=seeds, k=st.integers(1, 60), coarse=st.booleans())
def test_corrections_have_the_numbers_of_statsmodels(seed: int, k: int, coarse: bool) -> None:
    p_values = np.random.default_rng(seed).random(k) ** 3
    p_values = np.round(p_values, 1) if coarse else p_values
    for name, theirs in (
        ("bonferroni", "bonferroni"), ("holm", "holm"), ("benjamini_hochberg", "fdr_bh")
    ):  # fmt: skip
        expected = multipletests(p_values, method=theirs)[1]
        assert correct_p_values(p_values, name).tolist() == expected.tolist()


# -- spread ----------------------------------------------------------------------------------------


def test_ranks_of_resamples_by_hand():
    resampled = np.array([[0.9, 0.7, 0.8, 0.9], [0.8, 0.8, 0.8, 0.1], [0.7, 0.9, 0.1, 0.2]])
    spread = bootstrap_rank_ranges(resampled, 0.5)
    assert spread.ranks.tolist() == [[1, 3, 1, 1], [2, 2, 1, 3], [3, 1, 3, 2]]
    assert spread.win_rate.tolist() == [0.75, 0.25, 0.25]
    assert spread.median.tolist() == [1.0, 2.0, 2.5]
    assert (spread.low.tolist(), spread.high.tolist()) == ([1, 1, 1], [1, 2, 3])
    assert share_in_top(spread.ranks, 2).tolist() == [0.75, 0.75, 0.5]
    loss = bootstrap_rank_ranges(-resampled, 0.5, greater_is_better=False)
    np.testing.assert_array_equal(loss.ranks, spread.ranks)


def test_resamples_without_a_score_are_left_out_and_none_left_is_refused():
    resampled = np.array([[0.9, np.nan, 0.1], [0.8, 0.7, 0.2]])
    assert bootstrap_rank_ranges(resampled).ranks.tolist() == [[1, 2], [2, 1]]
    with pytest.raises(UsageError, match="no resample"):
        bootstrap_rank_ranges(np.full((2, 3), np.nan))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(UsageError, match="between 0 and 1"):
        bootstrap_rank_ranges(np.ones((2, 3)), level)


@SETTINGS
@given(seeds)
def test_prizes_add_up_and_follow_the_submissions(seed):
    rng = np.random.default_rng(seed)
    ranks = bootstrap_rank_ranges(rng.integers(0, 4, (7, 30)) / 4.0).ranks
    teams = tuple(rng.choice(list("abc"), 7))
    shares = prize_shares(ranks, teams)
    assert shares.sum() == pytest.approx(1.0)
    order = rng.permutation(7)
    permuted = prize_shares(ranks[order], tuple(teams[j] for j in order))
    np.testing.assert_allclose(permuted, shares[order])


def test_a_tie_is_split_between_teams_then_within_them():
    ranks = np.array([[1], [1], [1], [1], [5]])
    shares = prize_shares(ranks, ("a", "a", "b", "c", "c"))
    np.testing.assert_allclose(shares, [1 / 6, 1 / 6, 1 / 3, 1 / 3, 0])


def test_a_copy_takes_half_of_the_prize():
    resampled = np.array([[0.9, 0.9], [0.9, 0.9], [0.1, 0.1]])
    assert prize_shares(bootstrap_rank_ranges(resampled).ranks, ("a", "b", "c")).tolist() == [
        0.5,
        0.5,
        0.0,
    ]


def test_prizes_need_a_team_each():
    with pytest.raises(UsageError, match="one team per submission"):
        prize_shares(np.ones((2, 3), dtype=int), ("a",))


# -- paired tests ----------------------------------------------------------------------------------


@SETTINGS
@given(seeds, st.integers(3, 60))
def test_with_row_values_it_is_scipys_paired_t_test(seed, n):
    u, v = np.random.default_rng(seed).random((2, n))
    statistic, p_value = paired_p_values(
        [u.mean() - v.mean()], [np.std(u - v, ddof=1) / np.sqrt(n)], n - 1
    )
    expected = ttest_rel(u, v)
    assert statistic[0] == pytest.approx(expected.statistic, rel=1e-9)
    assert p_value[0] == pytest.approx(expected.pvalue, rel=1e-9)


def test_corrections_by_hand():
    p_values = [0.01, 0.02, 0.03, 0.5]
    np.testing.assert_allclose(correct_p_values(p_values, "bonferroni"), [0.04, 0.08, 0.12, 1])
    np.testing.assert_allclose(correct_p_values(p_values, "holm"), [0.04, 0.06, 0.06, 0.5])
    np.testing.assert_allclose(
        correct_p_values(p_values, "benjamini_hochberg"), [0.04, 0.04, 0.04, 0.5]
    )
    assert correct_p_values([], "holm").size == 0
    with pytest.raises(UsageError, match="choose one of bonferroni"):
        correct_p_values(p_values, "sidak")


def test_a_top_chosen_on_the_same_rows_is_corrected_over_all_pairs():
    scores = np.array([0.80, 0.92, 0.90, 0.91])
    errors = np.full((4, 4), 0.01)
    np.fill_diagonal(errors, 0)
    same = top_against_others(scores, errors, 999, 1)
    elsewhere = top_against_others(scores, errors, 999, 1, chosen_elsewhere=True)
    assert same.others.tolist() == elsewhere.others.tolist() == [0, 2, 3]
    np.testing.assert_allclose(same.statistic, [12, 2, 1])
    np.testing.assert_array_equal(same.raw, elsewhere.raw)
    assert (same.comparisons, elsewhere.comparisons) == (6, 3)
    np.testing.assert_allclose(same.bonferroni, np.minimum(1, 6 * same.raw))
    np.testing.assert_allclose(elsewhere.bonferroni, np.minimum(1, 3 * same.raw))
    # Over all pairs three gaps of ten and more errors come first; then 0.92 to 0.90, as 3rd left.
    assert same.holm[1] == pytest.approx(3 * same.raw[1])
    assert elsewhere.holm[1] == pytest.approx(2 * same.raw[1])
    assert (same.holm <= same.bonferroni).all()
    assert (same.benjamini_hochberg <= same.holm).all()


@SETTINGS
@given(seeds, st.booleans())
def test_the_pairs_of_the_top_are_found_in_any_column(seed, chosen_elsewhere):
    rng = np.random.default_rng(seed)
    scores, errors = rng.random(6), rng.random((6, 6))
    errors += errors.T
    top = int(rng.integers(6))
    tests = top_against_others(scores, errors, 50, top, chosen_elsewhere=chosen_elsewhere)
    assert tests.others.tolist() == [j for j in range(6) if j != top]
    statistic, raw = paired_p_values(
        scores[top] - scores[tests.others], errors[top, tests.others], 50
    )
    np.testing.assert_allclose(tests.statistic, statistic)
    np.testing.assert_allclose(tests.raw, raw)


@SETTINGS
@given(seeds, st.booleans())
def test_the_corrections_are_those_of_all_p_values_of_the_family(seed, chosen_elsewhere):
    rng = np.random.default_rng(seed)
    scores, errors = rng.integers(0, 9, 12) / 10, rng.integers(0, 4, (12, 12)) / 20  # many ties
    errors = np.triu(errors, 1) + np.triu(errors, 1).T
    tests = top_against_others(scores, errors, 50, 4, chosen_elsewhere=chosen_elsewhere)
    first, second = np.triu_indices(12, k=1)
    if chosen_elsewhere:
        first, second = np.full(11, 4), tests.others
    _, raw = paired_p_values(scores[first] - scores[second], errors[first, second], 50)
    own = np.flatnonzero((first == 4) | (second == 4))
    for method in ("bonferroni", "holm", "benjamini_hochberg"):
        expected = correct_p_values(raw, method)[own]
        np.testing.assert_allclose(getattr(tests, method), expected, rtol=1e-14)


def test_tied_pairs_and_impossible_tests():
    tests = top_against_others(np.array([0.5, 0.5]), np.zeros((2, 2)), 9, 0)
    assert (tests.statistic.tolist(), tests.raw.tolist()) == ([0.0], [1.0])
    with pytest.raises(UsageError, match="one of the 2"):
        top_against_others(np.ones(2), np.ones((2, 2)), 9, 2)
    with pytest.raises(UsageError, match="two rows"):
        paired_p_values([1.0], [1.0], 0)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published data are not on this machine")
def test_the_published_correction_of_the_ladder_paper():
    # Only p-values are published, not the predictions. The published Bonferroni is not capped at 1.
    raw = pd.read_csv(PUBLISHED / "top10pvals.csv")["y"].to_numpy()
    published = pd.read_csv(PUBLISHED / "top10pvalsbon.csv")["y"].to_numpy()
    assert np.isnan(raw[0])
    corrected = correct_p_values(raw[1:], "bonferroni")
    np.testing.assert_allclose(corrected, np.minimum(published[1:], 1), rtol=1e-12)
    assert (np.flatnonzero(corrected < 0.05) + 2).tolist() == [8, 9]


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("possible", "m", "reason", "expected"),
    [
        (1, 1, None, "There is one submission and nothing to compare it with."),
        (3, 3, None, "The 3 submissions cannot be told apart (90% confidence)."),
        (2, 3, None, "2 of 3 submissions may truly be the best (90% confidence)."),
        (1, 2, None, "The submission on rank 1 is better than the other (90% confidence)."),
        (
            1,
            3,
            None,
            "The submission on rank 1 is better than each of the other 2 (90% confidence).",
        ),
        (1, 3, "Few rows.", "Rank intervals are withheld. Few rows."),
    ],
)
def test_the_verdict_in_words(possible, m, reason, expected):
    verdict = ranks_verdict(np.arange(m) < possible, 0.9, reason)
    assert verdict == expected
    assert not any(word in verdict for word in ("bootstrap", "resample", "p-value", "equal"))


def test_a_statistic_outside_its_family_has_the_value_of_the_next_one_within():
    """A rounding error can put it above the largest or below the smallest one."""
    sizes = np.append(np.linspace(0.5, 3.0, 127), 9.0)  # two whole blocks
    within = corrected_p_values(sizes.copy(), np.array([9.0, 0.5]), 30)
    outside = corrected_p_values(sizes.copy(), np.array([9.1, 0.4]), 30)
    np.testing.assert_array_equal(outside, within)


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("step", [0.0, 0.2])
def test_corrections_within_several_blocks_are_those_of_all(scale, step):
    """Of 300 tests, which are five blocks, first some and then all are asked for."""
    sizes = np.abs(np.random.default_rng(1).normal(scale=scale, size=300))
    if step:
        sizes = np.round(sizes / step) * step
    p_values = 2 * stats.t.sf(sizes, 30)
    for chosen in (np.arange(0, 300, 37), np.argsort(sizes)[150:170], np.arange(300)):
        corrected = corrected_p_values(sizes.copy(), sizes[chosen], 30)
        for values, method in zip(corrected, ("holm", "benjamini_hochberg"), strict=True):
            expected = correct_p_values(p_values, method)[chosen]
            np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.slow
@SETTINGS
@given(seeds, st.sampled_from([0.3, 1.0, 5.0]), st.sampled_from([0.0, 0.2]), st.booleans())
def test_corrections_of_some_tests_are_those_of_all(seed, scale, step, tied):
    """Few p-values of a large family are computed: those that no bound leaves out."""
    rng = np.random.default_rng(seed)
    sizes = np.abs(rng.normal(scale=scale, size=int(rng.integers(1, 2_000))))
    if step:
        sizes = np.round(sizes / step) * step
    sizes[: len(sizes) // 2] *= not tied
    chosen = rng.integers(len(sizes), size=20)
    p_values = 2 * stats.t.sf(sizes, 30)
    corrected = corrected_p_values(sizes.copy(), sizes[chosen], 30)
    for values, method in zip(corrected, ("holm", "benjamini_hochberg"), strict=True):
        expected = correct_p_values(p_values, method)[chosen]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
