"""Messages between participants and organisers, in the same SQLite file as the queue of requests.

A conversation belongs to one account of a competition. An organiser's answer can be published with
a wording of the question that everybody may see; nothing else of a conversation is public.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from arena.server.records.sqlite import Records, time_of

LONGEST = 5_000
"""Characters of a message."""
_TABLE = """
CREATE TABLE IF NOT EXISTS messages (
    message INTEGER PRIMARY KEY AUTOINCREMENT, competition TEXT NOT NULL, account TEXT NOT NULL,
    from_organiser INTEGER NOT NULL, text TEXT NOT NULL, posted REAL NOT NULL,
    answers INTEGER, published TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_of ON messages (competition, account);
"""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes
    ----------
    message
        Its number on this server.
    account
        The participant of the conversation; empty once the account was deleted.
    from_organiser
        Whether an organiser wrote it, and not the participant.
    text
        Plain text of a participant, Markdown of an organiser.
    posted
        When it was sent, in UTC.
    answers
        The number of the message that it answers, or ``None``.
    published
        The question as everybody sees it, beside this answer; empty: the answer is private.
    """

    message: int
    account: str
    from_organiser: bool
    text: str
    posted: datetime
    answers: int | None
    published: str


class Messages(Records):
    """The messages of a server.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> messages = Messages(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> question = messages.ask("churn", "ada", "May we use our own data?")
    >>> [message.text for message in messages.unanswered("churn")]
    ['May we use our own data?']
    >>> _ = messages.reply("churn", "ada", "No.", answers=question.message, published="Own data?")
    >>> messages.unanswered("churn")
    []
    >>> [message.text for message in messages.published("churn")]
    ['No.']
    >>> messages.close()
    """

    tables = _TABLE

    def ask(self, competition: str, account: str, text: str) -> Message:
        """Store a participant's message to the organisers."""
        return self._add(competition, account, text, from_organiser=False)

    def reply(
        self,
        competition: str,
        account: str,
        text: str,
        *,
        answers: int | None = None,
        published: str = "",
    ) -> Message:
        """Store an organiser's message to a participant."""
        return self._add(
            competition, account, text, from_organiser=True, answers=answers, published=published
        )

    def _add(
        self,
        competition: str,
        account: str,
        text: str,
        *,
        from_organiser: bool,
        answers: int | None = None,
        published: str = "",
    ) -> Message:
        with self._change() as database:
            row = database.execute(
                "INSERT INTO messages (competition, account, from_organiser, text, posted,"
                " answers, published) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *",
                (competition, account, from_organiser, text, self._now(), answers, published),
            ).fetchone()
        return _message(row)

    def of(self, competition: str, account: str) -> list[Message]:
        """Return the conversation of an account, the newest message first."""
        return self._select("competition = ? AND account = ?", competition, account)

    def unanswered(self, competition: str) -> list[Message]:
        """Return the messages of participants that no organiser answered, the newest first."""
        return self._select(
            "competition = ? AND NOT from_organiser AND message NOT IN"
            " (SELECT answers FROM messages WHERE answers IS NOT NULL)",
            competition,
        )

    def published(self, competition: str) -> list[Message]:
        """Return the answers that everybody sees, the newest first."""
        return self._select("competition = ? AND published <> ''", competition)

    def all_of(self, competition: str) -> list[Message]:
        """Return every message of a competition, the newest first."""
        return self._select("competition = ?", competition)

    def forget(self, account: str) -> None:
        """Delete the conversations of an account; published answers stay, without the account."""
        with self._change() as database:
            database.execute(
                "DELETE FROM messages WHERE account = ? AND published = ''", (account,)
            )
            database.execute("UPDATE messages SET account = '' WHERE account = ?", (account,))

    def _select(self, condition: str, *values: str) -> list[Message]:
        rows = self._rows(
            f"SELECT * FROM messages WHERE {condition} ORDER BY message DESC",  # noqa: S608
            *values,
        )
        return [_message(row) for row in rows]


def _message(row: sqlite3.Row) -> Message:
    return Message(
        message=row["message"],
        account=row["account"],
        from_organiser=bool(row["from_organiser"]),
        text=row["text"],
        posted=time_of(row["posted"]),
        answers=row["answers"],
        published=row["published"],
    )
