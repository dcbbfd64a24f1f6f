"""If this machine fails between the start of a run and its record, no program is blamed.

Every place that calls the operating system fails once.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.errors import ArenaError, SandboxError
from arena.interfaces import Box, Outcome, Sandbox
from arena.programs.running import run_program
from arena.runner import Runner, RunnerKey
from arena_sandboxes.bubblewrap import Bubblewrap
from arena_sandboxes.podman import Podman
from failing_calls import failing_call
from lease_server import lease_server
from program_server import GOOD, write_competition
from scripted_sandbox import ScriptedSandbox, manager_with, write_program

pytestmark = pytest.mark.slow
BOX = Box(seconds=20, memory_mb=128, disk_mb=16, cores=1, processes=16, output_bytes=10_000)
PROGRAM = """\
import os
os.mkdir("/output/predictions")
open("/output/predictions/a.png", "w").write("x")
"""


@pytest.fixture(autouse=True)
def _runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    for pause in ("LOOK_SECONDS", "PAUSE_SECONDS"):
        monkeypatch.setattr(f"arena.runner.runner.{pause}", 0.01)


def each_failure(folder: Path, run: Callable[[Path], str], least: int) -> dict[str, str]:
    """Return what a run, which gets a new folder, says if one of its calls fails, by its place.

    There are at least ``least`` places; without a failure it says ``ok``.
    """

    def result(place: str | None) -> tuple[str, list[str]]:
        new_folder = folder / f"run-{next(numbers)}"
        new_folder.mkdir()
        with failing_call(place) as calls:
            said = run(new_folder)
        return said, list(calls.places)

    numbers = itertools.count()
    result(None)  # imports, caches and processes that are kept
    said, places = result(None)
    assert (said, len(places) >= least) == ("ok", True)
    return {place: result(place)[0] for place in places}


@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param(
            sandbox,
            id=sandbox.name,
            marks=pytest.mark.skipif(shutil.which(sandbox.name) is None, reason="not installed"),
        )
        for sandbox in (Bubblewrap(), Podman())
    ],
)
def test_a_sandbox_blames_no_program(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "input").mkdir()

    def run(target: Path) -> str:
        try:
            outcome = run_program(
                tmp_path / "main.py",
                tmp_path / "input",
                target,
                command=("python3", "main.py"),
                environment=None,
                box=BOX,
                sandbox=sandbox,
            )
        except SandboxError:
            return "machine"
        return str(outcome.end) if isinstance(outcome, Outcome) else outcome[0].kind

    results = each_failure(tmp_path, run, 30)
    assert set(results.values()) == {"ok", "machine"}, results


def test_a_runner_blames_no_program(tmp_path: Path) -> None:
    for name in ("inputs", "sample_inputs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text(name)
    inputs, sample = (Runner.digests([tmp_path / name]) for name in ("inputs", "sample_inputs"))
    program = json.dumps({"inputs": {"end": "ok", "output": "x"}}).encode()
    with lease_server() as server:
        working = Runner(
            source=server.url,
            key=RunnerKey("one", "arena_token", bytes(32)),
            sandbox=ScriptedSandbox(),
            sandbox_name="scripted",
            inputs=inputs,
            sample=sample,
        )

        def run(_: Path) -> str:
            server.results.clear()
            server.add(program, next(iter(inputs)))
            try:
                working.run(once=True)
            except OSError:  # before it has asked for work
                return "not taken" if server.work else "machine"
            finally:
                server.work.clear()
            return json.loads(server.results[0]["result"])["end"] if server.results else "given up"

        results = each_failure(tmp_path, run, 10)
    assert set(results.values()) == {"ok", "machine", "given up", "not taken"}, results


def test_a_competition_blames_no_program(tmp_path: Path) -> None:
    race, manager = write_competition(tmp_path), manager_with(ScriptedSandbox())

    def run(folder: Path) -> str:
        program = write_program(folder / "main.py", output=GOOD)
        try:
            with Competition.open(race, manager=manager) as competition:
                answer = competition.submit_program(program, folder.name)
        except (ArenaError, OSError):
            return "machine"
        if answer.submitted is None or answer.submitted.status != "accepted":
            return "program"
        return "ok"

    results = each_failure(tmp_path, run, 30)
    assert set(results.values()) == {"ok", "machine"}, results
    with Competition.open(race, manager=manager) as competition:
        assert {row["status"] for row in competition.submissions()} == {"accepted"}
        assert competition.audit() == ()
