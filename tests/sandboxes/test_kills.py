"""A runner that is killed leaves no process; its next run removes what else it left."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.testing.sandboxes import groups_of
from arena.utils.processes import descendants

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]
PROGRAM = """\
import os, time
open("/output/predictions.csv", "w").write("id\\n")
if os.path.exists("/input/long"):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
    time.sleep(100)
"""
RUN = """\
import sys
from pathlib import Path
from arena.interfaces import Box
from arena.plugin.manager import PluginManager
from arena.programs.running import run_program
box = Box(seconds=60, memory_mb=64, disk_mb=8, cores=1, processes=16, output_bytes=1000)
folder = Path(sys.argv[1])
(folder / "target").mkdir(exist_ok=True)
sandbox = PluginManager().sandboxes.resolve(sys.argv[4])
print("ready", flush=True)
command = ("python3", "-X", sys.argv[2], "main.py")
print(run_program(folder / "main.py", folder / sys.argv[3], folder / "target", command=command,
                  environment=None, box=box, sandbox=sandbox).end)
"""
DELAYS = (0.0, 0.05, 0.5)
KILLS = [
    *itertools.product(["bwrap"], [signal.SIGKILL, signal.SIGINT], DELAYS),
    *itertools.product(["podman"], [signal.SIGKILL], DELAYS),
    ("podman", signal.SIGINT, max(DELAYS)),
]
"""The start of podman takes longer: a delay of 0.05 s falls into it."""


def start(folder: Path, marker: str, inputs: str, sandbox: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(folder), marker, inputs, sandbox]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "ARENA_RUNNER": str(folder / "runner")},
    )


def marked(marker: str) -> list[str]:
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (folder / "cmdline").read_bytes():
                    processes.append(folder.name)
    return processes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("short", "long"):
        (tmp_path / name).mkdir()
    (tmp_path / "long" / "long").touch()
    (tmp_path / "main.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(("sandbox", "number", "delay"), KILLS)
def test_a_killed_runner_leaves_nothing(
    sandbox: str, number: signal.Signals, delay: float, folder: Path
) -> None:
    if shutil.which(sandbox) is None:
        pytest.skip(f"there is no {sandbox}")
    marker, before = secrets.token_hex(8), set(descendants(os.getpid()))
    runner = start(folder, marker, "long", sandbox)
    assert runner.stdout is not None
    runner.stdout.readline()
    if delay == max(DELAYS):
        until = time.monotonic() + 20
        while len(marked(marker)) < 8 and time.monotonic() < until:
            time.sleep(0.01)
    time.sleep(delay)
    runner.send_signal(number)
    runner.wait(20)
    runner.stdout.close()
    until = time.monotonic() + 10
    while marked(marker) and time.monotonic() < until:
        time.sleep(0.01)
    assert marked(marker) == []
    again = start(folder, marker, "short", sandbox)
    assert again.communicate(timeout=60)[0] == "ready\nok\n"
    assert groups_of(runner.pid) + groups_of(again.pid) == []
    assert [path.name for path in (folder / "runner" / "work").iterdir()] == []
    assert set(descendants(os.getpid())) <= before
