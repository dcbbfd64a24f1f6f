"""Whole programs that an organiser waits for, on files: validate, score, plan and rehearsals.

Prints the least processor seconds of a few runs of each, all processes counted. Beside them are
those of the bare parts, in a program that does nothing else: the imports of the libraries, the
parse of the files by pyarrow, and for boards the areas under the ROC curve on 1,000 resamples. The
rehearsals run once, and not at all where the scale leaves fewer than two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench_growth import processor_seconds

REHEARSALS = (
    "--teams", "6", "--days", "3", "--per-day", "4", "--rows", "1000", "--train-rows", "800",
    "--validation-rows", "300", "--kinds", "lightgbm-climber=3, copycat=1",
    "--mechanism", "full, ladder-free(minimum_step=0.005)",
)  # fmt: skip
"""Those of the tutorial on planning."""
BARE_PARTS = """
import json, sys, time
sys.modules["pandas"] = None
import numpy as np, pluggy, pyarrow.compute, pyarrow.csv, pydantic, typer
{imports}
seconds = [time.process_time()]
columns = [pyarrow.csv.read_csv(path)["y"].to_numpy() for path in sys.argv[1:]]
seconds.append(time.process_time())
{resampling}
print(json.dumps(np.diff([0, *seconds, time.process_time()]).tolist()))
"""
RESAMPLING = """
from arena.evaluation.bootstrap import draw_resamples
from arena_metrics.ranking import RocAuc
truth, *sent = columns
RocAuc().resample(truth, np.array(sent), draw_resamples(len(truth), 1_000, seed=0).weights)
"""


def write_files(folder: Path, submissions: int, rows: int) -> Path:
    """Write a solution of two classes and submissions that know more or less of it."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    labels = rng.integers(0, 2, rows)
    lines = [f"r{row},{label}\n" for row, label in enumerate(labels.tolist())]
    (folder / "solution.csv").write_text("id,y\n" + "".join(lines), "utf-8")
    (folder / "submissions").mkdir()
    for number in range(submissions):
        signal = (0.6 + 0.6 * number / submissions) * (2 * labels - 1)
        chances = 1 / (1 + np.exp(-signal - rng.normal(size=rows)))
        lines = [f"r{row},{chance:.5f}\n" for row, chance in enumerate(chances.tolist())]
        path = folder / "submissions" / f"team-{number}.csv"
        path.write_text("id,y\n" + "".join(lines), "utf-8")
    return folder


def seconds_of_bare_parts(files: Sequence[Path], *, is_board: bool) -> dict[str, float]:
    """Return the processor seconds of the parts of a program that reads files with columns y.

    pyarrow would import pandas with the first value that it converts; arena's programs prevent it.
    """
    code = BARE_PARTS.format(
        imports="import numba, scipy.optimize, scipy.special" if is_board else "",
        resampling=RESAMPLING if is_board else "",
    )
    called = subprocess.run(
        [sys.executable, "-c", code, *files], stdout=subprocess.PIPE, text=True, check=True
    )
    names = ("imports", "parse", "resampling")
    return dict(zip(names, json.loads(called.stdout), strict=True))


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of files, rows, seeds")
    parser.add_argument("--repeats", type=int, default=3, help="the least time counts")
    options = parser.parse_args()
    programs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="arena-organiser-") as scratch:
        for command, submissions, rows, aim in (
            ("validate", 1, 1_000, 0.4),
            ("validate", 1, 1_000_000, 0.6),
            ("score", 50, 10_000, 1.3),
            ("plan", 150, 4_000, 3.0),
        ):
            size = max(100, int(rows * options.scale))
            n_files = 1 if submissions == 1 else max(5, int(submissions * options.scale))
            folder = write_files(Path(scratch) / f"{command}-{rows}", n_files, size)
            files = (folder / "solution.csv", folder / "submissions")
            runs = [
                processor_seconds(command, *files, "-m", "roc_auc", "--json")
                for _ in range(options.repeats)
            ]
            paths = [files[0], *sorted(files[1].iterdir())]
            bare_runs = [
                seconds_of_bare_parts(paths, is_board=command != "validate")
                for _ in range(options.repeats)
            ]
            bare = {part: round(min(run[part] for run in bare_runs), 2) for part in bare_runs[0]}
            count = "1 file" if n_files == 1 else f"{n_files} files"
            what = f"`{command}`, {count} of {size:,} rows"
            seconds = round(min(runs), 2)
            programs.append({"what": what, "aim": aim, "seconds": seconds, "bare": bare})
            print(programs[-1], flush=True)
        seeds = int(20 * options.scale)
        if seeds >= 2:
            arguments = ("simulate", "competition", Path(scratch) / "rehearsals", "--seeds", seeds)
            seconds = processor_seconds(*arguments, *REHEARSALS)
            what = f"`simulate competition`, {seeds} rehearsals of the tutorial"
            programs.append({"what": what, "aim": 35, "seconds": round(seconds, 1)})
    print(json.dumps({"benchmark": "organiser", "programs": programs}))


if __name__ == "__main__":
    main()
