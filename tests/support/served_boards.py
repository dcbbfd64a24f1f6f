"""Small competitions that are served, driven by the client of participants and by an organiser."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

import arena
from arena.competition.competition import Competition
from arena.config import ServerSection
from arena.server.records.accounts import Accounts
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer.scorer import Scorer
from arena.server.web.app import create_app
from arena.server.web.site import Site
from board_routes import BoardCase
from checked_responses import checked_responses
from serving import tokens_of
from web_site import listening

BEFORE_THE_DEADLINE = ("--deadline", "2999-01-01")
"""Options of ``arena init``."""


def n_submissions_of(board: Sequence[Mapping[str, Any]]) -> int:
    """Return how many submissions a public board counts."""
    return sum(row["n_submissions"] for row in board)


@dataclass
class MovedClock:
    """A clock that is moved past the deadline."""

    offset: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.offset


@dataclass(frozen=True)
class ServedCompetition:
    """A competition with a member of each team, and an organiser."""

    clients: Mapping[str, arena.Client]
    organiser: httpx.Client
    judge: Callable[[], object]
    """Lets the server judge what it was sent."""

    @classmethod
    def at(
        cls,
        address: str,
        name: str,
        layout: Layout,
        teams: Sequence[str],
        judge: Callable[[], object] = lambda: None,
    ) -> ServedCompetition:
        """Register a member of each team, and an organiser."""
        names = list(dict.fromkeys(teams))
        tokens = tokens_of(layout, name, names)
        accounts = Accounts(layout.intake)
        account = accounts.register("Organiser", organiser=True).account
        token = accounts.make_token(account, "test", "admin")[0]
        accounts.close()
        clients = {
            team: arena.Client(f"{address}/{name}", token)
            for team, token in zip(names, tokens, strict=True)
        }
        headers = {"Authorization": f"Bearer {token}"}
        organiser = httpx.Client(base_url=f"{address}/api/v1/{name}", headers=headers)
        return cls(clients, organiser, judge)

    def play(self, case: BoardCase, folder: Path) -> list[dict[str, Any]]:
        """Submit, choose and disqualify as the case says; return the public board."""
        for number, team in enumerate(case.teams, 1):
            client = self.clients[team]
            request = client.submit(folder / "sent" / case.file(number))
            self.judge()
            answer = client.wait(request["request"])
            assert (answer["status"], answer["submission"]) == ("accepted", number)
        for team, numbers in case.selected.items():
            request = self.clients[team].select(numbers)
            self.judge()
            assert self.clients[team].wait(request["request"])["status"] == "done"
        for excluded in case.disqualified:
            what = "team" if isinstance(excluded, str) else "submission"
            self.decide("disqualify", **{what: excluded, "reason": "a leak"})
        client = next(iter(self.clients.values()))
        board = client.board()
        # The last answer is published before the board that counts it; a decision is not.
        while not case.disqualified and n_submissions_of(board) < len(case.teams):
            board = client.board()
        return board

    def decide(self, what: str, **payload: Any) -> None:
        """Decide as the organiser and wait until it is done."""
        answer = self.organiser.post(f"/admin/{what}", json=payload)
        assert answer.status_code == 202, answer.text
        self.judge()
        path, status = f"/requests/{answer.json()['request']}", "waiting"
        while status == "waiting":
            status = self.organiser.get(path).json()["status"]
        assert status == "done", what

    def end(self) -> dict[str, Any]:
        """Finalize and publish as the organiser; return the private board for everybody."""
        for what in ("finalize", "publish"):
            self.decide(what, seen=self.organiser.get("/admin/health").json()["seen"])
        document: dict[str, Any] = httpx.get(f"{self.organiser.base_url}private").json()
        return document


@contextlib.contextmanager
def served_here(
    folder: Path, layout: Layout, clock: MovedClock, teams: Sequence[str]
) -> Iterator[ServedCompetition]:
    """Serve a competition in this process: the web application in a thread, the scorer here."""
    name = folder.name
    layout.create()
    with (
        checked_responses(),
        Competition.open(folder, clock=clock) as competition,
        Scorer(competition, name, layout, ServerSection(), clock=clock) as scorer,
        contextlib.closing(Site(WebSettings(layout, (name,), ""), clock=clock)) as site,
        listening(create_app(site)) as port,
    ):

        def judge() -> None:
            while scorer.step():
                pass

        served = ServedCompetition.at(f"http://127.0.0.1:{port}", name, layout, teams, judge)
        with served.organiser:
            yield served
