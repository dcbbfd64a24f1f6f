"""What the organiser's commands cost on long histories, with the exponents of their growth.

Makes competitions with the hashing of the store itself, in which no two submissions are equal, and
runs every command once in turn on each. Prints one line of JSON for each history, and a last one
with all of them and the growth exponents: log(cost long / cost short) / log(submissions long /
submissions short), of the processor time above the start of the program.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import benchmark_paths  # noqa: F401
from bench_growth import History, make

COMMANDS: Mapping[str, Sequence[str]] = {
    "leaderboard": ("leaderboard",),
    "submissions": ("submissions", "--json"),
    "audit": ("audit", "--json"),
    "audit --since": ("audit", "--since", "{late}", "--json"),
    "replay ladder-free": ("replay", "--mechanism", "ladder-free", "--json"),
    "finalize": ("finalize",),
    "export": ("export", "../exported"),
    "report": ("report", "--out", "../report.html"),
}
"""``{late}`` is the number of an event after 99 % of the submissions."""


@dataclass(frozen=True)
class Cost:
    """What a command cost."""

    processor_seconds: float
    seconds: float
    memory_gb: float
    """The most of one process."""
    all_memory_gb: float
    """The most of all processes together, where shared pages count in each; seen ten times a second
    on Linux."""


WATCHER = """
import json, os, sys, threading, time

def memory(pid):
    try:
        pages = int(open(f"/proc/{pid}/statm").read().split()[1])
        tasks = os.listdir(f"/proc/{pid}/task")
        started = [open(f"/proc/{pid}/task/{task}/children").read().split() for task in tasks]
    except OSError:  # it has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(memory(one) for own in started for one in own)

def watch():
    while True:
        seen.append(max(seen.pop(), memory(pid)))
        time.sleep(0.1)

seen = [0]
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "arena", *sys.argv[1:]], os.environ)
threading.Thread(target=watch, daemon=True).start()
_, status, used = os.wait4(pid, 0)
seconds, most = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, most, max(most, *seen)]))
"""
"""A small process that starts the command: a process counts the memory of the one it came from."""


def cost_of(folder: Path, command: Sequence[str], code: int = 0) -> Cost:
    """Run a command of ``arena`` in a folder, and return what it and its children cost."""
    started = time.perf_counter()
    called = subprocess.run(
        [sys.executable, "-S", "-c", WATCHER, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, processor_seconds, memory, all_memory = json.loads(called.stdout.splitlines()[-1])
    if exit_code != code:
        raise SystemExit(f"arena {' '.join(command)}: {called.stderr}")
    return Cost(
        round(processor_seconds, 2),
        round(time.perf_counter() - started, 2),
        round(memory / 1e9, 2),
        round(all_memory / 1e9, 2),
    )


def start_of_program() -> float:
    """Return the least processor seconds of the program in a folder without a competition."""
    with tempfile.TemporaryDirectory() as nowhere:
        runs = [cost_of(Path(nowhere), ("leaderboard",), code=1) for _ in range(3)]
    return min(run.processor_seconds for run in runs)


def growth_exponent(short: Cost, long: Cost, start: float, times: float) -> float:
    """Return the exponent of the processor time above the start, for a size ``times`` as large."""
    above = [max(0.01, cost.processor_seconds - start) for cost in (short, long)]
    return round(math.log(above[1] / above[0]) / math.log(max(2, times)), 2)


@contextlib.contextmanager
def made(history: History, keep: Path | None) -> Iterator[Path]:
    """Make a competition, or copy one that was kept, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="arena-commands-") as scratch:
        folder = Path(scratch) / "race"
        name = f"{history.submissions}-{history.rows}-{history.samples}"
        source = folder if keep is None else keep / name
        if not source.exists():
            make(source, history)
        if source != folder:
            shutil.copytree(source, folder)
        yield folder / "c"


def main() -> None:
    """Run and print JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", default="1000,10000", help="lengths of the histories")
    parser.add_argument("--teams", type=int, default=5_000, help="at most half the submissions")
    parser.add_argument("--rows", type=int, default=1_000, help="rows of a submission")
    parser.add_argument("--until", choices=COMMANDS, default="report", help="the last command")
    parser.add_argument("--rule", default="best_public", help="of the final submissions")
    parser.add_argument("--keep", type=Path, help="keep the histories in this folder")
    options = parser.parse_args()
    commands = dict(list(COMMANDS.items())[: list(COMMANDS).index(options.until) + 1])
    histories = [
        History(length, min(options.teams, length // 2), options.rows, samples=length)
        for length in sorted(int(length) for length in options.submissions.split(","))
    ]
    start = start_of_program()
    found: dict[int, dict[str, Cost]] = {}
    lines: list[dict[str, Any]] = []
    for history in histories:
        with made(history, options.keep) as folder:
            settings = folder / "competition.toml"
            text = settings.read_text("utf-8").replace('"best_public"', f'"{options.rule}"')
            settings.write_text(text, "utf-8")
            late = history.submissions * 99 // 100
            own = {
                name: cost_of(folder, [part.format(late=late) for part in command])
                for name, command in commands.items()
            }
        found[history.submissions] = own
        costs = {name: asdict(cost) for name, cost in own.items()}
        lines.append({**asdict(history), "start": start, "costs": costs})
        print(json.dumps(lines[-1]), flush=True)
    short, long = histories[0].submissions, histories[-1].submissions
    exponents = {
        name: growth_exponent(found[short][name], found[long][name], start, long / short)
        for name in commands
    }
    print(json.dumps({"benchmark": "commands", "exponents": exponents, "histories": lines}))


if __name__ == "__main__":
    main()
