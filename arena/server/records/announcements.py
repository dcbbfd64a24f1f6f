"""What organisers tell all participants, in the same SQLite file as the queue of requests."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from arena.server.records.sqlite import connect, transaction

__all__ = ["LONGEST", "Announcement", "Announcements"]

LONGEST = 5_000
"""Characters of an announcement."""
_TABLE = """
CREATE TABLE IF NOT EXISTS announcements (
    announcement INTEGER PRIMARY KEY AUTOINCREMENT, competition TEXT NOT NULL,
    text TEXT NOT NULL, posted REAL NOT NULL, author TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Announcement:
    """One announcement.

    Attributes
    ----------
    announcement
        Its number on this server; a withdrawn number is never used again.
    text
        Markdown.
    posted
        When it was posted, in UTC.
    """

    announcement: int
    text: str
    posted: datetime


class Announcements:
    """The announcements of a server. Safe to use from several threads.

    Parameters
    ----------
    path
        The SQLite file. The table is created if it is missing.
    clock
        Returns the current time in UTC.

    Examples
    --------
    >>> import tempfile
    >>> announcements = Announcements(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> first = announcements.post("churn", "The sample file was **wrong**.", "ada")
    >>> [one.text for one in announcements.of("churn")]
    ['The sample file was **wrong**.']
    >>> announcements.withdraw("churn", first.announcement), announcements.of("churn")
    (True, [])
    >>> announcements.close()
    """

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._database = connect(path)
        self._database.executescript(_TABLE)

    def post(self, competition: str, text: str, author: str) -> Announcement:
        """Store an announcement by an organiser's account."""
        with self._lock, transaction(self._database) as database:
            row = database.execute(
                "INSERT INTO announcements (competition, text, posted, author) "
                "VALUES (?, ?, ?, ?) RETURNING *",
                (competition, text, self._clock().timestamp(), author),
            ).fetchone()
        return _announcement(row)

    def withdraw(self, competition: str, announcement: int) -> bool:
        """Delete an announcement; return whether there was one."""
        with self._lock, transaction(self._database) as database:
            return (
                database.execute(
                    "DELETE FROM announcements WHERE competition = ? AND announcement = ?",
                    (competition, announcement),
                ).rowcount
                > 0
            )

    def of(self, competition: str) -> list[Announcement]:
        """Return the announcements of a competition, the newest first."""
        with self._lock:
            rows = self._database.execute(
                "SELECT * FROM announcements WHERE competition = ? ORDER BY announcement DESC",
                (competition,),
            ).fetchall()
        return [_announcement(row) for row in rows]

    def version(self, competition: str) -> str:
        """Return a text that changes when an announcement is posted or withdrawn."""
        with self._lock:
            row = self._database.execute(
                "SELECT count(*) AS n, coalesce(max(announcement), 0) AS last "
                "FROM announcements WHERE competition = ?",
                (competition,),
            ).fetchone()
        return f"{row['last']}-{row['n']}"

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _announcement(row: sqlite3.Row) -> Announcement:
    return Announcement(
        row["announcement"], row["text"], datetime.fromtimestamp(row["posted"], UTC)
    )
