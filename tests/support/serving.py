"""A real server on a free port, with a member for each of some teams."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.server.records.accounts import Accounts
from arena.server.records.layout import Layout

PATIENCE = 600.0
"""Seconds in which a server starts or ends, or does what a test waits for."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    url: str
    layout: Layout
    log: Path
    organiser_link: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def pids(self, role: str) -> list[int]:
        """Return the processes of a role: web, scorer or checker."""
        own = children(self.process.pid)
        role_pids = [pid for pid in own if arguments_of(pid)[3:4] == [role]]
        if role == "checker" and not role_pids:
            return [pid for scorer in self.pids("scorer") for pid in children(scorer)]
        return role_pids


def children(pid: int) -> list[int]:
    numbers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(") ")[2].split()[1]) == pid:
                numbers.append(int(path.parent.name))
    return numbers


def arguments_of(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []


def tokens_of(layout: Layout, competition: str, teams: Sequence[str]) -> list[str]:
    """Register a member of each team and return their tokens."""
    layout.create()
    accounts = Accounts(layout.intake)
    tokens = []
    for team in teams:
        account = accounts.register(f"member of {team}").account
        accounts.create_team(competition, team, account)
        tokens.append(accounts.make_token(account, "test", "submit")[0])
    accounts.close()
    return tokens


def ask(port: int, path: str) -> tuple[int, bytes]:
    """Return the status and the body of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def board(server: Server) -> list[str]:
    with contextlib.suppress(OSError, http.client.HTTPException):  # asked again
        status, body = ask(server.port, "/api/v1/race/board")
        if status == 200:
            return [row["team"] for row in json.loads(body)["rows"]]
    return []


@contextlib.contextmanager
def running(
    folder: Path,
    *options: str,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    data: Path | None = None,
) -> Iterator[Server]:
    """Run ``arena serve`` on a free port; in the end everything it started has ended.

    Its messages are in a file, which a server that does not start shows. ``python`` may be another
    interpreter, and ``data`` another folder of the queue.
    """
    layout = Layout(data or folder / "server")
    options = (*options, *(() if data is None else ("--data", str(data))))
    with tempfile.TemporaryDirectory() as logs:
        out, log = Path(logs) / "out", Path(logs) / "log"
        with out.open("wb") as stdout, log.open("wb") as stderr:
            process = subprocess.Popen(
                [python, "-m", "arena", "serve", "-C", folder, "--port", "0", *options],
                env=environment,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            until = time.monotonic() + PATIENCE
            while (urls := re.search(r"at (http\S+)\n.*: (http\S+)\n", out.read_text())) is None:
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"The server did not start: {log.read_text()}")
                time.sleep(0.05)
            yield Server(process, urls[1], layout, log, urls[2])
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        finally:
            started = children(process.pid)
            if process.poll() is None:
                process.kill()
                process.wait()
            for pid in started:  # each is the leader of its group
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
