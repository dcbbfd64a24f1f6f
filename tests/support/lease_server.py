"""A server that gives work to runners, as the web process of a competition does."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LIMITS = {
    "command": "python3 main.py",
    "trial_seconds": 20.0,
    "seconds": 20.0,
    "memory_mb": 128,
    "disk_mb": 16,
    "cores": 1,
    "processes": 16,
    "gpus": 0,
}


@dataclass
class LeaseServer:
    """Work that waits, and what runners did with it."""

    work: list[dict[str, Any]] = field(default_factory=list)
    """Answers to requests for work, without the program."""
    programs: dict[str, bytes] = field(default_factory=dict)
    refusals: dict[str, list[int]] = field(default_factory=dict)
    """The next statuses by part of the address, such as ``beat``; 200: the usual answer."""
    on_beat: Callable[[], None] = lambda: None
    results: list[dict[str, str | bytes]] = field(default_factory=list)
    beats: int = 0
    offers: list[Any] = field(default_factory=list)
    url: str = ""

    def add(self, program: bytes, inputs: str, kind: str = "hidden", **changes: Any) -> None:
        """Let a program wait for a run on inputs with this digest."""
        run = f"run-{len(self.programs)}"
        self.programs[run] = program
        self.work.append(
            {
                "run": run, "lease": 1, "kind": kind, "program": "p", "file": "main.py",
                "sha256": hashlib.sha256(program).hexdigest(), "bytes": len(program),
                "inputs": inputs, "environment": "", "limits": LIMITS, "max_bytes": 10_000,
                **changes,
            }
        )  # fmt: skip

    def answer(self, place: str, body: bytes, kind: str) -> tuple[int, bytes]:
        """Return status and body."""
        part = re.sub(r".*/|\?.*", "", place)
        statuses = self.refusals.get(part, [])
        if statuses and (status := statuses.pop(0)) != 200:
            return status, b""
        if part == "lease":
            self.offers.append(json.loads(body))
            return (200, json.dumps(self.work.pop(0)).encode()) if self.work else (204, b"")
        if part == "program":
            return 200, self.programs[place.split("/")[-2]]
        if part == "beat":
            self.beats += 1
            self.on_beat()
        else:
            self.results.append(_fields(body, kind))
        return 200, b"{}"


def _fields(body: bytes, kind: str) -> dict[str, str | bytes]:
    head = f"Content-Type: {kind}\r\n\r\n".encode()
    message: Any = message_from_bytes(head + body, policy=policy.HTTP)
    return {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message.iter_parts()
    }


@contextmanager
def lease_server() -> Iterator[LeaseServer]:
    """Serve on a port of this machine."""
    leases = LeaseServer()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = self.headers.get("Content-Type") or ""
            status, content = leases.answer(self.path, body, kind)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    leases.url = f"http://127.0.0.1:{server.server_port}/race"
    try:
        yield leases
    finally:
        server.shutdown()
        server.server_close()
