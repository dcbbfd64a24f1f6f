"""Links and codes that invite people.

============  =========================================================
table         holds
============  =========================================================
invites       links and codes: to register, to join a team, to sign in once
invite_names  whom a link invites by name
============  =========================================================
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from arena.server.records.names import RefusedError, clean_name
from arena.server.records.sqlite import Records, digest_of, time_of, time_or_none

_TABLES = """
CREATE TABLE IF NOT EXISTS invites (
    invite TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind TEXT NOT NULL,
    competition TEXT, team TEXT, account TEXT, contact TEXT NOT NULL, made_by TEXT,
    created REAL NOT NULL, expires REAL, uses INTEGER
);
CREATE TABLE IF NOT EXISTS invite_names (
    invite TEXT PRIMARY KEY REFERENCES invites ON DELETE CASCADE, name TEXT NOT NULL
);
"""

_SELECT_INVITES = """
SELECT invites.*, coalesce(name, '') AS person FROM invites LEFT JOIN invite_names USING (invite)
"""


@dataclass(frozen=True, slots=True)
class Invite:
    """A link or code, without its secret.

    Attributes
    ----------
    kind
        ``register`` (a new account), ``team`` (join one team) or ``signin`` (sign an account in).
    name
        The person whom it invites; empty if no name was given.
    uses
        How often it can still be used, or ``None`` if as often as one likes.
    """

    invite: str
    kind: str
    competition: str | None
    team: str | None
    account: str | None
    name: str
    contact: str
    created: datetime
    expires: datetime | None
    uses: int | None


class Invites(Records):
    """The links and codes that invite people."""

    tables = _TABLES

    def invite(
        self,
        kind: str,
        *,
        competition: str | None = None,
        team: str | None = None,
        account: str | None = None,
        name: str = "",
        contact: str = "",
        made_by: str | None = None,
        expires: datetime | None = None,
        uses: int | None = 1,
        code: str | None = None,
    ) -> str:
        """Create a link or code and return its secret. ``team`` is a team's identifier or name."""
        secret, invite = code or secrets.token_urlsafe(32), secrets.token_urlsafe(9)
        with self._change() as database:
            database.execute(
                "INSERT INTO invites VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    invite,
                    digest_of(secret),
                    kind,
                    competition,
                    team,
                    account,
                    contact,
                    made_by,
                    self._now(),
                    None if expires is None else expires.timestamp(),
                    uses,
                ),
            )
            if name:
                database.execute("INSERT INTO invite_names VALUES (?, ?)", (invite, name))
        return secret

    def invite_teams(
        self,
        competition: str,
        rows: Sequence[tuple[str, str, str]],
        *,
        made_by: str,
        expires: datetime | None,
    ) -> list[tuple[str, str, str]]:
        """Invite people by a list of ``(team, name, contact)``.

        Returns ``(team, name, secret)`` for each row; a row registers an account in its team, which
        is created with the first member who comes.

        Raises
        ------
        RefusedError
            If a row has a name that cannot be used; the message names the row.
        """
        for number, (team, _, _) in enumerate(rows, 1):
            try:
                clean_name(team)
            except RefusedError as error:
                raise RefusedError("Row {row}: {fault}", row=number, fault=error) from None
        return [
            (
                team,
                name,
                self.invite(
                    "register",
                    competition=competition,
                    team=team,
                    name=name,
                    contact=contact,
                    made_by=made_by,
                    expires=expires,
                ),
            )
            for team, name, contact in rows
        ]

    def invitation(self, secret: str) -> Invite | None:
        """Return the invitation of a link or code, unless it is unknown, used or expired."""
        row = self._row(f"{_SELECT_INVITES} WHERE digest = ?", digest_of(_as_made(secret)))
        if row is None or row["uses"] == 0:
            return None
        if row["expires"] is not None and row["expires"] <= self._now():
            return None
        return _invite(row)

    def use(self, secret: str) -> Invite:
        """Use a link or code once. What was used up is forgotten: it can name a person.

        Raises
        ------
        RefusedError
            If it is unknown, used or expired: one answer for all three.
        """
        with self._change() as database:
            invite = self.invitation(secret)
            if invite is None:
                raise RefusedError(
                    "This link or code is not valid: it was used, has expired or is mistyped. "
                    "Ask the person who sent it for a new one."
                )
            database.execute(
                "UPDATE invites SET uses = uses - 1 WHERE invite = ? AND uses IS NOT NULL",
                (invite.invite,),
            )
            database.execute("DELETE FROM invites WHERE uses = 0")
        return invite

    def invites(self, *, team: str | None = None, kind: str | None = None) -> list[Invite]:
        """Return the links and codes that can still be used."""
        rows = self._rows(
            f"{_SELECT_INVITES} WHERE (uses IS NULL OR uses > 0) "
            "AND (expires IS NULL OR expires > ?) AND (?2 IS NULL OR team = ?2) "
            "AND (?3 IS NULL OR kind = ?3) ORDER BY created DESC",
            self._now(),
            team,
            kind,
        )
        return [_invite(row) for row in rows]

    def withdraw(self, invite: str, *, team: str | None = None) -> None:
        """Delete a link or code; with ``team`` only if it invites to that team."""
        with self._change() as database:
            database.execute(
                "DELETE FROM invites WHERE invite = ? AND (?2 IS NULL OR team = ?2)", (invite, team)
            )


def _as_made(secret: str) -> str:
    """Return a registration code as it was made: people type it in small letters or with spaces.

    Links are longer, and are only stripped.

    >>> _as_made(" ghwy 6qg4-rz8sGAMK")
    'GHWY-6QG4-RZ8S-GAMK'
    """
    stripped = secret.strip()
    code = re.sub(r"[\s-]", "", stripped)
    if not re.fullmatch("[A-Za-z0-9]{16}", code):
        return stripped
    return "-".join(code.upper()[start : start + 4] for start in range(0, 16, 4))


def _invite(row: sqlite3.Row) -> Invite:
    return Invite(
        invite=row["invite"],
        kind=row["kind"],
        competition=row["competition"],
        team=row["team"],
        account=row["account"],
        name=row["person"],
        contact=row["contact"],
        created=time_of(row["created"]),
        expires=time_or_none(row["expires"]),
        uses=row["uses"],
    )
