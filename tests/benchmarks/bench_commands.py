"""What the organiser's commands cost on long histories, with the exponents of their growth.

Makes competitions with the hashing of the store itself, in which no two submissions are equal, and
runs every command once in turn on each. Prints one line of JSON for each history, and a last one
with the growth exponents: log(cost long / cost short) / log(submissions long / submissions short),
of the processor time above the start of the program. With ``--out docs/scale.md`` the figures are
also written as a page.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
BARS = {
    "audit": (15, None),
    "replay ladder-free": (30, None),
    "finalize": (20, 1.0),
    "export": (15, None),
    "report": (20, None),
}
"""Seconds and gigabytes that are aimed at for 100,000 submissions of 5,000 teams, 1,000 rows."""
PAGE = """# Scale

What the organiser's commands cost as a competition grows: processor seconds of all processes,
without the {start:.1f} s that the start of the program takes, and the most memory of one process.
The exponent says how the processor time grows from the shortest history to the longest: 1 is in
proportion to the number of submissions.

Each submission has {rows:,} rows, and no two are equal. From left to right, the submissions are of
{teams} teams. Measured on {cores} cores of a shared machine ({date}), each command once, by
`python tests/benchmarks/bench_commands.py {options}`.

{table}

`finalize` grows with the teams rather than with the submissions: it compares all pairs of teams,
and its memory is that of matrices of all pairs. `report` shows what `finalize` stored; it reads the
predictions again, to find similar submissions. `audit` computes every digest again, and compares
the predictions of all teams with each other; here `audit --since` leaves out 99% of the history.

The aims are for 100,000 submissions of 5,000 teams with 1,000 rows. {missed}

`submit` and the release of a score do not grow with the history: `tests/benchmarks/bench_growth.py`
measures them, and [](reference/speed.md) has these and the other figures.
"""


@dataclass(frozen=True)
class Cost:
    """What a command cost."""

    processor_seconds: float
    seconds: float
    memory_gb: float


WATCHER = """
import json, os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "arena", *sys.argv[1:]], os.environ)
_, status, used = os.wait4(pid, 0)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_maxrss * 1024]))
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
    exit_code, processor_seconds, memory = json.loads(called.stdout.splitlines()[-1])
    if exit_code != code:
        raise SystemExit(f"arena {' '.join(command)}: {called.stderr}")
    return Cost(
        round(processor_seconds, 2),
        round(time.perf_counter() - started, 2),
        round(memory / 1e9, 2),
    )


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


def page(
    found: Mapping[int, Mapping[str, Cost]],
    exponents: Mapping[str, float],
    histories: Sequence[History],
    start: float,
    options: str,
) -> str:
    """Return the page with the figures."""
    heads = [f"{one.submissions:,} submissions" for one in histories]
    lines = [
        "| command | " + " | ".join(heads) + " | exponent | aim |",
        "|---|" + "---|" * (len(heads) + 2),
    ]
    missed = []
    for name in exponents:
        cells = [
            f"{max(0.0, own[name].processor_seconds - start):.1f} s, {own[name].memory_gb:.2f} GB"
            for own in found.values()
        ]
        seconds, memory = BARS.get(name, (None, None))
        aim = "" if seconds is None else f"{seconds} s" + (f", {memory:g} GB" if memory else "")
        last = list(found.values())[-1][name]
        if seconds is not None and last.processor_seconds - start > seconds:
            missed.append(f"`{name}` (time)")
        if memory is not None and last.memory_gb > memory:
            missed.append(f"`{name}` (memory)")
        lines.append(f"| `{name}` | {' | '.join(cells)} | {exponents[name]:.2f} | {aim} |")
    return PAGE.format(
        start=start,
        rows=histories[0].rows,
        teams=", ".join(f"{one.teams:,}" for one in histories),
        cores=os.cpu_count(),
        date=time.strftime("%Y-%m-%d"),
        options=options,
        table="\n".join(lines),
        missed=f"Missed: {', '.join(missed)}." if missed else "All are met.",
    )


def main() -> None:
    """Run and print JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", default="1000,10000", help="lengths of the histories")
    parser.add_argument("--teams", type=int, default=5_000, help="at most half the submissions")
    parser.add_argument("--rows", type=int, default=1_000, help="rows of a submission")
    parser.add_argument("--until", choices=COMMANDS, default="report", help="the last command")
    parser.add_argument("--rule", default="best_public", help="of the final submissions")
    parser.add_argument("--keep", type=Path, help="keep the histories in this folder")
    parser.add_argument("--out", type=Path, help="write the figures as a page")
    options = parser.parse_args()
    commands = dict(list(COMMANDS.items())[: list(COMMANDS).index(options.until) + 1])
    histories = [
        History(length, min(options.teams, length // 2), options.rows, samples=length)
        for length in sorted(int(length) for length in options.submissions.split(","))
    ]
    with tempfile.TemporaryDirectory() as nowhere:
        start = min(
            cost_of(Path(nowhere), ("leaderboard",), code=1).processor_seconds for _ in range(3)
        )
    found: dict[int, dict[str, Cost]] = {}
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
        print(json.dumps({**asdict(history), "start": start, "costs": costs}), flush=True)
    short, long = found[histories[0].submissions], found[histories[-1].submissions]
    length = math.log(max(2, histories[-1].submissions / histories[0].submissions))

    def above(cost: Cost) -> float:
        return max(0.01, cost.processor_seconds - start)

    exponents = {
        name: round(math.log(above(long[name]) / above(short[name])) / length, 2)
        for name in commands
    }
    if options.out:
        called = f"--submissions {options.submissions} --teams {options.teams}"
        options.out.write_text(page(found, exponents, histories, start, called), encoding="utf-8")
    print(json.dumps({"benchmark": "commands", "exponents": exponents}))


if __name__ == "__main__":
    main()
