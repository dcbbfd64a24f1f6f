"""Compares the queue and the accounts of a server with the record of a competition."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from arena.competition.record.teams import TEAM_CHANGES, Teams
from arena.config import DATABASE_NAME
from arena.errors import ArenaError, StoreBusyError
from arena.intake.folder import team_name
from arena.requests import Request
from arena.server.records.accounts import AccountTeam, account_teams
from arena.server.records.intake import Intake, requests_up_to
from arena.server.records.layout import Layout
from arena.server.records.sqlite import damage
from arena.store import Event, Store
from arena.store.events import TimeCheck
from arena.utils.text import plural, shorten

_BEFORE_ALL = -(2**63)


@dataclass(frozen=True, slots=True)
class QueueComparison:
    """How the files of a server differ from the record."""

    differences: tuple[str, ...] = ()
    """A sentence on each judged request, sender or object that was changed."""
    not_compared: tuple[str, ...] = ()
    """A sentence on what could not be compared."""


@dataclass(frozen=True, slots=True)
class _JudgedRequest:
    """The parts of a request that the record has."""

    seq: int
    request: Any
    request_kind: Any
    kind: str
    """Of the event."""
    actor: str
    time: str
    team: str
    file: Any
    sha256: Any
    selected: Any
    """The selected submissions; None if the event selects none."""
    is_accepted: bool
    """Whether it is a submission that was accepted."""


@dataclass(slots=True, eq=False)
class RecordedRequests:
    """The requests that the events of a record answer, collected event by event."""

    _judged: dict[int, _JudgedRequest] = field(default_factory=dict)
    _names: list[Event] = field(default_factory=list)
    """The events that change the names of teams."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """Return the requests of a whole record."""
        requests = cls()
        for event in events:
            requests.add(event)
        return requests

    def __len__(self) -> int:
        return len(self._judged)

    def add(self, event: Event) -> None:
        """Add the request of the next event, if it answers one."""
        if event.kind in TEAM_CHANGES:
            self._names.append(event)
        payload = event.payload
        request = payload.get("request")
        if isinstance(request, dict) and isinstance(request.get("seq"), int):
            self._judged[request["seq"]] = _JudgedRequest(
                seq=request["seq"],
                request=request.get("id"),
                request_kind=request.get("kind"),
                kind=event.kind,
                actor=event.actor,
                time=event.time,
                team=str(payload.get("team")),
                file=payload.get("file"),
                sha256=payload.get("sha256"),
                selected=payload.get("submissions"),
                is_accepted=payload.get("status") == "accepted",
            )

    def compare(self, intake: Intake, competition: str | None = None) -> QueueComparison:
        """Compare judged requests, their senders and teams with the record.

        Data without a counterpart in the record are not compared: idempotency keys, descriptions,
        requests that wait, and people who sent nothing.

        Parameters
        ----------
        intake
            The queue, in the file of the accounts.
        competition
            Its name in the queue; None: the one that most of the recorded requests have.
        """
        differences = [
            f"The queue has the {kind} {shorten(name)}, which arena does not create."
            for kind, name in intake.foreign_objects()
        ]
        if competition is None:
            competition = self._competition_in(intake)
        if not self._judged:
            return QueueComparison(tuple(differences))
        if competition is None:
            return QueueComparison(tuple(differences), (_none_of(len(self._judged)),))
        left, names = dict(self._judged), Teams.of(self._names)
        first: int | None = None
        """The number of the first recorded request that the queue has."""
        for request in requests_up_to(intake, competition, max(left), after=_BEFORE_ALL):
            judged = left.pop(request.seq, None)
            if judged is None:
                differences.append(f"The queue has request {request.seq}, which the record lacks.")
                continue
            first = request.seq if first is None else first
            for what in _differing(request, judged, names):
                differences.append(
                    f"Request {request.seq} of the queue differs from the record in its {what}."
                )
        if first is None:
            return QueueComparison(tuple(differences), (_none_of(len(left)),))
        differences += [
            f"The queue lacks request {seq}, which the record has."
            for seq in sorted(left)
            if seq > first
        ]
        differences += self._of_people(intake, competition, names, first)
        earlier = sum(seq < first for seq in left)
        not_compared = () if not earlier else (_earlier(earlier, first),)
        return QueueComparison(tuple(differences), not_compared)

    def _competition_in(self, intake: Intake) -> str | None:
        request_ids = {request.request for request in self._judged.values()}
        competitions = Counter(
            name for request, name in intake.competitions() if request in request_ids
        )
        return max(competitions, key=lambda name: (competitions[name], name), default=None)

    def _of_people(
        self, intake: Intake, competition: str, names: Teams, first: int
    ) -> Iterator[str]:
        """Compare who sent submissions and decisions with the accounts and their teams.

        An account is in one team at a time. The accounts have the teams that it left, but not those
        of which no submission counted, so that only accepted ones are compared.
        """
        teams: dict[str, set[str]] = {}
        organisers = set()
        for request in self._judged.values():
            role, _, account = request.actor.partition(" ")
            if request.seq < first:
                continue
            if role == "organiser":
                organisers.add(account)
            elif request.kind == "submission" and request.is_accepted:
                teams.setdefault(account, set()).add(names.current(request.team))
        people = account_teams(intake.path, competition)
        if not people:
            return
        for account, sent_teams in sorted(teams.items()):
            person = people.get(account)
            left_teams = () if person is None else person.left_teams
            others = sent_teams - {names.current(_named(team)) for team in left_teams}
            if others:
                yield from _of_sender(account, person, others, names)
        for account in sorted(organisers):
            person = people.get(account)
            if person is None or not person.organiser:
                yield (
                    f"The account {shorten(account)} made decisions of the organiser and is "
                    f"{'missing' if person is None else 'no organiser now'}."
                )


def _of_sender(
    account: str, person: AccountTeam | None, sent_teams: Collection[str], names: Teams
) -> Iterator[str]:
    """Compare the teams for which an account sent submissions with the one that it is in."""
    who = f"The account {shorten(account)}"
    team_list = " and ".join(shorten(team) for team in sorted(sent_teams))
    if len(sent_teams) > 1:
        yield f"{who} sent submissions for {team_list}: an account is in one team."
    if person is None:
        yield f"{who} sent submissions for {team_list} and is missing."
    elif person.team is None:
        yield f"{who} sent submissions for {team_list} and is in no team now."
    elif names.current(_named(person.team)) not in sent_teams:
        now = shorten(person.team)
        yield f"{who} sent submissions for {team_list} and is in {now} now."


def _none_of(count: int) -> str:
    requests = "the request" if count == 1 else f"any of the {plural(count, 'request')}"
    return (
        f"Not compared: the queue of the server, which does not have {requests} of the record. It "
        "was made later, or it is that of another competition."
    )


def _earlier(count: int, first: int) -> str:
    requests = "a request" if count == 1 else plural(count, "request")
    return (
        f"Not compared: {requests} before request {first}, which the queue lacks. It was made "
        "later, or its beginning was removed."
    )


def stored_differences(
    folder: Path, layout: Layout, competition: str | None, wait: float = 0.0
) -> QueueComparison:
    """Compare the stored data of a competition, and the files of its server, with the record.

    ``wait``: seconds to wait for another process that has the competition open.
    """
    try:
        store = Store.open(folder / DATABASE_NAME, create=False, wait=wait, read_only=True)
    except StoreBusyError as error:
        return QueueComparison(not_compared=(f"Not compared: the stored data. {error}",))
    requests, times = RecordedRequests(), TimeCheck()

    def watch(event: Event) -> None:
        requests.add(event)
        times.add(event)

    with store:
        differences = (*store.audit(watch=watch), *times.problems)
    if differences or not layout.intake.exists():
        return QueueComparison(differences)
    return files_compared(requests, layout, competition)


def files_compared(
    recorded: RecordedRequests, layout: Layout, competition: str | None = None
) -> QueueComparison:
    """Compare the files of a server, which may be unreadable."""
    where = shorten(str(layout.intake), 200)
    if not layout.intake.exists():
        if not len(recorded):
            return QueueComparison()
        return QueueComparison(
            not_compared=(
                f"Not compared: the queue of the server, which is not at {where}. Name its folder "
                "with --data.",
            )
        )
    try:
        if damage_text := damage(layout.intake):
            return QueueComparison((f"The queue at {where} is damaged: {damage_text}.",))
        with closing(Intake(layout.intake, read_only=True)) as intake:
            return recorded.compare(intake, competition)
    except (sqlite3.OperationalError, OSError) as error:
        reason = f"Not compared: the queue at {where}, which cannot be opened: {error}."
        return QueueComparison(not_compared=(reason,))
    except sqlite3.DatabaseError as error:
        return QueueComparison((f"The queue at {where} is damaged: {error}.",))


def _differing(request: Request, judged: _JudgedRequest, names: Teams) -> Iterator[str]:
    sender = f"{'member' if request.team else 'organiser'} {request.member}"
    pairs: dict[str, tuple[Any, Any]] = {
        "id": (request.request, judged.request),
        "kind": (request.kind, judged.request_kind),
        "sender": (sender, judged.actor),
        "time": (request.received, datetime.fromisoformat(judged.time)),
    }
    if request.kind == "submit":
        digest = judged.sha256 or request.payload.get("sha256")
        pairs |= {
            "team": (names.current(_named(request.team)), names.current(judged.team)),
            "file name": (request.payload.get("file"), judged.file),
            "digest": (request.payload.get("sha256"), digest),
            "fingerprint": (request.fingerprint or digest, digest),
        }
        if judged.kind == "request set aside":  # perhaps for its file
            pairs = {name: pairs[name] for name in ("id", "kind", "sender", "time", "team")}
    elif request.kind == "select" and judged.selected is not None:
        chosen = request.payload.get("submissions")
        queued = sorted(set(chosen)) if isinstance(chosen, list) else chosen
        pairs["selection"] = (queued, judged.selected)
    for what, (recorded, other) in pairs.items():
        if recorded != other:
            yield what


def _named(team: str) -> str:
    try:
        return team_name(team)
    except ArenaError:  # no name of a team
        return team
