"""What finalize costs on wide boards: with many teams, or with many rows.

Makes competitions with one submission a team by the hashing of the store itself, and finalizes
each once, with 1,000 resamples, under two metrics. Prints one line of JSON for each board, and a
last one with all of them and the growth exponents of the processor time above the start of the
program, from the smallest board to the largest: sizes are given as `--teams 2500,10000 --rows
10000`, or as `--teams 20 --rows 1000000,10000000`.
"""

from __future__ import annotations

import argparse
import itertools
import json
from dataclasses import asdict
from typing import Any

import benchmark_paths  # noqa: F401
from bench_commands import Cost, cost_of, growth_exponent, made, start_of_program
from bench_growth import History


def sizes(text: str) -> list[int]:
    """Return the numbers of a list with commas, ascending."""
    return sorted(map(int, text.split(",")))


def main() -> None:
    """Run and print JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=sizes, default=[500, 2_000], help="one size, or several")
    parser.add_argument("--rows", type=sizes, default=[10_000], help="one size, or several")
    parser.add_argument("--metric", default="roc_auc,log_loss", help="one, or several")
    options = parser.parse_args()
    start = start_of_program()
    boards: list[dict[str, Any]] = []
    exponents: dict[str, float] = {}
    for metric in options.metric.split(","):
        costs: list[Cost] = []
        for teams, rows in itertools.product(options.teams, options.rows):
            history = History(teams, teams, rows, "kaggle", samples=teams, metric=metric)
            with made(history, None) as folder:
                costs.append(cost_of(folder, ("finalize",)))
            boards.append({"metric": metric, "teams": teams, "rows": rows, **asdict(costs[-1])})
            print(json.dumps(boards[-1]), flush=True)
        times = options.teams[-1] * options.rows[-1] / (options.teams[0] * options.rows[0])
        exponents[metric] = growth_exponent(costs[0], costs[-1], start, times)
    result = {"benchmark": "finalize", "start": start, "exponents": exponents, "boards": boards}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
