"""Kill ``arena import`` and ``arena submit`` again and again, and look for anything half there.

After each kill the competition is opened, and what it holds is compared with what was
acknowledged: by the journal, and by what ``submit`` printed. Each process has something new to
store, and is killed after it stored some of it. In the end the import is run twice more: it goes on
where it stopped, and takes nothing twice. Prints one JSON object last; the exit code is 1 if
anything was wrong.

The program runs in processes that are forked from one that has imported it; with ``--program`` the
installed program is started, which takes a second and a half each time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import benchmark_paths  # noqa: F401
import numpy as np

from arena.cli.main import main as arena
from arena.competition.competition import Competition
from arena.plugin.manager import PluginManager
from arena.store import Store
from program import ARENA, write_csv

N_ROWS = 4_000
MOST_SECONDS = 0.2
"""A kill falls within this time after something new was acknowledged."""
SUBMITS = 30
"""``arena submit`` is called that often in one process, which is killed meanwhile."""
FILES = 4
"""So many new files are in the folder at each import."""
PATIENCE = 900
"""Seconds until a process counts as hanging, which no load of the machine explains."""

Start = Callable[[Path, list[list[str]], Path], int]
"""Calls the program with each list of arguments in one process after another, output to a file."""


def run_calls(folder: Path, calls: list[list[str]], out: Path) -> None:
    """Call the program in this process, once for each list of arguments."""
    os.chdir(folder)
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    for call in calls:
        with contextlib.suppress(SystemExit):
            arena(call)
        sys.stdout.flush()


def start_forked(folder: Path, calls: list[list[str]], out: Path) -> int:
    """Start the program from a process that has imported it."""
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=run_calls, args=(folder, calls, out))
    process.start()
    return int(process.pid or 0)


def start_installed(folder: Path, calls: list[list[str]], out: Path) -> int:
    """Start the installed program, for the first call only."""
    with out.open("a") as file:
        return subprocess.Popen([ARENA, *calls[0]], cwd=folder, stdout=file, stderr=file).pid


def values_of(number: int) -> np.ndarray:
    """Return the predictions in the file of this number: known, and all different."""
    return np.round(number + np.linspace(0, 0.5, N_ROWS), 6)


def write_file(path: Path, number: int) -> None:
    rows = enumerate(values_of(number).tolist())
    write_csv(path, ["id", "y"], [(f"r{row}", value) for row, value in rows])


def journaled(folder: Path) -> int:
    """Return how many submissions the journal says were acknowledged."""
    journal = folder / "arena.duckdb.journal"
    return journal.read_bytes().count(b'{"submission"') if journal.exists() else 0


def kill_one(start: Start, folder: Path, calls: list[list[str]], out: Path, wait: float) -> str:
    """Start the program, and kill it a while after it stored something, unless it ends before.

    Returns what is wrong; empty if it stored something.
    """
    before, until, output = journaled(folder), time.monotonic() + PATIENCE, _said(out)
    pid = start(folder, calls, out)
    while journaled(folder) == before and time.monotonic() < until and lives(pid):
        time.sleep(0.002)
    time.sleep(wait)
    # A process that has ended may have left its number to a stranger.
    if lives(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while lives(pid):
        if time.monotonic() > until:
            raise TimeoutError(f"Process {pid} was killed {PATIENCE} s ago and is still there.")
        time.sleep(0.002)
    if journaled(folder) == before:
        return f"{calls[0]} stored nothing; it printed: {_said(out)[len(output) :]!r}"
    return ""


def _said(out: Path) -> str:
    return out.read_text() if out.exists() else ""


def lives(pid: int) -> bool:
    """Return whether a process that this one started still runs."""
    for child in multiprocessing.active_children():
        if child.pid == pid:
            return child.is_alive()
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def wrong_with(folder: Path, manager: PluginManager, acknowledged: set[int]) -> Iterator[str]:
    """Yield what is wrong with a competition that was acknowledged to hold these submissions."""
    with Competition.open(folder, manager=manager) as competition:
        rows = competition.submissions()
        numbers = [row["submission"] for row in rows]
        if numbers != list(range(1, len(rows) + 1)):
            yield "the numbers have gaps"
        if acknowledged - set(numbers):
            yield f"{sorted(acknowledged - set(numbers))} were acknowledged and are not there"
        if [row["submission"] for row in rows if row["released"] is not None] != numbers:
            yield "releases do not belong to the submissions"
        if len({(row["team"], row["file"]) for row in rows}) < len(rows):
            yield "a file was taken twice"
        events = [event.payload for event in competition.events() if event.kind == "submission"]
        if [event["submission"] for event in events] != numbers:
            yield "events do not belong to the submissions"
        broken = competition.verify_events()
        yield from [broken] if broken else []
    with Store.open(folder / "arena.duckdb", create=False) as store:
        if [score.submission for score in store.scores(1)] != numbers:
            yield "scores do not belong to the submissions"
        for start, block in store.predictions(numbers).blocks(16) if numbers else ():
            for row, values in zip(rows[start:], block, strict=False):
                if not np.array_equal(values, values_of(int(Path(row["file"]).stem))):
                    yield f"submission {row['submission']} has other predictions"


def acknowledged_by(folder: Path, out: Path) -> set[int]:
    """Return the submissions that the journal names, or that were printed."""
    lines = (folder / "arena.duckdb.journal").read_bytes().splitlines()
    entries = [json.loads(line) for line in lines if line.endswith(b"}")]
    printed = out.read_text().splitlines() if out.exists() else []
    numbers = [line.split()[1] for line in printed if line.startswith("Submission ")]
    return {entry["submission"] for entry in entries if "submission" in entry} | set(
        map(int, numbers)
    )


def prepare(folder: Path, manager: PluginManager, place: str | None) -> Path:
    truth = np.arange(N_ROWS) % 7
    usage = np.where(np.arange(N_ROWS) % 2, "Public", "Private")
    rows = [(f"r{i}", y, u) for i, (y, u) in enumerate(zip(truth, usage, strict=True))]
    write_csv(folder / "solution.csv", ["id", "y", "Usage"], rows)
    Competition.create(
        folder / "c", folder / "solution.csv", metric="mae", predictions=place, manager=manager
    ).close()
    return folder / "c"


def write_more(folder: Path, n_files: int) -> int:
    """Write new files to import, and return the new number of files."""
    for number in range(n_files, n_files + FILES):
        write_file(folder / "files" / f"t{number % 5}" / f"{number:04d}.csv", number)
    return n_files + FILES


def run(kills: int, start: Start, seed: int, folder: Path, place: str | None) -> dict[str, object]:
    """Kill that often, every third time while submitting, and return what came of it."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["kill_program"])
    rng, manager, wrong = np.random.default_rng(seed), PluginManager(), list[str]()
    n_files, next_number, out = 0, 10**4, folder / "printed"
    competition = prepare(folder, manager, place)
    import_files = ["import", "../files"]
    for kill in range(1, kills + 1):
        if kill % 3:
            n_files = write_more(folder, n_files)
            calls = [import_files]
        else:
            for number in range(next_number, next_number + SUBMITS):
                write_file(folder / f"{number}.csv", number)
            calls = [
                ["submit", f"../{n}.csv", "-t", "s"]
                for n in range(next_number, next_number + SUBMITS)
            ]
            next_number += SUBMITS
        missed = kill_one(start, competition, calls, out, rng.uniform(0, MOST_SECONDS))
        acknowledged = acknowledged_by(competition, out)
        faults = [*([missed] if missed else ()), *wrong_with(competition, manager, acknowledged)]
        wrong += [f"kill {kill}: {what}" for what in faults]
    n_files = write_more(folder, n_files)
    left = n_files - sum(int(Path(file).stem) < n_files for file in _files(competition, manager))
    for _ in range(2):
        subprocess.run(
            [ARENA, *import_files],
            cwd=competition,
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        acknowledged = acknowledged_by(competition, out)
        wrong += [f"in the end: {what}" for what in wrong_with(competition, manager, acknowledged)]
        imported = [file for file in _files(competition, manager) if int(Path(file).stem) < n_files]
        if len(imported) != n_files:
            wrong.append(f"the import took {len(imported)} of {n_files} files")
    with Store.open(competition / "arena.duckdb", create=False) as store:
        wrong += [f"in the end: {what}" for what in store.audit()]
        unused = len(store.unused_objects())
    return {
        "benchmark": "kill_program",
        "kills": kills,
        "files": n_files,
        "submissions": len(_files(competition, manager)),
        "left_to_the_last_import": left,
        "unused_objects": unused,
        "wrong": wrong,
    }


def _files(folder: Path, manager: PluginManager) -> list[str]:
    with Competition.open(folder, manager=manager) as competition:
        return [row["file"] for row in competition.submissions()]


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--program", action="store_true", help="start the installed program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--predictions", help="keep them in this folder, outside the database")
    options = parser.parse_args()
    start = start_installed if options.program else start_forked
    with tempfile.TemporaryDirectory() as name:
        outcome = run(options.kills, start, options.seed, Path(name), options.predictions)
    print(json.dumps(outcome))
    sys.exit(bool(outcome["wrong"]))


if __name__ == "__main__":
    main()
