"""E-mails that wait to be sent, in the same SQLite file as the queue of requests.

Each mail has a key, such as the account and the deadline that it announces. A mail whose key is
already stored is ignored, so that it is not sent twice. A mail is marked before it is handed to the
mail server, and again after the server accepted it. If the process ends between the two, it is
unknown whether the server accepted the mail: it is sent again, with the same Message-ID.

The text of an invitation contains a secret link; texts are deleted once they are sent. A mail that
failed keeps its address and its text for a month, so that an organiser can send it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from arena.server.records.sqlite import Records, time_of

SMTP_PASSWORD = "ARENA_SMTP_PASSWORD"  # noqa: S105 - the name of an environment variable
"""The variable with the password for the mail server, for the web process only."""
_TABLE = """
CREATE TABLE IF NOT EXISTS mails (
    key TEXT PRIMARY KEY, competition TEXT NOT NULL, recipient TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, created REAL NOT NULL, due REAL NOT NULL,
    tries INTEGER NOT NULL, state TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS mails_in_order ON mails (state, due);
CREATE TABLE IF NOT EXISTS mail_failures (key TEXT PRIMARY KEY, reason TEXT NOT NULL);
"""
_GIVE_UP = timedelta(days=3)
_FAILURES_KEPT = timedelta(days=30)
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to one person."""

    key: str
    """Identifies the mail: it is stored once."""
    competition: str
    recipient: str
    """An e-mail address."""
    subject: str
    body: str
    created: datetime | None = None
    """None: now."""


@dataclass(frozen=True, slots=True)
class FailedMail:
    """A mail that the mail server refused for good, or never took."""

    mail: str
    """Its key."""
    recipient: str
    subject: str
    created: datetime
    reason: str


class Mails(Records):
    """The queue of mails.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> mails = Mails(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> mail = Mail("results churn ada", "churn", "ada@example.org", "Results", "They are out.")
    >>> mails.add([mail, mail]), mails.add([mail])
    (1, 0)
    >>> claimed = mails.claim()
    >>> claimed.key, mails.claim()
    ('results churn ada', None)
    >>> mails.sent(claimed)
    >>> mails.counts("churn")
    {'sent': 1}
    >>> mails.close()
    """

    tables = _TABLE

    def add(self, mails: Iterable[Mail]) -> int:
        """Store mails, but none whose key is stored; return how many are new."""
        now = self._now()
        rows = [
            (mail.key, mail.competition, mail.recipient, mail.subject, mail.body, now, now)
            for mail in mails
        ]
        with self._change() as database:
            before = database.total_changes
            database.executemany(
                "INSERT OR IGNORE INTO mails VALUES (?, ?, ?, ?, ?, ?, ?, 0, 'waiting')", rows
            )
            return database.total_changes - before

    def resume(self) -> None:
        """Let mails wait again that an ended process had begun to send."""
        with self._change() as database:
            database.execute("UPDATE mails SET state = 'waiting' WHERE state = 'sending'")

    def claim(self) -> Mail | None:
        """Return the next mail that is due, and mark it as being sent; None if none is due.

        Mails that failed more than a month ago lose their address, their text and their reason.
        """
        month_ago = (self._clock() - _FAILURES_KEPT).timestamp()
        with self._change() as database:
            _erase(database, "state = 'failed' AND recipient != '' AND created < ?", month_ago)
            row = database.execute(
                # The last condition: the clock was set back, and it would wait until that time.
                "SELECT * FROM mails WHERE state = 'waiting' AND (due <= ?1 OR due > ?1 + ?2) "
                "ORDER BY due, rowid",
                (self._now(), 2 * _LONGEST_PAUSE),
            ).fetchone()
            if row is None:
                return None
            database.execute("UPDATE mails SET state = 'sending' WHERE key = ?", (row["key"],))
        return _mail(row)

    def sent(self, mail: Mail) -> None:
        """Record that the mail server accepted a mail, and delete its address and its text."""
        with self._change() as database:
            database.execute("UPDATE mails SET state = 'sent' WHERE key = ?", (mail.key,))
            _erase(database, "key = ?", mail.key)

    def failed(self, mail: Mail, reason: str) -> None:
        """Record that a mail is given up, and why: organisers read it."""
        with self._change() as database:
            database.execute("UPDATE mails SET state = 'failed' WHERE key = ?", (mail.key,))
            database.execute(
                "REPLACE INTO mail_failures "
                "SELECT key, ? FROM mails WHERE key = ? AND recipient != ''",
                (reason, mail.key),
            )

    def failures(self, competition: str) -> list[FailedMail]:
        """Return the mails that failed within a month, newest first."""
        rows = self._rows(
            "SELECT * FROM mails JOIN mail_failures USING (key) WHERE competition = ? "
            "AND state = 'failed' AND recipient != '' ORDER BY created DESC, key",
            competition,
        )
        return [
            FailedMail(
                row["key"],
                row["recipient"],
                row["subject"],
                created=time_of(row["created"]),
                reason=row["reason"],
            )
            for row in rows
        ]

    def send_again(self, competition: str, key: str) -> bool:
        """Let a mail that failed wait to be sent; return whether there is one."""
        now = self._now()
        with self._change() as database:
            waiting = database.execute(
                "UPDATE mails SET state = 'waiting', tries = 0, created = ?, due = ? "
                "WHERE key = ? AND competition = ? AND state = 'failed' AND recipient != ''",
                (now, now, key, competition),
            )
            return waiting.rowcount > 0

    def forget(self, recipient: str) -> None:
        """Delete the address and the text of every mail to an address that was not sent."""
        with self._change() as database:
            database.execute(
                "UPDATE mails SET state = 'failed' "
                "WHERE state IN ('waiting', 'sending') AND recipient = ?",
                (recipient,),
            )
            _erase(database, "recipient = ?", recipient)

    def postpone(self, mail: Mail, reason: str) -> None:
        """Let a mail wait: for a minute, then twice as long each time, at most an hour.

        It is given up three days after it was stored, for the last ``reason``.
        """
        now = self._clock()
        if mail.created is not None and now - mail.created > _GIVE_UP:
            self.failed(mail, reason)
            return
        with self._change() as database:
            database.execute(
                "UPDATE mails SET state = 'waiting', tries = tries + 1, "
                "due = ? + min(? * (1 << min(tries, 10)), ?) WHERE key = ? AND state = 'sending'",
                (now.timestamp(), _FIRST_PAUSE, _LONGEST_PAUSE, mail.key),
            )

    def counts(self, competition: str) -> dict[str, int]:
        """Return how many mails are ``waiting``, ``sending``, ``sent`` and ``failed``."""
        rows = self._rows(
            "SELECT state, count(*) AS n FROM mails WHERE competition = ? "
            "GROUP BY state ORDER BY state",
            competition,
        )
        return {row["state"]: row["n"] for row in rows}


def _erase(database: sqlite3.Connection, condition: str, value: object) -> None:
    """Delete what names a person in mails; their keys stay, so that none is sent twice.

    The reason of a failure can quote the address.
    """
    database.execute(
        f"DELETE FROM mail_failures WHERE key IN (SELECT key FROM mails WHERE {condition})",  # noqa: S608
        (value,),
    )
    database.execute(
        f"UPDATE mails SET recipient = '', subject = '', body = '' WHERE {condition}",  # noqa: S608
        (value,),
    )


def _mail(row: sqlite3.Row) -> Mail:
    return Mail(
        row["key"],
        row["competition"],
        recipient=row["recipient"],
        subject=row["subject"],
        body=row["body"],
        created=time_of(row["created"]),
    )
