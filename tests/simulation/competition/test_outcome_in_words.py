"""What is said of a simulated competition, for every state of its outcome."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from arena.report.competition_simulation import truth_section
from arena.simulation.competition.charts import (
    comparison_chart,
    errors_by_day_chart,
    over_time_chart,
    ranks_chart,
    seeds_chart,
)
from arena.simulation.competition.comparison import MEASURES, Story, compare_mechanisms
from arena.simulation.competition.flags import NEAR_COPY, TOO_GOOD, Flag
from arena.simulation.competition.outcome import CompetitionOutcome, TeamOutcome, agreement_of
from arena.simulation.competition.summary import summarize
from arena.simulation.competition.timeline import Day
from arena.utils.tabular import as_json
from kept import check_kept_document


def team(name: str, rank: int, score: float, true_rank: int, true_score: float) -> TeamOutcome:
    return TeamOutcome(
        team=name, kind=f"kind of {name}", conduct="copies" if name == "owls" else "honest",
        submissions=2 + rank, public_rank=rank, shown=score + 0.02, public_score=score + 0.01,
        rank=rank, rank_low=1, rank_high=rank + 1, score=score, true_rank=true_rank,
        true_score=true_score,
    )  # fmt: skip


BEATEN = CompetitionOutcome(
    mechanism="full",
    scope="team",
    folder="made",
    truth="exact",
    greater_is_better=True,
    submissions=12,
    turned_away=1,
    teams=(
        team("bees", 1, 0.85, 3, 0.78), team("owls", 2, 0.8, 1, 0.81), team("cats", 3, 0.75, 2, 0.8)
    ),
    days=(Day(1, 5, 0.87, 0.8, 0.76, 0.07), Day(2, 12, 0.87, 0.81, 0.78, 0.07)),
    leaderboard_error=0.07,
    agreement={"public_private": 1.0, "private_true": -0.33333, "public_true": None},
    flags=(),
    floor_checked=True,
    level=0.9,
    best_score={"estimate": 0.82, "low": 0.79, "high": 0.84},
    baseline=None,
    notes=(),
)  # fmt: skip
WON = replace(
    BEATEN, teams=(team("bees", 1, 0.85, 1, 0.82), *BEATEN.teams[1:2], team("cats", 3, 0.7, 3, 0.7))
)
FLAGS = (
    Flag(NEAR_COPY, "owls", "kind of owls", True, ("bees", "cats", "ants", "dogs")),
    Flag(NEAR_COPY, "bees", "kind of bees", False, ("owls",)),
    Flag(TOO_GOOD, "cats", "kind of cats", True, ()),
)
STATES = {
    "the best lost": BEATEN,
    "the best won": WON,
    "several are best, and lost": replace(
        BEATEN,
        teams=(
            BEATEN.teams[0],
            *(replace(team_outcome, true_rank=1) for team_outcome in BEATEN.teams[1:]),
        ),
    ),
    "several are best, and won": replace(
        WON, teams=tuple(replace(team_outcome, true_rank=1) for team_outcome in WON.teams)
    ),
    "a shared win": replace(
        BEATEN,
        teams=tuple(replace(team_outcome, rank=1, rank_high=None) for team_outcome in BEATEN.teams),
    ),
    "held out": replace(BEATEN, truth="held_out", best_score=dict.fromkeys(BEATEN.best_score)),
    "not known": replace(BEATEN, truth="private", floor_checked=False),
    "without a meaning": replace(
        BEATEN, degenerate="3 of 3 submissions share the best score, 0.", flags=FLAGS[:1]
    ),
    "nothing released": replace(BEATEN, leaderboard_error=None, days=()),
    "flags": replace(BEATEN, flags=FLAGS),
    "missed": replace(BEATEN, best_score={"estimate": 0.82, "low": 0.82, "high": 0.84}),
    "losses": replace(BEATEN, greater_is_better=False),
}


def test_every_state_of_an_outcome_is_told_as_kept() -> None:
    whole = {
        name: {
            "summary": summarize(outcome),
            "document": outcome.to_dict(),
            "section": asdict(replace(truth_section(outcome, "accuracy"), charts=())),
        }
        for name, outcome in STATES.items()
    }
    check_kept_document("outcomes", as_json(whole))


def test_an_outcome_by_hand() -> None:
    """The winner is truly third: 0.78 against 0.81. Two of three intervals hold the true rank."""
    assert (BEATEN.winner.team, BEATEN.best.team, BEATEN.best_won) == ("bees", "owls", False)
    assert BEATEN.loss == pytest.approx(0.81 - 0.78)
    assert BEATEN.leaderboard_error_mean == pytest.approx((0.07 + 0.06) / 2)
    # 1 to 2, 1 to 3 and 1 to 4 for the true ranks 3, 1 and 2.
    assert BEATEN.rank_intervals == {"level": 0.9, "teams": 3, "held": 2}
    assert BEATEN.best_score_held is True
    assert (WON.best_won, WON.loss, WON.shared_by) == (True, 0.0, 1)
    assert STATES["a shared win"].shared_by == 3
    assert STATES["a shared win"].rank_intervals is None
    assert STATES["missed"].best_score_held is False
    ends = {"estimate": 0.81, "low": 0.81, "high": 0.81}
    assert replace(BEATEN, best_score=ends).best_score_held is True
    for end in ("low", "high"):
        assert replace(BEATEN, best_score={**ends, end: None}).best_score_held is None
    assert STATES["without a meaning"].best_won is STATES["not known"].loss is None


def test_two_teams_agree_or_not() -> None:
    """The bees are first on the public and the private board, and second in truth."""
    assert agreement_of(BEATEN.teams[:2], "exact") == {
        "public_private": 1.0, "private_true": -1.0, "public_true": -1.0,
    }  # fmt: skip


def test_bars_of_ranks_are_of_teams_with_both_ends() -> None:
    bees, owls, cats = BEATEN.teams
    teams = (bees, replace(owls, rank_low=None), replace(cats, rank_high=None))
    bars = ranks_chart(replace(BEATEN, teams=teams)).specification["layer"][1]["data"]["values"]
    assert [row["team"] for row in bars] == ["bees"]


def test_every_chart_of_outcomes_is_kept() -> None:
    other = replace(WON, mechanism="kaggle(rounding=0.1)", days=BEATEN.days[:1])
    seeds = [
        Story(
            seed,
            "",
            tuple(as_json({**asdict(outcome), **outcome.to_dict()}) for outcome in (BEATEN, other)),
        )
        for seed in (3, 4)
    ]
    comparison = compare_mechanisms(["full", other.mechanism], seeds)
    charts = [
        *(over_time_chart(replace(BEATEN, truth=truth), "f1") for truth in ("exact", "held_out")),
        over_time_chart(replace(BEATEN, truth="private"), "f1"),
        ranks_chart(BEATEN),
        comparison_chart([BEATEN, other], "f1"),
        comparison_chart([replace(BEATEN, truth="private")], "f1"),
        errors_by_day_chart(comparison, "f1"),
        *(seeds_chart(comparison, measure) for measure in MEASURES[:2]),
    ]
    check_kept_document("outcome-charts", as_json([asdict(chart) for chart in charts]))


@pytest.mark.parametrize(
    ("n_teams", "lines", "which"),
    [(40, 40, "per team"), (41, 21, "for one team of 2"), (80, 40, "for one team of 2"),
     (81, 27, "for one team of 3")],
)  # fmt: skip
def test_a_chart_of_ranks_has_at_most_40_lines(n_teams: int, lines: int, which: str) -> None:
    bees = BEATEN.teams[0]
    teams = tuple(replace(bees, team=f"t{number}", rank=number + 1) for number in range(n_teams))
    chart = ranks_chart(replace(BEATEN, teams=teams))
    values = chart.specification["data"]["values"]
    assert (len(values), {row["conduct"] for row in values}) == (3 * lines, {"honest"})
    assert f"One line {which} through its ranks: public board, private board, truth;" in (
        chart.description
    )
    axis = chart.specification["layer"][0]["encoding"]["y"]
    assert axis["scale"]["domain"] == [1, n_teams]


def test_a_chart_of_ranks_without_the_truth_has_two_stages() -> None:
    chart = ranks_chart(replace(BEATEN, truth="private", teams=BEATEN.teams[:1]))
    values = chart.specification["data"]["values"]
    assert [(row["stage"], row["rank"]) for row in values] == [
        ("public board", BEATEN.teams[0].public_rank), ("private board", BEATEN.teams[0].rank),
    ]  # fmt: skip
    assert chart.title == "From public to private ranks, under full"
    assert chart.specification["layer"][0]["encoding"]["y"]["scale"]["domain"] == [1, 2]
