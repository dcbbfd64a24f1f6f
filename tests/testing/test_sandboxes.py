"""Hostile programs are held by the sandboxes of arena, and each kind of leak is noticed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arena.interfaces import Box, End, Job, Outcome
from arena.plugin.manager import PluginManager
from arena.testing import check_sandbox
from arena.testing.hostile_programs import PROGRAMS, HostileProgram
from arena.testing.sandboxes import LIMITS

pytestmark = pytest.mark.slow
TRIED = {"bwrap": 1, "podman": 8}
"""Of podman, whose start takes longer, every eighth program; `arena programs check` runs all."""


def programs(*names: str) -> Sequence[HostileProgram]:
    chosen = [program for program in PROGRAMS if program.name in names]
    assert len(chosen) == len(names)
    return chosen


CHECK = """
import sys
from arena.plugin.manager import PluginManager
from arena.testing import check_sandbox
from arena.testing.hostile_programs import PROGRAMS
tried = PROGRAMS[:: int(sys.argv[2])]
conformance = check_sandbox(PluginManager().sandboxes.resolve(sys.argv[1]), programs=tried)
conformance.require()
assert len(conformance.checks) == len({program.name for program in tried})
"""
OWN_MOUNTS = ("unshare", "--mount")


@pytest.mark.long
@pytest.mark.parametrize("name", TRIED)
def test_hostile_programs_are_held(name: str) -> None:
    """Where that can be, without seeing what other tests mount meanwhile."""
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    apart = (
        shutil.which("unshare")
        and not subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode
    )
    command = [sys.executable, "-c", CHECK, name, str(TRIED[name])]
    checked = subprocess.run(
        [*OWN_MOUNTS, *command] if apart else command, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_each_hostile_program_has_its_own_name() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 64


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")
def test_without_control_groups_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the machine of a participant, say: only limits of all processes together are missing."""
    monkeypatch.setattr("arena_sandboxes.linux.group_for", lambda box: contextlib.nullcontext(None))
    names = (
        "hidden-files", "loop", "orphans", "late-writer", "disk-tmp", "daemon-holds-log", "network",
        "output-swap", "kills-all", "ignore-signals",
    )  # fmt: skip
    check_sandbox(PluginManager().sandboxes.resolve("bwrap"), programs=programs(*names)).require()


@dataclass
class Bare:
    """No sandbox at all, for programs that only look around."""

    name: str = "bare"

    def run(self, job: Job, box: Box) -> Outcome:
        code = (job.program / "main.py").read_text().replace("/input/", f"{job.inputs}/")
        here = job.program / "here"
        here.mkdir()
        code = code.replace("/output/", f"{here}/")
        command = [sys.executable, "-c", code, *job.command[2:]]
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        output = here / "predictions.csv"
        ok = done.returncode == 0 and output.exists()
        return Outcome(
            end=End.OK if ok else End.CRASH,
            seconds=0.1,
            cpu_seconds=0.1,
            peak_mb=1.0,
            log=done.stdout + done.stderr,
            output=Path(shutil.copy(output, job.target)) if ok else None,
        )


SEEN = (
    # None of these changes the machine.
    "network", "abstract-socket", "socket-families", "system-calls", "processes-seen",
    "filter-of-the-first", "hidden-files", "variables", "setuid-programs",
    "raised-limits",
)  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_what_is_not_held_is_named(name: str) -> None:
    if name in {"raised-limits", "system-calls"} and os.geteuid() != 0:
        pytest.skip("a user without rights cannot do this")
    (check,) = check_sandbox(Bare(), programs=programs(name)).failed
    assert "BROKEN" in check.message


def test_where_files_are_seen_nothing_else_is_run() -> None:
    conformance = check_sandbox(Bare(), programs=programs("segfault", "hidden-files", "loop"))
    assert [(check.name, check.outcome) for check in conformance.checks] == [
        ("hidden-files", "failed"),
        ("loop", "not tried"),
        ("segfault", "not tried"),
    ]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another end": ({"end": End.CRASH, "output": None}, "It ended with crash instead of ok"),
    "a long log": ({"log": b"x" * 6000}, "Its log has 6,000 bytes instead of 5,000."),
    "too much time": ({"seconds": 99.0}, "It ran 99.0 s instead of 10."),
    "too many cores": ({"cpu_seconds": 5.0}, "It used 5.0 s of processors instead of"),
    "too much memory": ({"peak_mb": 129.0}, "It used 129 MB instead of 128."),
    "no output": ({"output": None}, "An output is there exactly if the end is ok."),
    "no outcome": ({"log": "text"}, "log of the Outcome must be bytes"),
}


@dataclass
class Lying(Bare):
    changes: Any = None

    def run(self, job: Job, box: Box) -> Outcome:
        return replace(Bare.run(self, job, box), **self.changes)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_outcome_is_named(case: str) -> None:
    changes, message = WRONG[case]
    (check,) = check_sandbox(Lying(changes=changes), programs=programs("standard-input")).failed
    assert message in check.message


@dataclass
class Leaving(Bare):
    """Leaves a process, a file and a descriptor."""

    left: Any = None

    def run(self, job: Job, box: Box) -> Outcome:
        code = "import time; time.sleep(100)"
        process = subprocess.Popen([sys.executable, "-c", code, job.command[-1]])
        # A process has no arguments yet for a moment after it was started.
        while job.command[-1].encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        self.left = process, os.open("/dev/null", os.O_RDONLY)
        (job.program / "main.py").write_text("changed")
        return Outcome(
            end=End.CRASH, seconds=0.1, cpu_seconds=0.0, peak_mb=0.0, log=b"", output=None
        )


def test_what_is_left_is_named() -> None:
    leaving = Leaving()
    (check,) = check_sandbox(leaving, programs=programs("segfault")).failed
    process, descriptor = leaving.left
    process.kill()
    process.wait()
    os.close(descriptor)
    assert "1 of its processes still run." in check.message
    assert "It left descriptors" in check.message
    assert "It changed its program." in check.message


def test_the_limits_are_those_of_a_box() -> None:
    assert Box(**LIMITS).output_files == 100
    assert all(set(program.limits) <= set(LIMITS) for program in PROGRAMS)


def test_a_check_is_kept_with_its_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arena.programs.checked import last_check, record_check

    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    assert last_check("podman(oci_runtime=crun)", {"linux": "6"}) is None
    kept = record_check("podman(oci_runtime=crun)", {"linux": "6"}, ["Memory is not limited."])
    assert last_check("podman(oci_runtime=crun)", {"linux": "6"}) == kept
    assert last_check("podman(oci_runtime=crun)", {"linux": "7"}) is None
    assert last_check("bwrap", {"linux": "6"}) is None
