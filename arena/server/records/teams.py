"""Teams: their members and names, and who asks to join one.

=============  ==============================================================================
table          holds
=============  ==============================================================================
teams          a team of one competition; its name is unique after case and spaces are removed
former_names   names of teams that were renamed or merged: no other team can take one
members        which account is in which team: one team per account and competition
departures     which account left which team that had submitted, and when
team_requests  which team an account asks to take it in, or to merge with its own: one at a time
team_notes     what organisers wrote down about a team
=============  ==============================================================================
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime

from arena.server.records.names import RefusedError, clean_name, name_taken, team_key
from arena.server.records.people import People
from arena.server.records.sqlite import digest_of, time_of
from arena.utils.look_alikes import looks

_TABLES = """
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
CREATE TABLE IF NOT EXISTS departures (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts,
    team TEXT NOT NULL, departed REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS team_requests (
    competition TEXT NOT NULL, account TEXT NOT NULL REFERENCES accounts,
    team TEXT NOT NULL REFERENCES teams, asked REAL NOT NULL, PRIMARY KEY (competition, account)
);
CREATE TABLE IF NOT EXISTS team_notes (team TEXT PRIMARY KEY, text TEXT NOT NULL);
"""

LONGEST_NOTE = 2_000
"""Characters of the organisers' note on a team."""


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


class Teams(People):
    """The teams of the accounts and their members."""

    tables = _TABLES

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

    def check_new_team(self, competition: str, name: str) -> None:
        """Raise as :meth:`create_team` would, if a team of this name cannot be created."""
        team_name = clean_name(name)
        self._refuse_former(competition, team_name)
        if self.team_named(competition, team_name) is not None:
            raise name_taken(team_name)
        self._refuse_look_alikes(competition, team_name)

    def _refuse_former(self, competition: str, name: str) -> None:
        # The record assigns submissions under a former name to the team that had it.
        if self._row(
            "SELECT 1 FROM former_names WHERE competition = ? AND folded = ?",
            competition,
            team_key(name),
        ):
            raise name_taken(name)

    def _refuse_look_alikes(self, competition: str, name: str, other_than: str = "") -> None:
        """Refuse a name that looks like that of another team, by letters of any alphabet."""
        look = looks(name)
        rows = self._rows(
            "SELECT name FROM teams WHERE competition = ? AND team != ?", competition, other_than
        )
        if any(look & looks(row["name"]) for row in rows):
            raise name_taken(name)

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

    def _add(self, database: sqlite3.Connection, team: str, competition: str, account: str) -> None:
        self.check_teamless(competition, account)
        database.execute(
            "INSERT INTO members VALUES (?, ?, ?, ?)", (competition, account, team, self._now())
        )
        self.drop_team_request(competition, account)

    def check_teamless(self, competition: str, account: str) -> None:
        """Raise RefusedError if an account is in a team of a competition."""
        current = self.team_of(competition, account)
        if current is not None:
            raise RefusedError("You are in the team {name} already.", name=current.name)

    def leave_team(self, team: str, account: str, *, counts: bool) -> None:
        """Remove an account from a team; ``counts``: it may then create no team of its own.

        Raises
        ------
        RefusedError
            If the account is no member.
        """
        former_team = self.team(team)
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
            self.drop_team_request(former_team.competition, account)
            if counts:
                database.execute(
                    "INSERT INTO departures VALUES (?, ?, ?, ?)",
                    (former_team.competition, account, team, self._now()),
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
            self._move_invitations(database, current, team_name)

    def _move_invitations(self, database: sqlite3.Connection, team: Team, name: str) -> None:
        """Let the organisers' links to a team, which have its name, invite to its new name."""
        links = database.execute(
            "SELECT invite, team FROM invites"
            " WHERE kind = 'register' AND competition = ? AND team IS NOT NULL",
            (team.competition,),
        )
        moved = [
            (name, link["invite"])
            for link in links.fetchall()
            if team_key(link["team"]) == team_key(team.name)
        ]
        database.executemany("UPDATE invites SET team = ? WHERE invite = ?", moved)

    def check_rename(self, team: str, name: str) -> str:
        """Return a name as it would be stored; raise as :meth:`rename_team`."""
        team_name, current = clean_name(name), self.team(team)
        if team_key(team_name) != team_key(current.name):
            self._refuse_former(current.competition, team_name)
            if self.team_named(current.competition, team_name) is not None:
                raise name_taken(team_name)
        self._refuse_look_alikes(current.competition, team_name, other_than=team)
        return team_name

    def _keep_name(self, database: sqlite3.Connection, team: Team) -> None:
        database.execute(
            "INSERT OR IGNORE INTO former_names VALUES (?, ?)",
            (team.competition, team_key(team.name)),
        )

    def merge_teams(self, team: str, into: str) -> None:
        """Move the members of a team into another one and delete the first.

        Nothing happens if one of them does not exist: it was done before.
        """
        with self._change() as database:
            try:
                joined, gone = self.team(into), self.team(team)
            except KeyError:
                return
            self._keep_name(database, gone)
            self._move_invitations(database, gone, joined.name)
            for table in ("members", "departures"):
                moved = f"UPDATE {table} SET team = ? WHERE team = ?"  # noqa: S608
                database.execute(moved, (into, team))
            database.execute("DELETE FROM invites WHERE team = ?", (team,))
            database.execute("UPDATE team_requests SET team = ? WHERE team = ?", (into, team))
            database.execute(  # also those to third teams: another member may be the first one now
                "DELETE FROM team_requests WHERE account IN "
                "(SELECT account FROM members WHERE team = ?)",
                (into,),
            )
            database.execute("DELETE FROM teams WHERE team = ?", (team,))

    def write_note(self, team: str, text: str) -> None:
        """Store the organisers' note on a team; an empty one deletes it."""
        with self._change() as database:
            database.execute("DELETE FROM team_notes WHERE team = ?", (team,))
            if text:
                database.execute("INSERT INTO team_notes VALUES (?, ?)", (team, text))

    def notes(self) -> dict[str, str]:
        """Return the organisers' notes on teams, by the identifiers of these."""
        return {row["team"]: row["text"] for row in self._rows("SELECT * FROM team_notes")}


def full_team(team: Team, limit: int) -> RefusedError:
    """Return the refusal of a person who would be one member too many."""
    return RefusedError(
        "The team {name} is full. Members of a team: at most {limit}.", name=team.name, limit=limit
    )


def _team(row: sqlite3.Row) -> Team:
    return Team(row["team"], row["competition"], row["name"], time_of(row["created"]))


def _member(row: sqlite3.Row) -> Member:
    return Member(row["account"], row["name"], row["contact"], time_of(row["joined"]))
