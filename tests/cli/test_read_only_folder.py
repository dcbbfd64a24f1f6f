"""A competition on a file system that is really read-only: reading works, writing is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from program import run_here
from scenario import Scenario

pytestmark = pytest.mark.slow

READS = (
    ("leaderboard",), ("submissions",), ("audit",), ("replay", "--mechanism", "full"),
    ("submissions", "--json"),
)  # fmt: skip
WRITES = (
    ("submit", "file-1-0.8.csv", "--team", "b"), ("select", "--team", "a", 1), ("finalize",),
    ("disqualify", 1, "--reason", "x"), ("withdraw", 1, "--team", "a"), ("rescore",), ("repair",),
    ("team", "rename", "a", "b"), ("import", "."),
)  # fmt: skip


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("read-only")
    with Scenario(folder).create() as competition:
        competition.submit(Scenario(folder).file(1, 0.8), "a")
    mount = folder / "mount"
    mount.mkdir()
    done = subprocess.run(["mount", "--bind", folder / "c", mount], check=False)
    if done.returncode:
        pytest.skip("no permission to mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mount], check=True)
        yield folder
    finally:
        subprocess.run(["umount", mount], check=True)


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_what_reads_works(mounted: Path, command: tuple[str, ...]) -> None:
    called = run_here(*command, "-C", "mount", cwd=mounted)
    assert called.returncode == 0, called.stderr


@pytest.mark.parametrize("command", WRITES, ids=lambda command: command[0])
def test_what_writes_is_refused_in_a_sentence(mounted: Path, command: tuple[object, ...]) -> None:
    called = run_here(*command, "-C", "mount", cwd=mounted)
    assert called.returncode == 1, called.stdout + called.stderr
    assert called.stderr.startswith("arena: ")
    assert "read-only" in called.stderr.casefold() or "permission" in called.stderr.casefold()
