"""Whatever the private labels are, every byte that participants are served is the same.

The same holds for public labels that change no released score. Headers, the database that the web
process reads, the events of open pages, their number and order, and the lines of the log are
compared too. Except for receipts: each is a hash of the record, keyed with a random number of the
competition; and for times.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from arena.competition.competition import Competition
from arena.config import ServerSection, Settings
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout, WebSettings
from arena.server.records.published import Publisher
from arena.server.records.uploads import Uploads
from arena.server.scorer.scorer import Scorer
from arena.server.web.api import ENDPOINTS
from arena.server.web.app import create_app
from arena.server.web.call import Call
from arena.server.web.events import stream, wake
from arena.server.web.operations import JsonLines
from arena.server.web.pages import PAGES
from arena.server.web.people import identify
from arena.server.web.site import Site
from program import write_csv
from served import N_ROWS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OF_PARTICIPANTS = {
    ("GET", who) for who in ("anyone", "reader", "signed-in", "member", "downloader")
}
ADDRESSES = (
    *(f"/race{path}" for method, path, who, *_ in PAGES if (method, who) in OF_PARTICIPANTS),
    *(f"/api/v1/race{endpoint.path}" for endpoint in ENDPOINTS
      if (endpoint.method, endpoint.who) in OF_PARTICIPANTS
      and endpoint.path != "/events"),  # OpenPages reads them
    "/api/v1/competitions/race/leaderboard/view",
    "/api/v1/competitions/submissions/list/race",
)  # fmt: skip
"""Everything that a participant can read."""


RANDOM = re.compile(rb"""[0-9a-f]{64}|name="key" value="[^"]+"|nonce-[^']+""")
"""Receipts and the last hash; what each page draws."""


_CYCLES = 100
"""Of the event loop: more than an open page needs to send what is new, for it waits for nothing."""


class OpenPages:
    """The events that a guest, a member and an organiser are sent, in order."""

    def __init__(self, site: Site, tokens: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self._runner = asyncio.Runner()
        self._site = site
        self._streams: dict[str, AsyncIterator[str]] = {}
        self._next: dict[str, asyncio.Task[str]] = {}
        for who, token in tokens.items():
            headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
            request = Request({
                "type": "http", "method": "GET", "scheme": "http", "query_string": b"",
                "path": "/api/v1/race/events", "headers": headers, "client": ("testclient", 1),
            })  # fmt: skip
            person = identify(request, site.accounts)
            self._streams[who] = stream(Call(request, site, site.competitions["race"], person))
        self.look()

    def look(self) -> None:
        """Take what is sent now."""
        self._runner.run(self._look())

    async def _look(self) -> None:
        wake(self._site.competitions["race"])
        for _cycle in range(_CYCLES):
            for who, events in self._streams.items():
                waiting = self._next.get(who)
                if waiting is not None and waiting.done():
                    self.lines.append(f"{who}: {waiting.result()!r}")
                if waiting is None or waiting.done():
                    self._next[who] = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)

    def close(self) -> None:
        self._runner.close()  # ends the streams


@contextmanager
def logged() -> Iterator[list[str]]:
    """Yield the lines that the web process and the scorer log, without times."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = json.loads(JsonLines().format(record))
            lines.append(repr({key: line[key] for key in line if key not in {"time", "ms"}}))

    root, handler = logging.getLogger("arena"), Handler()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@contextmanager
def looking(pages: OpenPages) -> Iterator[None]:
    """Let open pages look after everything that is published."""
    publish = Publisher.publish

    def look(self: Publisher, **given: Any) -> None:
        publish(self, **given)
        pages.look()

    Publisher.publish = look  # type: ignore[method-assign]
    try:
        yield
    finally:
        Publisher.publish = publish  # type: ignore[method-assign]


def served(
    root: Path,
    queue: Path,
    tokens: Mapping[str, str],
    truth: np.ndarray,
    scored_by: str,
    columns: Mapping[str, Sequence[object]] | None = None,
    publish_seconds: float = 0.0,
    **sections: Mapping[str, Any],
) -> dict[str, bytes]:
    """Return what a member is served after everything in a queue was judged."""
    columns = columns or {}
    usage = ["Public" if row % 2 else "Private" for row in range(N_ROWS)]
    rows = list(zip([f"r{row}" for row in range(N_ROWS)], truth, usage, *columns.values(),
                    strict=True))  # fmt: skip
    root.mkdir()
    write_csv(root / "solution.csv", ["id", "y", "Usage", *columns], rows)
    of_metric = {"name": scored_by, **sections.pop("metric", {})}
    settings = Settings.model_validate({"limits": {"per_day": 50}, **sections, "metric": of_metric})
    Competition.create(
        root / "race", root / "solution.csv", settings, seed=1, clock=lambda: NOON
    ).close()
    layout = Layout(shutil.copytree(queue, root / "server"))
    # Nothing follows the clock: the board is published after each submission, or in the end.
    server = ServerSection(publish_seconds=publish_seconds, embed=True)
    with (
        logged() as lines,
        Competition.open(root / "race", clock=lambda: NOON) as competition,
        Scorer(competition, "race", layout, server, clock=lambda: NOON) as scorer,
    ):
        site = Site(WebSettings(layout, ("race",), "http://testserver"), clock=lambda: NOON)
        pages = OpenPages(site, tokens)
        with looking(pages):
            while scorer.step():
                pass
        pages.close()
        released = [row["released"] for row in competition.submissions()]
        outputs = {"released": repr(released).encode(), "events": "\n".join(pages.lines).encode()}
        client = TestClient(
            create_app(site), headers={"Authorization": f"Bearer {tokens['member']}"}
        )
        with closing(sqlite3.connect(layout.intake)) as asked_for:
            ((request,),) = asked_for.execute("SELECT request FROM requests WHERE seq = 1")
        parts = {"request": request, "version": "1", "page": "prizes", "file": "a.csv"}
        for address in ADDRESSES:
            path = re.sub(r"{(\w+)[^}]*}", lambda part: parts[part[1]], address)
            answer = client.get(path)
            headers = repr(sorted(answer.headers.items())).encode()
            outputs[address] = b"%d\n" % answer.status_code + RANDOM.sub(b"", answer.content)
            outputs[f"headers of {address}"] = RANDOM.sub(b"", headers)
        site.close()
        outputs["log"] = RANDOM.sub(b"", "\n".join(lines).encode())
    with closing(sqlite3.connect(layout.public("race"))) as published:
        for table in ("answers", "teams", "names", "documents"):
            rows = published.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()  # noqa: S608
            of_labels = [row for row in rows if row[0] != "state"]  # which has processor times
            outputs[f"published {table}"] = RANDOM.sub(b"", repr(of_labels).encode())
    return outputs


def asked(
    tmp_path: Path, submissions: Sequence[np.ndarray | None]
) -> tuple[Layout, Mapping[str, str]]:
    """Return a queue with submissions of two teams and decisions, and a token of each role.

    None: a file with a fault.
    """
    queue = Layout(tmp_path / "queue")
    queue.create()
    accounts, intake = Accounts(queue.intake), Intake(queue.intake)
    account = accounts.register("Ada").account
    accounts.create_team("race", "red", account)
    host = accounts.register("Host", organiser=True).account
    tokens = {
        "guest": "",
        "member": accounts.make_token(account, "test", "submit")[0],
        "organiser": accounts.make_token(host, "test", "admin")[0],
    }
    for number, values in enumerate(submissions):
        rows = (
            ["r0,x"] if values is None else [f"r{row},{value}" for row, value in enumerate(values)]
        )
        stored = Uploads(queue.uploads).put(["\n".join(["id,y", *rows, ""]).encode()])
        payload = {
            "upload": stored.name, "file": "a.csv", "bytes": stored.bytes, "sha256": stored.sha256,
        }  # fmt: skip
        intake.append(
            competition="race", team="blue" if number % 3 == 1 else "red", member=account,
            kind="submit", payload=payload, received=NOON,
        )  # fmt: skip
    decisions: tuple[tuple[Literal["select", "disqualify", "undo"], str, str, Any], ...] = (
        ("select", "red", account, {"submissions": [1]}),
        ("disqualify", "", host, {"team": "blue", "reason": "x"}),
        ("undo", "", host, {"team": "blue", "reason": "y"}),
    )
    for kind, team, member, payload in decisions:
        intake.append(
            competition="race", team=team, member=member, kind=kind, payload=payload,
            received=NOON,
        )  # fmt: skip
    accounts.close()
    intake.close()
    return queue, tokens


WAYS = {"alone": 0.0, "together": 1e6}
"""How submissions are judged -> the seconds between two publications."""


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
@pytest.mark.parametrize("way", WAYS)
def test_other_private_labels_leave_every_byte_unchanged(
    tmp_path: Path, metric: str, way: str
) -> None:
    labels = np.random.default_rng(5).integers(0, 2, N_ROWS)
    queue, tokens = asked(tmp_path, [labels, labels, None, np.random.default_rng(1).random(N_ROWS)])
    other, public = labels.copy(), labels.copy()
    other[::2] = 1 - other[::2]
    public[1] = 1 - public[1]
    first, second = (
        served(tmp_path / name, queue.root, tokens, own, metric, publish_seconds=WAYS[way])
        for name, own in (("first", labels), ("second", other))
    )
    assert first == second
    if way == "together":  # a page hears of all at once
        return
    events = first["events"].decode()
    assert events.count("member: 'event: board") > events.count("member: 'event: announcement") == 1
    assert events.count("member: 'event: answer") >= 5
    assert "organiser: 'event: answer" in events
    assert "guest: 'event: answer" not in events
    assert b"/api/v1/{competition}/board" in first["log"]
    refused = {address for address in ADDRESSES if not first[address].startswith(b"200")}
    missing = {
        address
        for address in ADDRESSES
        if re.search("private|results|embed|{page}|{file}", address)
    }
    assert refused <= missing, refused
    # The kaggle client is told when the best submission of each team was received.
    assert b"2026-03-01T12:00:00.000Z" in first["/api/v1/competitions/race/leaderboard/view"]
    changed = served(tmp_path / "third", queue.root, tokens, public, metric)
    assert changed["events"] != first["events"]
    assert changed["/api/v1/race/board"] != first["/api/v1/race/board"]  # a public label is seen
    assert first["/api/v1/race/submissions"].count(b'"accepted"') >= 1


WEIGHTS = [1 + row % 3 for row in range(N_ROWS)]
GROUPS = [f"g{row // 8}" for row in range(N_ROWS)]
SWAPPED = [(1, 7), (9, 15), (17, 23)]
"""Public rows of one weight and group with the same predictions: their labels change no score."""
ROUNDED = "kaggle(rounding=0.1, rank_rounded=True)"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rounded": ("accuracy", ROUNDED, {}),
    "labels": ("accuracy", "full", {}),
    "ladder": ("accuracy", "ladder(eta=0.01)", {}),
    "ladder for all": ("accuracy", "ladder-free", {"public": {"scope": "rank"}}),
    "noisy": ("accuracy", "noisy-ladder(eta=0.01)", {}),
    "thresholdout": ("accuracy", "thresholdout(threshold=0.05, noise=0.01, budget=100)", {}),
    "order": ("roc_auc", ROUNDED, {}),
    "ladder of an order": ("roc_auc", "ladder-free", {}),
    "probabilities": ("log_loss", ROUNDED, {}),
    "values": ("rmse", ROUNDED, {}),
    "clipped values": ("rmse", "ladder-free(clip=5)", {}),
    "shares": ("mape", ROUNDED, {}),
    "shares of variance": ("r2", ROUNDED, {}),
    "secondary": (
        "rmse", ROUNDED, {"metric": {"secondary": ["mae", "r2"]}, "final": {"ties": "secondary"}}
    ),
    "published secondary": (
        "roc_auc",
        "ladder-free",
        {
            "metric": {"secondary": ["average_precision"]},
            "final": {"columns": ["average_precision"]},
        },
    ),
    "weights": ("rmse", ROUNDED, {"data": {"weight": "w"}, "columns": {"w": WEIGHTS}}),
    "groups": ("accuracy", "ladder-free", {"data": {"cluster": "g"}, "columns": {"g": GROUPS}}),
    "a metric from a file": ("kaggle:FILE", ROUNDED, {}),
}  # fmt: skip
FOREIGN = """
def score(solution, submission, row_id_column_name):
    return float((solution["y"] - submission["y"]).abs().mean())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_other_label_than_released_scores_tell_changes_a_byte(tmp_path: Path, name: str) -> None:
    metric, mechanism, sections = CASES[name]
    rng = np.random.default_rng(5)
    if metric in {"accuracy", "roc_auc", "log_loss"}:
        labels, step = rng.integers(0, 2, N_ROWS).astype(float), None
        tried = [rng.random(N_ROWS), labels.copy(), labels[::-1].copy(), rng.random(N_ROWS)]
        if metric == "accuracy":
            tried = [np.rint(column) for column in tried]
    else:
        labels, step = np.round(rng.normal(10, 3, N_ROWS), 3), 0.001
        tried = [rng.normal(10, 3, N_ROWS), labels.copy(), labels + 0.01, np.full(N_ROWS, 1e80)]
    for row, same in SWAPPED:
        if step is None:
            labels[same] = 1 - labels[row]
        for predictions in tried:
            predictions[same] = predictions[row]
    (tmp_path / "metric.py").write_text(FOREIGN)
    metric = metric.replace("FILE", str(tmp_path / "metric.py"))
    queue, tokens = asked(tmp_path, [*tried[:2], None, *tried[2:]])
    public = {"mechanism": mechanism, **sections.get("public", {})}
    options = {**sections, "public": public}

    def found(number: int, truth: np.ndarray) -> dict[str, bytes]:
        solution = truth.astype(int) if step is None else truth
        return served(tmp_path / str(number), queue.root, tokens, solution, metric, **options)

    def changed(rows: Sequence[int]) -> np.ndarray:
        other = labels.copy()
        other[rows] = 1 - other[rows] if step is None else other[rows] + step
        return other

    first = found(0, labels)
    private = changed(range(0, N_ROWS, 2))
    if step is not None:
        private[0] = 1e60
    assert found(1, private) == first
    # All at once, or some of them: sums in another order can differ.
    for number, pairs in enumerate([SWAPPED, *([pair] for pair in SWAPPED)], start=2):
        swapped = labels.copy()
        for row, same in pairs:
            swapped[[row, same]] = labels[[same, row]]
        after_swap = found(number, swapped)
        if after_swap["released"] == first["released"]:
            assert after_swap == first
            return
    pytest.fail("Every swap changed a score.")
