"""The entries of drawn teams, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.drawn import (
    drawn_entries,
    final_board,
    final_predictions,
    reach_of,
)
from arena.simulation.past.teams import Defaults, entry_days, relative_gaps, shared_notebooks

START = datetime(2001, 1, 1, tzinfo=UTC)
STREAM = 2**32 - 13


def teams_of(**fields: Any) -> Any:
    return SimpleNamespace(**{name: np.array(values) for name, values in fields.items()})


def test_a_team_comes_closer_to_its_last_gap_with_the_logarithm_of_its_entries() -> None:
    teams = teams_of(
        entries=[3, 1, 2], first_gap=[0.5, 0.0, 2.0], public_gap=[1.0, 2.0, 3.0],
        private_gap=[0.5, 0.25, 0.125], notebook=[-1, 0, -1],
    )  # fmt: skip
    turns = ((0, 0), (2, 0), (4, 0), (1, 1), (3, 2), (5, 2))
    visits = [Visit(START + timedelta(days=day), team, is_last=False) for day, team in turns]
    entries = drawn_entries([visits[:3], visits[3:]], teams, Defaults(setback=0.0), seed=9)
    assert entries.team.tolist() == [0, 1, 0, 2, 0, 2]
    assert entries.when == [START + timedelta(days=day) for day in range(6)]
    # Of three entries the second one is log 2 / log 3 of the way.
    more = np.array([0.5, 0.0, 0.5 * (1 - np.log(2) / np.log(3)), 2.0, 0.0, 0.0])
    assert entries.public_gap == pytest.approx(np.array([1, 2, 1, 3, 1, 3]) + more)
    assert entries.private_gap == pytest.approx(
        np.array([0.5, 0.25, 0.5, 0.125, 0.5, 0.125]) + more
    )
    assert entries.seeds == [
        (9, STREAM, 1, 0, 1), (9, STREAM, 0, 0), (9, STREAM, 1, 0, 2), (9, STREAM, 1, 2, 1),
        (9, STREAM, 1, 0, 3), (9, STREAM, 1, 2, 2),
    ]  # fmt: skip


def test_every_entry_but_the_last_one_has_a_setback() -> None:
    n = 2_000
    teams = teams_of(
        entries=[n], first_gap=[0.0], public_gap=[1.0], private_gap=[2.0], notebook=[-1]
    )
    visits = [Visit(START + timedelta(minutes=entry), 0, is_last=False) for entry in range(n)]
    entries = drawn_entries([visits], teams, Defaults(setback=0.25), seed=1)
    setbacks = entries.public_gap - 1
    assert setbacks[-1] == 0
    assert (setbacks[:-1] > 0).all()
    assert setbacks.mean() == pytest.approx(0.25, rel=0.1)  # four standard errors
    assert setbacks.std() == pytest.approx(0.25, rel=0.15)
    assert entries.private_gap - 2 == pytest.approx(setbacks)


@pytest.mark.parametrize(("factor", "reach"), [(1.0, 9.0), (0.5, 4.5), (0.25, 3.0)])
def test_a_tenth_of_the_gaps_is_out_of_reach(factor: float, reach: float) -> None:
    public, private = factor * np.arange(6.0), factor * np.arange(6.0, 11.0)
    assert reach_of(teams_of(public_gap=public, private_gap=private)) == reach


def test_the_last_entries_are_drawn_in_blocks_of_64() -> None:
    n = 130
    teams: Any = teams_of(public_gap=np.arange(n), private_gap=-np.arange(n), notebook=[-1, 3] * 65)
    drawing: Any = SimpleNamespace(predictions=lambda *arguments: arguments)
    blocks = list(final_predictions(drawing, teams, 7))
    assert [len(seeds) for *_, seeds in blocks] == [64, 64, 2]
    public, private, seeds = blocks[2]
    assert (public.tolist(), private.tolist()) == ([128, 129], [-128, -129])
    assert seeds == [(7, STREAM, 1, 128, 0), (7, STREAM, 0, 3)]


@pytest.mark.parametrize(
    ("scores", "gaps"),
    [
        ([5.0, 3.0, 1.0], [0, 1, 2]),
        ([1.0, 5.0, 4.0, 2.0], [2, 0, 0.5, 1.5]),
        ([1.0, 1.0, 1.0, -1.0], [0, 0, 0, 4]),  # the mean, as the median is the top
    ],
)
def test_a_gap_of_one_is_that_of_the_median_team(scores: list[float], gaps: list[float]) -> None:
    assert relative_gaps(np.array(scores)).tolist() == gaps


def test_three_teams_with_one_pair_of_scores_have_a_notebook() -> None:
    private, public = np.array([1, 1, 1, 2, 2, 1.0]), np.array([3, 3, 3, 4, 4, 5.0])
    board: Any = SimpleNamespace(n_teams=6, paired=True, private=private, public=public)
    assert shared_notebooks(board).tolist() == [0, 0, 0, -1, -1, -1]
    board.paired = False
    assert shared_notebooks(board).tolist() == [-1] * 6


@pytest.mark.parametrize(
    ("entries", "joins", "stops", "allowed", "counts"),
    [
        (1, 0.2, 0.75, 1, [0, 0, 0, 1]),
        (2, 0.25, 1.0, 1, [0, 1, 0, 1]),
        (2, 0.5, 0.5, 2, [0, 0, 2, 0]),
        (2, 0.5, 0.5, 1, [0, 1, 1, 0]),  # the day before is filled first
        (3, 0.5, 0.5, 1, [0, 1, 1, 1]),
        (3, 0.0, 0.0, 1, [1, 1, 1, 0]),
        (3, 1.0, 1.0, 1, [0, 1, 1, 1]),
        (9, 0.5, 0.5, 2, [2, 2, 2, 2]),
    ],
)
def test_entries_are_on_the_days_that_the_limit_needs(
    entries: int, joins: float, stops: float, allowed: int, counts: list[int]
) -> None:
    rng = np.random.default_rng(0)
    assert entry_days(entries, joins, stops, 4, allowed, Defaults(), rng) == counts


def test_the_final_board_lists_public_scores_of_those_that_have_one() -> None:
    ranked = SimpleNamespace(team="a", rank=1, score=0.5, public_rank=2, shown=0.25, submissions=3)
    outcome: Any = SimpleNamespace(
        teams=(ranked, SimpleNamespace(**{**vars(ranked), "team": "b", "public_rank": None}))
    )
    assert final_board(outcome).splitlines() == [
        "team,private_rank,private_score,public_rank,public_score,entries",
        "a,1,0.5,2,0.25,3",
        "b,1,0.5,,,3",
    ]
