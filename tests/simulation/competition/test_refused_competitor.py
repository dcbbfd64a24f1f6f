"""A competitor whose submissions are all rejected is named with its first fault."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arena.errors import InputError
from arena.simulation.competition.run import kinds_without_accepted
from arena.simulation.competition.teams import CompetitorKind, Participant

GOOD, BAD = (
    CompetitorKind(name, SimpleNamespace(name=name), "a plugin") for name in ("good", "bad")
)


def found(**statuses):
    """Return the sentences about competitors whose submissions all have one status."""
    people = [Participant(number, kind) for number, kind in enumerate((GOOD, BAD))]
    submissions = [
        SimpleNamespace(
            team=person.team(),
            status=statuses[person.kind.specification],
            faults=(SimpleNamespace(message="A row is missing."),),
        )
        for person in people
        if person.kind.specification in statuses
    ]
    store = SimpleNamespace(submissions=lambda: submissions)
    return kinds_without_accepted(SimpleNamespace(store=store), people)


def test_it_is_a_note_beside_others_and_an_error_alone():
    assert found(good="accepted", bad="rejected") == [
        "No submission of bad (a plugin) was accepted. The first fault: A row is missing."
    ]
    assert found(good="accepted") == []
    with pytest.raises(InputError, match="bad .a plugin. was accepted"):
        found(bad="rejected")
