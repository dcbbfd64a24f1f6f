"""Complete failures, and how many more would put the second before the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.evaluation.case_metrics import MeanOfCases
from arena_ranking.failures import Failures, failed_rows, failures_to_reverse
from study_boards import study_of

__all__ = ["study_of"]

SHARE = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
LOSS = MeanOfCases("mean loss", greater_is_better=False, value_range=(0.0, 2.0))


def values(*failures: int, n: int = 20) -> np.ndarray:
    """Return values near .8 of teams that fail on their first cases."""
    rng, found = np.random.default_rng(0), []
    for count in failures:
        own = rng.uniform(0.7, 0.9, n)
        own[:count] = 0.0
        found.append(own)
    return np.stack(found)


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
    metric, shown = (SHARE, own) if larger else (LOSS, 2 * (1 - own))
    study = study_of(metric, np.zeros(40), shown)
    document = Failures().run(study, np.random.default_rng(0)).document
    assert document["failures"] == [1, 2, 0]
    assert document["failure_rate"] == [0.025, 0.05, 0.0]
    found = failed_rows(study)
    assert found is not None
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


def test_where_all_fail_nothing_more_can() -> None:
    assert failures_to_reverse(0.0, float("nan"), 5) is None
    assert failures_to_reverse(0.9, 0.1, 5) is None
