"""How people and their programs sign in.

========  ====================================================================
table     holds
========  ====================================================================
sessions  a browser that is signed in
tokens    a program's key, or the sign-in key of a person: scopes, expiry, last use
========  ====================================================================
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from arena.server.records.names import MAX_NAME, RefusedError
from arena.server.records.people import Account, People, account_of
from arena.server.records.sqlite import digest_of, time_of, time_or_none

TOKEN_PREFIX = "arena_"  # noqa: S105 - it lets scanners of repositories find a leaked token
IDLE = timedelta(hours=12)
SESSION = timedelta(days=7)
_SET_BACK = 60.0
"""Seconds by which a sign-in may lie in the future: the clock was set back if it is more."""
TOUCH = 60  # seconds; the last use of a token or session is kept to the minute

_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    digest BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts,
    created REAL NOT NULL, seen REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts, name TEXT NOT NULL, scope TEXT NOT NULL,
    created REAL NOT NULL, expires REAL, used REAL
);
"""


@dataclass(frozen=True, slots=True)
class Token:
    """A key for programs, without its secret: identifier, owner, name, scope and times."""

    token: str
    account: str
    name: str
    scope: str
    created: datetime
    expires: datetime | None
    used: datetime | None


class SignIns(People):
    """The sessions and tokens of accounts."""

    tables = _TABLES

    def open_session(self, account: str) -> str:
        """Sign an account in and return the secret for its cookie."""
        secret, now = secrets.token_urlsafe(32), self._now()
        with self._change() as database:
            database.execute(
                "DELETE FROM sessions WHERE created < ? OR seen < ?",
                (now - SESSION.total_seconds(), now - IDLE.total_seconds()),
            )
            database.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)", (digest_of(secret), account, now, now)
            )
        return secret

    def session(self, secret: str) -> tuple[Account, datetime] | None:
        """Return the account of a cookie and when it signed in, if the session is not over."""
        digest, now = digest_of(secret), self._now()
        row = self._row(
            "SELECT accounts.*, sessions.created AS since, seen FROM sessions "
            "JOIN accounts USING (account) WHERE digest = ?",
            digest,
        )
        if (
            row is None
            or row["since"] < now - SESSION.total_seconds()
            or row["since"] > now + _SET_BACK  # it would last until that time
            or row["seen"] < now - IDLE.total_seconds()
            or row["state"] == "blocked"
        ):
            return None
        if row["seen"] < now - TOUCH:
            with self._change() as database:
                database.execute("UPDATE sessions SET seen = ? WHERE digest = ?", (now, digest))
        return account_of(row), time_of(row["since"])

    def close_session(self, secret: str) -> None:
        """Sign a browser out."""
        with self._change() as database:
            database.execute("DELETE FROM sessions WHERE digest = ?", (digest_of(secret),))

    def make_token(
        self, account: str, name: str, scope: str, expires: datetime | None = None
    ) -> tuple[str, Token]:
        """Create a token and return its secret, which cannot be read again, and its description.

        ``scope`` is ``read``, ``submit`` (includes read), ``admin`` or ``signin``, the key with
        which a person signs in on another browser.
        """
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = secrets.token_urlsafe(9)
        with self._change() as database:
            database.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                (
                    token,
                    digest_of(secret),
                    account,
                    " ".join(name.split())[:MAX_NAME] or "token",
                    scope,
                    self._now(),
                    None if expires is None else expires.timestamp(),
                ),
            )
        return secret, next(
            known_token for known_token in self.tokens(account) if known_token.token == token
        )

    def tokens(self, account: str) -> list[Token]:
        """Return the tokens of an account, the newest first."""
        rows = self._rows(
            "SELECT * FROM tokens WHERE account = ? ORDER BY created DESC, rowid DESC", account
        )
        return [_token(row) for row in rows]

    def holder(self, secret: str) -> tuple[Account, Token] | None:
        """Return whose token this is, unless it is unknown, expired or revoked."""
        now = self._now()
        row = self._row("SELECT * FROM tokens WHERE digest = ?", digest_of(secret))
        if row is None or (row["expires"] is not None and row["expires"] <= now):
            return None
        account = self.account(row["account"])
        if account.state == "blocked":
            return None
        if row["used"] is None or row["used"] < now - TOUCH:
            with self._change() as database:
                database.execute("UPDATE tokens SET used = ? WHERE token = ?", (now, row["token"]))
        return account, _token(row)

    def revoke(self, account: str, token: str) -> bool:
        """Delete a token of this account; return whether there was one."""
        with self._change() as database:
            deletion = database.execute(
                "DELETE FROM tokens WHERE account = ? AND token = ?", (account, token)
            )
            return deletion.rowcount > 0

    def has_key(self, account: str) -> bool:
        """Return whether an account has a sign-in key."""
        return any(token.scope == "signin" for token in self.tokens(account))

    def new_key(self, account: str, session: str | None) -> str:
        """Replace the sign-in key of an account and return the new one.

        All browsers but that of ``session``, the secret of a cookie, are signed out, and the
        links for other devices that the account created end.
        """
        keep = b"" if session is None else digest_of(session)
        with self._change() as database:
            database.execute(
                "DELETE FROM tokens WHERE account = ? AND scope = 'signin'", (account,)
            )
            database.execute(
                "DELETE FROM sessions WHERE account = ? AND digest != ?", (account, keep)
            )
            database.execute(
                "DELETE FROM invites WHERE made_by = ?1 AND account = ?1 AND kind = 'signin'",
                (account,),
            )
        key, _token = self.make_token(account, "sign-in key", "signin")
        return key

    def unlink_subject(self, account: str) -> None:
        """Remove the identity at the provider from an account.

        Raises
        ------
        RefusedError
            If the person could not sign in any more: the account has no sign-in key.
        """
        with self._change() as database:
            if not self.has_key(account):
                raise RefusedError(
                    "Without this identity you could not sign in any more. Create a sign-in key "
                    "first."
                )
            self._keep_subject(database, account)
            database.execute("UPDATE accounts SET subject = NULL WHERE account = ?", (account,))


def _token(row: sqlite3.Row) -> Token:
    return Token(
        token=row["token"],
        account=row["account"],
        name=row["name"],
        scope=row["scope"],
        created=time_of(row["created"]),
        expires=time_or_none(row["expires"]),
        used=time_or_none(row["used"]),
    )
