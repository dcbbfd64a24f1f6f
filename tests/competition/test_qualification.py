"""Which teams a phase admits by the public board of the one before, and whose place is unsure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition import qualification
from arena.competition.qualification import Qualification, best_of_public_board, is_rank_unsure
from arena.errors import UsageError


def test_a_place_is_unsure_if_its_interval_holds_ranks_on_both_sides_of_the_limit() -> None:
    for low, high, unsure in ((1, 2, False), (1, 3, True), (2, 3, True), (3, 4, False)):
        assert is_rank_unsure({"rank_low": low, "rank_high": high}, 2) is unsure
    assert not is_rank_unsure({}, 2)
    assert not is_rank_unsure({"rank_low": 1, "rank_high": None}, 2)


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
    best = best_of_public_board(before, "final", most=1)
    assert best == Qualification("final", ("Ants",), board="public", notes=(note,))
    best_two = best_of_public_board(before, "final", most=2)
    assert (best_two.teams, best_two.notes[0], len(best_two.notes)) == (
        ("Ants", "Bees", "Cats"),
        note,
        2,
    )


class Phases:
    """A competition with these phases; the teams ``counting`` sent files that count."""

    def __init__(self, counting: tuple[str, ...] = (), **sections: Any) -> None:
        self.with_phases = SimpleNamespace(phase=sections)
        self.settings = SimpleNamespace(competition=SimpleNamespace(baselines=("base",)))
        records = [SimpleNamespace(team=team) for team in counting]
        teams = SimpleNamespace(current=lambda name: {"Ants": "Anteaters"}.get(name, name))
        self.ledger = SimpleNamespace(counting=lambda: records, teams=lambda: teams)
        self.phase: str | None = None

    def in_phase(self, name: str) -> Phases:
        self.phase = name
        return self


def test_a_phase_admits_whom_its_section_says() -> None:
    section = SimpleNamespace
    state: Any = Phases(
        ("Cats", "Ants", "base", "Cats"),
        dev=section(admit="all", after=None),
        listed=section(admit="listed", after="dev"),
        final=section(admit="submitted", after="dev"),
    )
    for phase, listed, message in (
        ("listed", (), "Name the teams by --team."),
        ("final", ("Ants",), '--team needs admit = "listed" under [phase.final].'),
        ("dev", (), "The phase dev admits every team and carries no file."),
    ):
        with pytest.raises(UsageError) as refusal:
            qualification.qualification(state, phase, listed=listed)
        assert str(refusal.value) == message
    by_name = qualification.qualification(state, "listed", listed=("Ants", "Anteaters", "Bees"))
    assert by_name == Qualification("listed", ("Anteaters", "Bees"), board="", notes=())
    by_submissions = qualification.qualification(state, "final")
    assert by_submissions == Qualification("final", ("Ants", "Cats"), board="", notes=())


def test_the_best_of_a_final_board_are_those_up_to_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"team": "Ants", "rank": 1, "rank_low": 1, "rank_high": 1},
        {"team": "Bees", "rank": 2, "rank_low": 1, "rank_high": 3},
        {"team": "Cats", "rank": 3, "rank_low": 2, "rank_high": 4},
        {"team": "base", "rank": None, "rank_low": 1, "rank_high": 5},
    ]
    old: list[str | None] = [None]
    monkeypatch.setattr(qualification, "final_document", lambda before: {"standings": rows})
    monkeypatch.setattr(qualification, "outdated", lambda before: old[0])
    before: Any = SimpleNamespace(
        phase="dev", store=SimpleNamespace(meta=lambda name: "{}"), name_of=lambda name: name
    )

    def best(most: int) -> Qualification:
        return qualification.best_of_final_board(before, "final", most=most)

    undecided = "The private rows do not decide whether"
    assert best(2) == Qualification("final", ("Ants", "Bees"), board="final", notes=(
        f"{undecided} 2 teams belong to the best 2: Bees (rank 1 to 3), Cats (rank 2 to 4).",
    ))  # fmt: skip
    (note,) = best(3).notes
    assert note == f"{undecided} 1 team belongs to the best 3: Cats (rank 2 to 4)."
    assert best(4).notes == ()
    old[0] = "It is old."
    with pytest.raises(UsageError, match="^The final board of the phase dev decides: run arena"):
        best(2)
