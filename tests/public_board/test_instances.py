"""Instances for each team or each rank, the clip, and the standard error that a Ladder asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.evaluation.standard_errors import standard_error
from arena.interfaces import Mechanism, Metric
from arena.plugin.manager import PluginManager
from arena.public_board.clipping import clip_values, conceivable_scores
from arena.public_board.instances import (
    InstanceRelease,
    Instances,
    MemoryLog,
    PerCompetition,
    PerRank,
    PerTeam,
)
from arena.types import Release
from arena_mechanisms.ladder import Ladder, LadderFree
from arena_mechanisms.rounding import Full
from run_mechanism import evaluation
from thinned import examples
from toy_metrics import BlackBoxRmse, PointwiseRmse

sent = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 60).map(lambda n: n / 100)),
    min_size=1,
    max_size=25,
)
quiet = settings(max_examples=examples(80))


def play(
    instances: Instances,
    mechanism: Mechanism,
    history: list[tuple[str, float]],
    log: MemoryLog | None = None,
) -> list[InstanceRelease]:
    """Release losses of teams one after another."""
    log = MemoryLog() if log is None else log
    for team, loss in history:
        number = len(log.releases) + 1

        def answer(state: Any, bound: float | None, position: int) -> Any:
            counted = loss if bound is None else max(loss, bound)  # noqa: B023
            rng = np.random.default_rng(position)
            return mechanism.release(state, evaluation(number, counted), rng)  # noqa: B023

        log.add(number, team, instances.release(team, answer, log))
    return [release.released for release in log.releases[-len(history) :]]


def ranks() -> PerRank:
    return PerRank(greater_is_better=False)


@given(history=sent)
@quiet
def test_no_team_changes_what_another_is_released(history: list[tuple[str, float]]) -> None:
    together = play(PerTeam(), LadderFree(), history)
    for team in "abcd":
        alone = play(
            PerTeam(), LadderFree(), [submission for submission in history if submission[0] == team]
        )
        releases_of_team = [
            placed for placed, (name, _) in zip(together, history, strict=True) if name == team
        ]
        assert [placed.release.score for placed in releases_of_team] == [
            placed.release.score for placed in alone
        ]
        assert [placed.release.improved for placed in releases_of_team] == [
            placed.release.improved for placed in alone
        ]


@pytest.mark.parametrize("mechanism", [Ladder(eta=0.05), LadderFree(), Full()], ids=str)
@given(history=sent)
@quiet
def test_a_board_by_rank_stays_in_order(
    mechanism: Mechanism, history: list[tuple[str, float]]
) -> None:
    board: list[str] = []
    shown: dict[str, float] = {}
    for placed, (team, _) in zip(play(ranks(), mechanism, history), history, strict=True):
        former = board.index(team) if team in board else None
        rank = int(placed.instance.removeprefix("rank ")) - 1
        if former is not None:
            assert rank <= former
            board.remove(team)
        board.insert(rank, team)
        if placed.release.improved or team not in shown:
            assert placed.release.score <= shown.get(team, 1.0)
            shown[team] = placed.release.score
        in_order = [shown[team] for team in board]
        assert in_order == sorted(in_order)


def test_more_accounts_do_not_read_what_the_best_rank_would_not_release() -> None:
    losses = [0.50 - 0.001 * t for t in range(40)]
    by_rank = play(ranks(), Ladder(eta=0.05), [(f"t{t}", loss) for t, loss in enumerate(losses)])
    by_team = play(PerTeam(), Ladder(eta=0.05), [(f"t{t}", loss) for t, loss in enumerate(losses)])
    assert {placed.release.score for placed in by_rank} == {0.5}
    assert {placed.release.score for placed in by_team} == {0.5, 0.45}


def test_the_same_instances_come_out_of_the_record() -> None:
    history = [("a", 0.5), ("b", 0.3), ("c", 0.4), ("a", 0.2), ("b", 0.45), ("d", 0.1)]
    placed = play(ranks(), Ladder(eta=0.05), history)
    for cut in range(len(history)):
        log = MemoryLog()
        for number, ((team, _), one) in enumerate(zip(history[:cut], placed[:cut], strict=True)):
            log.add(number + 1, team, one)
        rest = play(ranks(), Ladder(eta=0.05), history[cut:], log)
        assert [placed_release.instance for placed_release in rest] == [
            placed_release.instance for placed_release in placed[cut:]
        ]
        assert [placed_release.release.score for placed_release in rest] == [
            placed_release.release.score for placed_release in placed[cut:]
        ]


@pytest.mark.parametrize(("greater_is_better", "second"), [(False, 0.9), (True, 0.4)])
def test_below_each_rank_a_score_counts_as_no_better_than_its_mark(
    greater_is_better: bool, second: float
) -> None:
    log = MemoryLog()
    log.add(1, "a", InstanceRelease("rank 1", Release(0.5, True, {"n": 1}, 0.9)))
    log.add(2, "b", InstanceRelease("rank 2", Release(0.4, True, {"n": 2})))
    calls: list[Any] = []

    def answer(*arguments: Any) -> Release:
        calls.append(arguments)
        return Release(0.3, improved=False)

    per_rank = PerRank(greater_is_better=greater_is_better)
    assert per_rank.release("c", answer, log).instance == "rank 3"
    assert calls == [({"n": 1}, None, 0), ({"n": 2}, 0.9, 1), ({}, second, 2)]
    assert per_rank.release("b", answer, log).instance == "rank 2"
    assert len(calls) == 5


def test_an_instance_of_a_team_or_of_all_teams_has_the_first_position_and_no_bound() -> None:
    calls: list[Any] = []

    def answer(*arguments: Any) -> Release:
        calls.append(arguments)
        return Release(0.3, True, {"n": len(calls)})

    for shared, states in ((PerTeam(), [{}, {}]), (PerCompetition(), [{}, {"n": 1}])):
        log = MemoryLog()
        for submission, team in ((1, "a"), (2, "b")):
            log.add(submission, team, shared.release(team, answer, log))
        assert calls == [(state, None, 0) for state in states]
        calls.clear()


def test_a_baseline_with_the_name_of_a_rank_holds_none() -> None:
    log, outside = MemoryLog(), ["rank 1"]
    losses = [("a", 0.5), ("b", 0.3), ("rank 1", 0.1), ("a", 0.2), ("c", 0.4), ("b", 0.45)]
    play(PerRank(greater_is_better=False, outside=outside), Ladder(eta=0.05), losses, log)
    holders = [(holder.team, holder.submission) for holder in log.holders(outside)]
    assert holders == [("a", 4), ("b", 2), ("c", 5)]
    assert [(logged.team, logged.number) for logged in log.since(1, "a")] == [("a", 4)]


# -- the clip ----------------------------------------------------------------------------------


def metric(name: str) -> Metric:
    found: Metric = PluginManager().metrics.resolve(name)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", (0.0, 1.0)),
        ("roc_auc", (0.0, 1.0)),
        ("mcc", (-1.0, 1.0)),
        ("brier", (0.0, 2.0)),
        ("log_loss(clip=0.4)", (-np.log(0.6), -np.log(0.4))),
        ("log_loss", None),
        ("mse", None),
        ("rmse", None),
        ("r2", None),
    ],
)
def test_what_is_conceivable_is_what_a_metric_declares(name: str, expected: Any) -> None:
    score_range = conceivable_scores(metric(name))
    assert score_range is None if expected is None else score_range == pytest.approx(expected)


def test_a_clip_moves_row_values_or_else_scores() -> None:
    truth, prediction = np.zeros(4), np.array([0.0, 1.0, 3.0, 10.0])
    rmse = clip_values(metric("rmse"), (0.0, 4.0))
    assert rmse.score(truth, prediction) == pytest.approx(np.sqrt((0 + 1 + 4 + 4) / 4))
    assert conceivable_scores(rmse) == (0.0, 2.0)
    black_box = clip_values(BlackBoxRmse(), (0.0, 4.0))
    assert black_box.score(truth, prediction) == 4.0
    assert conceivable_scores(black_box) == (0.0, 4.0)
    r2 = clip_values(metric("r2"), (-1.0, 1.0))
    assert conceivable_scores(r2) == (-1.0, 1.0)
    assert clip_values(r2, None) is r2


# -- the standard error ------------------------------------------------------------------------


def test_an_black_box_metric_has_the_same_error_whenever_the_pair_comes() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    pair = truth + rng.normal(size=(2, 300))
    black_box = standard_error(BlackBoxRmse(), truth, pair, 5)
    assert standard_error(BlackBoxRmse(), truth, pair.copy(), 5) == black_box
    assert standard_error(BlackBoxRmse(), truth, pair, 6) != black_box
    expected_error = standard_error(PointwiseRmse(), truth, pair, 5)
    assert black_box == pytest.approx(expected_error, rel=0.2)


def test_a_row_more_right_is_exactly_one_standard_error() -> None:
    for n in (4, 10, 100, 4_000):
        pair = np.ones((2, n), dtype=np.intp)
        pair[1, 0] = 0
        error = standard_error(metric("accuracy"), np.ones(n, np.intp), pair, 0)
        assert error == pytest.approx(1 / n, abs=1e-15)


def test_groups_make_the_error_larger() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(50), 6)
    truth = np.ones(300, dtype=np.intp)
    pair = np.stack([np.ones(300), (rng.random(50) < 0.7)[groups]]).astype(np.intp)
    rows = standard_error(metric("accuracy"), truth, pair, 0)
    clustered = standard_error(metric("accuracy"), truth, pair, 0, groups)
    by_hand = np.std(pair[1].reshape(50, 6).mean(axis=1), ddof=1) / np.sqrt(50)
    assert clustered == pytest.approx(by_hand)
    assert clustered > 2 * rows
    assert np.isnan(standard_error(metric("accuracy"), truth[:1], pair[:, :1], 0))
