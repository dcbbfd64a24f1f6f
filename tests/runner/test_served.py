"""Runners of a real server, on machines with networks of their own, that are killed or cut off."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.client import Client
from arena.competition.competition import Competition
from arena.server.records.layout import Layout
from arena.server.records.runs import LEASE_SECONDS, Runs
from checkout import python_path
from machines import gone, machines
from program_server import GOOD, write_competition
from serving import running, tokens_of, until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes networks"),
]
TESTS = Path(__file__).parents[1]
PATHS = (TESTS / "support", TESTS / "benchmarks")
PROGRAM = f"""\
import time
if "sample" not in open("/input/x.csv").read():
    time.sleep(5)
open("/output/predictions.csv", "w").write({GOOD!r})
"""
LIMITS = {"memory_mb": 128, "disk_mb": 16, "processes": 16, "cores": 1, "seconds": 60}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--kills", "6", "--teams", "6"), marks=pytest.mark.slow),
        pytest.param(("--kills", "200"), marks=pytest.mark.campaign),
    ],
)
def test_killed_processes_lose_no_program_and_count_none_twice(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, PATHS[-1] / "kill_runs.py", *options],
        env={**os.environ, "PYTHONPATH": python_path(*PATHS)},
        capture_output=True,
        text=True,
        timeout=3_000,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert sum(result["killed"].values()) == int(options[1])
    assert sum(result["ends"].values()) == result["programs"] > 0


@pytest.mark.slow
def test_another_machine_runs_the_programs_of_one_that_is_cut_off(tmp_path: Path) -> None:
    marker = secrets.token_hex(8)
    command = f"python3 -X {marker} main.py"
    race = write_competition(tmp_path, programs={"sandbox": "bwrap", "command": command, **LIMITS})
    (tmp_path / "main.py").write_text(PROGRAM)
    with running(race) as server:
        (token,) = tokens_of(server.layout, race.name, ["ants"])
        client = Client(f"{server.url}/{race.name}", token)
        until(lambda: server.pids("runner"), "the server has a runner")
        os.kill(server.pids("runner")[0], signal.SIGSTOP)  # the server's own one takes no part
        with machines(race, server.port, "one") as (first,):
            sent = client.submit(tmp_path / "main.py")["request"]
            until(lambda: "hidden inputs is running" in client.request(sent)["message"], "it runs")
            with first.cut_off(), machines(race, server.port, "two"):
                end_leases(server.layout, race.name)
                state = client.wait(sent)
            until(lambda: "given up" in first.log(), "the first one has sent its result")
        os.kill(server.pids("runner")[0], signal.SIGCONT)
    assert (state["status"], gone(marker)) == ("accepted", True)
    with Competition.open(race) as competition:
        (submission,) = competition.events("submission")
        assert submission.payload["run"]["runner"] == "two"
        assert competition.audit() == ()


def end_leases(layout: Layout, competition: str) -> None:
    """Let all leases end now, instead of in a minute."""
    runs = Runs(layout.runs, clock=lambda: datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS))
    assert runs.expire(competition) == []
    runs.close()
