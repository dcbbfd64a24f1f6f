"""People: accounts, sessions, tokens, invitations, teams and the rules that they accepted.

The tables lie in the same SQLite file as the queue of requests. There are no passwords. A secret is
256 random bits; the file holds its SHA-256 only, and it is found by that digest, so that neither
the file nor the time of an answer helps to guess one. A secret is shown once, when it is made.

=============  ==============================================================================
table          holds
=============  ==============================================================================
accounts       a person: name, contact; whether an organiser, and the state, on the whole server
sessions       a browser that is signed in
tokens         a program's key, or the sign-in key of a person: scopes, expiry, last use
invites        links and codes: to register, to join a team, to sign in once
invite_names   whom a link invites by name
teams          a team of one competition; its name is unique after case and spaces are removed
members        which account is in which team: one team per account and competition
roles          the state of an account in a competition, and whether it is an organiser there
former_names   names of teams that were renamed or merged: no other team can take one
team_requests  which team an account asks to take it in, or to merge with its own: one at a time
acceptances    which version of the rules an account accepted, and when
team_notes     what organisers wrote down about a team
result_mails   since when an account gets an e-mail when a file that it sent has its result
=============  ==============================================================================
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias

from arena.server.records.names import (
    MAX_NAME,
    RefusedError,
    clean_name,
    name_taken,
    team_key,
)
from arena.server.records.sqlite import Records, connect, digest_of, time_of
from arena.utils.look_alikes import looks

TOKEN_PREFIX = "arena_"  # noqa: S105 - it lets scanners of repositories find a leaked token
IDLE = timedelta(hours=12)
SESSION = timedelta(days=7)
_SET_BACK = 60.0
"""Seconds by which a sign-in may lie in the future: the clock was set back if it is more."""
TOUCH = 60  # seconds; the last use of a token or session is kept to the minute

_TABLES = """
CREATE TABLE IF NOT EXISTS accounts (
    account TEXT PRIMARY KEY, name TEXT NOT NULL, contact TEXT NOT NULL,
    organiser INTEGER NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    subject TEXT UNIQUE
);
CREATE TABLE IF NOT EXISTS sessions (
    digest BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts,
    created REAL NOT NULL, seen REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts, name TEXT NOT NULL, scope TEXT NOT NULL,
    created REAL NOT NULL, expires REAL, used REAL
);
CREATE TABLE IF NOT EXISTS invites (
    invite TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind TEXT NOT NULL,
    competition TEXT, team TEXT, account TEXT, contact TEXT NOT NULL, made_by TEXT,
    created REAL NOT NULL, expires REAL, uses INTEGER
);
CREATE TABLE IF NOT EXISTS invite_names (
    invite TEXT PRIMARY KEY REFERENCES invites ON DELETE CASCADE, name TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS teams (
    team TEXT PRIMARY KEY, competition TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL,
    created REAL NOT NULL, UNIQUE (competition, folded)
);
CREATE TABLE IF NOT EXISTS former_names (
    competition TEXT NOT NULL, folded TEXT NOT NULL, PRIMARY KEY (competition, folded)
);
CREATE TABLE IF NOT EXISTS members (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts,
    team TEXT NOT NULL REFERENCES teams, joined REAL NOT NULL, PRIMARY KEY (competition, account)
);
CREATE INDEX IF NOT EXISTS members_of_team ON members (team);
CREATE TABLE IF NOT EXISTS roles (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, state TEXT NOT NULL,
    organiser INTEGER NOT NULL, PRIMARY KEY (competition, account)
);
CREATE TABLE IF NOT EXISTS departures (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts,
    team TEXT NOT NULL, departed REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS former_subjects (
    digest BLOB NOT NULL, account TEXT NOT NULL REFERENCES accounts
);
CREATE TABLE IF NOT EXISTS team_requests (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts,
    team TEXT NOT NULL REFERENCES teams, asked REAL NOT NULL, PRIMARY KEY (competition, account)
);
CREATE TABLE IF NOT EXISTS team_notes (team TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS result_mails (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, since REAL NOT NULL,
    PRIMARY KEY (competition, account)
);
CREATE TABLE IF NOT EXISTS acceptances (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, version TEXT NOT NULL,
    accepted REAL NOT NULL, PRIMARY KEY (competition, account, version)
);
"""

_SELECT_INVITES = """
SELECT invites.*, coalesce(name, '') AS person FROM invites LEFT JOIN invite_names USING (invite)
"""


LONGEST_NOTE = 2_000
"""Characters of the organisers' note on a team."""
HostRole: TypeAlias = Literal["organiser", "judge", "reader"]
HOST_ROLES: Mapping[HostRole, int] = {"organiser": 1, "judge": 2, "reader": 3}
"""The roles on the organisers' pages, as they are stored. A reader sees everything and changes
nothing; a judge can also preview a rescore."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person.

    Attributes
    ----------
    account
        A random name of the account that never changes; a participant's requests carry it.
    name
        The name of the person on the pages of the team and the organiser.
    contact
        An e-mail address or another way to reach the person; empty if none was given.
    organiser
        Whether the person may use the organiser's pages: of all competitions of the server, or of
        the one that :meth:`Accounts.account` was asked for.
    state
        ``active``, ``waiting`` for the organiser's approval, or ``blocked``: likewise.
    created
        When the person registered.
    role
        What an organiser may do: everything, or less (:data:`HOST_ROLES`).
    """

    account: str
    name: str
    contact: str
    organiser: bool
    state: str
    created: datetime
    role: HostRole = "organiser"


@dataclass(frozen=True, slots=True)
class AccountTeam:
    """Whether an account is an organiser's, and the name of its team in a competition, if any."""

    organiser: bool
    team: str | None


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


@dataclass(frozen=True, slots=True)
class Team:
    """A team of a competition."""

    team: str
    competition: str
    name: str
    created: datetime


@dataclass(frozen=True, slots=True)
class TeamRequest:
    """A person's question to a team: to join it, or to merge the person's own team into it."""

    account: str
    name: str
    """Of the person."""
    own_team: str | None
    """The identifier of the team that would be merged; ``None``: the person alone would join."""
    team: str
    """The identifier of the team that is asked."""
    asked: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a team, and since when."""

    account: str
    name: str
    contact: str
    joined: datetime


def _role(stored: int) -> HostRole:
    """Return the role of a stored number; ``organiser`` for other numbers, which is not used."""
    return next((role for role, number in HOST_ROLES.items() if number == stored), "organiser")


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


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else time_of(seconds)


def full_team(team: Team, limit: int) -> RefusedError:
    """Return the refusal of a person who would be one member too many."""
    return RefusedError(
        "The team {name} is full. Members of a team: at most {limit}.", name=team.name, limit=limit
    )


def _clean_contact(contact: str) -> str:
    return " ".join(contact.split())[:200]


class Accounts(Records):
    """The people of a server.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> accounts = Accounts(Path(tempfile.mkdtemp()) / "intake.sqlite")
    >>> ada = accounts.register("Ada")
    >>> secret, _ = accounts.make_token(ada.account, "laptop", "submit")
    >>> accounts.holder(secret)[0].name
    'Ada'
    >>> accounts.close()
    """

    tables = _TABLES

    def write_note(self, team: str, text: str) -> None:
        """Store the organisers' note on a team; an empty one deletes it."""
        with self._change() as database:
            database.execute("DELETE FROM team_notes WHERE team = ?", (team,))
            if text:
                database.execute("INSERT INTO team_notes VALUES (?, ?)", (team, text))

    def notes(self) -> dict[str, str]:
        """Return the organisers' notes on teams, by the identifiers of these."""
        return {row["team"]: row["text"] for row in self._rows("SELECT * FROM team_notes")}

    # Accounts

    def register(
        self,
        name: str,
        contact: str = "",
        *,
        organiser: bool = False,
        state: str = "active",
        subject: str | None = None,
    ) -> Account:
        """Create an account.

        ``subject`` names the person at an identity provider, if that is how they sign in.

        Raises
        ------
        RefusedError
            If the name is empty, too long or contains control characters, or the subject has an
            account.
        """
        account_name, contact = clean_name(name), _clean_contact(contact)
        account = secrets.token_urlsafe(9)
        with self._change() as database:
            if subject is not None:
                self.check_new_subject(subject)
            database.execute(
                "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?)",
                (account, account_name, contact, organiser, state, self._now(), subject),
            )
        return self.account(account)

    def account(self, account: str, competition: str | None = None) -> Account:
        """Return an account; ``KeyError`` if there is none.

        With a competition, its state there and whether it is an organiser of it. Whoever is blocked
        or an organiser on the server is so in each competition. An account without a role in the
        competition, such as one of an earlier arena, has the state that it has on the server.
        """
        row = self._row(
            "SELECT accounts.*, roles.state AS state_here, roles.organiser AS organiser_here "
            "FROM accounts LEFT JOIN roles "
            "ON roles.account = accounts.account AND roles.competition = ?2 "
            "WHERE accounts.account = ?1",
            account,
            competition,
        )
        if row is None:
            raise KeyError(account)
        on_server = _account(row)
        if row["state_here"] is None or on_server.state == "blocked":
            return on_server
        return replace(
            on_server,
            state=row["state_here"],
            organiser=on_server.organiser or bool(row["organiser_here"]),
            role="organiser" if on_server.organiser else _role(row["organiser_here"]),
        )

    def enter(
        self,
        competition: str,
        account: str,
        state: str = "active",
        *,
        organiser: HostRole | None = None,
    ) -> None:
        """Give an account its role in a competition; ``organiser``: which one of a host, if any.

        A role that it has already is kept, but one that waits for approval ends with ``active``.
        """
        with self._change() as database:
            database.execute(
                "INSERT INTO roles VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET state = excluded.state WHERE state = 'waiting'",
                (competition, account, state, HOST_ROLES[organiser] if organiser else 0),
            )

    def competitions_of(self, account: str) -> set[str]:
        """Return the competitions in which an account has a team or a role."""
        rows = self._rows(
            "SELECT competition FROM members WHERE account = ?1 "
            "UNION SELECT competition FROM roles WHERE account = ?1",
            account,
        )
        return {row["competition"] for row in rows}

    def set_contact(self, account: str, contact: str) -> None:
        """Replace the contact of an account."""
        with self._change() as database:
            database.execute(
                "UPDATE accounts SET contact = ? WHERE account = ?",
                (_clean_contact(contact), account),
            )

    def set_name(self, account: str, name: str) -> None:
        """Replace the name of an account; raise RefusedError for one that cannot be used."""
        with self._change() as database:
            database.execute(
                "UPDATE accounts SET name = ? WHERE account = ?", (clean_name(name), account)
            )

    def with_contact(self, contact: str) -> list[Account]:
        """Return the accounts with a contact, whatever its case."""
        rows = self._rows(
            "SELECT * FROM accounts WHERE lower(contact) = lower(?) ORDER BY created", contact
        )
        return [_account(row) for row in rows]

    def forget_person(self, account: str) -> None:
        """Remove everything that says who has an account, and every way to sign in to it.

        What it sent keeps its random number, which then belongs to no person. The name of its team
        stays on record, and of an identity at a provider a digest, so that the same person
        cannot create a second team.
        """
        with self._change() as database:
            self._keep_subject(database, account)
            database.execute(
                "INSERT INTO departures SELECT competition, account, team, ? FROM members"
                " WHERE account = ?",
                (self._now(), account),
            )
            for table in (
                "sessions", "tokens", "members", "result_mails", "team_requests",
            ):  # fmt: skip
                database.execute(f"DELETE FROM {table} WHERE account = ?", (account,))  # noqa: S608
            database.execute("DELETE FROM invites WHERE account = ?1 OR made_by = ?1", (account,))
            database.execute(
                "UPDATE accounts SET name = ?, contact = '', subject = NULL, state = 'blocked',"
                " organiser = 0 WHERE account = ?",
                (f"deleted {account[:6]}", account),
            )

    def choose_result_mail(self, competition: str, account: str, *, wanted: bool) -> None:
        """Store whether an account gets an e-mail when a file that it sends has its result."""
        with self._change() as database:
            if wanted:
                database.execute(
                    "INSERT OR IGNORE INTO result_mails VALUES (?, ?, ?)",
                    (competition, account, self._now()),
                )
            else:
                database.execute(
                    "DELETE FROM result_mails WHERE competition = ? AND account = ?",
                    (competition, account),
                )

    def result_mails(self, competition: str) -> dict[str, datetime]:
        """Return the accounts that get an e-mail about their results, and since when."""
        rows = self._rows("SELECT * FROM result_mails WHERE competition = ?", competition)
        return {row["account"]: time_of(row["since"]) for row in rows}

    def check_new_subject(self, subject: str) -> None:
        """Refuse to register a person at the identity provider again: ``RefusedError``."""
        if self.by_subject(subject) is not None:
            raise RefusedError("You have an account already. Sign in instead of registering.")

    def by_subject(self, subject: str) -> Account | None:
        """Return the account of a person at the identity provider, if it exists."""
        row = self._row("SELECT * FROM accounts WHERE subject = ?", subject)
        return None if row is None else _account(row)

    def subject(self, account: str) -> str | None:
        """Return the identity at the provider that signs an account in; None if there is none."""
        row = self._row("SELECT subject FROM accounts WHERE account = ?", account)
        return None if row is None else row["subject"]

    def link_subject(self, account: str, subject: str) -> None:
        """Let an identity at the provider sign an account in.

        An account has one identity. That of another issuer, which the server had before, is
        replaced.

        Raises
        ------
        RefusedError
            If the identity signs in another account, or the account has another one.
        """
        with self._change() as database:
            holder, current = self.by_subject(subject), self.subject(account)
            if holder is not None and holder.account != account:
                raise RefusedError(
                    "This identity belongs to another account here. It was not linked. Ask the "
                    "organiser if both accounts are yours."
                )
            if (
                current is not None
                and current != subject
                and current.partition(" ")[0] == subject.partition(" ")[0]
            ):
                raise RefusedError(
                    "Your account has an identity at this provider already. Unlink it first."
                )
            self._keep_subject(database, account)
            database.execute(
                "UPDATE accounts SET subject = ? WHERE account = ?", (subject, account)
            )

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

    def _keep_subject(self, database: sqlite3.Connection, account: str) -> None:
        """Remember that the identity of an account was its own, before it is removed."""
        subject = self.subject(account)
        if subject is not None:
            database.execute(
                "INSERT INTO former_subjects VALUES (?, ?)", (digest_of(subject), account)
            )

    def has_key(self, account: str) -> bool:
        """Return whether an account has a sign-in key."""
        return any(token.scope == "signin" for token in self.tokens(account))

    def accounts(self, competition: str | None = None) -> list[Account]:
        """Return all accounts, or those that take part in a competition, the oldest first."""
        if competition is None:
            return [_account(row) for row in self._rows("SELECT * FROM accounts ORDER BY created")]
        rows = self._rows(
            "SELECT account FROM accounts WHERE account IN "
            "(SELECT account FROM members WHERE competition = ?1 "
            "UNION SELECT account FROM roles WHERE competition = ?1) ORDER BY created",
            competition,
        )
        return [self.account(row["account"], competition) for row in rows]

    def set_state(self, account: str, state: str, competition: str | None = None) -> None:
        """Approve or block an account in a competition, or on the whole server.

        A blocked account loses the links that it created, there: with a team's invitation the
        person could come back under another account. On the server it loses its sessions too.
        """
        with self._change() as database:
            if competition is None:
                database.execute(
                    "UPDATE accounts SET state = ? WHERE account = ?", (state, account)
                )
            else:
                database.execute(
                    "INSERT INTO roles VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE "
                    "SET state = excluded.state",
                    (competition, account, state),
                )
            if state == "blocked":
                if competition is None:
                    database.execute("DELETE FROM sessions WHERE account = ?", (account,))
                database.execute(
                    "DELETE FROM invites WHERE made_by = ?1 AND kind IN ('team', 'signin') "
                    "AND (?2 IS NULL OR kind = 'signin' OR competition = ?2)",
                    (account, competition),
                )
                database.execute(
                    "DELETE FROM team_requests WHERE account = ?1 "
                    "AND (?2 IS NULL OR competition = ?2)",
                    (account, competition),
                )

    def organiser_link(self, url: str) -> str:
        """Return a link that signs the organiser in, once and within a day.

        The organiser's account is created if there is none. ``url`` is the address of the server.
        """
        account = next((account for account in self.accounts() if account.organiser), None)
        account = account or self.register("Organiser", organiser=True)
        secret = self.invite(
            "signin", account=account.account, expires=self._clock() + timedelta(days=1)
        )
        return f"{url}/invite/{secret}"

    # Sessions

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
        return _account(row), time_of(row["since"])

    def close_session(self, secret: str) -> None:
        """Sign a browser out."""
        with self._change() as database:
            database.execute("DELETE FROM sessions WHERE digest = ?", (digest_of(secret),))

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

    # Tokens

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

    # Invitations

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

    # Teams

    def check_new_team(self, competition: str, name: str) -> None:
        """Raise as :meth:`create_team` would, if a team of this name cannot be created."""
        team_name = clean_name(name)
        self._refuse_former(competition, team_name)
        if self.team_named(competition, team_name) is not None:
            raise name_taken(team_name)
        self._refuse_look_alikes(competition, team_name)

    def _refuse_look_alikes(self, competition: str, name: str, other_than: str = "") -> None:
        """Refuse a name that looks like that of another team, by letters of any alphabet."""
        look = looks(name)
        rows = self._rows(
            "SELECT name FROM teams WHERE competition = ? AND team != ?", competition, other_than
        )
        if any(look & looks(row["name"]) for row in rows):
            raise name_taken(name)

    def create_team(self, competition: str, name: str, account: str | None = None) -> Team:
        """Create a team, with its first member if ``account`` is given.

        Raises
        ------
        NameTakenError
            If a team of the competition has this name, or one that differs in case and spaces only.
        RefusedError
            If the name cannot be used, or the account is in a team already.
        """
        team_name, team = clean_name(name), secrets.token_urlsafe(9)
        with self._change() as database:
            self._refuse_former(competition, team_name)
            self._refuse_look_alikes(competition, team_name)
            try:
                database.execute(
                    "INSERT INTO teams VALUES (?, ?, ?, ?, ?)",
                    (team, competition, team_name, team_key(team_name), self._now()),
                )
            except sqlite3.IntegrityError:
                raise name_taken(team_name) from None
            if account is not None:
                self._add(database, team, competition, account)
        return self.team(team)

    def team(self, team: str) -> Team:
        """Return a team; ``KeyError`` if there is none."""
        row = self._row("SELECT * FROM teams WHERE team = ?", team)
        if row is None:
            raise KeyError(team)
        return _team(row)

    def team_named(self, competition: str, name: str) -> Team | None:
        """Return the team with this name, or one that reads the same, if there is one."""
        row = self._row(
            "SELECT * FROM teams WHERE competition = ? AND folded = ?", competition, team_key(name)
        )
        return None if row is None else _team(row)

    def team_of(self, competition: str, account: str) -> Team | None:
        """Return the team of an account in a competition, if it has one."""
        row = self._row(
            "SELECT teams.* FROM members JOIN teams USING (team) "
            "WHERE members.competition = ? AND account = ?",
            competition,
            account,
        )
        return None if row is None else _team(row)

    def teams(self, competition: str) -> list[tuple[Team, list[Member]]]:
        """Return the teams of a competition with their members, in order of creation."""
        team_rows = self._rows(
            "SELECT * FROM teams WHERE competition = ? ORDER BY created, rowid", competition
        )
        members: dict[str, list[Member]] = {}
        for row in self._rows(
            "SELECT team, account, name, contact, joined FROM members JOIN accounts "
            "USING (account) WHERE competition = ? ORDER BY joined, members.rowid",
            competition,
        ):
            members.setdefault(row["team"], []).append(_member(row))
        return [(_team(row), members.get(row["team"], [])) for row in team_rows]

    def members(self, team: str) -> list[Member]:
        """Return the members of a team, the first one first."""
        rows = self._rows(
            "SELECT account, name, contact, joined FROM members JOIN accounts USING (account) "
            "WHERE team = ? ORDER BY joined, members.rowid",
            team,
        )
        return [_member(row) for row in rows]

    def join_team(self, team: str, account: str, limit: int) -> Team:
        """Add an account to a team of at most ``limit`` members; blocked ones do not count.

        Raises
        ------
        RefusedError
            If the team is full, or the account is in a team of this competition already.
        """
        joined = self.team(team)
        with self._change() as database:
            members = (member.account for member in self.members(team))
            states = [self.account(member, joined.competition).state for member in members]
            if len(states) - states.count("blocked") >= limit:
                raise full_team(joined, limit)
            self._add(database, team, joined.competition, account)
        return joined

    def leave_team(self, team: str, account: str, *, counts: bool) -> None:
        """Remove an account from a team; ``counts``: it may then create no team of its own.

        Raises
        ------
        RefusedError
            If the account is no member.
        """
        left = self.team(team)
        with self._change() as database:
            deletion = database.execute(
                "DELETE FROM members WHERE team = ? AND account = ?", (team, account)
            )
            if not deletion.rowcount:
                raise RefusedError("This person is no member of the team.")
            database.execute(
                "DELETE FROM invites WHERE made_by = ? AND kind = 'team' AND team = ?",
                (account, team),
            )
            self.drop_team_request(left.competition, account)
            if counts:
                database.execute(
                    "INSERT INTO departures VALUES (?, ?, ?, ?)",
                    (left.competition, account, team, self._now()),
                )

    def departed_from(self, competition: str, account: str) -> list[str]:
        """Return the names of the teams that had submitted when the account left them."""
        rows = self._rows(
            "SELECT teams.name FROM departures JOIN teams USING (team)"
            " WHERE departures.competition = ? AND departures.account = ?",
            competition,
            account,
        )
        return [row["name"] for row in rows]

    def has_departed(self, competition: str, account: str) -> bool:
        """Return whether a person is or was a member of another team, and may create none.

        That is a team that had submitted when the account left it, or a team of an earlier account
        with the same identity at a provider: otherwise one identity could create many teams.
        """
        former = self._rows(
            "SELECT account FROM former_subjects WHERE digest = ? AND account <> ?",
            digest_of(self.subject(account) or ""),
            account,
        )
        places = [("departures", account)]
        places += [(table, row["account"]) for row in former for table in ("departures", "members")]
        return any(
            self._rows(
                f"SELECT 1 FROM {table} WHERE competition = ? AND account = ? LIMIT 1",  # noqa: S608
                competition,
                member,
            )
            for table, member in places
        )

    def check_teamless(self, competition: str, account: str) -> None:
        """Raise RefusedError if an account is in a team of a competition."""
        current = self.team_of(competition, account)
        if current is not None:
            raise RefusedError(
                "You are in the team {name} already. Ask the organiser to merge the teams.",
                name=current.name,
            )

    def _add(self, database: sqlite3.Connection, team: str, competition: str, account: str) -> None:
        self.check_teamless(competition, account)
        database.execute(
            "INSERT INTO members VALUES (?, ?, ?, ?)", (competition, account, team, self._now())
        )
        self.drop_team_request(competition, account)

    # Requests to join a team, or to merge with it

    def ask_team(self, team: str, account: str) -> None:
        """Store that an account asks a team, instead of the one that it asked before."""
        competition = self.team(team).competition
        with self._change() as database:
            database.execute(
                "INSERT OR REPLACE INTO team_requests VALUES (?, ?, ?, ?)",
                (competition, account, team, self._now()),
            )

    def team_requests(
        self, competition: str, *, team: str | None = None, account: str | None = None
    ) -> list[TeamRequest]:
        """Return the open requests to one team or all, of one account or all, the oldest first."""
        rows = self._rows(
            "SELECT team_requests.*, accounts.name, members.team AS own_team FROM team_requests "
            "JOIN accounts USING (account) LEFT JOIN members USING (competition, account) "
            "WHERE competition = ?1 AND (?2 IS NULL OR team_requests.team = ?2) "
            "AND (?3 IS NULL OR account = ?3) ORDER BY asked",
            competition,
            team,
            account,
        )
        return [
            TeamRequest(
                account=row["account"],
                name=row["name"],
                own_team=row["own_team"],
                team=row["team"],
                asked=time_of(row["asked"]),
            )
            for row in rows
        ]

    def drop_team_request(self, competition: str, account: str) -> bool:
        """Delete the request of an account to a team; return whether there was one."""
        with self._change() as database:
            deletion = database.execute(
                "DELETE FROM team_requests WHERE competition = ? AND account = ?",
                (competition, account),
            )
            return deletion.rowcount > 0

    def _refuse_former(self, competition: str, name: str) -> None:
        # The record assigns submissions under a former name to the team that had it.
        if self._row(
            "SELECT 1 FROM former_names WHERE competition = ? AND folded = ?",
            competition,
            team_key(name),
        ):
            raise name_taken(name)

    def _keep_name(self, database: sqlite3.Connection, team: Team) -> None:
        database.execute(
            "INSERT OR IGNORE INTO former_names VALUES (?, ?)",
            (team.competition, team_key(team.name)),
        )

    def check_rename(self, team: str, name: str) -> str:
        """Return a name as it would be stored; raise as :meth:`rename_team`."""
        team_name, current = clean_name(name), self.team(team)
        if team_key(team_name) != team_key(current.name):
            self._refuse_former(current.competition, team_name)
            if self.team_named(current.competition, team_name) is not None:
                raise name_taken(team_name)
        self._refuse_look_alikes(current.competition, team_name, other_than=team)
        return team_name

    def rename_team(self, team: str, name: str) -> None:
        """Rename a team. Nothing happens if it has this name: it was done before.

        Raises
        ------
        KeyError
            If there is no such team.
        RefusedError
            As :meth:`create_team`.
        """
        with self._change() as database:
            current, team_name = self.team(team), self.check_rename(team, name)
            if team_name == current.name:
                return
            self._keep_name(database, current)
            database.execute(
                "UPDATE teams SET name = ?, folded = ? WHERE team = ?",
                (team_name, team_key(team_name), team),
            )

    def merge_teams(self, team: str, into: str) -> None:
        """Move the members of a team into another one and delete the first.

        Nothing happens if one of them does not exist: it was done before.
        """
        with self._change() as database:
            try:
                _into, gone = self.team(into), self.team(team)
            except KeyError:
                return
            self._keep_name(database, gone)
            database.execute("UPDATE members SET team = ? WHERE team = ?", (into, team))
            database.execute("DELETE FROM invites WHERE team = ?", (team,))
            database.execute("UPDATE team_requests SET team = ? WHERE team = ?", (into, team))
            database.execute(  # also those to third teams: another member may be the first one now
                "DELETE FROM team_requests WHERE account IN "
                "(SELECT account FROM members WHERE team = ?)",
                (into,),
            )
            database.execute("DELETE FROM teams WHERE team = ?", (team,))

    # Rules

    def accept_rules(self, competition: str, account: str, version: str) -> None:
        """Record that an account accepts this version of the rules."""
        with self._change() as database:
            database.execute(
                "INSERT OR IGNORE INTO acceptances VALUES (?, ?, ?, ?)",
                (competition, account, version, self._now()),
            )

    def accepted(self, competition: str, account: str, version: str) -> datetime | None:
        """Return when an account accepted this version of the rules, if it did."""
        row = self._row(
            "SELECT accepted FROM acceptances "
            "WHERE competition = ? AND account = ? AND version = ?",
            competition,
            account,
            version,
        )
        return None if row is None else time_of(row["accepted"])

    def acceptances(self, competition: str) -> list[dict[str, Any]]:
        """Return who accepted which version of the rules when, for the organiser's export."""
        rows = self._rows(
            "SELECT account, name, contact, version, accepted FROM acceptances "
            "JOIN accounts USING (account) WHERE competition = ? ORDER BY accepted",
            competition,
        )
        return [{**dict(row), "accepted": time_of(row["accepted"]).isoformat()} for row in rows]

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


def account_teams(path: Path, competition: str) -> dict[str, AccountTeam]:
    """Return every account of a file with its team in a competition, and change nothing.

    Empty if the file has no accounts yet.

    Raises
    ------
    sqlite3.DatabaseError
        If the file cannot be read.
    """
    with closing(connect(path, wal=False)) as connection:
        connection.execute("PRAGMA query_only=1")
        tables = {
            row["name"]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if not tables >= {"accounts", "members", "teams"}:
            return {}
        here = "(SELECT organiser FROM roles WHERE account = accounts.account AND competition = ?1)"
        rows = connection.execute(
            f"SELECT accounts.account, teams.name AS team, max(organiser, coalesce("  # noqa: S608
            f"{here if 'roles' in tables else 'NULL'}, 0)) AS organiser FROM accounts"
            " LEFT JOIN members ON members.account = accounts.account AND members.competition = ?1"
            " LEFT JOIN teams ON teams.team = members.team AND teams.competition = ?1",
            (competition,),
        ).fetchall()
    return {
        str(row["account"]): AccountTeam(
            bool(row["organiser"]), None if row["team"] is None else str(row["team"])
        )
        for row in rows
    }


def _account(row: sqlite3.Row) -> Account:
    return Account(
        row["account"],
        row["name"],
        contact=row["contact"],
        organiser=bool(row["organiser"]),
        state=row["state"],
        created=time_of(row["created"]),
    )


def _token(row: sqlite3.Row) -> Token:
    return Token(
        token=row["token"],
        account=row["account"],
        name=row["name"],
        scope=row["scope"],
        created=time_of(row["created"]),
        expires=_time(row["expires"]),
        used=_time(row["used"]),
    )


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
        expires=_time(row["expires"]),
        uses=row["uses"],
    )


def _team(row: sqlite3.Row) -> Team:
    return Team(row["team"], row["competition"], row["name"], time_of(row["created"]))


def _member(row: sqlite3.Row) -> Member:
    return Member(row["account"], row["name"], row["contact"], time_of(row["joined"]))
