"""Reads from the record which submissions count, the selections and the releases."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from arena.competition.record.final_selection import Candidate
from arena.competition.record.teams import TEAM_CHANGES, Teams
from arena.evaluation.predictions import block_size
from arena.store import Event, Store
from arena.types import PredictionKind, SubmissionRecord

if TYPE_CHECKING:
    from arena.evaluation.similar import Comparison, SimilarSubmissions

_DECISIONS = ("disqualification", "reinstatement")
WITHDRAWAL = "withdrawal"
"""The kind of event with which a team withdraws its ``submission``: it leaves every board. The
mechanism remembers it, so that withdrawing a file and sending others shows nothing new."""


def selections_in(events: Iterable[Event], phase: str | None = None) -> dict[str, list[int]]:
    """Return the last selection of each team in a phase, or in all, by its current name.

    A merged team has the selections of both teams, until it selects again.
    """
    by_phase: dict[str, dict[str, list[int]]] = {}
    for event in sorted(events, key=lambda event: event.sequence):
        payload = event.payload
        if event.kind == "selection":
            of_phase = by_phase.setdefault(payload.get("phase", ""), {})
            of_phase[payload["team"]] = payload["submissions"]
        elif event.kind in TEAM_CHANGES:
            for chosen in by_phase.values():
                both = [*chosen.pop(payload["team"], ()), *chosen.get(payload["to"], ())]
                if both:
                    chosen[payload["to"]] = sorted(both)
    if phase is not None:
        return by_phase.get(phase, {})
    merged: dict[str, list[int]] = {}
    for chosen in by_phase.values():
        for team, submissions in chosen.items():
            merged[team] = sorted([*merged.get(team, ()), *submissions])
    return merged


def disqualified_in(events: Sequence[Event], teams: Mapping[int, str]) -> dict[int, str]:
    """Return the disqualified submissions, each with the last reason given.

    ``teams`` maps each submission to its team's current name: no submission of a disqualified team
    counts. The events include those that renamed or merged teams.
    """
    decided = _decided(events)
    by_team = _disqualified_teams(decided, Teams.of(events))
    of_teams = {number: by_team[team] for number, team in teams.items() if team in by_team}
    return of_teams | _disqualified_by("submission", decided)


def withdrawn_in(events: Iterable[Event]) -> frozenset[int]:
    """Return the submissions that their teams withdrew by these events."""
    return frozenset(event.payload["submission"] for event in events if event.kind == WITHDRAWAL)


def _decided(events: Iterable[Event]) -> list[Event]:
    """Return the events that disqualify or undo it."""
    return [event for event in events if event.kind in _DECISIONS]


def _disqualified_by(
    key: str, events: Iterable[Event], current: Callable[[Any], Any] = lambda named: named
) -> dict[Any, str]:
    """Return the values of a key of events that are disqualified and not reinstated.

    ``current`` returns what a value stands for now.
    """
    reasons: dict[Any, str] = {}
    for event in sorted(events, key=lambda event: event.sequence):
        if key in event.payload:
            named = current(event.payload[key])
            reasons.pop(named, None)
            if event.kind == "disqualification":
                reasons[named] = event.payload["reason"]
    return reasons


def _disqualified_teams(events: Iterable[Event], teams: Teams) -> dict[str, str]:
    # A team that was renamed since is reinstated under another name.
    return _disqualified_by("team", events, teams.current)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Reads a store, and changes nothing."""

    store: Store
    revision: int = 1
    """The revision of the scores; each rescore starts a new one."""
    epoch: int = 1
    """The epoch of the releases; a change of the mechanism or of the facts starts a new one."""
    later: tuple[Event, ...] = ()
    """Events of a transaction that is not committed yet."""
    phase: str | None = None
    """Only what belongs to this phase is read; None: everything."""

    def _events(self, *kinds: str) -> tuple[Event, ...]:
        return (*self.store.events(*kinds), *(event for event in self.later if event.kind in kinds))

    def submissions(self, team: str | None = None) -> list[dict[str, Any]]:
        """Return every submission, or those of a team, in the order of arrival."""
        rows = self._shown()
        released = {number: released for number, _, released, _, _ in rows}
        sources = {number: source for number, *_, source in rows}
        selected = {submission for chosen in self.selections().values() for submission in chosen}
        status = {
            **dict.fromkeys(self.withdrawn(), "withdrawn"),
            **dict.fromkeys(self.disqualified(), "disqualified"),
        }
        return [
            {
                "submission": record.submission,
                "team": record.team,
                "file": record.file,
                "received": record.received,
                "status": status.get(record.submission, record.status),
                "released": released.get(record.submission),
                "source": sources.get(record.submission),
                "selected": record.submission in selected,
                "late": record.late,
                "phase": record.phase,
            }
            for record in self.records(team)
        ]

    def teams(self) -> Teams:
        """Return the names of the teams that were renamed or merged."""
        return Teams.of(self._events(*TEAM_CHANGES))

    def records(
        self, team: str | None = None, numbers: Collection[int] | None = None
    ) -> list[SubmissionRecord]:
        """Return every record, or those of a team, or those with certain ids.

        They have the current names of the teams.
        """
        teams = self.teams()
        team_name = None if team is None else teams.current(team)
        records = (
            record
            if (name := teams.current(record.team)) == record.team
            else replace(record, team=name)
            for record in self.store.submissions(numbers=numbers, phase=self.phase)
        )
        return [record for record in records if team_name in (None, record.team)]

    def selections(self) -> dict[str, list[int]]:
        """Return the last selection of each team, by its current name."""
        return selections_in(self._events("selection", *TEAM_CHANGES), self.phase)

    def disqualified(self) -> dict[int, str]:
        """Return the disqualified submissions, each with the last reason given."""
        decided = self._events(*_DECISIONS, *TEAM_CHANGES)
        teams: dict[int, str] = {}
        if any(event.kind in _DECISIONS and "team" in event.payload for event in decided):
            teams = {record.submission: record.team for record in self.records()}
        return disqualified_in(decided, teams)

    def late(self) -> frozenset[int]:
        """Return the submissions that came after the deadline and are not ranked."""
        return self.store.late()

    def withdrawn(self) -> frozenset[int]:
        """Return the submissions that their teams withdrew."""
        return withdrawn_in(self._events(WITHDRAWAL))

    def disqualified_teams(self) -> dict[str, str]:
        """Return the disqualified teams, each with the reason."""
        events = self._events(*_DECISIONS, *TEAM_CHANGES)
        return _disqualified_teams(_decided(events), Teams.of(events))

    def sent(self, until: datetime | None = None) -> Counter[str]:
        """Return the number of accepted submissions of each team, or of those until a time."""
        teams, counts = self.teams(), Counter[str]()
        for name, accepted in self.store.accepted_counts(until, self.phase).items():
            counts[teams.current(name)] += accepted
        return counts

    def standings(
        self, *, greater_is_better: bool, until: datetime | None = None
    ) -> list[Candidate]:
        """Return the best releases among the submissions that count: one for each stored name.

        A merged team has several. ``until``: only of submissions that were received until then.
        """
        # Once: this looks at all events.
        events = self._events(*_DECISIONS, *TEAM_CHANGES, WITHDRAWAL)
        decided, teams = _decided(events), Teams.of(events)
        disqualified = _disqualified_teams(decided, teams)
        standings = self.store.standings(
            self.epoch,
            greater_is_better=greater_is_better,
            phase=self.phase,
            excluded=_disqualified_by("submission", decided).keys() | withdrawn_in(events),
            until=until,
        )
        candidates = [
            Candidate(
                standing.submission,
                teams.current(standing.team),
                None,
                shown=standing.score,
                ranked_by=standing.rank_value,
            )
            for standing in standings
        ]
        return [candidate for candidate in candidates if candidate.team not in disqualified]

    def counting(self) -> list[SubmissionRecord]:
        """Return the submissions that count: accepted, not disqualified, withdrawn or late."""
        excluded = self.disqualified().keys() | self.withdrawn() | self.late()
        return [
            record
            for record in self.records()
            if record.status == "accepted" and record.submission not in excluded
        ]

    def sequence(self) -> dict[int, str]:
        """Return the team of each submission that the mechanism saw, by its id, in order.

        Those that count, those that were withdrawn, and late ones.
        """
        disqualified = self.disqualified()
        return {
            number: team
            for number, team in self.accepted_teams().items()
            if number not in disqualified
        }

    def counting_teams(self) -> dict[int, str]:
        """Return the team of each submission that :meth:`counting` returns, by its id.

        A record takes a kilobyte: with a long history it is better to read only those needed.
        """
        excluded = self.withdrawn() | self.late()
        return {number: team for number, team in self.sequence().items() if number not in excluded}

    def accepted_teams(self) -> dict[int, str]:
        """Return the team of each accepted submission, in the order of ids.

        Disqualified ones included: that may be undone.
        """
        teams = self.teams()
        return {number: teams.current(team) for number, team in self.store.accepted(self.phase)}

    def similar_in(self, comparison: Comparison) -> tuple[SimilarSubmissions, ...]:
        """Return what :meth:`similar` does, from predictions that an audit has read."""
        teams = self.accepted_teams()
        owners = [teams[number] for number in comparison.submissions]
        return comparison.similar(owners) if len(set(owners)) > 1 else ()

    def similar(self) -> tuple[SimilarSubmissions, ...]:
        """Return accepted submissions of different teams that are identical or nearly so.

        Predictions are read once, and of submissions with the same recorded digest only those of
        the first. No label is used.
        """
        from arena.evaluation.similar import similar_submissions

        team_of = self.accepted_teams()
        numbers, teams = list(team_of), list(team_of.values())
        if len(set(teams)) < 2:
            return ()
        solution = self.store.solution()
        size = block_size(solution.n_rows * len(solution.columns))
        predictions = self.store.predictions(numbers)
        # Texts are looked up in a table of all texts, which takes as much memory as it has.
        texts = solution.kind is PredictionKind.TEXT
        with contextlib.nullcontext() if texts else self.store.reading_once():
            return similar_submissions(
                predictions,
                numbers,
                teams,
                solution.kind,
                block=size,
                first_equal=self.store.first_equal(numbers),
            )

    def candidates(self) -> list[Candidate]:
        """Return the submissions that count with their releases and public scores."""
        teams = self.counting_teams()
        return [
            Candidate(number, teams[number], public, shown=released, ranked_by=ranked_by)
            for number, public, released, ranked_by, _ in self._shown()
            if number in teams
        ]

    def _shown(
        self,
    ) -> list[tuple[int, float | None, float | None, float | None, int | None]]:
        return self.store.shown(self.epoch, self.revision, self.phase)
