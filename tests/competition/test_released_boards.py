"""How public scores of several phases become one, and what a missed phase counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.boards.released_boards import combine_scores, scores_of_missed_phases


def test_a_geometric_mean_has_no_score_of_zero() -> None:
    def mean(scores: Any) -> Any:
        return np.exp(np.log(scores).mean(axis=0))

    metric: Any = SimpleNamespace(
        combination=SimpleNamespace(how="geometric"), relative=False, combine=mean
    )
    # sqrt(0.5 * 2) = 1; of zero and of a negative score there is none.
    scores = np.array([[0.5, 0.0, -1.0], [2.0, 2.0, 2.0]])
    combined = combine_scores(metric, scores, ranked=np.array([True, True, False]))
    np.testing.assert_allclose(combined, [1.0, np.nan, np.nan])
    metric.relative = True  # the mean rank is that of ranked teams only
    only = combine_scores(metric, scores, ranked=np.array([False, True, True]))
    assert np.isnan(only).all()


def test_the_worst_score_of_a_ranked_team_counts_for_a_missed_phase() -> None:
    greater = {"dev": True, "final": False}
    state: Any = SimpleNamespace(
        in_phase=lambda phase: SimpleNamespace(greater_is_better=greater[phase]),
        with_phases=SimpleNamespace(competition=SimpleNamespace(reference="base")),
    )
    scores = {"Ants": 0.4, "Bees": 0.6, "base": 0.1, "late": 0.9}
    rows = {phase: {team: {"score": score} for team, score in scores.items()} for phase in greater}
    roster: Any = SimpleNamespace(unranked=("base", "late"))

    def fillers(missing: str) -> dict[str, float]:
        section: Any = SimpleNamespace(missing=missing)
        return scores_of_missed_phases(state, section, rows_by_phase=rows, roster=roster)

    assert fillers("unranked") == {}
    assert fillers("worst") == {"dev": 0.4, "final": 0.6}
    assert fillers("baseline") == {"dev": 0.1, "final": 0.1}
    for of_phase in rows.values():  # no team is ranked: the worst of all
        del of_phase["Ants"], of_phase["Bees"]
    assert fillers("worst") == {"dev": 0.1, "final": 0.9}
    del rows["dev"]["base"]
    assert fillers("baseline") == {"final": 0.1}


@pytest.mark.parametrize("missing", ["worst", "baseline"])
def test_without_phases_nothing_counts_for_a_missed_one(missing: str) -> None:
    state: Any = SimpleNamespace()
    section: Any = SimpleNamespace(missing=missing)
    assert scores_of_missed_phases(state, section, rows_by_phase={}, roster=state) == {}
