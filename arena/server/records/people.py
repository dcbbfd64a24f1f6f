"""People: accounts, their identities at a provider, roles and the rules that they accepted.

===============  ============================================================================
table            holds
===============  ============================================================================
accounts         a person: name, contact; whether an organiser, and the state, on the whole server
roles            the state of an account in a competition, and whether it is an organiser there
former_subjects  a digest of each identity at a provider that an account had
acceptances      which version of the rules an account accepted, and when
result_mails     since when an account gets an e-mail when a file that it sent has its result
===============  ============================================================================
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from arena.server.records.names import RefusedError, clean_name
from arena.server.records.sqlite import Records, digest_of, time_of

_TABLES = """
CREATE TABLE IF NOT EXISTS accounts (
    account TEXT PRIMARY KEY, name TEXT NOT NULL, contact TEXT NOT NULL,
    organiser INTEGER NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    subject TEXT UNIQUE
);
CREATE TABLE IF NOT EXISTS roles (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, state TEXT NOT NULL,
    organiser INTEGER NOT NULL, PRIMARY KEY (competition, account)
);
CREATE TABLE IF NOT EXISTS former_subjects (
    digest BLOB NOT NULL, account TEXT NOT NULL REFERENCES accounts
);
CREATE TABLE IF NOT EXISTS acceptances (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, version TEXT NOT NULL,
    accepted REAL NOT NULL, PRIMARY KEY (competition, account, version)
);
CREATE TABLE IF NOT EXISTS result_mails (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts, since REAL NOT NULL,
    PRIMARY KEY (competition, account)
);
"""

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
        the one that :meth:`People.account` was asked for.
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


class People(Records):
    """The accounts of people, with their roles and identities."""

    tables = _TABLES

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

        With a competition, the account has its state and role there. One that is blocked, or an
        organiser, on the whole server is so in each competition. Without a role in the competition,
        as in files of earlier versions of arena, its state on the server counts.
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
        on_server = account_of(row)
        if row["state_here"] is None or on_server.state == "blocked":
            return on_server
        return replace(
            on_server,
            state=row["state_here"],
            organiser=on_server.organiser or bool(row["organiser_here"]),
            role="organiser" if on_server.organiser else _role(row["organiser_here"]),
        )

    def accounts(self, competition: str | None = None) -> list[Account]:
        """Return all accounts, or those that take part in a competition, the oldest first."""
        if competition is None:
            return [
                account_of(row) for row in self._rows("SELECT * FROM accounts ORDER BY created")
            ]
        rows = self._rows(
            "SELECT account FROM accounts WHERE account IN "
            "(SELECT account FROM members WHERE competition = ?1 "
            "UNION SELECT account FROM roles WHERE competition = ?1) ORDER BY created",
            competition,
        )
        return [self.account(row["account"], competition) for row in rows]

    def with_contact(self, contact: str) -> list[Account]:
        """Return the accounts with a contact; upper and lower case are the same."""
        rows = self._rows(
            "SELECT * FROM accounts WHERE lower(contact) = lower(?) ORDER BY created", contact
        )
        return [account_of(row) for row in rows]

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

    def check_new_subject(self, subject: str) -> None:
        """Refuse to register a person at the identity provider again: ``RefusedError``."""
        if self.by_subject(subject) is not None:
            raise RefusedError("You have an account already. Sign in instead of registering.")

    def by_subject(self, subject: str) -> Account | None:
        """Return the account of a person at the identity provider, if it exists."""
        row = self._row("SELECT * FROM accounts WHERE subject = ?", subject)
        return None if row is None else account_of(row)

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

    def _keep_subject(self, database: sqlite3.Connection, account: str) -> None:
        """Remember that the identity of an account was its own, before it is removed."""
        subject = self.subject(account)
        if subject is not None:
            database.execute(
                "INSERT INTO former_subjects VALUES (?, ?)", (digest_of(subject), account)
            )

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


def account_of(row: sqlite3.Row) -> Account:
    """Return the account of a row of the table, with its state on the whole server."""
    return Account(
        row["account"],
        row["name"],
        contact=row["contact"],
        organiser=bool(row["organiser"]),
        state=row["state"],
        created=time_of(row["created"]),
    )


def _role(stored: int) -> HostRole:
    """Return the role of a stored number; ``organiser`` for other numbers, which is not used."""
    return next((role for role, number in HOST_ROLES.items() if number == stored), "organiser")


def _clean_contact(contact: str) -> str:
    return " ".join(contact.split())[:200]
