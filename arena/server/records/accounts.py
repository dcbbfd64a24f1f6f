"""The accounts of a server with all that belongs to them.

The tables lie in the same SQLite file as the queue of requests. There are no passwords. A secret is
256 random bits; the file holds its SHA-256 only, and it is found by that digest, so that neither
the file nor the time of an answer helps to guess one. A secret is shown once, when it is made.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from arena.server.records.invites import Invites
from arena.server.records.people import People
from arena.server.records.sign_ins import SignIns
from arena.server.records.sqlite import connect
from arena.server.records.teams import Teams


class Accounts(SignIns, Invites, Teams):
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

    tables = People.tables + SignIns.tables + Invites.tables + Teams.tables

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

    def forget_person(self, account: str) -> None:
        """Remove the personal data of an account, and every way to sign in to it.

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


@dataclass(frozen=True, slots=True)
class AccountTeam:
    """Whether an account is an organiser's, and its teams in a competition, by their names."""

    organiser: bool
    team: str | None
    """None: it is in no team."""
    left_teams: frozenset[str] = frozenset()
    """Those that had submitted when it left them."""


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
        if not tables >= {"accounts", "departures", "members", "teams"}:
            return {}
        here = "(SELECT organiser FROM roles WHERE account = accounts.account AND competition = ?1)"
        rows = connection.execute(
            f"SELECT accounts.account, teams.name AS team, max(organiser, coalesce("  # noqa: S608
            f"{here if 'roles' in tables else 'NULL'}, 0)) AS organiser FROM accounts"
            " LEFT JOIN members ON members.account = accounts.account AND members.competition = ?1"
            " LEFT JOIN teams ON teams.team = members.team AND teams.competition = ?1",
            (competition,),
        ).fetchall()
        left_teams: dict[str, set[str]] = {}
        for row in connection.execute(
            "SELECT account, name FROM departures JOIN teams USING (team)"
            " WHERE departures.competition = ?",
            (competition,),
        ):
            left_teams.setdefault(str(row["account"]), set()).add(str(row["name"]))
    return {
        str(row["account"]): AccountTeam(
            bool(row["organiser"]),
            None if row["team"] is None else str(row["team"]),
            frozenset(left_teams.get(str(row["account"]), ())),
        )
        for row in rows
    }
