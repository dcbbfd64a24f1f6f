"""A web application beside a scorer that is played by the test: it publishes what the test says."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.routing import compile_path
from starlette.testclient import TestClient

from arena.requests import Answer
from arena.server.records.layout import Layout, WebSettings
from arena.server.records.published import CompetitionFacts, Publisher, State, TeamFacts
from arena.server.web.app import create_app
from arena.server.web.endpoint import route_path
from arena.server.web.openapi import document
from arena.server.web.site import Buckets, Site
from arena.server_section import ServerSection

NAME = "churn"
URL = "https://arena.example.org"
ORIGIN = {"Origin": URL, "Sec-Fetch-Site": "same-origin"}
RULES = "# Rules\n\nBe **kind**. <script>alert(1)</script>\n"

FACTS = CompetitionFacts(
    name=NAME,
    title="Customer <b>churn</b>",
    metric="roc_auc",
    board_metric="ROC AUC",
    greater_is_better=True,
    mechanism="ladder",
    mechanism_text="A score is shown if it improves by more than one step.",
    deadline=None,
    columns=("id", "y"),
    rows=60,
    kind="score",
    per_day=5,
    total=None,
    max_bytes=100_000,
    count_rejected=False,
    final_rule="chosen",
    final_count=2,
    baselines=(),
    server=ServerSection(join="open", reads_per_minute=100_000, uploads_per_minute=1_000),
)


def _changed(server: ServerSection, keys: Mapping[str, Any]) -> ServerSection:
    return ServerSection.of({**server.model_dump(), **keys})


class FakeScorer:
    """Answers requests as a scorer would, with scores that the test chooses."""

    def __init__(self, layout: Layout, facts: CompetitionFacts) -> None:
        layout.create()
        self.publisher = Publisher(layout.public(NAME))
        self.scores: dict[str, float] = {}
        self.cursor = 0
        self.submissions = 0
        self.used: dict[str, int] = {}
        self.refuses = ""
        """Why requests other than submissions are refused, if they are."""
        self.publish(facts=facts, board=[])

    def publish(self, facts: CompetitionFacts | None = None, **documents: Any) -> None:
        facts_document = {} if facts is None else {"competition": asdict(facts)}
        self.publisher.publish(
            documents={**documents, **facts_document},
            state=State("open", time.time(), cursor=self.cursor, seconds_each=0.5),
        )

    def publish_result(
        self, rows: list[dict[str, Any]], verdicts: Sequence[str] = (), **about: Any
    ) -> None:
        """Publish a private board as version 1."""
        result = {"version": 1, "published": "2026-03-01T12:00:00+00:00", "state": "published"}
        result |= {"replaced": None, "retracted": None, "mark": None, **about}
        whole = {**result, "verdicts": list(verdicts), "leaderboard": rows}
        self.publish(private=whole, **{"results": [result], "result 1": whole})

    def state(self, **changes: Any) -> None:
        state = State("open", time.time(), cursor=self.cursor)
        self.publisher.publish(state=replace(state, **changes))

    def judge(
        self, site: Site, score: float = 0.75, faults: tuple[Mapping[str, Any], ...] = ()
    ) -> None:
        """Answer everything that waits."""
        for check, _upload, _file in site.intake.checks(NAME):
            self.publisher.publish(documents={f"check {check}": list(faults)})
        for request in site.intake.after(NAME, self.cursor, 1_000):
            self.cursor = request.seq
            now = datetime.now(UTC).isoformat()
            kind, team = request.kind, request.team
            common: dict[str, Any] = {
                "request": request.request, "seq": request.seq, "team": team, "kind": kind,
                "received": request.received.isoformat(), "judged": now, "member": request.member,
                "description": request.payload.get("description", ""),
            }  # fmt: skip
            if kind == "submit" and not faults:
                self.submissions += 1
                self.scores[team] = max(score, self.scores.get(team, 0.0))
                self.used[team] = self.used.get(team, 0) + 1
                answer = Answer(
                    status="accepted", submission=self.submissions, released=score,
                    file=request.payload["file"], sha256=request.payload["sha256"],
                    receipt="f" * 64, **common,
                )  # fmt: skip
            elif kind == "submit" and faults:
                answer = Answer(
                    status="rejected", faults=faults, file=request.payload["file"], **common
                )
            elif self.refuses:
                answer = Answer(status="refused", message=self.refuses, **common)
            else:
                answer = Answer(status="done", message="Done.", **common)
            self.publisher.publish(answers=[answer])
        board = [
            {"rank": rank, "team": team, "score": value, "submission": 1, "n_submissions": 1,
             "baseline": False}
            for rank, (team, value) in enumerate(
                sorted(self.scores.items(), key=lambda item: -item[1]), 1
            )
        ]  # fmt: skip
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        self.publisher.publish(
            teams=[TeamFacts(team, used, day, used) for team, used in self.used.items()],
        )
        self.publish(board=board)


def check_is_documented(response: Any) -> None:
    """Check that the status of an answer of the API is one that its documentation names."""
    request = response.request
    for path, pattern in _api_paths().items():
        operation = document("")["paths"][path].get(request.method.lower())
        if operation is not None and pattern.match(request.url.path):
            assert str(response.status_code) in operation["responses"], request.url


@cache
def _api_paths() -> dict[str, re.Pattern[str]]:
    return {path: compile_path(route_path(path))[0] for path in document("")["paths"]}


class WebSite:
    """A site, its application and clients of several roles."""

    def __init__(
        self, root: Path, *, also: Mapping[str, Mapping[str, Any]] | None = None, **server: Any
    ) -> None:
        """Serve the competition, and also those of other names with keys of their own."""
        facts = {key: server.pop(key) for key in list(server) if key in asdict(FACTS)}
        self.facts = replace(FACTS, server=_changed(FACTS.server, server), **facts)
        self.offset = timedelta()
        layout = Layout(root)
        self.scorer = FakeScorer(layout, self.facts)
        for name, keys in (also or {}).items():
            facts_of_other = {key: value for key, value in keys.items() if key in asdict(FACTS)}
            limits = {key: value for key, value in keys.items() if key not in facts_of_other}
            server_section = _changed(self.facts.server, limits)
            others = replace(self.facts, name=name, server=server_section, **facts_of_other)
            publisher = Publisher(layout.public(name))
            publisher.publish(
                documents={"competition": asdict(others), "board": []},
                state=State("open", time.time(), cursor=0, seconds_each=0.5),
            )
            publisher.close()
        self.site = Site(
            WebSettings(layout, (NAME, *(also or ())), URL),
            clock=lambda: datetime.now(UTC) + self.offset,
        )
        self.site.buckets = Buckets(clock=lambda: 0.0)  # the minute does not end during a test
        self.app = create_app(self.site)

    def _client(self, **options: Any) -> TestClient:
        client = TestClient(self.app, base_url=URL, follow_redirects=False, **options)
        client.event_hooks["response"].append(check_is_documented)
        return client

    def browser(self, account: str | None = None) -> TestClient:
        """Return a browser, signed in as an account if one is given."""
        client = self._client(headers=ORIGIN)
        client.headers["accept"] = "text/html"
        if account is not None:
            client.cookies.set("__Host-arena", self.site.accounts.open_session(account))
        return client

    def sign_in(self, context: Any, account: str, url: str) -> None:
        """Sign an account in to the site in a context of a real browser."""
        secret = self.site.accounts.open_session(account)
        context.add_cookies([{"name": "arena", "value": secret, "url": url}])

    def program(self, token: str | None = None) -> TestClient:
        """Return a program, with its token if one is given."""
        client = self._client()
        if token is not None:
            client.headers["authorization"] = f"Bearer {token}"
        return client

    def person(self, name: str, team: str | None = None, **account: Any) -> str:
        """Register a person, with a team of this name, and return the account."""
        accounts = self.site.accounts
        account_id = accounts.register(name, **account).account
        if team is not None:
            team_record = accounts.team_named(NAME, team)
            if team_record is None:
                accounts.create_team(NAME, team, account_id)
            else:
                accounts.join_team(team_record.team, account_id, 100)
        return account_id

    def token(self, account: str, scope: str = "submit") -> str:
        return self.site.accounts.make_token(account, "test", scope)[0]

    def close(self) -> None:
        self.scorer.publisher.close()
        self.site.close()


@contextlib.contextmanager
def listening(app: Any, port: int = 0, **options: Any) -> Iterator[int]:
    """Serve an application in a thread, on a free port by default; yield the port."""
    config = uvicorn.Config(app, log_config=None, ws="none", lifespan="off", **options)
    server = uvicorn.Server(config)
    # By its number it has its protocol, as in the web process: without it asyncio delays answers.
    sock = socket.socket(fileno=socket.create_server(("127.0.0.1", port)).detach())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield sock.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(200)
