"""Announcements of organisers, in the same SQLite file as the queue of requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from arena.server.records.sqlite import Records, time_of

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


class Announcements(Records):
    """The announcements of a server.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> announcements = Announcements(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> first = announcements.post("churn", "The sample file was **wrong**.", "ada")
    >>> [announcement.text for announcement in announcements.of("churn")]
    ['The sample file was **wrong**.']
    >>> announcements.withdraw("churn", first.announcement), announcements.of("churn")
    (True, [])
    >>> announcements.close()
    """

    tables = _TABLE

    @property
    def changes(self) -> int:
        """A number that changes when an announcement is posted or withdrawn here."""
        return self._database.total_changes

    def post(self, competition: str, text: str, author: str) -> Announcement:
        """Store an announcement by an organiser's account."""
        with self._change() as database:
            row = database.execute(
                "INSERT INTO announcements (competition, text, posted, author) "
                "VALUES (?, ?, ?, ?) RETURNING *",
                (competition, text, self._now(), author),
            ).fetchone()
        return _announcement(row)

    def withdraw(self, competition: str, announcement: int) -> bool:
        """Delete an announcement; return whether there was one."""
        with self._change() as database:
            return (
                database.execute(
                    "DELETE FROM announcements WHERE competition = ? AND announcement = ?",
                    (competition, announcement),
                ).rowcount
                > 0
            )

    def of(self, competition: str) -> list[Announcement]:
        """Return the announcements of a competition, the newest first."""
        rows = self._rows(
            "SELECT * FROM announcements WHERE competition = ? ORDER BY announcement DESC",
            competition,
        )
        return [_announcement(row) for row in rows]


def version(announcements: Sequence[Announcement]) -> str:
    """Return a text that changes when one of the announcements is withdrawn or a new one posted."""
    last = announcements[0].announcement if announcements else 0
    return f"{last}-{len(announcements)}"


def _announcement(row: sqlite3.Row) -> Announcement:
    return Announcement(row["announcement"], row["text"], time_of(row["posted"]))
