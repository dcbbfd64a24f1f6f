"""Kill workers during every command that uses an engine, and compare its output.

Each command runs once on this machine, undisturbed. Then it runs again and again on an engine while
processes are killed (SIGKILL) at random moments: workers of Dask or Ray, worker processes of this
machine, and the processes that call a metric of another platform. It must print the same bytes, or
end with one sentence; then the same command is given again until it prints them. Prints one JSON
object last; the exit code is 1 if anything was wrong. Dask and Ray are started here and need their
extras; Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import benchmark_paths  # noqa: F401
import numpy as np

from arena.utils.processes.linux import descendants
from program import ARENA, write_csv

PATIENCE = 300.0
"""After so many seconds a command counts as hanging."""
MOST_RESUMPTIONS = 20
METRIC = """
import time

def score(solution, submission, row_id_column_name):
    time.sleep(SECONDS)
    return float((solution["y"] - submission["y"]).abs().mean())
"""
PROGRAM = """
import sys
from arena.cli.main import main
from arena.evaluation import black_box
from arena.utils import finished_tasks

black_box.SECONDS_WORTH_KEEPING = 0.0
black_box.SECONDS_WORTH_A_PROCESS = 0.0
black_box.SECONDS_OF_A_TASK = 0.2
black_box.SECONDS_OF_A_SENT_TASK = 0.2
finished_tasks.SECONDS_BETWEEN_FILES = 0.5
main(sys.argv[1:])
"""
"""The program with short tasks that are kept often: a short run has many of them."""
OWN = "kaggle:code/own.py(lower_is_better=true)"
SLOW = "kaggle:code/slow.py(lower_is_better=true)"
COMPETITION = (
    *("simulate", "competition", "simulated", "--seed", "3", "--teams", "4", "--days", "2"),
    *("--per-day", "2", "--rows", "20000", "--train-rows", "20000", "--validation-rows", "3000"),
    *("--kinds", "lightgbm-climber=3, copycat=1", "--mechanism", "full", "--json"),
)
SEEDS = (
    *("simulate", "competition", "seeds", "--seeds", "6", "--teams", "3", "--days", "2"),
    *("--per-day", "2", "--rows", "1000", "--train-rows", "800", "--validation-rows", "300"),
    *("--kinds", "lightgbm-climber=2, copycat=1", "--mechanism", "full", "--json"),
)
COMMANDS: Mapping[str, Sequence[str]] = {
    "score": (
        *("score", "solution.csv", "sent", "--metric", OWN, "--resamples", "60"),
        *("--json", "--resume", "kept"),
    ),
    "score once": ("score", "solution.csv", "sent", "--metric", SLOW, "--no-intervals", "--json"),
    "finalize": ("finalize", "-C", "race", "--json"),
    "rescore": ("rescore", "-C", "race", "--solution", "corrected.csv", "--json"),
    "attack": (
        *("attack", "--repeats", "40", "--rows", "20000", "--submissions", "400", "--json"),
        *("--workers", "2", "--resume", "kept"),
    ),
    "plan": (
        *("plan", "solution.csv", "sent", "--metric", OWN, "--resamples", "60", "--teams", "20"),
        *("--json", "--resume", "kept"),
    ),
    "simulate": COMPETITION,
    "seeds": SEEDS,
}


@dataclass(frozen=True)
class Cluster:
    """The command-line options of an engine, and the process whose descendants are killed."""

    options: Sequence[str]
    process: int | None
    """None for the command itself."""


def start(call: Sequence[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a part of a cluster in a session of its own."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, *call],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


@contextlib.contextmanager
def here(folder: Path) -> Iterator[Cluster]:
    """Use this machine."""
    yield Cluster((), None)


@contextlib.contextmanager
def dask(folder: Path) -> Iterator[Cluster]:
    """Start a scheduler of Dask and two workers, which it starts again when they are killed."""
    port, log = "18786", folder / "dask.log"
    address = f"tcp://127.0.0.1:{port}"
    module, quiet = ("-m", "distributed.cli.dask_scheduler"), "--no-dashboard"
    scheduler = start([*module, "--host", "127.0.0.1", "--port", port, quiet], folder, log)
    module, each = ("-m", "distributed.cli.dask_worker"), ("--nworkers", "2", "--nthreads", "1")
    workers = start([*module, address, *each, quiet], folder, log)
    try:
        wait_until(lambda: log.read_text().count("Registered to") >= 2, "two workers of Dask")
        yield Cluster(("--engine", "dask", "--scheduler", address), workers.pid)
    finally:
        end(workers, scheduler)


@contextlib.contextmanager
def ray(folder: Path) -> Iterator[Cluster]:
    """Start Ray with two processors."""
    os.environ["RAY_AUTH_MODE"] = "disabled"  # it listens on this machine only
    port, log = "6399", folder / "ray.log"
    head = start(
        [
            *("-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", port),
            *("--node-ip-address", "127.0.0.1"),
            *("--num-cpus", "2", "--include-dashboard", "false", "--disable-usage-stats"),
        ],
        folder,
        log,
    )
    try:
        wait_until(lambda: "Ray runtime started" in log.read_text(), "Ray")
        yield Cluster(("--engine", "ray", "--scheduler", f"127.0.0.1:{port}"), head.pid)
    finally:
        end(head)


ENGINES = {"local": here, "dask": dask, "ray": ray}


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a part of a cluster."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not start")
        time.sleep(0.2)


def end(*processes: subprocess.Popen[bytes]) -> None:
    """End processes with everything that they started."""
    for process in processes:
        for pid in (*descendants(process.pid), process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(60)


def victims(root: int) -> list[int]:
    """Return the process ids of the workers below a process."""
    pids = []
    for pid in descendants(root):
        with contextlib.suppress(OSError):
            called = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            kinds = (b"run_guarded", b"LokyProcess", b"multiprocessing.spawn")
            of_ray = (b"ray::call_checked", b"ray::IDLE")  # Ray itself ends with its agents
            if called.startswith(of_ray) or any(kind in called for kind in kinds):
                pids.append(pid)
    return pids


@dataclass(frozen=True)
class Ended:
    """The exit code and the output of a command, and the number of processes that were killed."""

    code: int | None
    """None if it did not end in time."""
    out: bytes
    said: str
    kills: int


def run(
    call: Sequence[str],
    folder: Path,
    root: int | None,
    waits: Sequence[float],
    rng: np.random.Generator,
) -> Ended:
    """Run a command and kill a process after each wait."""
    out, errors = folder / "out.printed", folder / "said.printed"
    with out.open("wb") as stdout, errors.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *call],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    kills, code = 0, None
    for wait in waits:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait)
            break
        pids = victims(root or process.pid)
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(rng.choice(pids)), signal.SIGKILL)
                kills += 1
    try:
        code = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        end(process)
    return Ended(code, out.read_bytes(), errors.read_text(errors="replace"), kills)


def make(folder: Path) -> None:
    """Write a solution, submissions, metrics and a competition."""
    rng = np.random.default_rng(0)
    truth = rng.random(200)
    submissions = {f"sent/t{k}": truth + rng.normal(0, 0.1 + 0.01 * k, 200) for k in range(5)}
    for name, values in {"solution": truth, "corrected": truth + 0.01, **submissions}.items():
        rows = [(f"r{i}", repr(float(value))) for i, value in enumerate(values)]
        write_csv(folder / f"{name}.csv", ["id", "y"], rows)
    (folder / "code").mkdir()
    (folder / "code" / "own.py").write_text(METRIC.replace("SECONDS", "0.005"))
    (folder / "code" / "slow.py").write_text(METRIC.replace("SECONDS", "1.0"))
    own = f"kaggle:{folder / 'code' / 'own.py'}(lower_is_better=true)"
    creation = ["init", "race", "--solution", "solution.csv", "--metric", own, "--per-day", "0"]
    for call in (creation, ["import", "sent", "-C", "race"]):
        subprocess.run([ARENA, *call], cwd=folder, check=True, capture_output=True)
    settings = folder / "race" / "competition.toml"
    settings.write_text(settings.read_text().replace("resamples = 1000", "resamples = 60"))


def kill_in(
    name: str,
    cluster: Cluster,
    template: Path,
    expected: bytes,
    seconds: float,
    rng: np.random.Generator,
) -> tuple[str, int]:
    """Kill workers of a command; return the outcome and the number of killed processes."""
    kills = 0
    with tempfile.TemporaryDirectory(dir=template.parent) as place:
        folder = Path(shutil.copytree(template, Path(place) / "f"))
        call = [*COMMANDS[name], *cluster.options]
        for again in range(MOST_RESUMPTIONS):
            first = rng.uniform(0.2, 0.95) * seconds
            # A call whose process is killed twice is the metric's fault.
            more = 0 if name == "score once" else rng.integers(0, 3)
            waits = (first, *rng.exponential(seconds / 4, more))
            ended = run(call, folder, cluster.process, waits, rng)
            kills += ended.kills
            if ended.code is None:
                raise WrongError(f"it did not end; its messages: {ended.said[-2_000:]}")
            if ended.code == 0:
                if ended.out != expected:
                    raise WrongError(f"it printed something else: {changes(expected, ended.out)}")
                return ("the same" if again == 0 else "the same after a sentence"), kills
            sentences = [line for line in ended.said.splitlines() if line.startswith("arena: ")]
            fault = "fault in arena" in ended.said or "Traceback" in ended.said
            if ended.code != 1 or len(sentences) != 1 or fault:
                raise WrongError(f"it ended with {ended.code} and: {ended.said[-2_000:]}")
            print(f"{name}: {sentences[0]}", file=sys.stderr)
    raise WrongError(f"it did not end after {MOST_RESUMPTIONS} sentences")


def changes(expected: bytes, actual: bytes) -> str:
    """Return the lines that differ."""
    lines = [text.decode(errors="replace").splitlines() for text in (expected, actual)]
    return "\n".join(list(difflib.unified_diff(*lines, n=0, lineterm=""))[:40])


class WrongError(Exception):
    """A command neither printed the same bytes nor ended with a sentence."""


def campaign(
    engine: str, runs: int, only: Sequence[str], seed: int, root: Path
) -> dict[str, object]:
    """Run each command ``runs`` times with kills, and return the counts of the outcomes."""
    rng, wrong = np.random.default_rng(seed), list[str]()
    came: dict[str, Counter[str]] = {name: Counter() for name in only}
    template = root / "template"
    template.mkdir()
    make(template)
    with ENGINES[engine](root) as cluster:
        for name in only:
            undisturbed, seconds = [], 0.0
            for engine_options in dict.fromkeys(((), cluster.options)):
                with tempfile.TemporaryDirectory(dir=root) as place:
                    folder = Path(shutil.copytree(template, Path(place) / "f"))
                    began = time.monotonic()
                    call = [*COMMANDS[name], *engine_options]
                    undisturbed.append(run(call, folder, None, (), rng))
                    seconds = time.monotonic() - began
            plain = undisturbed[0]
            if any((ended.code, ended.out) != (0, plain.out) for ended in undisturbed):
                printed = " ".join(ended.said[-1_000:] for ended in undisturbed)
                wrong.append(f"{name}, undisturbed: {printed}")
                continue
            for number in range(runs):
                try:
                    how, kills = kill_in(name, cluster, template, plain.out, seconds, rng)
                    came[name][how] += 1
                    came[name]["kills"] += kills
                except WrongError as error:
                    wrong.append(f"{name}, run {number}: {error}")
                    print(wrong[-1], file=sys.stderr)
    return {
        "benchmark": "kill_workers",
        "engine": engine,
        "runs": runs,
        "seed": seed,
        "came": {name: dict(counts) for name, counts in came.items()},
        "wrong": wrong,
    }


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, default="local")
    parser.add_argument("--runs", type=int, default=20, help="of each command")
    parser.add_argument("--command", choices=COMMANDS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    only = options.command or list(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        outcome = campaign(options.engine, options.runs, only, options.seed, Path(name))
    print(json.dumps(outcome))
    sys.exit(bool(outcome["wrong"]))


if __name__ == "__main__":
    main()
