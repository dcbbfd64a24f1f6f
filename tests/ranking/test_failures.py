"""Complete failures, and how many more would put the second before the first."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.evaluation.case_metrics import MeanOfCases
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric
from arena.evaluation.row_weights import weighted
from arena.evaluation.winner_intervals import intervals_of_teams
from arena.types import ROW_WEIGHTS, RowContext
from arena_ranking.board_ranks import BoardRanks, board_ranks
from arena_ranking.failures import Failures, failed_rows, failures_to_reverse
from arena_ranking.task_values import values_of_cases
from arena_ranking.unseen import unseen_losses_of_combination
from study_boards import make_study, study_of

__all__ = ["study_of"]

SHARE = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
LOSS = MeanOfCases("mean loss", greater_is_better=False, value_range=(0.0, 2.0))


def values(*failures: int, n: int = 20) -> np.ndarray:
    """Return values near .8 of teams that fail on their first cases."""
    rng, rows = np.random.default_rng(0), []
    for count in failures:
        own = rng.uniform(0.7, 0.9, n)
        own[:count] = 0.0
        rows.append(own)
    return np.stack(rows)


@pytest.mark.parametrize(
    ("metric", "given", "suits"),
    [
        (SHARE, values(0, 2), True),
        (LOSS, 2 * (1 - values(0, 2)), True),
        (SHARE, values(0, 0), True),  # none failed, but one failure would reverse the two
        (SHARE, values(0, 0) * [[1.0], [0.5]], False),  # none failed, and few would not
        (SHARE, np.round(values(0, 2)), False),  # right and wrong answers
        (MeanOfCases("mean", greater_is_better=True), values(0, 2), False),  # no worst value
    ],
)
def test_the_analysis_suits_means_in_a_range_with_failures(
    study_of: Any, metric: Any, given: np.ndarray, suits: bool
) -> None:
    study = study_of(metric, np.zeros(given.shape[1]), given)
    assert Failures().suits(study) is suits


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("larger", [True, False])
def test_so_many_more_failures_of_average_cases_reverse_the_first_two(
    study_of: Any, seed: int, larger: bool
) -> None:
    own = values(1, 2, 0, n=40)[:, np.random.default_rng(seed).permutation(40)]
    own[1:] -= 0.05 * (own[1:] > 0)
    metric, predictions = (SHARE, own) if larger else (LOSS, 2 * (1 - own))
    study = study_of(metric, np.zeros(40), predictions)
    document = Failures().run(study, np.random.default_rng(0)).document
    assert document["failures"] == [1, 2, 0]
    assert document["failure_rate"] == [0.025, 0.05, 0.0]
    n_rows = failed_rows(study)
    assert n_rows is not None
    order = np.argsort(-own.mean(axis=1))[:2]
    lead = own.mean(axis=1)[order[0]] - own.mean(axis=1)[order[1]]
    usual = own[order[0]][own[order[0]] > 0].mean()
    fewer = document["further_failures_to_reverse"] - 1
    assert lead - fewer * usual / 40 >= 0 > lead - (fewer + 1) * usual / 40


def test_the_sentence_names_rates_and_what_would_reverse_it(study_of: Any) -> None:
    study = study_of(SHARE, np.zeros(20), values(0, 2))
    assert Failures().run(study, np.random.default_rng(0)).verdict == (
        "Complete failures (the value 0) on 20 rows: team 0 on 0 (0.0%) and team 1 on 2 (10.0%). "
        "2 further failed rows of team 0 would put team 1 first."
    )


def test_what_a_sample_can_lack_is_said_where_it_would_reverse_the_first_two(study_of: Any) -> None:
    study = study_of(SHARE, np.zeros(50), values(0, 0, n=50) - [[0.0], [0.01]])
    assert Failures().run(study, np.random.default_rng(0)).verdict == (
        "No complete failure (the value 0) of team 0 and team 1 on 50 rows, which can lack "
        "failures with a rate of up to 5.8% (95% confidence). 1 further failed row of team 0 "
        "would put team 1 first."
    )


def test_losses_without_an_upper_end_can_undo_what_the_ranks_exclude(study_of: Any) -> None:
    losses = np.array([[0.0], [0.001], [0.2]]) + np.random.default_rng(0).uniform(0.5, 1.0, 40)
    losses[1] += np.random.default_rng(1).uniform(0.0, 0.1, 40)
    unbounded = MeanOfCases("mean loss", greater_is_better=False, value_range=(0.0, np.inf))
    study = study_of(unbounded, np.zeros(40), losses, resamples=1_000)
    study = replace(study, ranks=board_ranks(study))
    assert Failures().suits(study)
    finding = Failures().run(study, np.random.default_rng(0))
    assert finding.verdict == (
        "Losses have no upper end, and 40 rows can lack large ones with a rate of up to 7.2% (95% "
        "confidence), which no rank interval allows for. 1 further row with a loss of 5.99, five "
        "times what any of these predictions can cost, of team 0 would put team 1 before team 0."
    )
    assert finding.tables == ()
    assert not Failures().suits(replace(study, ranks=None))


def test_where_all_fail_nothing_more_can() -> None:
    assert failures_to_reverse(0.0, float("nan"), 5) is None
    assert failures_to_reverse(0.9, 0.1, 5) is None


def sets_of(study_of: Any, given: np.ndarray) -> BoardRanks:
    return board_ranks(study_of(SHARE, np.zeros(given.shape[1]), given, resamples=1_000))


def unseen_failures(n: int, lead: float, seed: int) -> np.ndarray:
    """Return cases of ten teams of which half are better, fail on 2%, and did on none here."""
    rng = np.random.default_rng(seed)
    shared, single = rng.normal(size=n), rng.normal(size=(10, n))
    means = 0.9 - lead * (np.arange(10) % 2 == 0)[:, np.newaxis]
    return np.clip(means + 0.03 * (np.sqrt(0.7) * shared + np.sqrt(0.3) * single), 0, 1)


@pytest.mark.parametrize(("n", "lead"), [(40, 0.018), (50, 0.018), (200, 0.009)])
def test_failures_that_the_sample_lacks_could_reverse_a_lead(
    study_of: Any, n: int, lead: float
) -> None:
    for seed in range(4):
        sets = sets_of(study_of, unseen_failures(n, lead, seed))
        assert (sets.low.tolist(), sets.high.tolist()) == ([1] * 10, [10] * 10)


def over_tasks(how: str, *sizes: int) -> Any:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    context = RowContext("id", codes, ("y",), ("y",), tasks=codes, task_names=("A", "B"))
    return combined_metric({"mean": SHARE}, Combination(how), by_task=True).for_rows(context)


def over_weighted_rows() -> Any:
    weights = np.random.default_rng(0).lognormal(0, 0.7, 60)
    context = RowContext("id", None, ("y",), ("y",), extra={ROW_WEIGHTS: weights})
    return weighted(SHARE).for_rows(context)


BOUNDED_MEANS = {
    "weighted rows": (60, over_weighted_rows()),
    "tasks": (60, over_tasks("mean", 30, 30)),
    "tasks of unequal size": (240, over_tasks("mean", 40, 200)),
    "rows of tasks": (75, over_tasks("rows", 30, 45)),
    "geometric mean of tasks": (60, over_tasks("geometric", 30, 30)),
}


@pytest.mark.parametrize("name", BOUNDED_MEANS)
def test_so_they_could_in_every_mean_of_values_in_a_known_range(study_of: Any, name: str) -> None:
    n, metric = BOUNDED_MEANS[name]
    study = study_of(metric, np.zeros(n), unseen_failures(n, 0.01, seed=0))
    assert board_ranks(study).low.tolist() == [1] * 10
    low, _ = intervals_of_teams(study)
    assert (low < study.scores - 0.03).all()  # seven standard errors


@pytest.mark.parametrize(("tasks", "loss"), [(None, 1.1), (np.array([0, 0, 1, 1]), 0.6)])
def test_parts_lose_their_worst_value_and_a_task_alone_may_lose_it(tasks: Any, loss: float) -> None:
    cases = np.array([[0.8, 0.6, 0.5, 0.9]])
    parts = [
        SimpleNamespace(
            metric=SHARE,
            weight=0.5,
            of_rows=lambda rows, part_rows=part_rows: rows[part_rows],
            of_block=lambda block, part_rows=part_rows: block[:, part_rows],
        )
        for part_rows in (slice(2), slice(2, 4))
    ]
    combination = SimpleNamespace(how="mean", is_mean=True)
    metric: Any = SimpleNamespace(combination=combination, parts=parts, tasks=tasks)
    # Each part has the weight 0.5 and half of the rows: 2 * (0.5 * 0.6) and 2 * (0.5 * 0.5).
    assert unseen_losses_of_combination(metric, np.zeros(4), cases, None) == pytest.approx([loss])


def test_what_the_rows_have_shown_is_not_allowed_for_again(study_of: Any) -> None:
    """Right and wrong answers keep their leads, and so does a team with a failed case."""
    rng = np.random.default_rng(1)
    right = (rng.random((2, 400)) < [[0.9], [0.7]]).astype(float)
    assert sets_of(study_of, right).low.tolist() == [1, 2]
    cases = np.clip(rng.normal(0.8, 0.03, 400) - [[0.0], [0.005]], 0, 1)
    cases[1] += rng.normal(0, 0.005, 400)
    assert sets_of(study_of, cases).low.tolist() == [1, 1]  # up to .009 of .7 may be lacking
    cases[:, 0] = 0.0
    assert sets_of(study_of, cases).low.tolist() == [1, 2]


def test_values_of_rows_are_compared_over_tasks_of_one_metric() -> None:
    codes, values = np.array([0, 1, 0, 1, 1]), np.linspace(0, 1, 10).reshape(2, 5)
    context = RowContext("id", codes, ("y",), ("y",), tasks=codes, task_names=("A", "B"))

    def compared(metrics: dict[str, Any], *, by_task: bool) -> Any:
        combined = combined_metric(metrics, Combination("mean"), by_task=by_task)
        study = make_study(combined.for_rows(context), np.zeros(5), values, resamples=2)
        return values_of_cases(study, np.array([1, 0]))

    for metric, larger in ((SHARE, True), (LOSS, False)):
        case_values, is_larger = compared({"one": metric}, by_task=True)
        assert (case_values.tolist(), is_larger) == (values[::-1].tolist(), larger)
    assert compared({"one": SHARE, "two": SHARE}, by_task=True) is None
    assert compared({"one": SHARE, "two": SHARE}, by_task=False) is None
