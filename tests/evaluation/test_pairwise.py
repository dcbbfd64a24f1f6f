"""Comparisons in pairs equal the definition, and their influence values its derivatives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arena.errors import UsageError
from arena.evaluation.pairwise import PairwiseSkill
from arena.scoring.rank import rank

RNG = np.random.default_rng(5)


def _values(n: int = 60, m: int = 4) -> np.ndarray:
    values = RNG.gamma(3.0, 1.0, (m, n)) * np.arange(2, m + 2)[:, np.newaxis]
    values[RNG.random((m, n)) < 0.2] = np.nan
    return values


def _defined(values: np.ndarray, ratios: bool) -> list[float]:
    """Return the scores as the definition says them, one pair at a time."""
    logs = np.zeros((len(values), len(values)))
    for i, j in itertools.product(range(len(values)), repeat=2):
        both = [(a, b) for a, b in zip(values[i], values[j], strict=True)
                if not np.isnan(a) and not np.isnan(b)]  # fmt: skip
        own, other = np.mean(both, axis=0)
        logs[i, j] = np.log(own / other) if ratios else own - other
    means = logs.mean(axis=1)
    return list(np.exp(means) if ratios else means)


@pytest.mark.parametrize("ratios", [True, False])
def test_scores_resamples_and_influence_values(ratios: bool) -> None:
    values = _values()
    truth = np.zeros(values.shape[1])
    metric = PairwiseSkill("skill", False, values, ratios)
    scores = [metric.score(truth, row) for row in values]
    assert scores == pytest.approx(_defined(values, ratios))
    weights = RNG.integers(0, 3, (values.shape[1], 4)).astype(np.uint8)
    resampled = metric.resample(truth, values, weights)
    for b, weight in enumerate(weights.T):
        resample = values[:, np.repeat(np.arange(len(weight)), weight)]
        assert resampled[:, b] == pytest.approx(_defined(resample, ratios))
    influence = metric.influence_values(truth, values)
    weight = np.ones(len(truth))
    for case in range(5):
        weight[case] = 1.0 + 1e-6
        for row, own, score in zip(values, influence, scores, strict=True):
            moved = (metric.score(truth, row, weight) - score) / 1e-6 * len(truth)
            assert moved == pytest.approx(own[case], abs=1e-4)
        weight[case] = 1.0
    assert influence.sum(axis=1) == pytest.approx(0.0, abs=1e-9)


def test_a_single_shared_case_is_compared_and_none_is_not() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 9.0]])
    for ratios, scores in ((False, [-1.0, -2 / 3, 2.0]), (True, [3**-0.5, (5 / 3) ** (1 / 3)])):
        metric = PairwiseSkill("skill", False, values, ratios)
        skill_scores = [metric.score(np.zeros(2), row) for row in values]
        # The first with itself and the second; the second with all three: 2, 0 and 5 - 9.
        assert skill_scores[: len(scores)] == pytest.approx(scores)
    alone = PairwiseSkill("skill", False, np.array([[1.0, np.nan]]), ratios=False)
    assert np.isnan(alone.score(np.zeros(2), np.array([np.nan, 1.0])))


@pytest.mark.slow
def test_a_board_of_pairs() -> None:
    values = _values()
    table = {"case": range(60), **{f"a{j}": row for j, row in enumerate(values)}}
    board = rank(table, greater_is_better=False, missing="pairwise", resamples=50)
    scores = {standing["team"]: standing["score"] for standing in board.standings}
    assert scores == pytest.approx(
        {f"a{j}": score for j, score in enumerate(_defined(values, True))}
    )
    shares = next(
        finding.document for finding in board.findings if "fewest_shared" in finding.document
    )
    assert shares["share"] == pytest.approx(np.isfinite(values).mean(axis=1).tolist())
    coverage = [standing["coverage"] for standing in board.standings]
    assert sorted(coverage) == pytest.approx(sorted(shares["share"]))
    table["a3"] = np.where(np.arange(60) < 31, np.nan, values[3])
    board = rank(table, greater_is_better=False, missing="pairwise", resamples=50)
    assert [rejected.faults[0].kind for rejected in board.rejected] == ["few values"]
    with pytest.raises(UsageError, match="omit --aggregate"):
        rank(table, missing="pairwise", aggregate="median")


def test_complete_tables_are_ranked_as_always() -> None:
    values = RNG.gamma(3.0, 1.0, (3, 40))
    table = {"case": range(40), **{f"a{j}": row for j, row in enumerate(values)}}
    boards = [rank(table, greater_is_better=False, missing=missing, resamples=50)
              for missing in ("pairwise", "fault")]  # fmt: skip
    assert boards[0].standings == boards[1].standings


def _misses(hidden: str, n_cases: int, n_boards: int) -> int:
    """Return on how many boards a rank interval lacks the true rank; the first two are equal."""
    skill = np.exp(np.linspace(0.0, 0.35, 6))
    skill[1] = skill[0]
    true_ranks = {f"a{j}": 1 + int((skill < own).sum()) for j, own in enumerate(skill)}
    misses = 0
    for board in range(n_boards):
        rng = np.random.default_rng([1, board])
        difficulty = rng.gamma(2.0, 1.0, n_cases)
        values = difficulty * skill[:, np.newaxis] * rng.gamma(6.0, 1 / 6, (6, n_cases))
        if hidden == "hard cases, by the worse ones more often":
            share = 0.15 * np.linspace(0.2, 1.8, 6)[:, np.newaxis] * difficulty / difficulty.mean()
            values[rng.random(values.shape) < share] = np.nan
        else:
            values[-1, values[-1] > np.quantile(values[-1], 0.85)] = np.nan
        table = {"case": range(n_cases), **{f"a{j}": row for j, row in enumerate(values)}}
        result = rank(table, greater_is_better=False, missing="pairwise", resamples=200,
                     seed=board, workers=1)  # fmt: skip
        misses += any(
            standing["rank_low"] is not None
            and not standing["rank_low"] <= true_ranks[standing["team"]] <= standing["rank_high"]
            for standing in result.standings
        )
    return misses


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_where_hard_cases_are_missing_and_not_where_bad_outcomes_are() -> None:
    assert _misses("hard cases, by the worse ones more often", 100, 60) <= 8  # 5% are allowed
    assert _misses("its own worst outcomes", 1000, 20) >= 2
