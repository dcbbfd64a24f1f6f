"""Kill runners and the processes of a server while programs run, and look for lost ones.

::

    python tests/benchmarks/kill_runs.py --kills 200

Forty teams submit one program after the other. Two machines, each in a network of its own, and the
server's own runner run them, while processes are killed (SIGKILL) at random moments: runners, the
web process and the scorer. Then every program must be accepted, or be set aside because two runners
were lost with it; none may have two submissions, and nothing of a program may still run. Prints one
JSON object; the exit code is 1 if anything was wrong. Needs root, and takes some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmark_paths  # noqa: F401

from arena.client import Client, ServerError
from arena.competition.competition import Competition
from arena.plugin.manager import PluginManager
from arena.testing.sandboxes import groups_of
from machines import Machine, gone, machines
from program_server import N_ROWS, write_competition
from serving import Server, running, tokens_of

_PROGRAM = f"""\
import time
time.sleep(0.3)
rows = [f"r{{{{i}}}},{{{{(i * {{seed}}) % 7}}}}" for i in range({N_ROWS})]
open("/output/predictions.csv", "w").write("\\n".join(["id,y", *rows, ""]))
"""
_LIMITS = {"memory_mb": 128, "disk_mb": 16, "processes": 16, "cores": 1, "seconds": 60}
_FINAL = ("accepted", "set_aside")
_SUPERVISED = ("web", "scorer", "runner")
_SECONDS_TO_LIVE = 6.0
"""A supervised process that ends sooner is started again after a pause."""
_PATIENCE = 900.0


@dataclass
class Campaign:
    """What was killed, and what became of the programs."""

    server: Server
    machines: list[Machine]
    clients: list[Client]
    rng: random.Random
    folder: Path
    killed: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    """The states of all programs that had not ended, at each kill."""
    runners: set[int] = field(default_factory=set)
    sent: dict[int, list[str]] = field(default_factory=dict)
    """The requests of each team."""
    open: set[int] = field(default_factory=set)
    """Teams whose last program has not ended."""
    ends: Counter[str] = field(default_factory=Counter)

    def submit(self) -> None:
        """Let each team that waits for nothing submit a program."""
        for team in set(range(len(self.clients))) - self.open:
            text = _PROGRAM.format(seed=len(self.sent.get(team, ())) + 2)
            file = self.folder / f"{team}.py"
            file.write_text(f"# {team}\n{text}")
            with contextlib.suppress(ServerError):  # the web process is being started
                request = self.clients[team].submit(file)["request"]
                self.sent.setdefault(team, []).append(request)
                self.open.add(team)

    def look(self) -> None:
        """Find the teams whose program has ended."""
        for team in list(self.open):
            with contextlib.suppress(ServerError):
                status = self.clients[team].request(self.sent[team][-1])["status"]
                if status != "waiting":
                    self.ends[status] += 1
                    self.open.discard(team)

    def kill(self) -> None:
        """Kill a process that was chosen by chance."""
        candidates: list[tuple[str, int, Machine | None]] = [
            ("runner of a machine", machine.runner.pid, machine) for machine in self.machines
        ]
        for role in _SUPERVISED:
            name = "runner of the server" if role == "runner" else role
            candidates += [
                (name, pid, None) for pid in self.server.pids(role) if _age(pid) > _SECONDS_TO_LIVE
            ]
        name, pid, machine = self.rng.choice(candidates)
        self.states.update(_states(self.server))
        self.runners.add(pid)
        self.killed[name] += 1
        if machine is None:
            os.kill(pid, signal.SIGKILL)
        else:
            machine.kill()
            machine.start()

    def run(self, kills: int) -> None:
        """Kill so many processes, and wait until every program has ended."""
        while self.killed.total() < kills:
            self.submit()
            time.sleep(self.rng.uniform(0.0, 1.0))
            self.kill()
            self.look()
        until = time.monotonic() + _PATIENCE
        while self.open and time.monotonic() < until:
            time.sleep(0.5)
            self.look()


def _age(pid: int) -> float:
    with contextlib.suppress(OSError):
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return uptime - ticks / os.sysconf("SC_CLK_TCK")
    return 0.0


def _states(server: Server) -> Iterator[str]:
    """Yield the state of each program that has not ended, as the server knows it."""
    database = sqlite3.connect(f"file:{server.layout.runs}?mode=ro", uri=True, timeout=10)
    with contextlib.closing(database):
        yield from (
            state
            for (state,) in database.execute("SELECT state FROM programs")
            if state not in {"ran", "set aside", "trial failed", "refused"}
        )


def campaign(folder: Path, *, kills: int, seed: int, teams: int, sandbox: str) -> dict[str, Any]:
    """Return what happened; ``wrong`` lists what must not have."""
    marker = secrets.token_hex(8)
    programs = {
        "sandbox": sandbox, "command": f"python3 -X {marker} main.py", "trials_per_day": 10_000,
        **_LIMITS,
    }  # fmt: skip
    race = write_competition(folder, programs=programs)
    started = time.monotonic()
    with running(race) as server:
        tokens = tokens_of(server.layout, race.name, [f"team {i}" for i in range(teams)])
        clients = [Client(f"{server.url}/{race.name}", token, attempts=2) for token in tokens]
        with machines(race, server.port, "one", "two", sandbox=sandbox) as started_machines:
            run = Campaign(server, started_machines, clients, random.Random(seed), folder)  # noqa: S311
            run.run(kills)
            run.runners |= {machine.runner.pid for machine in started_machines}
    # A bubblewrap that was killed while it started may wait; the next run of the machine ends it.
    PluginManager().sandboxes.resolve(sandbox).check()
    wrong = []
    if run.open:
        wrong.append(f"{len(run.open)} programs have not ended.")
    if other := run.ends.keys() - set(_FINAL):
        wrong.append(f"Programs ended with {sorted(other)}.")
    if not gone(marker):
        wrong.append("Processes of programs are left.")
    if left := [group for pid in run.runners for group in groups_of(pid)]:
        wrong.append(f"Control groups are left: {left}.")
    with Competition.open(race) as competition:
        submissions = [event.payload["program"] for event in competition.events("submission")]
        aside = [event.payload["program"] for event in competition.events("program set aside")]
        if len(submissions) != run.ends["accepted"] or len(set(submissions)) != len(submissions):
            wrong.append(f"{run.ends['accepted']} were accepted, {len(submissions)} are stored.")
        if set(submissions) & set(aside):
            wrong.append("A program that was set aside has a submission.")
        wrong += [str(finding) for finding in competition.audit()]
    return {
        "seconds": round(time.monotonic() - started),
        "killed": dict(run.killed),
        "states of programs at a kill": dict(run.states),
        "programs": sum(map(len, run.sent.values())),
        "ends": dict(run.ends),
        "wrong": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--teams", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sandbox", default="bwrap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["ARENA_RUNNER"] = str(Path(name) / "runner")
        result = campaign(
            Path(name),
            kills=options.kills,
            seed=options.seed,
            teams=options.teams,
            sandbox=options.sandbox,
        )
    print(json.dumps(result))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
