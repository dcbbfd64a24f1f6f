"""The queue of requests: appended by the web process, read in order by the scorers."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.errors import ArenaError
from arena.requests import Kind, Request
from arena.server.records.sqlite import connect, identity, transaction
from arena.utils.strict_json import parse_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    request TEXT NOT NULL UNIQUE,
    competition TEXT NOT NULL,
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    payload TEXT NOT NULL,
    received TEXT NOT NULL,
    UNIQUE (competition, team, key)
);
CREATE TABLE IF NOT EXISTS checks (
    id TEXT PRIMARY KEY, competition TEXT NOT NULL, upload TEXT NOT NULL, file TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_in_order ON requests (competition, seq, team);
CREATE INDEX IF NOT EXISTS requests_of_member ON requests (competition, member, seq);
"""


_BLOCK = 1_000
_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of a request whose time is unreadable."""


class RequestKeyError(ArenaError):
    """The idempotency key was used for another request of this team (status 422)."""


class TeamMergingError(ArenaError):
    """The team is being merged with another one (status 409)."""


class QueueFullError(ArenaError):
    """Too many requests wait (status 503), or too many of this team (status 429).

    ``team``: whether it is the limit of the team.
    """

    def __init__(self, message: str, *, team: bool) -> None:
        super().__init__(message)
        self.team = team


@dataclass(frozen=True, slots=True)
class Room:
    """How many requests may wait: see :meth:`Intake.append`."""

    cursor: int
    """The number of the last judged request: ``Published.state().cursor``."""
    total: int
    """The number of waiting requests of the competition from which on new ones are refused."""
    team: int
    """The same for the requests of one team."""
    account_team: str | None = None
    """The identifier of the team: nothing is stored for it while a merge with it waits."""


def new_id() -> str:
    """Return a random id that cannot be guessed: 128 bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


class Intake:
    """The requests of all competitions of a server. Safe to use from several threads.

    A request is on disk when :meth:`append` returns.

    Raises
    ------
    sqlite3.OperationalError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> intake = Intake(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> request, new = intake.append(competition="churn", team="red", member="ann",
    ...                              kind="select", key="k1", payload={"submissions": [3]})
    >>> request.seq, new
    (1, True)
    >>> again, new = intake.append(competition="churn", team="red", member="ann",
    ...                            kind="select", key="k1", payload={"submissions": [3]})
    >>> again == request, new
    (True, False)
    >>> [request.kind for request in intake.after("churn", 0)]
    ['select']
    >>> intake.close()
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        """The file, which also has the accounts."""
        self._lock = threading.Lock()
        # The reader is not the owner of the write-ahead log, but may have to recover it.
        self._connection = connect(path)
        self._file = identity(path)
        if read_only:
            self._connection.execute("PRAGMA query_only=1")
        else:
            self._connection.executescript(_SCHEMA)

    def append(
        self,
        *,
        competition: str,
        team: str,
        member: str,
        kind: Kind,
        payload: Mapping[str, Any],
        key: str | None = None,
        fingerprint: str = "",
        received: datetime | None = None,
        room: Room | None = None,
        former: Collection[str] = (),
    ) -> tuple[Request, bool]:
        """Store a request and return it, and whether it is new.

        A request that repeats the key of the same competition and team is not stored again: the
        first one is returned. Keys that the team used under its ``former`` names count, too.

        Parameters
        ----------
        key
            The participant's idempotency key; None: the request's random id.
        fingerprint
            The digest of the request's content.
        received
            When the last byte arrived; None: now.
        room
            The limits on the number of waiting requests; None: none. They do not apply to a
            repeated key.

        Raises
        ------
        RequestKeyError
            If the key was used with another kind or fingerprint.
        QueueFullError
            If too many requests wait.
        TeamMergingError
            If a merge of the team waits. It may have been asked for after the caller checked that.
        sqlite3.OperationalError
            If it cannot be stored: the disk is full, or the file is locked for 10 seconds.
        sqlite3.DatabaseError
            If the file is damaged, or another one is in its place.
        """
        received = (received or datetime.now(UTC)).astimezone(UTC)
        request = new_id()
        key = request if key is None else key
        if identity(self.path) != self._file:
            # What is stored in it would be gone when this process ends.
            raise sqlite3.DatabaseError(f"{self.path} was removed or replaced while it was open")
        with self._lock, transaction(self._connection) as connection:
            with_key = self._find(competition, team, *former, key=key)
            for stored in with_key:  # of teams that were merged each may have used it
                if (stored.kind, stored.fingerprint) == (kind, fingerprint):
                    return stored, False
            if with_key:
                raise RequestKeyError(
                    f"The idempotency key {key!r} was used for another request of this team. "
                    f"Use a new key for each new request."
                )
            if room is not None:
                self._check_room(competition, team, room)
            row = (
                request,
                competition,
                team,
                member,
                kind,
                key,
                fingerprint,
                json.dumps(payload, ensure_ascii=False),
                received.isoformat(timespec="microseconds"),
            )
            cursor = connection.execute(
                "INSERT INTO requests (request, competition, team, member, kind, key, fingerprint,"
                " payload, received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            seq = int(cursor.lastrowid or 0)
        return Request(
            seq=seq,
            request=request,
            competition=competition,
            team=team,
            member=member,
            kind=kind,
            key=key,
            fingerprint=fingerprint,
            payload=payload,
            received=received,
        ), True

    def _check_room(self, competition: str, team: str, room: Room) -> None:
        merging = self._connection.execute(
            "SELECT 1 FROM requests, json_each(payload, '$.accounts') AS account"
            " WHERE competition = ? AND seq > ? AND kind = 'merge' AND account.value = ?",
            (competition, room.cursor, room.account_team),
        ).fetchone()
        if merging is not None:
            raise TeamMergingError("The team is being merged with another one.")
        if self._count(competition, room.cursor, team) >= room.team:
            raise QueueFullError(
                "Your team has the highest allowed number of waiting requests. Send the next one "
                "after one of them is answered.",
                team=True,
            )
        if self._count(competition, room.cursor, None) >= room.total:
            raise QueueFullError(
                "Too many submissions wait at the moment. Try again in a minute with the same "
                "file: nothing was counted.",
                team=False,
            )

    def find(self, competition: str, *names: str, key: str) -> Request | None:
        """Return the request of a team, by any of its names, with an idempotency key, or None."""
        with self._lock:
            return next(iter(self._find(competition, *names, key=key)), None)

    def _find(self, competition: str, *names: str, key: str) -> list[Request]:
        marks = ", ".join("?" * len(names))
        rows = self._connection.execute(
            f"SELECT * FROM requests WHERE competition = ? AND team IN ({marks}) AND key = ?"  # noqa: S608
            " ORDER BY seq",
            (competition, *names, key),
        )
        return [_request(row) for row in rows]

    def get(self, request: str) -> Request | None:
        """Return the request with a random id, or None. The caller checks its team."""
        with self._lock:
            row = self._connection.execute(
                "SELECT * FROM requests WHERE request = ?", (request,)
            ).fetchone()
        return None if row is None else _request(row)

    def version(self) -> int:
        """Return a number that changes whenever another process stored something; it costs 5 µs."""
        with self._lock:
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def number_after(self, competition: str, cursor: int) -> bool:
        """Let later requests have numbers above the cursor of a competition that is new here.

        Return False, and change nothing, if the queue has requests of this competition.
        """
        with self._lock, transaction(self._connection) as connection:
            if self._count(competition, 0, None):
                return False
            (highest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM requests").fetchone()
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'requests'")
            connection.execute(
                "INSERT INTO sqlite_sequence VALUES ('requests', ?)", (max(highest, cursor),)
            )
        return True

    def numbered(self, competition: str, seq: int) -> str | None:
        """Return the id of the request of a competition with a number, or None."""
        with self._lock:
            row = self._connection.execute(
                "SELECT request FROM requests WHERE competition = ? AND seq = ?", (competition, seq)
            ).fetchone()
        return None if row is None else str(row["request"])

    def add_check(self, competition: str, upload: str, file: str) -> str:
        """Ask the scorer to check an upload, and return the check's id.

        A check is no request: it is not on record and has no place in the queue. The answer is
        :meth:`arena.server.records.published.Published.check`.
        """
        check = new_id()
        with self._lock, transaction(self._connection) as connection:
            connection.execute(
                "INSERT INTO checks VALUES (?, ?, ?, ?)", (check, competition, upload, file)
            )
        return check

    def drop_check(self, check: str) -> None:
        """Forget a check: its answer was read or is no longer needed."""
        with self._lock, transaction(self._connection) as connection:
            connection.execute("DELETE FROM checks WHERE id = ?", (check,))

    def drop_checks(self) -> None:
        """Forget all checks: those who asked for them were cut off when the web process ended."""
        with self._lock, transaction(self._connection) as connection:
            connection.execute("DELETE FROM checks")

    def checks(self, competition: str) -> list[tuple[str, str, str]]:
        """Return the id, upload and file name of each check, the oldest first."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT id, upload, file FROM checks WHERE competition = ? ORDER BY rowid",
                (competition,),
            ).fetchall()
        return [tuple(row) for row in rows]

    def uploads_of(self, competition: str, member: str, after: int) -> dict[str, int]:
        """Return the uploads of an account in requests after a number: their bytes, in order."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT json_extract(payload, '$.upload'), json_extract(payload, '$.bytes')"
                " FROM requests WHERE competition = ? AND member = ? AND seq > ?"
                " AND kind = 'submit' ORDER BY seq",
                (competition, member, after),
            ).fetchall()
        return {str(name): int(size or 0) for name, size in rows}

    def uploads(self) -> set[str]:
        """Return the uploads that a request names: what :meth:`Uploads.sweep` keeps."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT coalesce(json_extract(payload, '$.upload'),"
                " json_extract(payload, '$.output')) FROM requests"
                " WHERE kind IN ('submit', 'program')"
            ).fetchall()
        return {row[0] for row in rows}

    def after(
        self, competition: str, cursor: int, limit: int = 100, *, team: str | None = None
    ) -> list[Request]:
        """Return the first requests of a competition, or of a team, after a number, in order."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT * FROM requests WHERE competition = ?1 AND seq > ?2"
                " AND (?3 IS NULL OR team = ?3) ORDER BY seq LIMIT ?4",
                (competition, cursor, team, limit),
            ).fetchall()
        return [_request(row) for row in rows]

    def of_kind(self, competition: str, kind: Kind) -> list[Request]:
        """Return all requests of a kind, in order."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT * FROM requests WHERE competition = ? AND kind = ? ORDER BY seq",
                (competition, kind),
            ).fetchall()
        return [_request(row) for row in rows]

    def answered_privately(self, competition: str, member: str) -> set[str]:
        """Return the questions that an account answered so that only organisers see it."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT DISTINCT answers.key FROM requests, json_each(payload, '$.private')"
                " AS answers WHERE competition = ? AND member = ?",
                (competition, member),
            ).fetchall()
        return {row[0] for row in rows}

    def forget_answers(self, member: str) -> None:
        """Erase the answers of an account that only organisers see."""
        with self._lock, transaction(self._connection) as connection:
            connection.execute(
                "UPDATE requests SET payload = json_remove(payload, '$.private') WHERE member = ?",
                (member,),
            )

    def competitions(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the competition of each request."""
        with self._lock:
            rows = self._connection.execute("SELECT request, competition FROM requests")
            while some := rows.fetchmany(1_000):
                yield from ((str(row["request"]), str(row["competition"])) for row in some)

    def foreign_objects(self) -> list[tuple[str, str]]:
        """Return the kind and name of each trigger and view: arena makes none."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
                " ORDER BY type, name"
            ).fetchall()
        return [(str(row["type"]), str(row["name"])) for row in rows]

    def waiting(
        self, competition: str, cursor: int, *, team: str | None = None, before: int | None = None
    ) -> int:
        """Return how many requests of a competition, or of a team, came after a number.

        With ``before``, only those before that number count: the place of a waiting request is
        ``waiting(competition, state.cursor, before=request.seq) + 1``.
        """
        with self._lock:
            return self._count(competition, cursor, team, before)

    def _count(
        self, competition: str, cursor: int, team: str | None, before: int | None = None
    ) -> int:
        row = self._connection.execute(
            "SELECT count(*) FROM requests WHERE competition = ?1 AND seq > ?2"
            " AND (?3 IS NULL OR team = ?3) AND (?4 IS NULL OR seq < ?4)",
            (competition, cursor, team, before),
        ).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def requests_up_to(
    intake: Intake, competition: str, last: int, *, after: int = 0
) -> Iterator[Request]:
    """Yield the requests of a competition after a number up to ``last``, read in blocks."""
    while requests := intake.after(competition, after, _BLOCK):
        for request in requests:
            if request.seq > last:
                return
            yield request
        after = requests[-1].seq


def _request(row: sqlite3.Row) -> Request:
    """Return a request; a row that the web process cannot have written becomes an incomplete one.

    Then it is set aside or refused, and those after it are judged.
    """
    cells: dict[str, Any] = {
        name: value if isinstance(value, str | int) else repr(value)
        for name, value in dict(row).items()
    }
    try:
        received = datetime.fromisoformat(cells["received"]).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        received = _UNKNOWN
    try:
        payload = parse_json(cells["payload"]) if received != _UNKNOWN else {}
    except (ValueError, TypeError, RecursionError):
        payload = {}
    cells |= {"payload": payload if isinstance(payload, dict) else {}, "received": received}
    return Request(**cells)
