"""Which submissions count in the end, and the public board."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.competition.record.final_selection import (
    Candidate,
    board_ranks,
    check_choice,
    choose_finals,
    public_board,
)
from arena.competition.record.roster import Roster
from arena.config_sections import FinalRule
from arena.errors import UsageError
from thinned import examples

SOME = [
    Candidate(1, "a", 0.5),
    Candidate(2, "b", 0.7),
    Candidate(3, "a", 0.9),
    Candidate(4, "a", 0.9),
    Candidate(5, "a", 0.1),
]


@pytest.mark.parametrize(
    ("rule", "greater", "expected"),
    [
        ("best_public", True, {"a": (3,), "b": (2,)}),
        ("best_public", False, {"a": (5,), "b": (2,)}),
        ("last", True, {"a": (5,), "b": (2,)}),
        ("chosen", True, {"a": (1, 5), "b": (2,)}),
        ("best_private", True, {"a": (1, 3, 4, 5), "b": (2,)}),
    ],
)
def test_each_rule(rule: FinalRule, greater: bool, expected: Any) -> None:
    finals = choose_finals(SOME, rule, greater_is_better=greater, chosen={"a": [5, 1, 99]})
    assert finals == expected


def test_a_team_whose_choice_cannot_count_falls_back() -> None:
    finals = choose_finals(SOME, "chosen", greater_is_better=True, chosen={"a": [99]})
    assert finals["a"] == (3,)


def test_without_public_scores_the_last_counts() -> None:
    unscored = [Candidate(1, "a", None), Candidate(2, "a", None)]
    assert choose_finals(unscored, "best_public", greater_is_better=True, chosen={}) == {"a": (2,)}


@pytest.mark.parametrize("greater", [True, False])
def test_a_submission_without_a_public_score_comes_after_every_other(greater: bool) -> None:
    some = [Candidate(1, "a", -0.5), Candidate(2, "a", None), Candidate(3, "a", 0.5)]
    finals = choose_finals(
        some, "chosen", greater_is_better=greater, chosen={"a": [1, 2, 3]}, count=2
    )
    assert finals == {"a": (1, 3)}
    finals = choose_finals(some[:2], "best_public", greater_is_better=greater, chosen={})
    assert finals == {"a": (1,)}


@given(st.permutations(SOME), st.sampled_from(["best_public", "last", "chosen", "best_private"]))
@settings(max_examples=examples(40))
def test_the_order_of_records_does_not_matter(order: list[Candidate], rule: FinalRule) -> None:
    chosen = {"a": [1]}
    assert choose_finals(order, rule, greater_is_better=True, chosen=chosen) == choose_finals(
        SOME, rule, greater_is_better=True, chosen=chosen
    )


def test_who_chooses_too_many_is_told() -> None:
    with pytest.raises(UsageError, match="may select 2 submissions, not 3"):
        check_choice([1, 3, 4], {1, 3, 4, 5}, 2)
    with pytest.raises(UsageError, match="Submission 2 is not an accepted submission of this team"):
        check_choice([1, 2], {1, 3}, 2)
    with pytest.raises(UsageError, match="Submission 2 is not an accepted submission of this team"):
        check_choice([8, 2, 9], {1, 3}, 3)
    with pytest.raises(UsageError, match=r"It has no accepted submission\. Nothing was changed"):
        check_choice([1], (), 2)
    with pytest.raises(UsageError, match=r"It has 1, 3\. Nothing was changed"):
        check_choice([2], {3, 1}, 2)
    with pytest.raises(UsageError, match="may select 1 submission, not 2"):
        check_choice([1, 3], {1, 3}, 1)
    check_choice([1], {1, 3}, 1)
    with pytest.raises(UsageError, match=rf"It has {', '.join(map(str, range(1, 21)))}\."):
        check_choice([99], range(1, 21), 1)
    with pytest.raises(
        UsageError, match=rf"It has 2 earlier ones and {', '.join(map(str, range(3, 23)))}\."
    ):
        check_choice([99], range(1, 23), 1)
    check_choice([1, 1, 3], {1, 3}, 2)


def _released(*rows: tuple[int, str, float]) -> list[Candidate]:
    return [Candidate(i, team, s, shown=round(s, 2), ranked_by=s) for i, team, s in rows]


def test_the_public_board_ranks_by_what_the_mechanism_says() -> None:
    candidates = _released((1, "a", 0.501), (2, "b", 0.504), (3, "a", 0.2), (4, "base", 0.9))
    board = public_board(
        candidates,
        greater_is_better=True,
        ties="shared",
        roster=Roster(("base",)),
        n_sent={"a": 2, "b": 1, "base": 1},
    )
    assert [(row["rank"], row["team"], row["score"]) for row in board] == [
        (None, "base", 0.9),
        (1, "b", 0.5),
        (2, "a", 0.5),
    ]
    assert [row["baseline"] for row in board] == [True, False, False]
    assert board[2]["submission"] == 1
    assert board[2]["n_submissions"] == 2


def test_ties_are_shared_or_go_to_the_earliest() -> None:
    candidates = _released((1, "late", 0.1), (2, "early", 0.5), (3, "late", 0.5))
    for ties, ranks in (("shared", [1, 1]), ("earliest", [1, 2])):
        board = public_board(
            candidates,
            greater_is_better=True,
            ties=ties,  # type: ignore[arg-type]
            n_sent={"early": 1, "late": 2},
        )
        assert [(row["team"], row["n_submissions"]) for row in board] == [("early", 1), ("late", 2)]
        assert [row["rank"] for row in board] == ranks


@given(st.lists(st.integers(0, 4), max_size=12))
@settings(max_examples=examples(60))
def test_shared_ranks_are_minimum_ranks(values: list[int]) -> None:
    scores = sorted(map(float, values), reverse=True)
    assert board_ranks(scores, "shared") == [
        1 + sum(other > score for other in scores) for score in scores
    ]
