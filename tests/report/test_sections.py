"""Sections and tables that are functions of what was found, compared with rows written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arena.evaluation.similar import SimilarSubmissions
from arena.report.competition_simulation import truth_section
from arena.report.copies import copies_section
from arena.simulation.competition.flags import Flag
from arena.simulation.competition.outcome import CompetitionOutcome, TeamOutcome
from arena.simulation.competition.true_scores import TruthKind


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((True, 0.0, None), ("identical", "none")),
        ((False, 0.9, 0.999), ("nearly identical", "correlation 0.999000")),
        ((False, 0.5, 0.999), ("nearly identical", "50.0% of the predictions differ")),
        ((False, 0.9, None), ("nearly identical", "90.0% of the predictions differ")),
    ],
)
def test_similar_submissions_are_listed(
    pair: tuple[bool, float, float | None], said: tuple[str, str]
) -> None:
    identical, differing, correlation = pair
    section = copies_section(
        [SimilarSubmissions(identical, (3, 8), ("ant", "bee"), differing, correlation)]
    )
    assert section is not None
    (table,) = section.tables
    assert table.rows == ((said[0], "ant, bee", "3, 8", said[1]),)
    assert copies_section([]) is None


TEAMS = {
    # kind, conduct, submissions, shown, rank, score, true rank, true score
    "ant": ("climber", "honest", 3, 0.90, 1, 0.80, 2, 0.70),
    "bee": ("climber", "honest", 5, 0.50, 2, 0.60, 1, 0.75),
    "cat": ("copycat", "copies", 1, None, 3, 0.40, 3, 0.30),
}


def outcome_of(**changes: Any) -> CompetitionOutcome:
    """Return a simulated competition without days."""
    teams = tuple(
        TeamOutcome(
            team=name, kind=kind, conduct=conduct, submissions=submissions, public_rank=None,
            shown=shown, public_score=shown, rank=rank, rank_low=1, rank_high=2, score=score,
            true_rank=true_rank, true_score=true_score,
        )
        for name, (kind, conduct, submissions, shown, rank, score, true_rank, true_score)
        in TEAMS.items()
    )  # fmt: skip
    outcome = CompetitionOutcome(
        mechanism="full", scope="team", folder="", truth="exact", greater_is_better=True,
        submissions=9, turned_away=0, teams=teams, days=(), leaderboard_error=None,
        agreement={"public_private": 0.25, "private_true": None, "public_true": 1.0}, flags=(),
        floor_checked=False, level=0.95, best_score={"estimate": 0.7, "low": 0.6, "high": 0.76},
        baseline=None, notes=(),
    )  # fmt: skip
    return replace(outcome, **changes)


@pytest.mark.parametrize(
    ("truth", "sign", "mean_truth"),
    [("exact", 1, [0.725, 0.30]), ("exact", -1, [0.725, 0.30]), ("private", 1, [None, None])],
)
def test_results_of_simulated_teams_are_listed_by_kind(
    truth: TruthKind, sign: int, mean_truth: list[float | None]
) -> None:
    flags = (Flag("copies", "cat", "copycat", True, ("ant",)),)
    outcome = outcome_of(truth=truth, greater_is_better=sign > 0, flags=flags)
    kinds, _ = truth_section(outcome, "accuracy").tables
    # The climbers were shown 0.9 and 0.5, and have 0.8 and 0.6 on the private rows.
    flattered = pytest.approx(sign * ((0.9 - 0.8) + (0.5 - 0.6)) / 2)
    assert kinds.rows == (
        ("climber", "honest", 2, 8, 1, pytest.approx(0.7), mean_truth[0], flattered, 0),
        ("copycat", "copies", 1, 1, 3, 0.4, mean_truth[1], None, 1),
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((), ""),
        (("a", "b"), "a, b"),
        (("a", "b", "c"), "a, b, c"),
        (("a", "b", "c", "d"), "a, b, c and 1 more"),
        (tuple("abcdefg"), "a, b, c and 4 more"),
    ],
)
def test_a_flagged_team_stands_with_three_others(others: tuple[str, ...], said: str) -> None:
    flags = (Flag("copies", "cat", "copycat", False, others),)
    _, flagged = truth_section(outcome_of(flags=flags), "accuracy").tables
    assert flagged.rows == (("cat", "copycat", "copies", False, said),)


def test_what_a_simulation_knows_is_said() -> None:
    outcome = outcome_of()
    text = truth_section(outcome, "accuracy").text
    # bee is truly best; ant won, and is truly worse by 0.75 - 0.70.
    assert "The truly best team did not win" in text
    assert (outcome.best_won, outcome.loss) == (False, pytest.approx(0.05))
    assert "0.25 between the public and the private board" in text
    assert "1.00 between the public board and the true ranks" in text
    assert "private board and the true ranks" not in text
    # Two of the three rank intervals, 1 to 2, hold the true ranks 2, 1 and 3.
    assert outcome.rank_intervals == {"level": 0.95, "teams": 3, "held": 2}
    assert outcome.best_score_held is True
    private = outcome_of(truth="private")
    assert (private.best_won, private.loss, private.rank_intervals) == (None, None, None)
    assert "true ranks" not in truth_section(private, "accuracy").text
    alike = outcome_of(agreement=dict.fromkeys(outcome.agreement))
    assert "too few teams to compare the rankings" in truth_section(alike, "accuracy").text
