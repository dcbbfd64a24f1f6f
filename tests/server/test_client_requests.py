"""What clients send and how they read answers, on a connection that only records."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from arena.client import Client, OrganiserClient, RefusedRequestError, ServerError
from arena.errors import UsageError

URL = "https://arena.example.org/races/churn"
JSON, FILE = "application/json", "application/octet-stream"
PROBLEM = "application/problem+json"


class Answer:
    """An answer of a server."""

    def __init__(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.content, self.status, self.headers = content, status, headers

    def getheader(self, name: str, default: str | None = None) -> str | None:
        return self.headers.get(name.replace("-", "_"), default)

    def read(self, most: int | None = None) -> bytes:
        part, self.content = self.content[:most], self.content[most or len(self.content) :]
        return part


class Connections:
    """Every connection of a client: what was sent, and the answers or errors that wait."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.sent: list[tuple[str, str, bytes | None]] = []
        self.headers: list[dict[str, str]] = []
        self.n_closed = 0

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> None:
        content = body.read() if hasattr(body, "read") else body
        self.sent.append((method, path, content))
        self.headers.append(headers or {})

    def getresponse(self) -> Answer:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(json.dumps(answer).encode())

    def close(self) -> None:
        self.n_closed += 1


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Connections]:
    """Return a function that lets all clients get these answers, one after the other."""

    def prepare(*answers: Any) -> Connections:
        connections = Connections(*answers)
        monkeypatch.setattr(Client, "_connection", lambda client: connections)
        return connections

    return prepare


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses of clients, which do not wait."""
    slept: list[float] = []
    monkeypatch.setattr("arena.client.time.sleep", slept.append)
    return slept


ROWS, ROW = {"rows": [{"a": 1}]}, [{"a": 1}]
ANY: dict[str, Any] = {"status": "waiting"}
SEEN = {"seen": 7}
REJECTED = "/admin/submissions?team=Ants&status=rejected&day=&phase=&search=&order=newest&page="
OF_A_DAY = "/admin/submissions?team=&status=&day=2026-03-01&phase=p&search=x&order=team&page="

# Name, arguments, answers, what is sent, and what is returned (by default the last answer).
Case = tuple[str, dict[str, Any], list[Any], list[tuple[str, str, Any]], Any]
CALLS: dict[type[Client], list[Case]] = {
    Client: [
        ("info", {}, [ANY], [("GET", "", None)], ANY),
        ("phases", {}, [{"phases": ROW}], [("GET", "/phases", None)], ROW),
        (
            "board",
            {},
            [{"rows": [1], "next": 500}, {"rows": [2], "next": None}],
            [
                ("GET", "/board?limit=500&after=0", None),
                ("GET", "/board?limit=500&after=500", None),
            ],
            [1, 2],
        ),
        (
            "board",
            {"bracket": "a b", "phase": "p", "board": "all"},
            [{"rows": [], "next": None}],
            [("GET", "/board?limit=500&bracket=a+b&phase=p&board=all&after=0", None)],
            [],
        ),
        (
            "join",
            {"team": "Ants"},
            [ANY],
            [("POST", "/join", {"team": "Ants", "code": "", "rules": "", "answers": {}})],
            ANY,
        ),
        (
            "join",
            {"code": "c", "rules": "r", "answers": {"q": "a"}},
            [ANY],
            [("POST", "/join", {"team": "", "code": "c", "rules": "r", "answers": {"q": "a"}})],
            ANY,
        ),
        ("team", {}, [ANY], [("GET", "/team", None)], ANY),
        ("rename_team", {"name": "Ants"}, [ANY], [("PATCH", "/team", {"name": "Ants"})], ANY),
        ("request", {"request": "a b"}, [ANY], [("GET", "/requests/a%20b", None)], ANY),
        ("files", {}, [{"files": ROW}], [("GET", "/files", None)], ROW),
        ("submissions", {}, [ANY], [("GET", "/submissions", None)], ANY),
        ("withdraw", {"submission": 3}, [ANY], [("POST", "/withdrawals", {"submission": 3})], ANY),
        ("results", {}, [ROWS], [("GET", "/results", None)], ROW),
        ("result", {"version": 2}, [ANY], [("GET", "/results/2", None)], ANY),
        (
            "announcements",
            {},
            [{"announcements": ROW}],
            [("GET", "/announcements", None)],
            ROW,
        ),
        ("ask", {"text": "Why?"}, [ANY], [("POST", "/messages", {"text": "Why?"})], ANY),
        ("messages", {}, [{"messages": ROW}], [("GET", "/messages", None)], ROW),
        ("answers", {}, [{"messages": ROW}], [("GET", "/answers", None)], ROW),
        ("team_requests", {}, [ANY], [("GET", "/team/requests", None)], ANY),
        ("ask_team", {"team": "Bees"}, [ANY], [("POST", "/team/requests", {"team": "Bees"})], ANY),
        ("end_team_request", {}, [ANY], [("DELETE", "/team/requests", None)], ANY),
        ("mail_results", {"wanted": True}, [{}], [("PUT", "/result-mail", {"wanted": True})], None),
        (
            "select",
            {"submissions": (1, 2)},
            [ANY],
            [("PUT", "/selection", {"submissions": [1, 2]})],
            ANY,
        ),
        (
            "select",
            {"submissions": (), "phase": "dev"},
            [ANY],
            [("PUT", "/selection", {"submissions": [], "phase": "dev"})],
            ANY,
        ),
    ],
    OrganiserClient: [
        ("health", {}, [SEEN], [("GET", "/admin/health", None)], SEEN),
        *(
            (name, {}, [ROWS], [("GET", f"/admin/{place}", None)], ROW)
            for name, place in (
                ("queue", "queue"),
                ("teams", "teams"),
                ("events", "events"),
                ("merges", "merges"),
                ("all_messages", "messages"),
                ("invitations", "invitations"),
                ("failed_mails", "mails"),
                ("activity", "activity"),
            )
        ),
        (
            "all_submissions",
            {"team": "Ants", "status": "rejected"},
            [{"rows": [1, 2], "total": 3}, {"rows": [3], "total": 3}],
            [
                (
                    "GET",
                    f"{REJECTED}1",
                    None,
                ),
                (
                    "GET",
                    f"{REJECTED}2",
                    None,
                ),
            ],
            [1, 2, 3],
        ),
        (
            "all_submissions",
            {"day": "2026-03-01", "phase": "p", "search": "x", "order": "team"},
            [{"rows": [], "total": 3}],
            [
                (
                    "GET",
                    f"{OF_A_DAY}1",
                    None,
                )
            ],
            [],
        ),
        (
            "judge_again",
            {"request": "a b"},
            [ANY],
            [("POST", "/admin/submissions/a%20b/rerun", {})],
            ANY,
        ),
        *(
            (
                name,
                {"reason": "r", **whom},
                [ANY],
                [("POST", f"/admin/{name}", {"reason": "r", **whom})],
                ANY,
            )
            for name in ("disqualify", "undo")
            for whom in ({"submission": 0}, {"team": "Ants"})
        ),
        (
            "merge",
            {"team": "a", "into": "b"},
            [ANY],
            [("POST", "/admin/merge", {"team": "a", "into": "b"})],
            ANY,
        ),
        *(
            (
                "assign_bracket",
                {"team": "a", "bracket": "b", **options},
                [ANY],
                [("POST", "/admin/brackets", {"team": "a", "bracket": "b", "member": member})],
                ANY,
            )
            for options, member in (({}, True), ({"member": False}, False))
        ),
        ("approve", {"account": "a"}, [{}], [("POST", "/admin/approve", {"account": "a"})], None),
        ("block", {"account": "a"}, [{}], [("POST", "/admin/block", {"account": "a"})], None),
        (
            "delete_account",
            {"account": "a"},
            [{}],
            [("DELETE", "/admin/accounts", {"account": "a"})],
            None,
        ),
        *(
            (
                "announce",
                {"text": "t", **options},
                [ANY],
                [("POST", "/admin/announcements", {"text": "t", "mail": mail})],
                ANY,
            )
            for options, mail in (({}, False), ({"mail": True}, True))
        ),
        (
            "withdraw_announcement",
            {"announcement": 4},
            [{}],
            [("DELETE", "/admin/announcements", {"announcement": 4})],
            None,
        ),
        *(
            (
                "answer",
                {"message": 5, "text": "t", **options},
                [ANY],
                [("POST", "/admin/messages", {"answers": 5, "text": "t", "published": published})],
                ANY,
            )
            for options, published in (({}, ""), ({"published": "q"}, "q"))
        ),
        (
            "write",
            {"team": "a", "text": "t"},
            [ANY],
            [("POST", "/admin/messages", {"team": "a", "text": "t"})],
            ANY,
        ),
        (
            "invite",
            {"people": "Ants,é,e@f.g"},
            [ROWS],
            [("POST", "/admin/teams", "Ants,é,e@f.g")],
            ROW,
        ),
        (
            "invite_again",
            {"invite": "i"},
            [{"rows": [1, 2]}],
            [("PUT", "/admin/invitations", {"invite": "i"})],
            1,
        ),
        (
            "withdraw_invitation",
            {"invite": "i"},
            [{}],
            [("DELETE", "/admin/invitations", {"invite": "i"})],
            None,
        ),
        ("send_mail_again", {"mail": "m"}, [{}], [("POST", "/admin/mails", {"mail": "m"})], None),
        ("rescore", {}, [ANY], [("POST", "/admin/rescore", {"preview": ""})], ANY),
        ("rescore", {"preview": "c"}, [ANY], [("POST", "/admin/rescore", {"preview": "c"})], ANY),
        ("pause", {"reason": "r"}, [ANY], [("POST", "/admin/pause", {"reason": "r"})], ANY),
        ("resume", {}, [ANY], [("POST", "/admin/resume", {})], ANY),
        *(
            (
                "exempt",
                {"team": "a", "reason": "r", **more},
                [ANY],
                [("POST", "/admin/exempt", {"team": "a", "reason": "r", **more})],
                ANY,
            )
            for more in ({"until": "2026-03-01T00:00:00Z"}, {"extra": 2})
        ),
        *(
            (
                name,
                options,
                [SEEN, ANY],
                [
                    ("GET", "/admin/health", None),
                    ("POST", f"/admin/{name}", {"seen": 7, "phase": phase}),
                ],
                ANY,
            )
            for name in ("finalize", "publish")
            for options, phase in (({}, ""), ({"phase": "p"}, "p"))
        ),
        ("next_result", {}, [ANY], [("GET", "/admin/result", None)], ANY),
        *(
            (
                "edit_team",
                {"team": "t 1", **more},
                [ANY],
                [("PATCH", "/admin/teams/t%201", more)],
                ANY,
            )
            for more in ({"name": "Ants"}, {"note": ""})
        ),
        ("settings", {}, [ANY], [("GET", "/admin/settings", None)], ANY),
        (
            "preview_settings",
            {"settings": {"a": 1}},
            [{"changes": ["a"]}],
            [("POST", "/admin/settings/preview", {"settings": {"a": 1}, "texts": {}})],
            ["a"],
        ),
        (
            "preview_settings",
            {"settings": {}, "texts": {"rules": "r"}},
            [{"changes": []}],
            [("POST", "/admin/settings/preview", {"settings": {}, "texts": {"rules": "r"}})],
            [],
        ),
        *(
            (
                "change_settings",
                {"settings": {"a": 1}, **options},
                [ANY],
                [("PATCH", "/admin/settings", {"settings": {"a": 1}, "texts": texts})],
                ANY,
            )
            for options, texts in (({}, {}), ({"texts": {"rules": "r"}}, {"rules": "r"}))
        ),
        *(
            (
                "verify_winner",
                {"submission": 3, "state": "failed", **options},
                [ANY],
                [
                    (
                        "POST",
                        "/admin/verifications",
                        {"submission": 3, "state": "failed", "note": note},
                    )
                ],
                ANY,
            )
            for options, note in (({}, ""), ({"note": "n"}, "n"))
        ),
        *(
            (
                "retract",
                {"reason": "r", **options},
                [ANY],
                [("POST", "/admin/retract", {"reason": "r", "phase": phase})],
                ANY,
            )
            for options, phase in (({}, ""), ({"phase": "p"}, "p"))
        ),
    ],
}
OF_FILES = {"submit", "validate", "wait", "download"}
"""Methods with a test of their own."""


@pytest.mark.parametrize("kind", CALLS)
def test_every_method_sends_its_request(kind: type[Client], connect: Any) -> None:
    for name, arguments, answers, requests, returned in CALLS[kind]:
        connections = connect(*answers)
        assert getattr(kind(URL, " token "), name)(**arguments) == returned, name
        expected = [(method, f"/races/api/v1/churn{path}") for method, path, _ in requests]
        assert [request[:2] for request in connections.sent] == expected
        bodies = [
            body.decode() if isinstance(expected_body, str) else body and json.loads(body)
            for (_, _, body), (_, _, expected_body) in zip(connections.sent, requests, strict=True)
        ]
        assert bodies == [body for _, _, body in requests]
        kinds = [
            "text/plain; charset=utf-8" if isinstance(body, str) else JSON
            for _, _, body in requests
        ]
        assert connections.headers == [
            {"Authorization": "Bearer token", "Content-Type": kind} for kind in kinds
        ]
        assert connections.n_closed == len(requests)
    public = {name for name, value in vars(kind).items() if callable(value) and name[0] != "_"}
    assert {name for name, *_ in CALLS[kind]} | (OF_FILES & public) == public


@pytest.mark.parametrize(
    ("given", "query", "key"),
    [
        ({}, "file=my+file.csv", "file-{digest}"),
        ({"key": "mine", "description": "a b"}, "file=my+file.csv&description=a+b", "mine"),
        (
            {"phase": "p", "answers": {"kind": "x", "more": ""}},
            "file=my+file.csv&phase=p&answer.kind=x", "file-{digest}-p",
        ),
    ],
)  # fmt: skip
def test_a_file_is_submitted_with_its_digest_as_its_key(
    given: dict[str, Any], query: str, key: str, connect: Any, tmp_path: Path
) -> None:
    (tmp_path / "my file.csv").write_bytes(b"id,y\n")
    connections = connect(Answer(b'{"request": "r"}', 202))
    assert Client(URL, "t").submit(tmp_path / "my file.csv", **given) == {"request": "r"}
    assert connections.sent == [("POST", f"/races/api/v1/churn/submissions?{query}", b"id,y\n")]
    assert connections.headers == [
        {
            "Authorization": "Bearer t",
            "Content-Type": FILE,
            "Content-Length": "5",
            "Idempotency-Key": key.format(digest=hashlib.sha256(b"id,y\n").hexdigest()),
        }
    ]


def test_a_file_is_checked_without_a_key(connect: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,y\n")
    connections = connect(Answer(b'{"status": "valid"}', 201))
    assert Client(URL, "t").validate(str(tmp_path / "a.csv")) == {"status": "valid"}
    assert connections.sent == [("POST", "/races/api/v1/churn/validate", b"id,y\n")]
    for send in (Client(URL, "t").submit, Client(URL, "t").validate):
        connections = connect(*[ANY] * 9)
        with pytest.raises(UsageError) as refusal:
            send(tmp_path / "missing.csv")
        assert str(refusal.value) == (
            f"{tmp_path / 'missing.csv'} cannot be read: there is no such file or folder."
        )
        assert connections.sent == []


def test_waiting_ends_with_the_answer_or_the_time(
    connect: Any, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("arena.client.time.monotonic", lambda: now)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        pauses.append(seconds)

    monkeypatch.setattr("arena.client.time.sleep", sleep)
    connect(ANY, ANY, {"status": "scored"})
    assert Client(URL, "t").wait("r")["status"] == "scored"
    assert pauses == [0.2, pytest.approx(0.3)]
    pauses.clear()
    connections = connect(*[ANY] * 99)
    assert Client(URL, "t").wait("r", seconds=30.0) == ANY
    # 0.2 s, then half as much again each time, at most 10 s, until 30 s are over:
    # 0.2 (1.5^9 - 1) / 0.5 = 14.98 s after nine, then 7.69 s, and the rest of 30 s.
    assert pauses == [pytest.approx(0.2 * 1.5**k) for k in range(10)] + [
        pytest.approx(7.33, abs=0.01)
    ]
    assert len(connections.sent) == 12
    pauses.clear()
    connect(*[ANY] * 99)
    Client(URL, "t").wait("r", seconds=100.0)
    assert max(pauses) == 10.0
    connections = connect(ANY)
    assert Client(URL, "t").wait("r", seconds=0.0) == ANY
    # The time may be over between two looks at the clock.
    clock = itertools.count(100.0)
    monkeypatch.setattr("arena.client.time.monotonic", lambda: next(clock))
    pauses.clear()
    connect(*[ANY] * 2)
    assert Client(URL, "t").wait("r", seconds=1.5) == ANY
    assert pauses == [0.0]


def offered(**files: bytes) -> dict[str, Any]:
    return {
        "files": [
            {
                "name": name.replace("_", "/"),
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in files.items()
        ]
    }


def ranges(connections: Connections) -> list[str]:
    return [headers["Range"] for headers in connections.headers[1:]]


def test_files_are_downloaded_once_and_resumed(connect: Any, tmp_path: Path) -> None:
    files = offered(a=b"12345", inner_b=b"")
    digest = files["files"][0]["sha256"]
    connections = connect(files, Answer(b"12"), Answer(b"345", 206))
    assert Client(URL, "t").download(tmp_path) == [tmp_path / "a", tmp_path / "inner" / "b"]
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "inner/b").read_bytes()) == (b"12345", b"")
    assert ranges(connections) == ["bytes=0-", "bytes=2-"]
    assert connections.headers[1]["If-Range"] == f'"{digest}"'
    assert connections.headers[1]["Authorization"] == "Bearer t"
    assert connections.sent[1] == ("GET", "/races/api/v1/churn/files/a", None)
    connections = connect(files)
    assert Client(URL, "t").download(tmp_path, ["a"]) == [tmp_path / "a"]
    assert len(connections.sent) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "inner"]


def test_a_file_that_was_replaced_is_downloaded_from_its_start(
    connect: Any, tmp_path: Path
) -> None:
    files = offered(a=b"12345")
    (tmp_path / f"a.{files['files'][0]['sha256'][:8]}.part").write_bytes(b"xx")
    connections = connect(files, Answer(b"12345"))  # 200: not the rest of the one that began
    Client(URL, "t").download(tmp_path)
    assert ranges(connections) == ["bytes=2-"]
    assert (tmp_path / "a").read_bytes() == b"12345"


def test_a_damaged_download_is_said(connect: Any, tmp_path: Path) -> None:
    for answers in ([Answer(b"12346")], [Answer(b"123"), Answer(b"", 206)]):
        connect(offered(a=b"12345"), *answers)
        with pytest.raises(ServerError) as refused:
            Client(URL, "t").download(tmp_path)
        assert str(refused.value) == ("a arrived damaged, or was replaced meanwhile. Try again.")
        assert list(tmp_path.iterdir()) == []
    connect(offered(a=b"1"), Answer(b'{"detail": "Gone."}', 404, Content_Type=PROBLEM))
    with pytest.raises(RefusedRequestError, match=r"^Gone\.$"):
        Client(URL, "t").download(tmp_path)


def test_a_download_stays_in_its_folder(connect: Any, tmp_path: Path) -> None:
    for name in ("../a", "/etc/a", "."):
        connect({"files": [{"name": name, "bytes": 1, "sha256": "0" * 64}]})
        with pytest.raises(ServerError) as refused:
            Client(URL, "t").download(tmp_path / "in")
        assert str(refused.value) == f"The server names a file outside the folder: {name!r}."
    connect(offered(a=b"1", b=b"2"))
    with pytest.raises(UsageError, match=r"^There is no file 'c'\. There are: a, b\.$"):
        Client(URL, "t").download(tmp_path, ["a", "c"])
    connect(offered())
    with pytest.raises(UsageError, match=r"^There is no file 'c'\. There are: none\.$"):
        Client(URL, "t").download(tmp_path, ["c"])
    (tmp_path / "file").touch()
    connect(offered(a=b"1"))
    with pytest.raises(UsageError) as unwritten:
        Client(URL, "t").download(tmp_path / "file")
    assert str(unwritten.value) == f"{tmp_path}/file/a cannot be written: file exists."


def busy(status: int = 503, after: str | None = None) -> Answer:
    headers = {} if after is None else {"Retry_After": after}
    return Answer(b'{"detail": "Later."}', status, Content_Type=PROBLEM, **headers)


def test_a_request_is_repeated_after_a_pause(connect: Any, pauses: list[float]) -> None:
    connect(ConnectionError(), ConnectionError(), ConnectionError(), ANY)
    assert Client(URL, "t").team() == ANY
    assert pauses == [2, 4, 8]
    pauses.clear()
    connect(*[ConnectionError()] * 6, ANY)
    with pytest.raises(ServerError):
        Client(URL, "t").team()
    assert pauses == [2, 4, 8, 16, 30]
    pauses.clear()
    connect(busy(429), busy(502, "7"), busy(503, "61"), busy(504, "soon"), busy(503, "0"), ANY)
    assert Client(URL, "t").team() == ANY
    assert pauses == [2, 7, 60, 2, 0]


def refused_by(client: Client) -> ServerError:
    with pytest.raises(ServerError) as refused:
        client.team()
    return refused.value


def test_what_fails_is_said(connect: Any, pauses: list[float]) -> None:
    client = Client(URL, "t", attempts=2)
    connect(ConnectionError(), http.client.BadStatusLine("x"))
    assert str(refused_by(client)) == (
        "arena.example.org cannot be reached: x. Check the address and the connection, and "
        "repeat the command: nothing is counted twice."
    )
    connect(TimeoutError(), TimeoutError())
    assert "arena.example.org cannot be reached: TimeoutError. Check" in str(refused_by(client))
    pauses.clear()
    connections = connect(ssl.SSLCertVerificationError("certificate"), ANY)
    refused_by(client)
    assert (len(connections.sent), pauses) == (1, [])  # another try finds the same certificate
    connect(busy(), busy(429))
    assert (str(refused := refused_by(client)), refused.status) == ("Later.", 429)
    connect(Answer(b"", 204))
    assert client.team() == {}
    unclear = "The server answered with status {}: is this the address of a competition?"
    for answer, kind, sentence in (
        (Answer(b'{"detail": "No."}', 400, Content_Type=PROBLEM), RefusedRequestError, "No."),
        (Answer(b'{"detail": "No."}', 499, Content_Type=PROBLEM), RefusedRequestError, "No."),
        (Answer(b'{"detail": "No."}', 399, Content_Type=PROBLEM), ServerError, "No."),
        (Answer(b'{"detail": "No."}', 500, Content_Type=PROBLEM), ServerError, "No."),
        (Answer(b'{"detail": "No."}', 404, Content_Type="text/html"), RefusedRequestError, unclear),
        (Answer(b"{}", 404, Content_Type=PROBLEM), RefusedRequestError, unclear),
        (Answer(b"[]", 404, Content_Type=PROBLEM), RefusedRequestError, unclear),
        (Answer(b"x", 302), ServerError, unclear),
    ):
        connect(answer)
        error = refused_by(client)
        assert (type(error), str(error)) == (kind, sentence.format(answer.status))
        assert error.status == answer.status


def test_a_change_is_sent_once(connect: Any) -> None:
    for error, reason in ((TimeoutError(), "TimeoutError"), (OSError("broken"), "broken")):
        connections = connect(error, ANY)
        with pytest.raises(ServerError) as refused:
            OrganiserClient(URL, "t").resume()
        assert len(connections.sent) == 1
        assert str(refused.value) == (
            f"arena.example.org did not answer: {reason}. The request may have been carried out: "
            f"look at the site before you repeat it."
        )


NO_COMPETITION = (
    "is not the address of a competition. It looks like https://arena.example.org/NAME."
)
NOT_ENCRYPTED = "is not encrypted, so anyone on the way could read the token. Use https."
ADDRESSES: dict[str, tuple[str, str | None]] = {
    "https://arena.example.org/churn": ("/api/v1/churn", None),
    " https://arena.example.org:8443/a/b/ümlaut/ ": (f"/a/b/api/v1/{quote('ümlaut')}", None),
    "http://localhost:8000/churn": ("/api/v1/churn", None),
    "http://127.0.0.1/churn": ("/api/v1/churn", None),
    "http://[::1]:8000/churn": ("/api/v1/churn", None),
    "http://arena.example.org/churn": ("", NOT_ENCRYPTED),
    "https://arena.example.org/": ("", NO_COMPETITION),
    "ftp://arena.example.org/churn": ("", NO_COMPETITION),
    "https:///churn": ("", NO_COMPETITION),
}
"""Address -> the start of all paths, or the end of a sentence."""


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_is_that_of_a_competition(url: str, connect: Any) -> None:
    base, refusal = ADDRESSES[url]
    if refusal is None:
        connections = connect(ANY)
        Client(url, "t").info()
        assert connections.sent == [("GET", base, None)]
    else:
        with pytest.raises(UsageError) as refused:
            Client(url, "t")
        assert str(refused.value) == f"{url} {refusal}"


@pytest.mark.parametrize("token", ["", " ", "a\nb", "é"])
def test_a_token_is_text_in_ascii(token: str) -> None:
    with pytest.raises(UsageError) as refused:
        Client(URL, token)
    assert str(refused.value) == "The token is empty or contains characters that no token has."


@pytest.mark.parametrize(
    ("url", "kind", "host", "port"),
    [
        (URL, http.client.HTTPSConnection, "arena.example.org", 443),
        ("http://localhost:8000/churn", http.client.HTTPConnection, "localhost", 8000),
    ],
)
def test_a_connection_is_encrypted_except_to_this_machine(
    url: str, kind: type, host: str, port: int
) -> None:
    connection = Client(url, "t")._connection()
    assert (type(connection), connection.host, connection.port) == (kind, host, port)
    assert connection.timeout == 60.0
