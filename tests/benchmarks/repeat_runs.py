"""Runs a program many times in a sandbox, and reports what grows on the machine meanwhile.

::

    python tests/benchmarks/repeat_runs.py --runs 1000 --sandbox bwrap

Prints the times of whole runs, and what there is of memory, control groups, mounts, descriptors and
files after the first runs and at the end. The exit code is 1 if anything grew.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from arena.interfaces import Box, End
from arena.plugin.manager import PluginManager
from arena.programs.running import run_program
from arena.testing.sandboxes import groups_of

_PROGRAM = "open('/output/predictions.csv', 'w').write(open('/input/rows.csv').read())"
_WARM_UP = 20
_MEMORY_MB = 2.0
"""By how much this process may grow: the allocator keeps some pages."""


def traces(folder: Path) -> Mapping[str, float]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory of the runner, MB": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        "control groups": len(groups_of(os.getpid())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "files in temporary folders": len(list(folder.rglob("*"))),
        "children": sum(
            path.read_text().split(")")[-1].split()[1] == str(os.getpid())
            for path in Path("/proc").glob("[0-9]*/stat")
            if path.exists()
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--sandbox", default="bwrap")
    parser.add_argument("--environment", type=Path, default=None)
    arguments = parser.parse_args()
    sandbox = PluginManager().sandboxes.resolve(arguments.sandbox)
    box = Box(seconds=60, memory_mb=256, disk_mb=16, cores=1, processes=32, output_bytes=10_000)
    times, before = [], None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tempfile.tempdir = name
        os.environ["ARENA_RUNNER"] = str(folder / "runner")
        for inner in ("input", "output"):
            (folder / inner).mkdir()
        (folder / "main.py").write_text(_PROGRAM)
        (folder / "input" / "rows.csv").write_text("id\n1\n")
        for run in range(arguments.runs + _WARM_UP):
            started = time.perf_counter()
            outcome = run_program(
                folder / "main.py",
                folder / "input",
                folder / "output",
                command=("python3", "main.py"),
                environment=arguments.environment,
                box=box,
                sandbox=sandbox,
            )
            times.append(time.perf_counter() - started)
            if isinstance(outcome, tuple) or outcome.end is not End.OK or not outcome.output:
                raise SystemExit(f"Run {run} ended with {outcome}.")
            outcome.output.unlink()
            if run + 1 == _WARM_UP:
                before = traces(folder)
        after = traces(folder)
    assert before is not None
    grown = [
        name
        for name, value in after.items()
        if value > before[name] + (_MEMORY_MB if "MB" in name else 0)
    ]
    for name, value in after.items():
        print(f"{name}: {before[name]:.1f}, then {value:.1f}")
    times = times[_WARM_UP:]
    print(f"{len(times)} runs: median {statistics.median(times):.3f} s, slowest {max(times):.3f} s")
    return 1 if grown else 0


if __name__ == "__main__":
    raise SystemExit(main())
