"""Which teams a phase admits by the public board of the one before, and whose place is unsure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition import qualification
from arena.competition.qualification import Qualification, _best_of_public_board, _is_unsure


def test_a_place_is_unsure_if_its_interval_holds_ranks_on_both_sides_of_the_limit() -> None:
    for low, high, unsure in ((1, 2, False), (1, 3, True), (2, 3, True), (3, 4, False)):
        assert _is_unsure({"rank_low": low, "rank_high": high}, 2) is unsure
    assert not _is_unsure({}, 2)
    assert not _is_unsure({"rank_low": 1, "rank_high": None}, 2)


def test_the_best_of_a_public_board_are_those_up_to_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = {"Ants": 1, "Bees": 2, "Cats": 2, "Dogs": 4, "base": None}
    rows = [{"team": team, "rank": rank} for team, rank in ranks.items()]

    def standings(before: Any, *, live: bool) -> list[dict[str, Any]]:
        assert live
        return rows

    monkeypatch.setattr(qualification, "public_standings", standings)
    before: Any = SimpleNamespace(phase="dev")
    note = (
        "The phase dev has no private rows: the order is that of its public scores, which have no "
        "rank intervals."
    )
    one = _best_of_public_board(before, "final", 1)
    assert one == Qualification("final", ("Ants",), "public", (note,))
    two = _best_of_public_board(before, "final", 2)
    assert (two.teams, two.notes[0], len(two.notes)) == (("Ants", "Bees", "Cats"), note, 2)
