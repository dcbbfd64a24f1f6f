"""Drawn competitions of a plan with the teams of a past board, and with brackets."""

import numpy as np
import pytest

from arena.errors import InputError, UsageError
from arena.simulation.past.boards import PastBoard
from arena.simulation.past.teams import typical_board
from arena.simulation.plan.drawn import (
    Design,
    Population,
    RandomNumbers,
    draw_competitions,
    populations_of,
)
from arena.simulation.plan.like import populations_like, shape_of
from arena.simulation.plan.organiser import Questions
from arena.simulation.requests import PlanRequest
from arena.utils.tabular import as_json
from kept import check_kept_document


def board(private, entries=None):
    scores = np.sort(np.asarray(private, dtype=float))[::-1]
    return PastBoard("past", scores, scores, paired=True, entries=entries)


def normal_and_like(past):
    """Return the normal prior of a pilot, its population like a board, and the scenarios."""
    rng = np.random.default_rng(0)
    scores, errors = 0.8 + 0.02 * rng.normal(size=6), 0.005 * rng.normal(size=(6, 50))
    shapes = [shape_of(past)]
    of_pilot = populations_of(scores, errors, 1_000, rng, shapes=shapes)
    (point,), (scenarios,) = populations_like([past], shapes, of_pilot)
    return of_pilot[0][0], point, scenarios


def test_the_shape_is_that_of_the_board_and_the_spread_that_of_the_pilot():
    gaps = np.random.default_rng(1).exponential(size=400)
    past = board(-gaps, entries=np.arange(400, 0, -1.0))
    normal_prior, point, scenarios = normal_and_like(past)
    assert len(point.centres) == 400
    uniform, normal = np.random.default_rng(2).random((2, 20_000))
    true = point.true_scores(uniform, normal)
    assert true.std() == pytest.approx(normal_prior.spread, rel=0.02)
    assert true.mean() == pytest.approx(normal_prior.centres[0], abs=0.001)
    assert np.mean(true < true.mean()) == pytest.approx(0.42, abs=0.03)  # the long tail is below
    assert len({round(population.spread, 9) for population in scenarios}) > 10
    entries = point.entries(uniform, normal, allowed=150)
    assert entries.max() == 150
    assert np.corrcoef(entries, true)[0, 1] > 0.3  # the best teams of this board submitted most


def test_failed_submissions_do_not_set_the_spread():
    private = np.append(np.linspace(0.7, 0.9, 40), [0.0, -50.0])
    _, point, _ = normal_and_like(board(private))
    _, without, _ = normal_and_like(board(np.linspace(0.7, 0.9, 40)))
    assert np.ptp(point.centres) == pytest.approx(np.ptp(without.centres), rel=0.1)
    with pytest.raises(InputError, match="have the same score"):
        shape_of(board([0.5] * 30 + [0.1]))


def test_drawn_competitions_like_a_board_are_kept():
    entries = 1.0 + np.arange(30)[::-1] ** 2 % 11
    boards = {
        "with entries": board(np.linspace(0, 1, 30) ** 2, entries=entries),
        "without entries": board(np.linspace(0, 1, 30)),
        "with failures": board([0.9, 0.85, 0.8, 0.7, 0.65, 0.6, 0.5, -9.0, -50.0]),
    }
    numbers, document = RandomNumbers.of(12, 20, np.random.default_rng(0)), {}
    designs = [Design(12, 300, 100, 6), Design(12, 600, 0, 2)]
    for name, past in boards.items():
        normal_prior, point, scenarios = normal_and_like(past)
        document[name] = {
            "outside": point.outside,
            "spreads": [point.spread, *(scenario.spread for scenario in scenarios)],
            "true": point.true_scores(np.linspace(0, 1, 5), np.zeros(5)),
            "entries": point.entries(np.linspace(0, 1, 5), np.linspace(-2, 2, 5), allowed=5),
            "figures": draw_competitions(point, 0.5, designs, numbers),
            "normal": draw_competitions(normal_prior, 0.9, designs, numbers),
        }
    check_kept_document("plan-like", as_json(document))


def test_fewer_entries_select_less():
    scores = np.linspace(0, 1, 50)
    few, many = (board(scores, entries=np.full(50, count)) for count in (1.0, 150.0))
    design, numbers = (
        Design(50, 1_000, 500, 150),
        RandomNumbers.of(50, 200, np.random.default_rng(0)),
    )
    overstated = []
    for past in (few, many):
        _, point, _ = normal_and_like(past)
        (figures,) = draw_competitions(point, 0.5, [design], numbers)
        overstated.append(figures["overstatement"])
    assert overstated[0] < overstated[1]


def test_a_board_without_entries_has_those_of_typical_boards():
    _, point, _ = normal_and_like(typical_board())
    rng = np.random.default_rng(0)
    entries = point.entries(rng.random(5_000), rng.standard_normal(5_000), allowed=150)
    assert 3 <= np.median(entries) <= 6
    assert entries.max() == 150


def test_a_plan_has_as_many_teams_as_the_board():
    request = PlanRequest(brackets="students=30, experts=12")
    past = Questions.of(request, n_rows=700, boards=[board(np.linspace(0, 1, 80))])
    assert past.teams == 80
    counts, designs = past.swept("teams")
    assert {30, 12, 80} <= set(counts) == {design.teams for design in designs}
    assert Questions.of(request, n_rows=700, boards=[typical_board()]).teams == 50
    few = PlanRequest(teams=(20, 10))
    assert Questions.of(few, n_rows=700, boards=[board(np.linspace(0, 1, 80))]).teams == 20


@pytest.mark.parametrize("count", ["1", "2.5", "51"])
def test_a_bracket_has_some_of_the_teams(count):
    with pytest.raises(UsageError, match="bracket students of a competition of 50 teams"):
        Questions.of(PlanRequest(brackets=f"students={count}"), n_rows=700)


def test_without_public_rows_the_private_board_alone_is_drawn():
    """One team's only submission: its score is the team's, with an error that shrinks with rows."""
    population = Population(np.array([0.7]), np.ones(1), 0.02, 0.4)
    numbers = RandomNumbers.of(20, 40, np.random.default_rng(0))
    (figures,) = draw_competitions(population, 0.5, [Design(20, 10**9, 0, 3)], numbers)
    team = population.true_scores(*numbers.population)
    # A submission differs from its team by half of the spread of 0.02, and by no selection.
    true = team + 0.5 * 0.02 * numbers.errors[0]
    assert figures["best_wins"] == 1.0  # 10**9 rows: an error of 0.4 / 31,623
    assert figures["quality"] == pytest.approx(float((true.max(axis=0) - team.mean(axis=0)).mean()))
    assert figures["loss"] == pytest.approx(0.0, abs=1e-5)
    assert figures["contenders"] == 1
    assert np.isnan([figures["overstatement"], figures["tau"]]).all()
