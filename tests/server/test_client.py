"""A participant's program over a real connection; connections that never finish a request."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import arena
from arena.client import RefusedRequestError, ServerError
from arena.errors import UsageError
from arena.server.web.protocol import MAX_HEAD, limited_protocol, parsers
from program import run_here
from schemas import check_document
from web_site import NAME, WebSite, listening

FAULT = {"kind": "empty cell", "message": "The cell is empty.", "row": 3, "column": "y"}


@dataclass
class Live:
    web: WebSite
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{NAME}"


@pytest.fixture
def live(web: WebSite) -> Iterator[Live]:
    """Serve the site on a free port."""
    with listening(web.app) as port:
        yield Live(web, port)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("id,y\na,0.5\n")
    return path


def test_submit_from_python_and_the_command_line(live: Live, file: Path, tmp_path: Path) -> None:
    web = live.web
    token = web.token(web.person("Ada", "Ants"))
    client = arena.Client(live.url, token)
    assert client.info()["columns"] == ["id", "y"]
    submission = client.submit(file, description="first")
    assert (submission["status"], submission["place"]) == ("waiting", 1)
    assert client.submit(file)["request"] == submission["request"]
    web.scorer.judge(web.site, 0.625)
    assert client.wait(submission["request"])["score"] == 0.625
    assert [row["team"] for row in client.board()] == ["Ants"]
    assert client.submissions()["left_today"] == 4
    assert client.select([1])["kind"] == "select"
    with pytest.raises(ServerError, match="Choose at most 2"):
        client.select([1, 2, 3])

    founder = arena.Client(live.url, web.token(web.person("Bo")))
    assert founder.join("Bees")["name"] == founder.team()["name"] == "Bees"
    for name in ("Moths", "Bees", "Ants"):
        with pytest.raises(RefusedRequestError, match="Bees already. To join another"):
            founder.join(name)

    (tmp_path / "token").write_text(token + "\n")
    arguments = ["submit", "--to", live.url, "--token-file", "token", "mine.csv"]
    done = run_here(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Its public score is 0.625." in done.stdout
    process = run_here(*arguments, "--json", cwd=tmp_path)
    check_document(json.loads(process.stdout), "request")
    file.write_text("id,y\nb,0.5\n")
    waiting = run_here(*arguments, "--wait", "0", cwd=tmp_path)
    assert waiting.returncode == 0
    assert "place 2 in the queue" in waiting.stdout
    web.scorer.judge(web.site, faults=(FAULT,))
    rejected = run_here(*arguments, cwd=tmp_path)
    assert rejected.returncode == 1
    assert "row 3, column 'y': The cell is empty." in rejected.stdout


def test_what_a_client_refuses_and_is_refused(live: Live, file: Path) -> None:
    with pytest.raises(RefusedRequestError, match="This token is not valid"):
        arena.Client(live.url, "arena_wrong").submit(file)
    with pytest.raises(UsageError, match="not encrypted"):
        arena.Client("http://arena.example.org/churn", "t")
    with pytest.raises(UsageError, match="not the address of a competition"):
        arena.Client("https://arena.example.org", "t")
    with pytest.raises(ServerError, match="cannot be reached"):
        arena.Client("http://127.0.0.1:1/churn", "t", attempts=1).info()


REQUEST = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


def opened(port: int, data: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=600)
    sock.sendall(data)
    return sock


def is_closed(sock: socket.socket) -> bool:
    """Wait until the server closes a connection; TimeoutError if it does not."""
    with sock:
        try:
            while sock.recv(1_000):
                pass
        except ConnectionError:
            pass
    return True


def answered(port: int) -> socket.socket:
    """Return a connection with an answered request; a busy machine may need several."""
    for _ in range(100):
        sock = opened(port)
        with contextlib.suppress(ConnectionError):
            sock.sendall(REQUEST)
            if sock.recv(100).startswith(b"HTTP/1.1 200"):
                return sock
        sock.close()
    raise AssertionError("No request was answered.")


def test_the_parser_in_c_is_the_default() -> None:
    assert limited_protocol(1.0, 1.0, 1, ()).__mro__[1].__name__ == parsers()[0].__name__
    assert len(parsers()) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("base", parsers())
def test_connections_that_do_not_finish_their_headers_are_closed(web: WebSite, base: Any) -> None:
    with listening(web.app, http=limited_protocol(0.2, 600.0, 20, (), base)) as port:
        slow = [opened(port, begun) for begun in (b"", REQUEST[:-9] + b"X: ", b"G")]
        finished = answered(port)
        assert all(is_closed(connection) for connection in slow)
        # A second request on a connection has as long.
        with contextlib.suppress(ConnectionError):
            finished.sendall(b"GET /he")
        assert is_closed(finished)


def test_a_slow_reader_is_closed_once_it_reads_nothing() -> None:
    timers: list[Callable[[], None]] = []
    sizes, aborted = iter([9_000, 5_000, 5_000, 5_000]), []

    def call_later(_seconds: float, act: Callable[..., None], *arguments: int) -> Any:
        timers.append(partial(act, *arguments))
        return SimpleNamespace(cancel=lambda: None)

    http = limited_protocol(600.0, 1.0, 20, ())
    protocol: Any = http.__new__(http)
    protocol.loop = SimpleNamespace(call_later=call_later)
    protocol.flow = SimpleNamespace(pause_writing=lambda: None)
    protocol.transport = SimpleNamespace(
        get_write_buffer_size=lambda: next(sizes), abort=lambda: aborted.append(True)
    )
    protocol.pause_writing()
    timers.pop()()
    assert not aborted
    timers.pop()()
    assert aborted
    assert not timers


def test_an_address_has_no_more_connections_than_allowed(web: WebSite) -> None:
    with listening(web.app, http=limited_protocol(600.0, 600.0, 20, ())) as port:
        many = [opened(port) for _ in range(20)]
        assert is_closed(opened(port))
        many[0].sendall(REQUEST)
        assert many[0].recv(100).startswith(b"HTTP/1.1 200")
        for connection in many:
            connection.close()


@pytest.mark.parametrize("framing", ["content-length: 8000000", "transfer-encoding: chunked"])
def test_an_upload_that_is_refused_early_can_read_why(web: WebSite, framing: str) -> None:
    head = f"POST /api/v1/{NAME}/submissions HTTP/1.1\r\nhost: a\r\n{framing}\r\n"
    head += "connection: close\r\n\r\n"
    chunk = b"x" * 80_000
    piece = chunk if "length" in framing else b"%x\r\n%b\r\n" % (len(chunk), chunk)
    with listening(web.app) as port, opened(port, head.encode()) as sock:
        for _ in range(100):
            sock.sendall(piece)  # fails if the connection was closed
        sock.sendall(b"" if "length" in framing else b"0\r\n\r\n")
        answer = sock.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"problem+json" in answer
    assert answer.endswith(b"}")


@pytest.mark.parametrize("base", parsers())
def test_a_broken_request_is_answered_once(
    web: WebSite, caplog: pytest.LogCaptureFixture, base: Any
) -> None:
    head = f"POST /api/v1/{NAME}/submissions HTTP/1.1\r\nhost: a\r\n"
    head += "transfer-encoding: chunked\r\n\r\n"
    with (
        listening(web.app, http=limited_protocol(600.0, 600.0, 20, (), base)) as port,
        opened(port, f"{head}zz\r\n".encode()) as sock,
    ):
        answer = sock.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.few(2)
@pytest.mark.parametrize("base", parsers())
@pytest.mark.parametrize("part", ["one header", "many headers", "trailers", "one trailer"])
def test_headers_without_end_are_not_kept_in_memory(web: WebSite, base: Any, part: str) -> None:
    head = f"POST /api/v1/{NAME}/submissions HTTP/1.1\r\nhost: a\r\n"
    if "trailer" in part:
        head += "transfer-encoding: chunked\r\n\r\n2\r\nid\r\n0\r\n"
    piece = b"x: %b\r\n" % (b"y" * 1_000) if part.endswith("s") else b"y" * 1_000
    n_bytes = 0
    with (
        listening(web.app, http=limited_protocol(600.0, 600.0, 20, (), base)) as port,
        opened(port, head.encode() + (b"" if part.endswith("s") else b"x: ")) as sock,
        contextlib.suppress(ConnectionError),
    ):
        sock.settimeout(0.0)
        while n_bytes < 100 * MAX_HEAD:
            with contextlib.suppress(BlockingIOError):
                n_bytes += sock.send(piece)
            with contextlib.suppress(BlockingIOError):
                if not sock.recv(1_000):
                    break
    assert n_bytes < 100 * MAX_HEAD
