"""Two runners of a real server: what they are killed with is run again, and counted once."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.client import Client
from arena.competition.competition import Competition
from arena.competition.runners import add_runner
from program_server import N_ROWS, write_competition
from serving import Server, board, running, tokens_of, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]
TEAMS = ("ants", "bees", "cats")
PROGRAM = f"""\
import time
seed = {{seed}}
time.sleep(0.3)
rows = [f"r{{{{i}}}},{{{{(i * seed) % 7}}}}" for i in range({N_ROWS})]
open("/output/predictions.csv", "w").write("\\n".join(["id,y", *rows, ""]))
"""
LIMITS = {"memory_mb": 128, "disk_mb": 16, "processes": 16, "cores": 1, "seconds": 30}


def start(server: Server, folder: Path, name: str) -> subprocess.Popen[bytes]:
    race = folder / "race"
    options = ("--inputs", race / "programs" / "inputs", "--inputs", race / "files/sample_inputs")
    token = add_runner(race, name)
    command = [
        sys.executable, "-m", "arena", "runner", "--to", f"{server.url}/race",
        "--token-file", token, *options,
    ]  # fmt: skip
    environment = {**os.environ, "ARENA_RUNNER": str(folder / f"runner-{name}")}
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stderr=log)


@contextlib.contextmanager
def two_runners(server: Server, folder: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Start two machines' runners; in the end both end by SIGTERM."""
    runners = {name: start(server, folder, name) for name in ("one", "two")}
    try:
        yield runners
        for runner in runners.values():
            runner.terminate()
        for runner in runners.values():
            assert runner.wait(30) == 0
    finally:
        for runner in runners.values():
            runner.kill()
            runner.wait()


def of_sandboxes() -> list[str]:
    """Return the command lines of programs that run in a sandbox."""
    command_lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"--args" in words and MARKER.encode() in words:
                command_lines.append(str(words))
    return command_lines


MARKER = secrets.token_hex(8)


def test_killed_processes_lose_no_program_and_count_none_twice(tmp_path: Path) -> None:
    command = f"python3 -X {MARKER} main.py"
    folder = write_competition(
        tmp_path, programs={"sandbox": "bwrap", "command": command, **LIMITS}
    )
    with running(folder) as server:
        tokens = tokens_of(server.layout, "race", TEAMS)
        clients = [Client(f"{server.url}/race", token) for token in tokens]
        with two_runners(server, tmp_path) as runners:
            sent = []
            for number, client in enumerate(clients):
                program = tmp_path / f"{number}.py"
                program.write_text(PROGRAM.format(seed=number + 2))
                sent.append(client.submit(program)["request"])
            until(of_sandboxes, "no program runs")
            runners["one"].kill()
            runners["one"].wait()
            for role in ("web", "scorer"):
                os.kill(server.pids(role)[0], signal.SIGKILL)
                time.sleep(0.5)
            runners["one"] = start(server, tmp_path, "one")
            until(lambda: len(board(server)) == len(TEAMS), "the board is not complete")
            states = [client.wait(request) for client, request in zip(clients, sent, strict=True)]
        assert [state["status"] for state in states] == ["accepted"] * len(TEAMS)
    assert of_sandboxes() == []
    with Competition.open(folder) as competition:
        assert len(competition.events("program received")) == len(TEAMS)
        assert len(competition.events("submission")) == len(TEAMS)
        assert competition.audit() == ()
