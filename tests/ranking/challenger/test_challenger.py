"""challengeR's readings against libraries, and against the definitions done slowly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from arena.errors import UsageError
from arena.evaluation import medians as medians_module
from arena.evaluation.medians import weighted_medians
from arena_ranking.challenger import (
    compare_ranking_methods,
    consensus_ranking,
    kendall_tau_of_resamples,
    podium,
    rank_frequencies,
    signed_rank_p_values,
    significance_map,
    significance_map_from_errors,
)


def board(seed: int, m: int, n: int, decimals: int | None) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) + rng.normal(size=(m, n)) + np.linspace(0.3, 0, m)[:, np.newaxis]
    return values if decimals is None else values.round(decimals)


@pytest.mark.few(3)
@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("n", [5, 60, 500])
def test_signed_rank_tests_are_those_of_scipy(n: int, decimals: int | None) -> None:
    values = board(n, 6, n, decimals)
    p_values = signed_rank_p_values(values)
    for j, k in np.argwhere(~np.eye(6, dtype=bool)):
        # A grid that floating point holds exactly: scipy does not round the differences.
        differences = values[j] - values[k] if decimals is None else np.rint(
            (values[j] - values[k]) * 10**decimals
        )  # fmt: skip
        expected = stats.wilcoxon(
            differences, alternative="greater", zero_method="wilcox", correction=True,
            method="asymptotic",
        ).pvalue  # fmt: skip
        assert p_values[j, k] == pytest.approx(expected, rel=1e-10)


def test_differences_that_are_equal_on_paper_tie() -> None:
    first = np.array([[0.3, 0.4, 0.1, 0.9, 0.7], [0.1, 0.2, 0.3, 0.7, 0.5]])
    assert len(set(np.abs(first[0] - first[1]))) > 1
    doubled = np.rint(first * 10)
    assert np.array_equal(signed_rank_p_values(first), signed_rank_p_values(doubled))


def test_pairs_that_never_differ_are_not_decided() -> None:
    values = np.vstack([board(0, 1, 80, 1), board(0, 1, 80, 1), board(0, 1, 80, 1) - 5])
    decided = significance_map(values)
    assert (decided.p_values[:2, :2] == 1).all()
    assert decided.better.astype(int).tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_the_map_is_corrected_over_all_ordered_pairs() -> None:
    decided = significance_map(board(3, 7, 400, None), 0.9)
    pairs = ~np.eye(7, dtype=bool)
    rejected, adjusted, *_ = multipletests(decided.p_values[pairs], 0.1, "holm")
    assert decided.adjusted[pairs] == pytest.approx(adjusted)
    assert (decided.better[pairs] == rejected).all()
    assert 0 < decided.better.sum() < pairs.sum()
    assert not decided.better.diagonal().any()


def test_smaller_can_be_better() -> None:
    values = board(4, 5, 200, 1)
    up, down = significance_map(values), significance_map(-values, greater_is_better=False)
    assert np.array_equal(up.adjusted, down.adjusted)
    assert significance_map(values, greater_is_better=False).better[4, 0]


def test_the_map_is_the_same_on_any_number_of_workers() -> None:
    values = board(5, 9, 300, 1)
    by_one, by_two = significance_map(values), significance_map(values, workers=2)
    assert np.array_equal(by_one.p_values, by_two.p_values)


def test_tests_of_scores_are_one_sided_paired_t_tests() -> None:
    values = board(6, 4, 50, None)
    differences = values[:, np.newaxis] - values
    errors = differences.std(axis=2, ddof=1) / np.sqrt(50)
    decided = significance_map_from_errors(values.mean(axis=1), errors, 49)
    for j, k in np.argwhere(~np.eye(4, dtype=bool)):
        expected = stats.ttest_rel(values[j], values[k], alternative="greater").pvalue
        assert decided.p_values[j, k] == pytest.approx(expected)
    tied = significance_map_from_errors(np.array([1.0, 0.5]), np.zeros((2, 2)), 49)
    assert not tied.better.any()


@pytest.mark.parametrize("bad", [np.ones(3), np.array([[1.0, np.nan], [1.0, 2.0]])])
def test_values_that_are_no_matrix_of_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(UsageError, match="finite"):
        significance_map(bad)


@pytest.mark.parametrize("m", [15, 120])
def test_agreement_is_kendalls_tau_b(m: int) -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, m).astype(float)
    resampled = np.rint(scores[:, np.newaxis] + rng.normal(size=(m, 40)))
    resampled[:, 3] = 1.0
    resampled[0, 5] = np.nan
    rank_agreement = kendall_tau_of_resamples(scores, resampled, 0.8)
    defined = np.delete(resampled, 5, axis=1)
    expected = np.array([stats.kendalltau(scores, column).statistic for column in defined.T])
    assert rank_agreement.tau == pytest.approx(expected, abs=1e-11, nan_ok=True)
    assert np.isnan(rank_agreement.tau).sum() == 1
    ends = np.nanquantile(expected, [0.1, 0.5, 0.9])
    assert (rank_agreement.low, rank_agreement.median, rank_agreement.high) == pytest.approx(
        tuple(ends)
    )
    assert rank_agreement.to_dict() == {
        "low": rank_agreement.low,
        "median": rank_agreement.median,
        "high": rank_agreement.high,
        "level": 0.8,
    }


def test_agreement_of_submissions_that_all_tie_is_not_defined() -> None:
    rank_agreement = kendall_tau_of_resamples(np.ones(3), np.arange(6.0).reshape(3, 2))
    assert np.isnan(rank_agreement.tau).all()
    assert rank_agreement.to_dict()["median"] is None


def test_frequencies_count_every_rank() -> None:
    ranks = np.random.default_rng(0).integers(1, 7, (5, 1000))
    frequencies = rank_frequencies(ranks, 0.9)
    frame = frequencies.to_frame()
    for j in range(5):
        own = frame[frame["submission"] == j].set_index("rank")["share"]
        for rank in range(1, 7):
            assert own.get(rank, 0.0) == pytest.approx((ranks[j] == rank).mean())
    assert frequencies.low.tolist() == np.quantile(ranks, 0.05, axis=1).tolist()
    assert frequencies.median.tolist() == np.median(ranks, axis=1).tolist()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_weighted_medians_are_those_of_the_drawn_cases(
    is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(medians_module, "compiled", lambda function: function)
    rng = np.random.default_rng(0)
    data = rng.integers(0, 9, (4, 30)).astype(float)
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=25).T.astype(np.uint8)
    medians = weighted_medians(data, weights, workers=2)
    for j in range(4):
        for b in range(25):
            assert medians[j, b] == np.median(np.repeat(data[j], weights[:, b]))


def slow_ranks(values: Any, method: str) -> Any:
    """Rank by a method as its words say; larger values are better."""
    of_cases = stats.rankdata(-values, method="min", axis=0)
    keys = {
        "median": -np.median(values, axis=1),
        "mean rank": of_cases.mean(axis=1).round(9),
        "median rank": np.median(of_cases, axis=1),
    }
    return stats.rankdata(keys[method], method="min")


@pytest.mark.parametrize("greater_is_better", [True, False])
@pytest.mark.parametrize("method", ["median", "mean rank", "median rank"])
def test_methods_are_what_their_words_say(method: str, greater_is_better: bool) -> None:
    values = board(1, 6, 41, 1)
    weights = np.random.default_rng(2).multinomial(41, np.full(41, 1 / 41), size=30).T
    sign = 1 if greater_is_better else -1
    ranking_methods = compare_ranking_methods(
        sign * values.mean(axis=1),
        sign * values,
        weights=weights.astype(np.uint8),
        greater_is_better=greater_is_better,
    )
    full = slow_ranks(values, method)
    assert ranking_methods.ranks[method].tolist() == full.tolist()
    resampled_ranks = [
        slow_ranks(np.repeat(values, column, axis=1), method) for column in weights.T
    ]
    expected = [stats.kendalltau(full, ranks).statistic for ranks in resampled_ranks]
    assert ranking_methods.agreement[method].tau == pytest.approx(np.array(expected), nan_ok=True)


def test_the_method_of_tests_counts_wins_before_the_correction() -> None:
    values = board(2, 8, 100, None)
    decided = significance_map(values)
    compared = compare_ranking_methods(values.mean(axis=1), None, decided.p_values)
    won = [(decided.p_values[j] <= 0.05).sum() for j in range(8)]
    assert list(compared.ranks) == ["score", "tests"]
    assert compared.ranks["tests"].tolist() == stats.rankdata(np.negative(won), "min").tolist()
    assert compare_ranking_methods(
        np.ones(3), None, np.array([[1, 0.25, 0.26], [1, 1, 0.24], [0.26, 1, 0]]), level=0.75
    ).ranks["tests"].tolist() == [1, 1, 3]
    assert compared.to_frame(list("abcdefgh")).loc["a", "score"] == compared.ranks["score"][0]


def test_methods_refuse_what_does_not_fit() -> None:
    scores, values = np.array([1.0, 2.0]), np.ones((2, 4))
    for arguments in (
        {"values": np.ones((3, 4))},
        {"values": values, "weights": np.ones((5, 2), dtype=np.uint8)},
        {"values": np.full((2, 4), np.inf)},
        {"p_values": np.ones((2, 3))},
        {"weights": np.ones((4, 2), dtype=np.uint8)},
    ):
        with pytest.raises(UsageError):
            compare_ranking_methods(scores, **arguments)  # type: ignore[arg-type]


def test_a_podium_shares_places_as_random_ties_would_on_average() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 8, (4, 200)).astype(float)
    places = podium(values)
    counts = np.zeros((4, 4))
    for _ in range(400):
        order = np.lexsort((rng.random(values.shape), -values), axis=0)
        for place in range(4):
            counts[:, place] += np.bincount(order[place], minlength=4)
    assert places.shares == pytest.approx(counts / 400 / 200, abs=0.004)
    assert places.shares.sum(axis=0) == pytest.approx(1)
    untied = (np.diff(np.sort(places.values, axis=0), axis=0) > 0).all()
    assert untied
    assert 0 < places.values.shape[1] <= 40


def test_a_consensus_is_the_ranking_by_mean_ranks() -> None:
    ranks = np.array([[1, 1, 4], [2, 1, 1], [3, 3, 2], [3, 4, 3]])
    consensus = consensus_ranking(ranks)
    average = stats.rankdata(ranks, method="average", axis=0)
    assert consensus.mean_rank == pytest.approx(average.mean(axis=1))
    assert consensus.rank.tolist() == [2, 1, 3, 4]

    def distance(point: Any) -> float:
        return float(((average - np.asarray(point)[:, np.newaxis]) ** 2).sum(axis=0).mean())

    others = np.random.default_rng(0).permuted(np.tile(consensus.mean_rank, (50, 1)), axis=1)
    assert all(distance(consensus.mean_rank) <= distance(other) for other in others)
    with pytest.raises(UsageError):
        consensus_ranking(np.empty((3, 0)))


def test_a_picture_draws_neighbouring_ranks_together_where_there_are_many() -> None:
    ranks = np.random.default_rng(0).integers(1, 601, (3, 5000))
    frequencies = rank_frequencies(ranks)
    rows = frequencies.rows(["a", "b", "c"])
    assert max(len(row["rank"]) for row in rows) <= 120
    for row, own in zip(rows, ranks, strict=True):
        for rank, share in zip(row["rank"], row["share"], strict=True):
            assert share == pytest.approx((abs(own - rank) <= 2).mean(), abs=1e-4)
    few = rank_frequencies(ranks // 5 + 1).rows(["a", "b", "c"])
    assert all(isinstance(rank, float) for rank in few[0]["rank"])
    assert rank_frequencies(ranks % 120 + 1).rows(["a"])[0]["rank"][:2] == [1, 2]
