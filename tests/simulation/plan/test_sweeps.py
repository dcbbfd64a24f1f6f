"""What a plan varies, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import UsageError
from arena.simulation.plan.drawn import Design
from arena.simulation.plan.organiser import Questions
from arena.simulation.requests import CompetitionPlanRequest, PlanRequest


@pytest.mark.parametrize(
    ("name", "allowed", "refused", "message"),
    [
        ("public_share", (0.001, 0.999), (0.0, 1.0), "Public shares must be between 0 and 1."),
        ("public_shares", ((0.001, 0.999),), ((0.5, 0.0), (0.5, 1.0)),
         "Public shares must be between 0 and 1."),
        ("within", (0.0, 1.0), (-0.01, 1.01), "--within must be from 0 to 1."),
        ("total_rows", (2,), (1,),
         "A competition has at least 2 rows, public and private ones."),
        *(
            (name, allowed, refused, "Rows, days and submissions start at 1, and teams at 2.")
            for name, allowed, refused in (
                ("total_rows", (), (0,)), ("per_day", (1,), (0,)), ("days", (1,), (0,)),
                ("per_days", ((1, 2),), ((2, 0),)), ("private_rows", ((1, 2), ()), ((2, 0),)),
                ("teams", (2,), (1,)), ("team_counts", ((2, 3),), ((3, 1),)),
            )
        ),
        *(
            ("brackets", ({"new": 2}, {"new": 50}), (count,),
             "The bracket new of a competition of 50 teams needs a whole number of teams from 2 "
             f"to 50, not {count['new']:g}.")
            for count in ({"new": 1}, {"new": 51}, {"new": 2.5})
        ),
    ],
)  # fmt: skip
def test_questions_are_refused_beyond_their_ends_only(
    name: str, allowed: tuple[Any, ...], refused: tuple[Any, ...], message: str
) -> None:
    for value in allowed:
        assert getattr(Questions(**{"total_rows": 100, name: value}), name) == value
    for value in refused:
        with pytest.raises(UsageError) as error:
            Questions(**{"total_rows": 100, name: value})
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("total", "share", "private", "public"),
    [(100, 0.3, 70, 30), (2, 0.9, 1, 2), (10, 0.01, 9, 1), (2, 0.5, 1, 1)],
)
def test_each_part_of_a_planned_competition_has_a_row(
    total: int, share: float, private: int, public: int
) -> None:
    design = Questions(total_rows=total, public_share=share, per_day=2, days=7, teams=4).design
    assert design == Design(4, private, public_rows=public, submissions=14)


def test_one_quantity_is_varied_at_a_time() -> None:
    questions = Questions(
        total_rows=100, public_shares=(0.5, 0.2), per_days=(4, 1), team_counts=(30, 10),
        brackets={"new": 20, "old": 30},
    )  # fmt: skip
    design = Design(teams=50, private_rows=70, public_rows=30, submissions=150)
    expected = {
        "public_share": (
            [0.2, 0.5],
            [
                replace(design, private_rows=80, public_rows=20),
                replace(design, private_rows=50, public_rows=50),
            ],
        ),
        "per_day": ([1.0, 4.0], [replace(design, submissions=n) for n in (30, 120)]),
        "teams": ([10.0, 20.0, 30.0], [replace(design, teams=n) for n in (10, 20, 30)]),
        # Half, once, twice and four times the 70 private rows.
        "rows": (
            [35.0, 70.0, 140.0, 280.0],
            [replace(design, private_rows=n) for n in (35, 70, 140, 280)],
        ),
    }
    assert {name: questions.swept(name) for name in expected} == expected
    with_private_rows = Questions(total_rows=100, private_rows=(9, 5))
    assert with_private_rows.swept("rows")[0] == [5.0, 9.0]
    # Of a single private row half is none: one is compared.
    assert Questions(total_rows=2).swept("rows")[0] == [1.0, 2.0, 4.0]


def test_a_request_asks_for_a_competition_with_the_private_rows_of_the_pilot() -> None:
    request = CompetitionPlanRequest(
        public_share=(0.3, 0.1, 0.3), per_day=(5, 1, 5), rows=(10,), days=3, within=0.25,
        brackets="new=2",
    )  # fmt: skip
    questions = Questions.of(request, n_rows=70)
    assert questions == Questions(
        total_rows=100, public_share=0.3, per_day=5, days=3, teams=50, within=0.25,
        public_shares=(0.1, 0.3), per_days=(1, 5), private_rows=(10,),
        team_counts=(10, 30, 50, 100, 300), brackets={"new": 2.0},
    )  # fmt: skip
    # Beyond a share of 99% no more than a hundred times as many rows are planned.
    many = CompetitionPlanRequest(public_share=(0.999,))
    assert Questions.of(many, n_rows=70).total_rows == 7_000
    assert Questions.of(CompetitionPlanRequest(total_rows=9), n_rows=70).total_rows == 9


def test_there_are_as_many_teams_as_on_past_boards_unless_a_request_says_how_many() -> None:
    boards: Any = [
        SimpleNamespace(name=name, n_teams=count)
        for name, count in (("typical", 1_000), ("a", 20), ("b", 41))
    ]
    request = CompetitionPlanRequest(like=Path("boards"))
    questions = Questions.of(request, n_rows=70, boards=boards)
    # The median of 20 and 41 is 30.5, which is rounded to the even 30.
    assert (questions.teams, questions.team_counts) == (30, (10, 30, 50, 100, 300))
    assert Questions.of(request, n_rows=70, boards=boards[:1]).teams == 50
    with_teams = CompetitionPlanRequest(like=Path("boards"), teams=(7,))
    assert Questions.of(with_teams, n_rows=70, boards=boards).teams == 7


def test_questions_have_the_defaults_of_a_request() -> None:
    """700 private rows are 70% of 1,000; numbers of teams are compared with the expected one."""
    requested = Questions.of(PlanRequest(), n_rows=700)
    assert requested.team_counts == (10, 30, 50, 100, 300)
    assert replace(requested, team_counts=(10, 30, 100, 300)) == Questions(1_000)
