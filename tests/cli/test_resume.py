"""A command that is killed or interrupted, and given again, continues: the same bytes."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from program import MOST_SECONDS, killed_in_the_end, write_csv

pytestmark = pytest.mark.slow

METRIC = """
import os, time

def score(solution, submission, row_id_column_name):
    descriptor = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, b".")
    os.close(descriptor)
    time.sleep(0.002)
    return float((solution["y"] - submission["y"]).abs().mean())
"""
PROGRAM = """
import sys
from arena.cli.main import main
from arena.evaluation import black_box
from arena.utils import finished_tasks

black_box.SECONDS_WORTH_KEEPING = 0.0
black_box.SECONDS_OF_A_TASK = 0.05
finished_tasks.SECONDS_BETWEEN_FILES = 0.2
main()
"""
SECRET = 0.123456789


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path)


@pytest.fixture(scope="module")
def undisturbed_plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Return what ``arena plan`` prints, and the number of its calls."""
    folder = write_files(tmp_path_factory.mktemp("plan"))
    expected, messages = end(start(folder, command="plan"))
    assert expected, messages
    return expected, calls(folder)


def write_files(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    truth = np.append(rng.random(59), SECRET)
    columns = {"solution": truth} | {f"sent/{k}": truth + rng.normal(0, 0.1, 60) for k in range(4)}
    for name, values in columns.items():
        rows = [(f"r{i}", repr(float(value))) for i, value in enumerate(values)]
        write_csv(folder / f"{name}.csv", ["id", "y"], rows)
    (folder / "code").mkdir()
    (folder / "code" / "own.py").write_text(METRIC)
    return folder


def start(folder: Path, *more: str, command: str = "score") -> subprocess.Popen[str]:
    arguments = [
        command,
        "solution.csv",
        "sent",
        "--metric",
        "kaggle:code/own.py(lower_is_better=true)",
    ]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "--resamples", "90", "--json", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "CALLS": str(folder / "calls"), "ARENA_PROGRESS": "0"},
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    with killed_in_the_end(process):
        return process.communicate(timeout=MOST_SECONDS)


def calls(folder: Path) -> int:
    """Return the number of calls since the last time."""
    count = (folder / "calls").stat().st_size
    (folder / "calls").unlink()
    return count


def stop(
    folder: Path, number: signal.Signals, more: int, command: str = "score"
) -> tuple[int, str]:
    """End the command when it has kept so many files more; return its code and what it said."""
    results = folder / "kept"
    n_results = len(list(results.glob("*.tasks"))) + more
    process = start(folder, "--resume", "kept", command=command)
    with killed_in_the_end(process):
        while len(list(results.glob("*.tasks"))) < n_results and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None, "it was too fast to be interrupted"
        process.send_signal(number)
        errors = process.communicate(timeout=MOST_SECONDS)[1]
    return process.returncode, errors


@pytest.mark.long
def test_a_killed_and_an_interrupted_command_continue(folder: Path) -> None:
    expected, messages = end(start(folder))
    assert expected, messages
    all_calls = calls(folder)

    assert stop(folder, signal.SIGKILL, 3)[0] == -signal.SIGKILL
    code, errors = stop(folder, signal.SIGINT, 2)
    assert code == 130
    assert "kept: the same command continues from there" in errors
    for file in (folder / "kept").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    calls(folder)

    damaged = min((folder / "kept").glob("*.tasks"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    document, errors = end(start(folder, "--resume", "kept", "--workers", "1"))
    assert document == expected
    assert "are already done" in errors
    assert calls(folder) < all_calls

    # All of it was kept: only the calls that are timed are made again. Two at once do not matter.
    both = [start(folder, "--resume", "kept") for _ in range(2)]
    assert [end(command)[0] for command in both] == [expected] * 2
    assert calls(folder) < 0.1 * 2 * all_calls

    code_of_metric = folder / "code" / "own.py"
    code_of_metric.write_text(METRIC.replace(".mean()", ".max()"))
    other, errors = end(start(folder, "--resume", "kept"))
    assert other != expected
    assert "already done" not in errors
    assert calls(folder) == all_calls


@pytest.mark.long
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_plan_continues_with_the_same_answer(
    folder: Path, undisturbed_plan: tuple[str, int], ended_by: signal.Signals
) -> None:
    expected, all_calls = undisturbed_plan
    code, errors = stop(folder, ended_by, 6, command="plan")
    handled = ended_by != signal.SIGKILL
    assert code == (128 + ended_by if handled else -ended_by)
    assert ("the same command continues from there" in errors) == handled
    calls(folder)

    document, errors = end(start(folder, "--resume", "kept", command="plan"))
    assert document == expected
    done = [int(number) for number in re.findall(r"(\d+) of \d+ calls are already done", errors)]
    assert sum(done) > 0
    # A process that called the metric may have ended a little later than the killed command.
    assert calls(folder) <= all_calls - sum(done) / 2
