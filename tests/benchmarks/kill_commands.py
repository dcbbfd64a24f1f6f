"""Kill every command that writes, and look for anything half there.

Each command runs on a copy of a small competition and is killed at a random moment of its run. Then
the competition holds what it held before or what the whole command leaves (an import: some of its
files), and its audit finds nothing. The same command completes, and a submission after it is
accepted. What a command writes beside the competition (an export, a backup, a new competition) is
whole, or refused by the command that reads it. Prints one JSON object last; the exit code is 1 if
anything was wrong.

The program runs in processes that are forked from one that has imported it; with ``--program`` the
installed program is started, and some kills fall into its start.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import benchmark_paths  # noqa: F401
import numpy as np
from kill_program import PATIENCE, Start, lives, start_forked, start_installed

from competition_folder import INIT, as_older_version, write_file, write_solution
from program import run_here

State = tuple[tuple[str, str], ...]
"""The events of a competition, without their times and the digests of rows that hold a time."""


@dataclass(frozen=True)
class Command:
    """A command that writes."""

    arguments: Sequence[str]
    """What follows ``arena``, called in the folder of the competition."""
    before: Sequence[Sequence[str]] = ()
    """Commands that come before it, and are not killed."""
    prepare: Callable[[Path], None] | None = None
    """Called with the folder of the competition, after the commands before it."""
    in_steps: bool = False
    """Whether it stores one thing after another, each whole."""
    writes: str = ""
    """The folder beside the competition that it writes; empty: it writes the competition."""


INCLUDE = ("disqualify", "2", "--reason", "mistake", "--undo")
EXCLUDE = ("disqualify", "2", "--reason", "late")
COMMANDS: Mapping[str, Command] = {
    "submit": Command(("submit", "../5.csv", "--team", "new")),
    "import": Command(("import", "../folder"), in_steps=True),
    "select": Command(("select", "1", "4", "--team", "t1")),
    "disqualify a submission": Command(EXCLUDE),
    "disqualify a team": Command(("disqualify", "--team", "t1", "--reason", "late")),
    "undo": Command(INCLUDE, before=[EXCLUDE]),
    "rename": Command(("team", "rename", "t1", "renamed")),
    "merge": Command(("team", "merge", "t1", "t2")),
    "rescore": Command(("rescore", "--solution", "../corrected.csv", "--apply")),
    "finalize": Command(("finalize", "--workers", "1")),
    "upgrade": Command(
        ("upgrade",), prepare=lambda folder: as_older_version(folder / "arena.duckdb")
    ),
    "export": Command(("export", "../export"), before=[("finalize",)], writes="export"),
    "backup": Command(("backup", "../backup"), writes="backup"),
    "init": Command(
        ("init", "../made", "--solution", "../solution.csv", *map(str, INIT[4:])), writes="made"
    ),
}


def run_to_end(program: Start, folder: Path, call: Sequence[str], out: Path) -> float:
    """Run a command to its end, and return the seconds that it took."""
    start = time.monotonic()
    pid = program(folder, [list(call)], out)
    while lives(pid):
        if time.monotonic() > start + PATIENCE:
            raise TimeoutError(f"{call} did not end in {PATIENCE} s.")
        time.sleep(0.002)
    return time.monotonic() - start


def run_killed(
    program: Start, folder: Path, call: Sequence[str], out: Path, seconds: float, wait: float
) -> None:
    """Start a command, and kill it unless it ended before.

    It is killed after these seconds, or this wait after it began to write if that is earlier.
    """
    start, written, began = time.monotonic(), _files_of(folder), math.inf
    pid = program(folder, [list(call)], out)
    while time.monotonic() < min(start + seconds, began + wait) and lives(pid):
        time.sleep(0.001)
        if began == math.inf and _files_of(folder) != written:
            began = time.monotonic()
    # A process that has ended may have left its number to a stranger.
    if lives(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while lives(pid):
        if time.monotonic() > start + PATIENCE:
            raise TimeoutError(f"{call} was killed and is still there.")
        time.sleep(0.002)


def _files_of(folder: Path) -> set[tuple[str, int, int]]:
    """Return the files of a competition and beside it, with their size and time of change."""
    files = set()
    for path in (*folder.parent.iterdir(), *folder.iterdir()):
        if path.suffix not in {".lock", ".printed"}:
            with contextlib.suppress(OSError):
                about = path.stat()
                files.add((path.name, about.st_size, about.st_mtime_ns))
    return files


def state_of(folder: Path) -> State:
    """Return what a competition holds, after an audit.

    Raises
    ------
    HalfThereError
        If it cannot be opened, or the audit finds something.
    """
    called = run_here("audit", "--json", cwd=folder)
    if called.returncode:
        raise HalfThereError(f"the audit says: {called.stdout} {called.stderr}")
    # The tables agree with the events, else the audit says so.
    events = json.loads(called.stdout)["events"]
    return tuple(
        (event["kind"], json.dumps({**event["payload"], "facts": None})) for event in events
    )


def without_interrupted(state: State, command: Command) -> State:
    """Leave out the event of a submission that was being scored when its process was killed.

    It is counted against the limits of the team, and recorded when the competition is opened again.
    """
    interrupted = [row for row in state if row[0] == "submission interrupted"]
    if len(interrupted) > (command.arguments[0] == "submit"):
        raise HalfThereError(f"these submissions are called interrupted: {interrupted}")
    return tuple(row for row in state if row not in interrupted)


def is_between(state: State, before: State, after: State, *, in_steps: bool) -> bool:
    """Return whether a killed command left what it found, or what it leaves, or whole steps."""
    if not in_steps:
        return state in (before, after)
    return len(before) <= len(state) and state == after[: len(state)]


class Harness:
    """A competition to copy, and what each command leaves of it when it is not killed."""

    def __init__(self, root: Path, program: Start = start_forked) -> None:
        self.root, self.program = root, program
        write_solution(root)
        lines = (root / "solution.csv").read_text().splitlines()
        lines[1] = lines[1][:-1] + "1"
        (root / "corrected.csv").write_text("\n".join(lines) + "\n")
        for number in range(1, 7):
            write_file(root / f"{number}.csv", number)
        for number in range(10, 14):
            write_file(root / "folder" / f"t{number % 2}" / f"{number}.csv", number)
        self.call(root, *INIT)
        for number in range(1, 5):
            team = f"t{number % 3}"
            self.call(root / "c", "submit", f"../{number}.csv", "--team", team)

    @staticmethod
    def call(folder: Path, *call: object) -> None:
        """Call a command that must succeed."""
        called = run_here(*call, cwd=folder)
        if called.returncode:
            raise HalfThereError(
                f"{call[0]} ended with {called.returncode}: {called.stderr.strip()}"
            )

    @contextlib.contextmanager
    def copy(self, command: Command) -> Iterator[Path]:
        """Copy the competition, and do what comes before the command."""
        with tempfile.TemporaryDirectory(dir=self.root) as name:
            for path in self.root.iterdir():
                if path.is_file():
                    shutil.copy(path, name)
            shutil.copytree(self.root / "folder", Path(name) / "folder")
            folder = Path(shutil.copytree(self.root / "c", Path(name) / "c"))
            for call in command.before:
                self.call(folder, *call)
            if command.prepare:
                command.prepare(folder)
            yield folder

    def whole(self, command: Command) -> tuple[float, State, State]:
        """Return the seconds of a command, and what the competition holds before and after."""
        with self.copy(command) as folder:
            before = () if command.prepare else state_of(folder)
            seconds = run_to_end(self.program, folder, command.arguments, folder / "out.printed")
            if command.writes:
                check_written(folder, command)
            return seconds, before, state_of(folder)

    def kill(
        self, command: Command, times: tuple[float, float], before: State, after: State
    ) -> str:
        """Kill a command, check what is there, and return how far it came.

        ``times`` are its seconds from the start and from its first write, as in ``run_killed``.
        """
        with self.copy(command) as folder:
            out = folder / "out.printed"
            run_killed(self.program, folder, command.arguments, out, *times)
            if command.prepare:  # an older database cannot be read, a new one is upgraded
                self.call(folder, *command.arguments)
                state = state_of(folder)
                if state != after:
                    raise HalfThereError("it holds something else in the end")
                return "prepared"
            state = state_of(folder)
            if not is_between(state, before, after, in_steps=command.in_steps):
                raise HalfThereError(f"it holds neither what it held nor what it should: {state}")
            came = "before" if state == before else "after" if state == after else "between"
            if command.writes:
                came = check_written(folder, command)
                shutil.rmtree(folder.parent / command.writes, ignore_errors=True)
            if came != "after":
                self.call(folder, *command.arguments)
                if command.writes:
                    check_written(folder, command)
                elif (again := without_interrupted(state_of(folder), command)) != after:
                    raise HalfThereError(
                        "the same command leaves something else the second time: "
                        f"{sorted(set(again) ^ set(after))}"
                    )
            self.call(folder, "submit", "../6.csv", "--team", "last")
            state_of(folder)
            return came


def check_written(folder: Path, command: Command) -> str:
    """Check the folder that a command wrote beside the competition, if it is there."""
    written = folder.parent / command.writes
    if command.writes == "export":
        if not written.exists():
            return "before"
        called = run_here("verify", written, "../solution.csv", cwd=folder)
        names = {"README.txt", "finals.json", "usage.csv", "key.txt", "events.jsonl"}
        if called.returncode == 0 and not names <= {path.name for path in written.iterdir()}:
            raise HalfThereError("verify calls half an export whole")
        return "after" if called.returncode == 0 else "between"
    if not (written / "competition.toml").exists():
        if run_here("leaderboard", "-C", written, cwd=folder.parent).returncode != 1:
            raise HalfThereError(f"half of {written.name} is opened")
        return "between" if written.exists() else "before"
    state_of(written)
    return "after"


class HalfThereError(Exception):
    """Something is half there."""


def run(
    kills: int,
    only: Sequence[str],
    seed: int,
    root: Path,
    program: Start = start_forked,
    seconds: float = math.inf,
) -> dict[str, object]:
    """Kill each command in turn, so many times or so long, and return what came of it."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["kill_commands"])
    rng, harness = np.random.default_rng(seed), Harness(root, program)
    wrong, came = list[str](), {name: Counter[str]() for name in only}
    whole = {name: harness.whole(COMMANDS[name]) for name in only}
    until, done = time.monotonic() + seconds, 0
    for kill in range(kills):
        if time.monotonic() > until:
            break
        done += 1
        name = only[kill % len(only)]
        seconds, before, after = whole[name]
        # Every second kill falls into the time in which the command writes, however long the
        # machine takes to come there.
        writing = kill // len(only) % 2 == 0
        moment = 10 * PATIENCE if writing else seconds * rng.uniform(0.3, 1.1)
        wait = seconds * rng.uniform(0, 0.7) if writing else math.inf
        try:
            came[name][harness.kill(COMMANDS[name], (moment, wait), before, after)] += 1
        except HalfThereError as error:
            wrong.append(f"{name}, killed at {(moment, wait)} of {seconds:.3f} s: {error}")
    return {
        "benchmark": "kill_commands",
        "kills": done,
        "came": {name: dict(counts) for name, counts in came.items()},
        "wrong": wrong,
    }


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5_000)
    parser.add_argument("--command", choices=COMMANDS, action="append", help="only this one")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--program", action="store_true", help="start the installed program")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    program = start_installed if options.program else start_forked
    only = options.command or list(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        outcome = run(options.kills, only, options.seed, Path(name), program, options.seconds)
    print(json.dumps(outcome))
    sys.exit(bool(outcome["wrong"]))


if __name__ == "__main__":
    main()
