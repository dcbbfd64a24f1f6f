"""Uploads and reads on a real server whose processes are killed at random.

Starts ``arena serve`` on a new competition, on loopback. Teams upload at a given rate and repeat a
request, with the same idempotency key, until it is acknowledged; others read the board; and
``kill -9`` ends the web process, the scorer or the process that reads files. In the end every
acknowledged request must have exactly one event in the record.

Prints one JSON object last. The exit code is 1 if anything was lost, stored twice, or not as the
record says. There is no peer.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmark_paths
import numpy as np

from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.config import Settings, settings_as_toml
from arena.server.records.layout import Layout
from program import write_csv
from serving import Server, running, tokens_of

NAME = "race"
TIMEOUT = 60.0
DRAIN_SECONDS = 300.0
ROLES = ("web", "scorer", "checker")
TEAMS = 20
BURST_SECONDS, BURST_FACTOR = 15.0, 4.0
REPEATED = 0.1
"""Share of acknowledged uploads that are sent once more."""


@dataclass
class Tally:
    """What the clients saw."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """Idempotency key -> id of the request."""
    changed: int = 0
    """Keys whose repetition gave another request."""
    uploads: list[float] = field(default_factory=list)
    """Seconds of each attempt that was acknowledged."""
    reads: list[float] = field(default_factory=list)
    failed_reads: int = 0
    repeated: int = 0
    """Attempts that were repeated, because the server was killed or full."""
    kills: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def make_competition(folder: Path, n_rows: int, mechanism: str) -> list[bytes]:
    """Create a competition with generous limits; return some submissions."""
    rng = np.random.default_rng(1)
    truth = rng.random(n_rows) < 0.5
    solution = folder.parent / "solution.csv"
    write_csv(solution, ["id", "y"], [(f"r{i}", int(label)) for i, label in enumerate(truth)])
    settings = Settings.model_validate(
        {
            "metric": {"name": "roc_auc"},
            "public": {"mechanism": mechanism},
            "limits": {"total": 10**6},
            "server": {
                "uploads_per_minute": 10**6,
                "reads_per_minute": 10**9,
                "max_waiting": 10**5,
                "max_waiting_per_team": 10**4,
                "connections_per_address": 10**4,
            },
        }
    )
    Competition.create(folder, solution, settings, public_share=0.3, seed=1).close()
    (folder / "competition.toml").write_text(settings_as_toml(settings))
    files = []
    for number in range(8):
        scores = truth + np.random.default_rng(number).normal(0, 1, n_rows)
        lines = (f"r{i},{score:.5f}" for i, score in enumerate(scores))
        files.append("\n".join(["id,y", *lines, ""]).encode())
    return files


def ask(port: int, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
    """Return the status and the body of one request on a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def upload(server: Server, token: str, key: str, file: bytes, tally: Tally) -> None:
    """Send a submission until it is acknowledged."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Idempotency-Key": key,
        "Content-Type": "text/csv",
    }
    path = f"/api/v1/{NAME}/submissions?file=bench.csv"
    first_request = tally.acknowledged.get(key)
    until = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < until:
        start = time.perf_counter()
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, body = ask(server.port, "POST", path, file, headers)
            if status in {200, 202}:
                request = json.loads(body)["request"]
                with tally.lock:
                    tally.uploads.append(time.perf_counter() - start)
                    tally.changed += first_request not in {None, request}
                    tally.acknowledged[key] = request
                return
            if status < 500 and status != 429:
                raise RuntimeError(f"An upload was answered with {status}: {body!r}")
        tally.repeated += 1
        time.sleep(0.2)
    raise RuntimeError(f"An upload was not acknowledged in {DRAIN_SECONDS:g} s.")


def paced(
    rate: float, until: float, rng: random.Random, bursts: Sequence[float] = ()
) -> Iterator[None]:
    """Yield at random times at an average rate until a time; four times as often in bursts."""
    moment = time.monotonic()
    while True:
        in_burst = any(start <= moment < start + BURST_SECONDS for start in bursts)
        moment += rng.expovariate(rate * (BURST_FACTOR if in_burst else 1.0))
        moment = max(moment, time.monotonic() - 1.0)
        if moment > until:
            return
        time.sleep(max(moment - time.monotonic(), 0.0))
        yield


def keep_uploading(
    server: Server,
    token: str,
    files: list[bytes],
    rate: float,
    until: float,
    bursts: Sequence[float],
    tally: Tally,
) -> None:
    rng = random.Random(token)  # noqa: S311 - times of a load
    for number, _ in enumerate(paced(rate, until, rng, bursts)):
        key, file = f"{token[-8:]}-{number}", rng.choice(files)
        upload(server, token, key, file, tally)
        if rng.random() < REPEATED:  # as if the answer had not arrived
            upload(server, token, key, file, tally)


def read_board(connection: http.client.HTTPConnection) -> int:
    """Return the status of a read. A connection that was closed while idle is opened again."""
    for is_new in (connection.sock is None, True):
        try:
            connection.request("GET", f"/api/v1/{NAME}/board?limit=100")
            answer = connection.getresponse()
            answer.read()
        except ConnectionError:
            connection.close()
            if is_new:
                raise
        else:
            return answer.status
    raise AssertionError


def keep_reading(server: Server, rate: float, until: float, tally: Tally, seed: int) -> None:
    """Read the board on one connection, which is opened again when it breaks."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
    rng = random.Random(seed)  # noqa: S311 - times of a load
    for _ in paced(rate, until, rng):
        start = time.perf_counter()
        try:
            if read_board(connection) == 200:
                tally.reads.append(time.perf_counter() - start)
                continue
        except (OSError, http.client.HTTPException):
            connection.close()
        tally.failed_reads += 1
    connection.close()


def keep_killing(server: Server, times: list[float], tally: Tally, rng: random.Random) -> None:
    """Kill a process of a random role at each time; wait for one that is being started."""
    for moment in times:
        time.sleep(max(moment - time.monotonic(), 0.0))
        killed = False
        while not killed and server.process.poll() is None:
            role = rng.choice(ROLES)
            pids = server.pids(role)
            if pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(pids), signal.SIGKILL)
                    killed = True
                    tally.kills[role] += 1
            else:
                time.sleep(0.05)


def load(
    server: Server, tokens: list[str], files: list[bytes], options: argparse.Namespace, tally: Tally
) -> None:
    """Upload, read and kill for the given time."""
    begun = time.monotonic()
    until = begun + options.seconds
    bursts = [
        begun + (number + 0.5) * options.seconds / options.bursts
        for number in range(options.bursts)
    ]
    rng = random.Random(options.seed)  # noqa: S311 - times of a load
    kills = sorted(rng.uniform(time.monotonic() + 0.5, until) for _ in range(options.kills))
    failures: list[BaseException] = []

    def run(work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    readers = min(8, max(1, round(options.reads / 10)))
    work: list[tuple[Any, ...]] = [(keep_killing, server, kills, tally, rng)]
    work += [
        (keep_uploading, server, token, files, options.uploads / len(tokens), until, bursts, tally)
        for token in tokens
    ]
    if options.reads:
        work += [
            (keep_reading, server, options.reads / readers, until, tally, seed)
            for seed in range(readers)
        ]
    threads = [threading.Thread(target=run, args=arguments) for arguments in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def wait_until_judged(server: Server) -> float:
    """Return the seconds until nothing waits any more."""
    start = time.monotonic()
    while time.monotonic() < start + DRAIN_SECONDS:
        with contextlib.suppress(OSError, http.client.HTTPException):
            # The state that a killed scorer published last does not count what came in since.
            status, body = ask(server.port, "GET", "/health", None, {})
            if status == 200 and json.loads(body)["competitions"][NAME]["waiting"] == 0:
                return time.monotonic() - start
        time.sleep(0.1)
    raise RuntimeError("The queue was not drained.")


def memory(server: Server) -> dict[str, int]:
    """Return the resident megabytes of the processes of each role."""
    sizes = {}
    for role in ROLES:
        pages = 0
        for pid in server.pids(role):
            with contextlib.suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        sizes[role] = round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
    return sizes


class MemoryOverTime:
    """Measures the memory of the processes while a server is under load.

    At the start; when it has settled, which is after a minute or a quarter of a shorter load; at
    half time; and at the end. Memory that grows with the number of uploads differs between the last
    three.
    """

    def __init__(self, server: Server, seconds: float) -> None:
        self._server = server
        self.seconds = [0.0, min(60.0, seconds / 4), seconds / 2, seconds]
        self._found: list[dict[str, int]] = []
        self._most: Counter[str] = Counter()
        self._ended = threading.Event()

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Measure in another thread until the context ends."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        begun = time.monotonic()
        for second in self.seconds:
            while not self._ended.wait(min(max(begun + second - time.monotonic(), 0.0), 1.0)):
                self._look()
                if time.monotonic() >= begun + second:
                    break
            self._found.append(self._look())

    def _look(self) -> dict[str, int]:
        sizes = memory(self._server)
        for role, size in sizes.items():
            self._most[role] = max(self._most[role], size)
        return sizes

    def document(self) -> dict[str, Any]:
        """Return the megabytes of each role at these times, and the most."""
        return {
            "memory_seconds": [round(second, 1) for second in self.seconds],
            "memory_mb": {role: [sizes[role] for sizes in self._found] for role in ROLES},
            "memory_most_mb": dict(self._most),
        }


def check(folder: Path, tally: Tally) -> dict[str, Any]:
    """Compare the record of the competition with what was acknowledged."""
    with CompetitionView.open(folder, wait=30.0) as competition:
        requests = [event.payload.get("request") for event in competition.events()]
        counts = Counter(request["id"] for request in requests if request is not None)
        statuses = Counter(row["status"] for row in competition.submissions())
        problems = [*competition.audit()]
        if broken := competition.verify_events():
            problems.append(broken)
        set_aside = len(competition.requests_set_aside())
    ids = list(tally.acknowledged.values())
    return {
        "acknowledged": len(ids),
        "lost": sum(counts[identifier] == 0 for identifier in ids),
        "twice": sum(count > 1 for count in counts.values()) + len(ids) - len(set(ids)),
        "another_answer": tally.changed,
        "set_aside": set_aside,
        "statuses": dict(statuses),
        "audit": problems,
    }


def percentile(seconds: list[float], share: float) -> float | None:
    """Return a percentile in milliseconds."""
    return round(1_000 * float(np.percentile(seconds, share)), 1) if seconds else None


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the server under load and return what was found."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / NAME
        files = make_competition(folder, options.rows, options.mechanism)
        tokens = tokens_of(
            Layout(folder / "server"), NAME, [f"team {number}" for number in range(TEAMS)]
        )
        with running(folder) as server:
            # The first submission starts the process that reads files.
            upload(server, tokens[0], "first", files[0], tally)
            wait_until_judged(server)
            over_time = MemoryOverTime(server, options.seconds)
            with over_time.measured():
                load(server, tokens, files, options, tally)
            drained = wait_until_judged(server)
        losses = check(folder, tally)
    return {
        "seconds": options.seconds,
        "rows": options.rows,
        "kills": dict(tally.kills),
        "repeated_uploads": tally.repeated,
        "reads": len(tally.reads),
        "failed_reads": tally.failed_reads,
        "drained_seconds": round(drained, 1),
        **over_time.document(),
        **losses,
        "reads_p50_ms": percentile(tally.reads, 50),
        "reads_p99_ms": percentile(tally.reads, 99),
        "acknowledged_p50_ms": percentile(tally.uploads, 50),
        "acknowledged_p99_ms": percentile(tally.uploads, 99),
    }


def main(arguments: list[str] | None = None) -> int:
    """Print what was found as one line of JSON; return 1 if it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the load")
    parser.add_argument("--kills", type=int, default=20, help="processes to kill at random")
    parser.add_argument("--uploads", type=float, default=5.0, help="uploads per second")
    parser.add_argument(
        "--bursts", type=int, default=0, help="times that uploads come four times as fast, for 15 s"
    )
    parser.add_argument("--reads", type=float, default=100.0, help="reads per second")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a submission")
    parser.add_argument("--mechanism", default="ladder", help="of the public board")
    parser.add_argument("--seed", type=int, default=1, help="of the times of the kills")
    options = parser.parse_args(arguments)
    benchmark_paths.need("uvicorn", extra="serve")
    figures = measure(options)
    print(json.dumps(figures))
    return int(
        bool(figures["lost"] or figures["twice"] or figures["another_answer"] or figures["audit"])
    )


if __name__ == "__main__":
    sys.exit(main())
