"""Rebuilds the public board when a fact changes that it follows from.

A mechanism answers a file that is no improvement with the score of an earlier file. If that
earlier file is disqualified, or the labels are corrected, the board would keep a score whose facts
are gone.
Therefore every decision is recorded together with its consequence: the mechanism releases the
scores of the submissions that count once more, and, if a release differs, they become the next
epoch of the board. Earlier releases stay on record.

Noise is drawn from the submission, its instance and the number of changes of its score: equal
scores get equal noise, so that a rebuild without a change shows nothing new; a changed score gets
fresh noise, since a difference of two scores with the same noise would reveal the change exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from arena.competition.record.ledger import Ledger
from arena.competition.record.phases import instance_groups
from arena.config import Settings
from arena.plugin.manager import PluginManager
from arena.public_board.mechanism import public_rows
from arena.store import Event, Store, Transaction
from arena.store.events import DATED
from arena.types import Mark, Release, Solution

if TYPE_CHECKING:
    from arena.public_board.instances import InstanceRelease

REBUILT = "board rebuilt"
"""The kind of event. Its ``released`` has ``[submission, score]`` of every submission whose release
was made again; the score is null if it does not count any more."""

LABELS_ADDED = "labels added"
"""The kind of event. Its ``labels`` has the number of labels by the usage of their rows, in lower
case, and ``sha256`` is the digest of the file."""

CHANGES_NOTHING = "changes_nothing"
"""The field of the event of a rescore with the labels, metrics and scores that it had before."""

CAUSES: Mapping[str, str] = {
    "disqualification": "a submission or a team was disqualified",
    "reinstatement": "a disqualification was undone",
    "team merged": "two teams were merged",
    "rescored": "all submissions were scored again",
    LABELS_ADDED: "labels arrived",
    "configuration": "the organiser changed a setting of the board",
}
"""The kind of an event after which the board can change -> what happened, for everybody."""


def rebuilt_mark(store: Store, phase: str = "") -> Mark | None:
    """Return when and why the public board was last rebuilt, or None.

    ``phase``: that board; a rebuild that released no submission of the phase does not count.
    """
    events: Sequence[Event] = store.events(REBUILT)
    if phase and events:
        numbers = {number for number, _ in store.accepted(phase)}
        events = [
            event
            for event in events
            if any(number in numbers for number, _ in event.payload["released"])
        ]
    return Mark(events[-1].time, CAUSES[events[-1].payload["cause"]]) if events else None


@dataclass(frozen=True, slots=True, eq=False)
class BoardFacts:
    """What the releases of the public board follow from."""

    store: Store
    manager: PluginManager
    settings: Settings
    solution: Solution
    seed: int
    ledger: Ledger
    scores: Mapping[int, float | None] = field(default_factory=dict)
    """Public scores of submissions at full precision; others are computed."""
    score_changes: Mapping[int, int] = field(default_factory=dict)
    """How often the score of a submission changed; 0 where it is missing."""
    phases: tuple[str, ...] | None = None
    """Only the submissions of these phases count; None: those of all."""
    prefix: str = ""
    """The prefix of the names of the mechanism's instances."""

    def per_instances(self) -> Iterator[BoardFacts]:
        """Yield the facts of each group of phases; the solution must be the stored one."""
        for group in instance_groups(self.settings):
            yield replace(
                self,
                settings=group.settings,
                solution=group.split(self.solution, self.settings),
                phases=group.phases,
                prefix=group.prefix,
            )

    def history(self) -> dict[int, str]:
        """Return the team, by its stored name, of each submission of the sequence, in order.

        Where every file of the baseline is disqualified, they stay in it: a mechanism that starts
        from the baseline's score continues to do so until the organiser submits another file.
        """
        teams, sequence = self.ledger.teams(), self.ledger.sequence()
        baseline = self.settings.competition.reference
        if baseline is not None and baseline not in sequence.values():
            sequence |= {number: team for number, team in self.store.accepted() if team == baseline}
        if self.phases is not None:
            numbers = {number for name in self.phases for number, _ in self.store.accepted(name)}
            sequence = {number: team for number, team in sequence.items() if number in numbers}
        return {number: teams.stored(team) for number, team in sorted(sequence.items())}


def board_facts(
    ledger: Ledger,
    manager: PluginManager,
    settings: Settings,
    solution: Solution,
    new_scores: Mapping[int, float | None] | None = None,
) -> BoardFacts:
    """Return the facts of a competition; its solution is the stored one.

    ``new_scores``: the public scores of the next revision, which is not stored yet.
    """
    store, revision = ledger.store, ledger.revision
    scores = new_scores or {record.submission: record.public for record in store.scores(revision)}
    return BoardFacts(
        store=store,
        manager=manager,
        settings=settings,
        solution=solution,
        seed=int(store.meta("seed") or 0),
        ledger=ledger,
        scores=scores,
        score_changes=score_changes(store, revision, new_scores),
    )


def score_changes(
    store: Store, revision: int, latest: Mapping[int, float | None] | None = None
) -> dict[int, int]:
    """Return how often the public score of each submission changed from revision to revision.

    ``latest``: the scores of one more revision, which is not stored yet.
    """
    revisions = [
        {record.submission: record.public for record in store.scores(number)}
        for number in range(1, revision + 1)
    ]
    if latest is not None:
        revisions.append(dict(latest))
    changes: dict[int, int] = {}
    for before, after in pairwise(revisions):
        for submission in before.keys() & after.keys():
            if before[submission] != after[submission]:
                changes[submission] = changes.get(submission, 0) + 1
    return changes


def release_board(
    facts: BoardFacts, teams: Iterable[str] | None = None
) -> dict[int, InstanceRelease]:
    """Return what the mechanism releases for the submissions that count, by submission.

    ``teams``: only those of some teams, by their stored names; None: all.
    """
    released: dict[int, InstanceRelease] = {}
    for board in facts.per_instances():
        released |= release_by_instances(board, teams)
    return released


def release_by_instances(
    facts: BoardFacts, teams: Iterable[str] | None
) -> dict[int, InstanceRelease]:
    """Release again by the instances of the mechanism; no rows are public: nothing."""
    from arena.public_board.releaser import (
        SubmissionRef,
        make_releaser,
        read_public_rows,
        release_again,
    )

    rows = public_rows(facts.solution)
    if not rows.any() or facts.settings.public.scores == "hidden":
        return {}
    history, baseline = facts.history(), facts.settings.competition.reference
    # A mechanism may start from the score of the baseline, which may have been named later.
    numbers = sorted(history, key=lambda number: history[number] != baseline)[:1]
    numbers += [number for number in history if number not in numbers]
    if teams is not None:
        team_names = {*teams, baseline}
        numbers = [number for number in numbers if history[number] in team_names]
    read, late = partial(read_public_rows, facts.store, rows), facts.ledger.late()
    releaser = make_releaser(
        facts.settings,
        facts.solution,
        read=read,
        manager=facts.manager,
        seed=facts.seed,
        prefix=facts.prefix,
    )
    released = release_again(
        [releaser],
        [SubmissionRef(number, history[number], number in late) for number in numbers],
        store=facts.store,
        solution=facts.solution,
        scores=facts.scores,
        score_changes=facts.score_changes,
    )
    return {ref.submission: release for ref, (release,) in released if release is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilding:
    """The releases of a board that differ after its facts changed; nothing is stored yet."""

    facts: BoardFacts
    """After the change; its ledger has the epoch before."""
    new: Mapping[int, InstanceRelease]
    """What is released again, by submission."""
    replaced: frozenset[int]
    """The submissions whose releases are made again or removed."""

    @property
    def teams(self) -> frozenset[str]:
        """The teams of these submissions, by their current names."""
        teams = self.facts.ledger.teams()
        return frozenset(
            teams.current(team)
            for number, team in self.facts.store.accepted()
            if number in self.replaced
        )

    def store(
        self,
        transaction: Transaction,
        *,
        cause: str,
        actor: str,
        now: datetime,
        by_request: bool = False,
    ) -> None:
        """Store the releases as the next epoch of the board, and record it.

        Parameters
        ----------
        cause
            The kind of the event that changed the facts.
        by_request
            Whether ``now`` is the time of a request of a queue.
        """
        epoch, new = self.facts.ledger.epoch, self.new
        transaction.copy_releases(epoch, epoch + 1, without=self.replaced)
        transaction.add_releases(
            epoch + 1,
            [(number, released.instance, released.release) for number, released in new.items()],
            time=now,
        )
        transaction.put_meta("epoch", str(epoch + 1))
        payload: dict[str, Any] = {
            "epoch": epoch + 1,
            "cause": cause,
            "released": [
                [number, new[number].release.score if number in new else None]
                for number in sorted(self.replaced)
            ],
            "sources": sources_of(new),
        }
        if by_request:
            payload[DATED] = "request"
        transaction.append_event(REBUILT, actor, payload, time=now)


def rebuilding(facts: BoardFacts, teams: Iterable[str] | None = None) -> Rebuilding | None:
    """Return what a change of the facts releases again; None if no release differs.

    ``teams``: the stored names of the teams whose submissions or instances changed; None: all.
    """
    epoch, history = facts.ledger.epoch, facts.history()
    new = release_board(facts, teams)
    names = None
    if teams is not None:
        teams, current = set(teams), facts.ledger.teams()
        new = {number: released for number, released in new.items() if history[number] in teams}
        members = (current.members(current.current(team)) for team in teams)
        names = teams.union(*members)
    old = {record.submission: record for record in facts.store.releases(epoch, teams=names)}
    releases = {number: (record.instance, record.release) for number, record in old.items()}
    released = {number: (released.instance, released.release) for number, released in new.items()}
    if _states(releases) == _states(released) and released == {
        number: release for number, release in releases.items() if number in history
    }:
        return None
    return Rebuilding(facts, new, frozenset({*old, *new}))


def sources_of(releases: Mapping[int, InstanceRelease]) -> list[list[int]]:
    """Return ``[submission, source]`` of each submission that was shown another one's score."""
    return [
        [number, release.release.source]
        for number, release in releases.items()
        if release.release.source is not None
    ]


def _states(releases: Mapping[int, tuple[str, Release]]) -> dict[str, Mapping[str, Any]]:
    """Return the state in which the last of some releases left each instance."""
    states = {instance: release.state for instance, release in releases.values()}
    return {instance: state for instance, state in states.items() if state}
