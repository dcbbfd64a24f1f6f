"""Places for uploads whose address is the secret: the official kaggle client uploads to them first.

They lie in the same SQLite file as the queue of requests; of a secret it holds the SHA-256 only.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from arena.server.records.sqlite import Records, digest_of

_MAX_SLOTS = 5
"""Places for uploads of an account at a time."""
_SLOT_SECONDS = 86_400.0
"""Seconds for which a place can be used."""
_TABLE = """
CREATE TABLE IF NOT EXISTS slots (
    digest BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts,
    competition TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, created REAL NOT NULL,
    upload TEXT, sha256 TEXT, received REAL
);
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one upload, and the upload once it arrived."""

    account: str
    competition: str
    file: str
    size: int
    upload: str | None
    sha256: str | None


class Slots(Records):
    """The places for uploads of a server.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from arena.server.records.accounts import Accounts
    >>> path = Path(tempfile.mkdtemp()) / "intake.sqlite"
    >>> accounts, slots = Accounts(path), Slots(path)
    >>> secret, _ = slots.open_slot(accounts.register("Ada").account, "churn", "a.csv", 12)
    >>> slots.slot(secret).file
    'a.csv'
    >>> slots.close()
    >>> accounts.close()
    """

    tables = _TABLE

    def open_slot(
        self, account: str, competition: str, file: str, size: int
    ) -> tuple[str, list[str]]:
        """Create a place for one upload; return its secret, and uploads that must be removed.

        Places last for a day. An account has the last few of its places: with more, it could fill
        the disk with files that it never submits.
        """
        secret, now = secrets.token_urlsafe(32), self._now()
        with self._change() as database:
            gone = database.execute(
                "DELETE FROM slots WHERE created < ? OR account = ? AND rowid NOT IN "
                "(SELECT rowid FROM slots WHERE account = ?2 ORDER BY rowid DESC LIMIT ?) "
                "RETURNING upload",
                (now - _SLOT_SECONDS, account, _MAX_SLOTS - 1),
            ).fetchall()
            database.execute(
                "INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
                (digest_of(secret), account, competition, file, size, now),
            )
        return secret, [row["upload"] for row in gone if row["upload"]]

    def slot(self, secret: str) -> Slot | None:
        """Return a place for an upload, unless it is unknown or older than a day."""
        row = self._row(
            "SELECT * FROM slots WHERE digest = ? AND created > ?",
            digest_of(secret),
            self._now() - _SLOT_SECONDS,
        )
        if row is None:
            return None
        return Slot(
            row["account"],
            row["competition"],
            file=row["file"],
            size=row["size"],
            upload=row["upload"],
            sha256=row["sha256"],
        )

    def fill_slot(self, secret: str, upload: str, size: int, sha256: str) -> str | None:
        """Record the upload to a place.

        Return the upload that must be removed: the one that was in the place before, or the new one
        if the place was closed meanwhile.
        """
        with self._change() as database:
            place = self.slot(secret)
            if place is None:
                return upload
            database.execute(
                "UPDATE slots SET upload = ?, size = ?, sha256 = ? WHERE digest = ?",
                (upload, size, sha256, digest_of(secret)),
            )
        return place.upload

    def close_slot(self, secret: str) -> Slot | None:
        """Delete a place and return its content; only one caller gets it."""
        with self._change() as database:
            place = self.slot(secret)
            database.execute("DELETE FROM slots WHERE digest = ?", (digest_of(secret),))
        return place

    def uploads_of(self, account: str, competition: str) -> dict[str, int]:
        """Return the uploads in places of an account, with their bytes."""
        rows = self._rows(
            "SELECT upload, size FROM slots WHERE account = ? AND competition = ? AND upload > ''",
            account,
            competition,
        )
        return {row["upload"]: row["size"] for row in rows}

    def uploads(self) -> set[str]:
        """Return the names of uploads in places that are not requests yet."""
        return {row["upload"] for row in self._rows("SELECT upload FROM slots WHERE upload > ''")}

    def forget(self, account: str) -> None:
        """Delete the places of an account."""
        with self._change() as database:
            database.execute("DELETE FROM slots WHERE account = ?", (account,))
