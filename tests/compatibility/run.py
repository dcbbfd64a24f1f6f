"""Runs the metrics of a repository directly and through arena, and prints where they differ.

    python tests/compatibility/run.py FOLDER [NAME…] [--markdown FILE]

FOLDER is a checkout of mle-bench (openai/mle-bench). Its own dependencies must be installed:
``pip install py7zr tqdm levenshtein pyquaternion shapely pycocotools``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

import pandas as pd
from compatibility_outcome import Outcome
from mlebench_data import pair_for

from arena import BoardSettings, ScoreSettings, SolutionColumns, score
from arena.errors import ArenaError


def compare(competition: Path, work: Path) -> Outcome:
    """Run a grader of mle-bench on the same files directly and through arena."""
    name = competition.name
    module = f"mlebench.competitions.{name}.grade"
    try:
        grade = importlib.import_module(module).grade
        pair = pair_for(competition, grade)
        if pair is None:
            return Outcome(name, "not run", "no small data are known for it")
        truth, submission = work / "truth.csv", work / "team.csv"
        pair.answers.to_csv(truth, index=False)
        pair.submission.to_csv(submission, index=False)
        direct = float(grade(pd.read_csv(submission), pd.read_csv(truth)))
    except Exception as error:  # noqa: BLE001 - a metric may raise anything
        return Outcome(name, "not run", _line(error))
    columns = SolutionColumns(
        id=pair.id,
        targets=tuple(answer for answer in pair.answers if answer != pair.id),
        submission=tuple(column for column in pair.submission if column != pair.id),
    )
    several = any(frame[pair.id].duplicated().any() for frame in (pair.answers, pair.submission))
    metric = f"mlebench:{module}:grade" + ("(rows=any)" if several else "")
    settings = ScoreSettings(metric, columns, board=BoardSettings(workers=1, intervals=False))
    try:
        result = score(truth, [submission], settings)
    except ArenaError as error:
        return Outcome(name, "failed", _line(error))
    if not result.standings:
        return Outcome(name, "failed", result.rejected[0].faults[0].message)
    score_of_board = result.standings[0]["score"]
    same = abs(score_of_board - direct) <= 1e-9 * max(1.0, abs(direct))
    return Outcome(name, "equal" if same else "different", f"{direct:.6g} and {score_of_board:.6g}")


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]


def main() -> None:
    """Print a line for each metric, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--markdown", type=Path, help="also write what is not equal as a table")
    options = parser.parse_args()
    sys.path.insert(0, str(options.folder.resolve()))
    graders = sorted((options.folder.resolve() / "mlebench" / "competitions").glob("*/grade.py"))
    folders = [path.parent for path in graders]
    competitions = [
        folder for folder in folders if not options.names or folder.name in options.names
    ]
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for competition in competitions:
            outcomes.append(compare(competition, Path(folder)))
            print("{1:9}  {0}  {2}".format(*outcomes[-1]), flush=True)
    counts = pd.Series([outcome.status for outcome in outcomes]).value_counts().to_dict()
    totals = ", ".join(f"{count} {status}" for status, count in counts.items())
    print(f"{len(outcomes)} metrics: {totals}")
    if options.markdown:
        rows = [outcome for outcome in outcomes if outcome.status != "equal"]
        lines = ["| metric | result | why |", "|---|---|---|"]
        lines += [f"| `{row.name}` | {row.status} | {row.why} |" for row in rows]
        options.markdown.write_text("\n".join([totals, "", *lines]) + os.linesep)


if __name__ == "__main__":
    main()
