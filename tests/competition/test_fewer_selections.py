"""A team that chose while more were allowed stands with the best of its choices on public."""

from __future__ import annotations

import pytest

from arena.competition.record.final_selection import Candidate, choose_finals

SOME = [
    Candidate(1, "a", 0.5),
    Candidate(2, "a", 0.9),
    Candidate(3, "a", 0.9),
    Candidate(4, "a", 1),
]


@pytest.mark.parametrize(("count", "counting"), [(1, (2,)), (2, (2, 3)), (3, (1, 2, 3))])
def test_no_more_choices_count_than_are_allowed(count: int, counting: tuple[int, ...]) -> None:
    chosen = {"a": [1, 2, 3]}
    finals = choose_finals(SOME, "chosen", greater_is_better=True, chosen=chosen, count=count)
    assert finals == {"a": counting}
