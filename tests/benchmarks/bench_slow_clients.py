"""Slow clients of three kinds on a real server, which must close them all and serve others.

A third of the clients never finishes the headers of a request, a third sends the headers of an
upload and then two bytes a second, and a third asks for files and never reads them. Others read the
board meanwhile. A connection counts as closed when the web process no longer has it open.

Prints one JSON object last; the exit code is 1 if not all were closed in time, or a read
failed. There is no peer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import benchmark_paths
from bench_serve import (
    NAME,
    Tally,
    keep_reading,
    make_competition,
    percentile,
    upload,
    wait_until_judged,
)

from arena.server.records.layout import Layout
from serving import Server, running, tokens_of

KINDS = ("headers", "body", "reader")
PATIENCE = 6.0
"""After so many times the seconds, connections that are left are counted as never closed."""
N_ROWS = 20_000
_PIPELINED = 50
"""Files that a reader asks for at once: more than all buffers between it and the server hold."""
_READERS = 2


def slow(kind: str, port: int, token: str) -> socket.socket:
    """Return a connection with the beginning of what a slow client sends."""
    client = socket.socket()
    if kind == "reader":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", port))
    host = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
    begin = {
        "headers": f"GET /api/v1/{NAME}/board HTTP/1.1\r\nHost: ",
        "body": f"POST /api/v1/{NAME}/submissions HTTP/1.1\r\n{host}Content-Length: 99999\r\n\r\n",
        "reader": f"GET /{NAME}/sample_submission.csv HTTP/1.1\r\n{host}\r\n" * _PIPELINED,
    }
    client.sendall(begin[kind].encode())
    client.setblocking(False)
    return client


def connections(server: Server) -> int:
    """Return how many sockets the web process has open."""
    (pid,) = server.pids("web")
    n_sockets = 0
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            n_sockets += str(path.readlink()).startswith("socket:")
    return n_sockets


def measure(server: Server, token: str, clients: int, most_seconds: float) -> dict[str, Any]:
    """Return when the slow clients were closed, and how long reads took meanwhile."""
    tally = Tally()
    upload(server, token, "first", b"id,y\n", tally)  # until the web process answers
    wait_until_judged(server)
    before = connections(server) + _READERS
    tally, until = Tally(), time.monotonic() + PATIENCE * most_seconds
    start = time.monotonic()
    opened = [slow(KINDS[number % len(KINDS)], server.port, token) for number in range(clients)]
    seconds_to_open = time.monotonic() - start
    readers = [
        threading.Thread(target=keep_reading, args=(server, 5.0, start + 20.0, tally, seed))
        for seed in range(_READERS)
    ]
    for reader in readers:
        reader.start()
    most = left = connections(server) - before
    # At first it may have accepted none of them yet.
    while (left > 0 or not most > 0) and time.monotonic() < until:
        time.sleep(0.5)
        for number, client in enumerate(opened):
            if KINDS[number % len(KINDS)] != "reader":
                with contextlib.suppress(OSError):
                    client.send(b"1")
        left = connections(server) - before
        most = max(most, left)
    closed = time.monotonic() - start
    for reader in readers:
        reader.join()
    for client in opened:
        client.close()
    return {
        "clients": clients,
        "most_open": most,
        "seconds_to_open": round(seconds_to_open, 1),
        "all_closed_seconds": round(closed, 1),
        "never_closed": max(left, 0),
        "reads": len(tally.reads),
        "failed_reads": tally.failed_reads,
        "reads_p99_ms": percentile(tally.reads, 99),
    }


def run(clients: int, most_seconds: float = 20.0) -> dict[str, Any]:
    """Start a server and return what :func:`measure` finds."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / NAME
        make_competition(folder, N_ROWS, "full")
        (token,) = tokens_of(Layout(folder / "server"), NAME, ["slow"])
        with running(folder) as server:
            return measure(server, token, clients, most_seconds)


def main(arguments: list[str] | None = None) -> int:
    """Print what was found as one line of JSON; return 1 if it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=800, help="slow clients, of three kinds")
    parser.add_argument("--most-seconds", type=float, default=20.0, help="to close all of them")
    options = parser.parse_args(arguments)
    benchmark_paths.need("uvicorn", extra="serve")
    figures = run(options.clients, options.most_seconds)
    print(json.dumps(figures))
    late = figures["all_closed_seconds"] > options.most_seconds
    return int(late or figures["never_closed"] > 0 or figures["failed_reads"] > 0)


if __name__ == "__main__":
    sys.exit(main())
