"""The state of the web process: the records, and the latest published documents."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from arena.requests import Request
from arena.responses import LateRow
from arena.server.records.accounts import Accounts
from arena.server.records.announcements import Announcements
from arena.server.records.intake import Intake, Room
from arena.server.records.layout import WebSettings
from arena.server.records.mails import Mails
from arena.server.records.messages import Messages
from arena.server.records.names import RefusedError
from arena.server.records.published import CompetitionFacts, Document, Published, State
from arena.server.records.runs import Runs
from arena.server.records.shared_files import SharedFolder
from arena.server.records.slots import Slots
from arena.server.records.teams import Team
from arena.server.records.uploads import Uploads
from arena.server.web.problems import Problem
from arena.server.web.provider import Seals
from arena.server_section import ServerSection
from arena.utils.bracket_rows import rows_of_bracket

_LOGGER = logging.getLogger("arena.server.web")
SILENT_AFTER = 60.0
"""Seconds without a beat after which the scorer is taken to be down."""
_KEPT_PAGES = 200
_BoardPart: TypeAlias = tuple[str, str, str, int, int]
"""Board, phase, bracket, rows to skip and rows of a page of the board."""
RESERVED = {
    "api", "competitions", "health", "invite", "language", "metrics", "sign-in", "sign-out",
    "static", "uploads",
}  # fmt: skip
"""First parts of paths, which no competition can have as its name."""


@dataclass(slots=True)
class _Held:
    """A parsed document, and the etag of its text."""

    etag: str
    content: Any


class CompetitionSite:
    """One competition: what its scorer published.

    Documents are parsed once for each of their versions.
    """

    def __init__(self, name: str, settings: WebSettings) -> None:
        self.name = name
        self._path = settings.layout.public(name)
        self._published: Published | None = None
        self._held: dict[str, _Held] = {}
        self._kept: dict[_BoardPart, bytes] = {}
        self._kept_of = ""
        self._received: dict[int, str] = {}
        self.changes: list[Request] | None = None
        """Requests to merge or rename teams whose accounts were not changed yet; None: not read
        yet."""

    @property
    def published(self) -> Published:
        """The documents that the scorer published.

        Raises
        ------
        Problem
            503 if the scorer has never run.
        """
        if self._published is None:
            try:
                self._published = Published(self._path)
            except sqlite3.DatabaseError:
                raise _starting() from None
        return self._published

    def close(self) -> None:
        """Close the file of published documents."""
        if self._published is not None:
            self._published.close()
            self._published = None

    def held(self, name: str, parse: Callable[[Document], Any]) -> tuple[Any, str]:
        """Return a document, parsed, and its etag; ``(None, "")`` if there is none."""
        try:
            etag = self.published.etag(name)
            if etag is None:
                return None, ""
            held = self._held.get(name)
            if held is None or held.etag != etag:
                document = self.published.document(name)
                if document is None:
                    return None, ""
                held = self._held[name] = _Held(document.etag, parse(document))
        except sqlite3.DatabaseError:
            raise _starting() from None
        return held.content, held.etag

    @property
    def facts(self) -> CompetitionFacts:
        """The public facts of the competition; 503 before they are published."""
        facts, _etag = self.held(
            "competition", lambda document: CompetitionFacts.of(document.json())
        )
        if facts is None:
            raise _starting()
        return facts  # type: ignore[no-any-return]

    @property
    def limits(self) -> ServerSection:
        """The limits of the competition."""
        return self.facts.server

    def board(self, bracket: str = "", phase: str = "") -> tuple[list[dict[str, Any]], str]:
        """Return the rows of the public board, or of that of a bracket or a phase, and its etag."""
        rows, etag = self.held(f"board {phase}".strip(), lambda document: document.json())
        return rows_of_bracket(rows or [], bracket) if bracket else rows or [], etag

    def released_board(self, name: str, bracket: str = "") -> tuple[dict[str, Any], str]:
        """Return a public board over phases, or its teams of a bracket, and its etag."""
        board, etag = self.held(f"released {name}", lambda document: document.json())
        if board is None:
            raise _starting()
        if bracket:
            board = {**board, "standings": rows_of_bracket(board["standings"], bracket)}
        return board, etag

    def received(self, rows: Iterable[Mapping[str, Any]]) -> dict[int, str]:
        """Return when the submissions of some rows of the board were received, by number."""
        for row in rows:
            number = row.get("submission")
            if number is not None and number not in self._received:
                self._received[number] = self.published.received(row["team"], number)
        return self._received

    def ranks_before(self) -> tuple[dict[str, int], str]:
        """Return the rank of each team at the beginning of the day, and when that was."""
        content, _etag = self.held("ranks before", lambda document: document.json())
        return ({}, "") if content is None else (content["ranks"], content["since"])

    def chance(self) -> float | None:
        """Return by how much equally good models differ at the top of the board by chance."""
        content, _etag = self.held("chance", lambda document: document.json())
        return None if content is None else content.get("difference")

    def kept(self, etag: str, part: _BoardPart) -> bytes | None:
        """Return the bytes of a page of the board if they were kept for this version of it."""
        return self._kept.get(part) if etag == self._kept_of else None

    def keep(self, etag: str, part: _BoardPart, body: bytes) -> bytes:
        """Keep and return the bytes of a page of the board, for the pages that are read most."""
        if etag != self._kept_of or len(self._kept) >= _KEPT_PAGES:
            self._kept_of, self._kept = etag, {}
        self._kept[part] = body
        return body

    def state(self) -> State:
        """Return the state of the scorer."""
        try:
            return self.published.state()
        except sqlite3.DatabaseError:
            raise _starting() from None

    def room(self, team: Team) -> Room:
        """Return the limits on waiting requests, for a request of this team."""
        limits = self.limits
        return Room(self.state().cursor, limits.max_waiting, limits.max_waiting_per_team, team.team)

    def brackets_of(self, team: str) -> list[str]:
        """Return the brackets of a team, by its current name."""
        content, _etag = self.held("brackets", lambda document: document.json())
        return [bracket for bracket, teams in (content or {}).items() if team in teams]

    def late(self) -> list[LateRow]:
        """Return the files after the deadline, the last one first."""
        rows: list[LateRow] = self.held("late", lambda document: document.json())[0] or []
        return rows

    def deadline(self) -> datetime | None:
        """Return the deadline in UTC."""
        deadline = self.facts.deadline
        return None if deadline is None else datetime.fromisoformat(deadline).astimezone(UTC)

    def folder(self) -> SharedFolder:
        """Return the pages and files of the competition's folder."""
        shared, _etag = self.held("folder", lambda document: SharedFolder.of(document.json()))
        return shared or SharedFolder()

    def rules(self) -> tuple[str | None, str]:
        """Return the rules as Markdown and their version; ``(None, "")`` if there are none."""
        rules, version = self.held(
            "rules", lambda document: document.body.decode("utf-8", "replace")
        )
        return rules, version


def _starting() -> Problem:
    return Problem(
        503,
        "The server is just starting. Try again in a few seconds.",
        {"Retry-After": "3"},
    )


class Buckets:
    """Counts the requests of each key in the current minute.

    >>> buckets = Buckets(clock=lambda: 0.0)
    >>> [buckets.take("a", 2) for _ in range(3)]
    [0, 0, 60]
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minute = -1
        self._counts: dict[object, int] = {}

    def take(self, key: object, per_minute: int) -> int:
        """Count one; return 0, or the seconds to wait if that is more than allowed."""
        now = self._clock()
        if int(now // 60) != self._minute:
            self._minute = int(now // 60)
            self._counts.clear()
        self._counts[key] = self._counts.get(key, 0) + 1
        return 0 if self._counts[key] <= per_minute else 60 - int(now % 60)


class Site:
    """The records of a server and its competitions."""

    def __init__(
        self, settings: WebSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        for name in settings.competitions:
            if name in RESERVED:
                raise ValueError(f"A competition cannot be called {name}: it is a page's address.")
        self.settings = settings
        self.clock = clock
        self.started = clock()
        settings.layout.create()
        self.accounts = Accounts(settings.layout.intake, clock)
        self.slots = Slots(settings.layout.intake, clock)
        self.intake = Intake(settings.layout.intake)
        self.mails = Mails(settings.layout.intake, clock)
        self.announcements = Announcements(settings.layout.intake, clock)
        self.messages = Messages(settings.layout.intake, clock)
        self.runs = Runs(settings.layout.runs, clock)
        self.uploads = Uploads(settings.layout.uploads)
        self.competitions = {
            name: CompetitionSite(name, settings) for name in settings.competitions
        }
        self.buckets = Buckets()
        self.arriving: Counter[tuple[str, str]] = Counter()
        """The competition and the account -> bytes of its uploads under way, at most."""
        self.seals = Seals(clock)

    def stored_bytes(self, competition: CompetitionSite, account: str) -> int:
        """Return the bytes of an account's files that are still needed, and of those that arrive.

        Judged files are not: see :meth:`make_room`.
        """
        name, cursor = competition.name, competition.state().cursor
        sizes = self.intake.uploads_of(name, account, cursor)
        sizes |= self.slots.uploads_of(account, name)
        return sum(sizes.values()) + self.arriving[name, account]

    def make_room(self, competition: CompetitionSite, account: str, room: int) -> None:
        """Remove the oldest judged files of an account until the others take at most ``room``."""
        name, cursor = competition.name, competition.state().cursor
        if not competition.limits.keep_uploads_days:
            return  # the scorer removes them
        waiting = self.intake.uploads_of(name, account, cursor)
        uploads = {
            upload: size
            for upload, size in self.intake.uploads_of(name, account, 0).items()
            if upload not in waiting and (self.uploads.folder / upload).exists()
        }
        total = sum(uploads.values())
        for upload, size in uploads.items():
            if total <= room:
                break
            self.uploads.drop(upload)
            total -= size

    def is_organiser(self, account: str) -> bool:
        """Return whether an account is an organiser of any competition."""
        return any(self.accounts.account(account, name).organiser for name in self.competitions)

    def competition(self, name: str) -> CompetitionSite:
        """Return a competition; 404 if it does not exist."""
        if name not in self.competitions:
            raise Problem(404, f"There is no competition {name!r} on this server.")
        return self.competitions[name]

    def changes(self, competition: CompetitionSite) -> list[Request]:
        """Return the requests to merge or rename teams that wait.

        Accounts are changed only after the record, which may refuse to. The first call repeats all
        changes, because an earlier process may have ended before it made the last of them.
        """
        if competition.changes == []:
            return []
        changes = competition.changes
        if changes is None:
            renames = self.intake.of_kind(competition.name, "rename")
            last = {tuple(rename.payload.get("accounts", ())): rename for rename in renames}
            changes = [*self.intake.of_kind(competition.name, "merge"), *last.values()]
        left: list[Request] = []
        cursor = competition.state().cursor if changes else 0
        for change in changes:
            answer = competition.published.answer(change.request)
            if answer is not None and answer.status == "done":
                self._change_accounts(competition, change)
            elif answer is None and change.seq > cursor:
                left.append(change)
        competition.changes = left
        return left

    def _change_accounts(self, competition: CompetitionSite, done: Request) -> None:
        teams = done.payload.get("accounts", ())
        if done.kind == "merge" and teams:
            self.accounts.merge_teams(*teams)
        elif teams:
            name = competition.published.current_name(done.payload["to"])
            try:
                self.accounts.rename_team(teams[0], name)
            except KeyError:
                pass  # it was merged later
            except RefusedError:
                _LOGGER.warning("The team %s keeps its name: %r is taken.", teams[0], name)

    def limits(self) -> ServerSection:
        """Return the limits that hold for connections: those of the first competition."""
        for competition in self.competitions.values():
            try:
                return competition.limits
            except Problem:
                continue
        return ServerSection()

    def provider(self) -> ServerSection | None:
        """Return the provider that people can sign in with, the same for all competitions."""
        for competition in self.competitions.values():
            try:
                settings = competition.facts.server
            except Problem:
                continue
            if settings.oidc_issuer:
                return settings
        return None

    def is_published(self) -> bool:
        """Return whether the facts of all competitions are published."""
        for competition in self.competitions.values():
            try:
                competition.facts  # noqa: B018 - raises before the first publication
            except Problem:
                return False
        return True

    def trusted_proxies(self) -> tuple[str, ...]:
        """Return the addresses whose X-Forwarded-For is believed.

        An address with TLS means a proxy, which is on this machine unless the settings name others.
        """
        named = self.limits().trusted_proxies
        if named or not self.settings.url.startswith("https://"):
            return named
        return ("127.0.0.1", "::1")

    def close(self) -> None:
        """Close all files."""
        for competition in self.competitions.values():
            competition.close()
        self.intake.close()
        self.runs.close()
        self.mails.close()
        self.announcements.close()
        self.messages.close()
        self.slots.close()
        self.accounts.close()
