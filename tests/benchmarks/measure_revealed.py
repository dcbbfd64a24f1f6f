"""Measure what one submission reveals through each mechanism, for each metric.

``python tests/benchmarks/measure_revealed.py --out docs/reference/studies.md`` writes the table
between its marks on that page; without ``--out`` it is printed. ``--teams`` prints instead what
several teams of one person read of one label by the same file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

from arena.interfaces import ClipsScores, Metric, Scope
from arena.plugin.manager import PluginManager
from arena.plugin.specification import with_parameters
from arena.public_board.advice import default_mechanism, revealed_by_one
from arena.public_board.clipping import conceivable_scores, suggested_clip
from arena.public_board.revealed import is_measurable, rows_revealed
from arena.types import PredictionKind, Solution, Target

START, END = "<!-- revealed: start -->", "<!-- revealed: end -->"
MECHANISMS = ("full", "kaggle", "ladder", "noisy-ladder", "thresholdout")


def solution_of(metric: Metric, n_rows: int) -> Solution:
    """Return public rows: labels of two equal classes, or exponential numbers."""
    rng = np.random.default_rng(0)
    numeric = metric.prediction is PredictionKind.VALUE
    return Solution(
        id_column="id",
        targets=(Target("y", None if numeric else ("a", "b")),),
        columns=("y",),
        kind=metric.prediction,
        ids=pa.array([str(number) for number in range(n_rows)]),
        truth=rng.exponential(size=n_rows) if numeric else rng.integers(0, 2, n_rows),
        usage=np.zeros(n_rows, dtype=np.uint8),
        sha256="",
    )


def table(n_rows: int) -> str:
    """Return the table as Markdown: rows and bits of each metric and mechanism."""
    manager = PluginManager()
    lines = [
        f"| metric | {' | '.join(MECHANISMS)} | default | its parameters |",
        "|---" * (len(MECHANISMS) + 3) + "|",
    ]
    for entry in manager.metrics:
        metric = entry.item
        if not is_measurable(metric):
            continue
        solution = solution_of(metric, n_rows)
        default = default_mechanism(metric, solution, manager)
        clip = suggested_clip(metric, solution) if conceivable_scores(metric) is None else None
        cells = []
        for name in (*MECHANISMS, default):
            text = name
            if clip is not None and isinstance(manager.mechanisms.resolve(name), ClipsScores):
                text = name if "(" in name else with_parameters(name, clip=list(clip))
            revealed = revealed_by_one(metric, text, solution, manager)
            cells.append(
                "" if revealed is None else f"{revealed.shown_rows:g} ({revealed.bits:.1f})"
            )
        parameters = default.removeprefix("ladder-free").strip("()") or "none"
        lines.append(f"| `{entry.name}` | {' | '.join(cells)} | {parameters} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


SEVERAL: tuple[tuple[Scope, int], ...] = (
    ("team", 1), ("team", 10), ("team", 100), ("rank", 10), ("rank", 30)
)  # fmt: skip


def of_several_teams(name: str, n_rows: int) -> str:
    """Return a row of a table: what several teams read through the default mechanism."""
    manager = PluginManager()
    metric = manager.metrics.resolve(name)
    solution = solution_of(metric, n_rows)
    default = default_mechanism(metric, solution, manager)
    mechanism, n_classes = (
        manager.mechanisms.resolve(default),
        len(solution.targets[0].classes or ()),
    )
    cells = []
    for scope, teams in SEVERAL:
        revealed = rows_revealed(
            metric, mechanism, solution.truth, n_classes, targets=1, teams=teams, scope=scope
        )
        cells.append(f"{revealed.shown_rows:g} ({revealed.bits:.1f})")
    return f"| `{name}` | {' | '.join(cells)} |"


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300, help="public rows")
    parser.add_argument("--out", type=Path, help="the page that holds the table")
    parser.add_argument("--teams", action="store_true", help="of several teams of one person")
    options = parser.parse_args()
    if options.teams:
        for name in ("log_loss", "mse"):
            print(of_several_teams(name, options.rows), flush=True)
        return
    text = table(options.rows)
    if options.out is not None:
        page = options.out.read_text(encoding="utf-8")
        before, rest = page.split(START)
        after = rest.split(END)[1]
        options.out.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
