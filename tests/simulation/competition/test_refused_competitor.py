"""A competitor whose submissions are all rejected is named with its first fault."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arena.errors import InputError, UnknownNameError, UsageError
from arena.plugin.registry import Registry
from arena.simulation.competition.run import kinds_without_accepted
from arena.simulation.competition.teams import (
    CompetitorKind,
    Participant,
    baseline_of,
    read_kinds,
)

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


@pytest.fixture
def registry():
    registry = Registry("competitor")
    for name, conduct in (("climber", "honest"), ("boosting", "attacks"), ("forest", None)):
        conducts = {} if conduct is None else {"conduct": conduct}
        registry.add(name, SimpleNamespace(name=name, **conducts), plugin="hands")
    return registry


def test_a_baseline_that_does_not_exist_is_refused_with_those_that_are_honest(registry):
    with pytest.raises(UnknownNameError, match=r"There are: climber, forest\.?$"):
        baseline_of("xyz", registry)
    kind = baseline_of("boosting", registry)
    assert (kind.specification, kind.plugin) == ("boosting", "hands")


def test_kinds_have_shares_of_which_one_is_above_zero(registry):
    kinds = read_kinds("climber=0, forest=2.5, boosting", registry)
    assert [(kind.specification, kind.share) for kind in kinds] == [
        ("climber", 0.0), ("forest", 2.5), ("boosting", 1.0),
    ]  # fmt: skip
    for text, said in (
        ("climber=0, forest=0", "Name at least one kind of team with a share above 0."),
        ("climber=-1", "The share of climber must be a number from 0, such as climber=3, not "
         "'-1'."),
    ):  # fmt: skip
        with pytest.raises(UsageError) as refusal:
            read_kinds(text, registry)
        assert str(refusal.value) == said
