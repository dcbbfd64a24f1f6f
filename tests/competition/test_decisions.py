"""What teams choose and the organiser disqualifies: on record, and by the deadline."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.decisions import exempt
from arena.competition.queue.decisions import DECISIONS
from arena.errors import UsageError
from kept import check_kept
from scenario import START, Scenario


def test_sentences_of_decisions_are_kept() -> None:
    payload = {"submission": 3, "reason": "copied", "to": "Bees", "version": 2, "state": "open"}
    lines = []
    for kind, decision in DECISIONS.items():
        who = "teams and organisers" if decision.from_teams else "organisers"
        consequences = ", tells consequences" * decision.tells_consequences
        lines.append(f"{kind}: {who}{', of a phase' * decision.of_phase}{consequences}")
        events = [{**payload, "team": "Ants"}, {}]
        if "{whom}" in decision.detailed:
            events.insert(1, {**events[0], "submission": None})
        lines += dict.fromkeys(f"  {decision.sentence(event)}".rstrip() for event in events)
    check_kept("decisions.txt", "\n".join(lines) + "\n")


def test_an_exemption_gives_time_after_the_deadline_or_more_submissions() -> None:
    deadline = START
    sections = SimpleNamespace(competition=SimpleNamespace(deadline=deadline))
    state: Any = SimpleNamespace(settings=sections, with_phases=SimpleNamespace(phase={}))
    nothing = "Name until when the team may submit, or how many submissions more."
    not_after = "2026-03-01 23:00 UTC is not after the deadline, so the team needs no exemption."
    cases: list[tuple[datetime | None, int, str, str]] = [
        (None, 1, " ", "An exemption needs a reason, which everybody can see: give one."),
        (None, 0, "ill", nothing),
        (deadline, -1, "ill", nothing),
        (deadline, 0, "ill", f"{not_after} Nothing was changed."),
    ]
    for until, extra, reason, message in cases:
        with pytest.raises(UsageError) as refusal:
            exempt(state, "a", until=until, extra=extra, reason=reason)
        assert str(refusal.value) == message
    after = deadline + timedelta(microseconds=1)
    with pytest.raises(AttributeError, match="ledger"):  # only now is the team looked up
        exempt(state, "a", until=after, extra=0, reason="ill")
    sections.competition.deadline = None
    with pytest.raises(UsageError, match="is not after the deadline"):
        exempt(state, "a", until=after, extra=0, reason="ill")
    state.with_phases.phase = {"dev": None}
    with pytest.raises(UsageError, match="^A competition with phases has no exemption until"):
        exempt(state, "a", until=after, extra=0, reason="ill")


@pytest.mark.slow
def test_a_selection_after_the_deadline_is_marked_as_late(scenario: Scenario) -> None:
    with scenario.create(deadline=START + timedelta(hours=1), final_rule="chosen") as competition:
        first, second = (competition.submit(scenario.file(n), "one") for n in range(2))
        competition.select("one", [first.submission])
        scenario.clock.now += timedelta(hours=2)
        with pytest.raises(UsageError, match="records a late selection. Nothing"):
            competition.select("one", [second.submission])
        competition.select("one", [second.submission], late=True)
        chosen = [event.payload for event in competition.events() if event.kind == "selection"]
    assert [payload.get("late") for payload in chosen] == [None, True]


@pytest.mark.slow
def test_what_is_decided_or_does_not_exist_is_not_decided_again(scenario: Scenario) -> None:
    with scenario.create() as competition:
        first = competition.submit(scenario.file(1), "a").submission
        competition.disqualify(first, "a leak")
        competition.disqualify_team("a", "two accounts")
        before = len(competition.events())
        for change, message in (
            (lambda: competition.disqualify(99, "a leak"), "There is no submission 99"),
            (lambda: competition.disqualify(first, " a leak "), "already disqualified for this"),
            (lambda: competition.disqualify(first, " "), "needs a reason"),
            (lambda: competition.disqualify_team("a", "x"), "'a' is already disqualified"),
            (lambda: competition.disqualify_team("b", "x"), "'b'"),
            (lambda: competition.reinstate(team="b", reason="x"), "'b' is not disqualified"),
            (lambda: competition.reinstate(submission=99, reason="x"), "99 is not disqualified"),
            (lambda: competition.reinstate(submission=first, reason=""), "needs a reason"),
        ):
            with pytest.raises(UsageError, match=message):
                change()
        assert len(competition.events()) == before


def test_a_disqualified_team_that_is_renamed_is_reinstated(scenario: Scenario) -> None:
    with scenario.create() as competition:
        scenario.send(competition, ("a", 60))
        competition.disqualify_team("a", "x")
        competition.rename_team("a", "b")
        competition.reinstate(team="b", reason="y")
        assert competition.disqualified_teams() == {}
        assert [row["team"] for row in competition.leaderboard()] == ["b"]
        competition.disqualify_team("b", "z")
        competition.rename_team("b", "c")
        assert competition.disqualified_teams() == {"c": "z"}
        competition.reinstate(team="a", reason="by its first name")
        assert competition.disqualified() == {}


@pytest.mark.slow
def test_a_team_is_disqualified_and_reinstated_on_record(scenario: Scenario) -> None:
    def standing(competition: Competition) -> set[str]:
        return {row["team"] for row in competition.leaderboard()}

    with scenario.create() as competition:
        submissions = [competition.submit(scenario.file(n), "ab"[n % 2]) for n in range(4)]
        competition.disqualify_team("a", "two accounts")
        assert standing(competition) == {"b"}
        competition.submit(scenario.file(9), "a")
        assert standing(competition) == {"b"}
        with pytest.raises(UsageError, match="undo the disqualification of the team"):
            competition.reinstate(submission=submissions[0].submission, reason="a mistake")
        competition.disqualify(submissions[0].submission, "a leak")
        competition.reinstate(team="a", reason="one person after all")
        assert standing(competition) == {"a", "b"}
        assert set(competition.disqualified()) == {submissions[0].submission}
        competition.reinstate(submission=submissions[0].submission, reason="a mistake")
        assert competition.disqualified() == {}
        kinds = [
            event.kind
            for event in competition.events()
            if event.kind not in {"submission", "board rebuilt"}
        ]
        assert kinds == ["created", *["disqualification"] * 2, *["reinstatement"] * 2]
        for change in (
            lambda: competition.disqualify_team("unknown", "x"),
            lambda: competition.disqualify_team("a", " "),
            lambda: competition.reinstate(team="a", reason="x"),
            lambda: competition.reinstate(submission=1, reason="x"),
        ):
            with pytest.raises(UsageError):
                change()
