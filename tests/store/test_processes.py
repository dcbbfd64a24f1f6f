"""Several processes, kills, and disks that are full."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from arena.errors import StoreBusyError, StoreError
from arena.store import Incoming, Store
from checkout import python_path
from program import killed_in_the_end
from submit_work import make_solution, submit, values_of

ROOT = Path(__file__).parents[2]
KILL = ROOT / "tests" / "benchmarks" / "kill_submissions.py"
SUPPORT = ROOT / "tests" / "support"
N_ROWS = 100


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path(SUPPORT)},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a solution in it."""
    with Store.open(tmp_path / "x.duckdb") as store:
        store.put_solution(make_solution(N_ROWS))
    return tmp_path / "x.duckdb"


@pytest.mark.parametrize(
    ("kills", "rows"),
    [
        pytest.param(15, 10_000, marks=pytest.mark.slow),
        pytest.param(100, 100_000, marks=pytest.mark.campaign),
    ],
)
def test_kills_lose_nothing_that_was_acknowledged(kills: int, rows: int) -> None:
    done = subprocess.run(
        [sys.executable, KILL, f"--kills={kills}", f"--rows={rows}"],
        env={**os.environ, "PYTHONPATH": python_path(SUPPORT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
        check=False,
    )
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["wrong"] == []
    assert outcome["kills"] == kills
    assert outcome["submissions"] >= kills
    assert done.returncode == 0


HOLDER = """
    import pathlib, sys
    from arena.store import Store
    with Store.open(pathlib.Path(sys.argv[1])):
        print("open", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the database."""
    with killed_in_the_end(start(HOLDER, path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


@pytest.mark.slow
def test_second_process_waits_as_long_as_it_was_told_to(
    holder: subprocess.Popen[str], path: Path
) -> None:
    for wait in (0.0, 0.5):
        began = time.monotonic()
        with pytest.raises(StoreBusyError, match=rf"PID {holder.pid}\).*--wait SECONDS"):
            Store.open(path, wait=wait)
        assert wait <= time.monotonic() - began < wait + 300
    holder.kill()
    with Store.open(path, wait=600) as store:
        assert store.submissions() == ()


def test_holder_that_let_go_before_it_could_be_named_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, messages = duckdb.connect, ["Could not set lock on file", "Could not set lock on file"]

    def connect(*given: Any, **named: Any) -> Any:
        if messages:
            raise duckdb.IOException(messages.pop())
        return real(*given, **named)

    monkeypatch.setattr("duckdb.connect", connect)
    with Store.open(path) as store:
        assert store.submissions() == ()
    messages += ["Conflicting lock on file (PID 7)", "Could not set lock on file"]
    with pytest.raises(StoreBusyError, match="PID 7"):
        Store.open(path)


SUBMITTER = """
    import pathlib, sys
    from submit_work import submit, values_of
    from arena.store import Store
    sys.stdin.read()
    for i in range(3):
        with Store.open(pathlib.Path(sys.argv[1]), wait=600) as store:
            number = len(store.submissions()) + 1
            submit(store, number, values_of(number, 100))
"""


@pytest.mark.slow
def test_processes_that_submit_at_once_are_all_served(path: Path) -> None:
    with contextlib.ExitStack() as ends:
        processes = [
            ends.enter_context(killed_in_the_end(start(SUBMITTER, path))) for _ in range(4)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        assert [process.wait(timeout=900) for process in processes] == [0] * 4
    with Store.open(path) as store:
        assert [record.submission for record in store.submissions()] == list(range(1, 13))
        assert store.verify_events() is None


# -- disks -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_full_disk_is_met_before_it_happens(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 65 * 2**20
    monkeypatch.setattr(
        "shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, free)
    )
    with Store.open(path) as store:
        submit(store, 1, values_of(1, N_ROWS))
        free = 64 * 2**20 + 1000
        with pytest.raises(StoreError, match=r"64 MB are free.*Nothing was written\. Free some"):
            submit(store, 2, values_of(2, N_ROWS))
        assert store.quota_used("t2", None) == 0
        rejected = store.add_submissions([Incoming("a", "f", "s", None)])
        assert rejected[0].submission == 2
        free = 2**20
        assert len(store.submissions()) == 2
    with pytest.raises(StoreError, match=r"1 MB are free, and 64 MB are needed"):
        Store.open(path)
    free = 10**9
    with Store.open(path) as store:
        assert len(store.submissions()) == 2


FILL = """
    import pathlib, sys
    import numpy as np
    from submit_work import submit
    from arena.errors import StoreError
    from arena.store import Store
    from arena.store.database import Database
    Database.require_space = lambda *_: None  # as if another program filled the disk
    store = Store.open(pathlib.Path(sys.argv[1]))
    rng, stored, said = np.random.default_rng(0), 0, []
    values = rng.random((100_000, 1))
    for _ in range(2):
        try:
            for number in range(1, 100):
                submit(store, stored + 1, values)
                stored += 1
        except StoreError as error:
            said.append(str(error))
    try:
        store.submissions()
    except StoreError as error:
        said.append(str(error))
    store.close()
    print(stored, *said, sep="\\n", flush=True)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("only root can mount a disk for this test")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_full_disk_is_survived(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_disk / "x.duckdb"
    with pytest.raises(StoreError, match="40 MB are free, and 64 MB are needed"):
        Store.open(path)
    assert list(small_disk.iterdir()) == []
    monkeypatch.setattr("arena.store.database.SPACE_RESERVE", 0)
    with Store.open(path) as store:
        store.put_solution(make_solution(100_000))
    code = FILL.replace(
        "store = ", "import arena.store.database as d; d.SPACE_RESERVE = 0; store = "
    )
    with killed_in_the_end(start(code, path)) as process:
        output, _ = process.communicate("", timeout=900)
    stored, *sentences = output.splitlines()
    assert int(stored) > 3
    assert all("Free some space" in sentence for sentence in sentences)
    assert len(sentences) == 3  # from then on nothing is done, not even reading
    assert process.returncode == 0
    moved = Path(shutil.copytree(small_disk, tmp_path / "larger")) / "x.duckdb"
    expected = np.random.default_rng(0).random((100_000, 1))[:, 0]
    with Store.open(moved) as store:
        numbers = [record.submission for record in store.submissions()]
        assert numbers[: int(stored)] == list(range(1, int(stored) + 1))
        assert store.verify_events() is None
        for _, block in store.predictions(numbers).blocks(4):
            assert (block == expected).all()
        submit(store, len(numbers) + 1, expected.reshape(-1, 1))
