"""The boosting attack: 400 submissions, 4,000 public rows, 5 repetitions, 3 mechanisms.

There is no peer. Prints the seconds of the whole command, start of the program included, and of
the attack alone; and of one submission from the attacker's choice to the release.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from arena.plugin.manager import PluginManager
from arena_competitors.campaign import Campaign
from arena_competitors.rows import synthetic_rows

MECHANISMS = ("kaggle", "ladder", "ladder-free")
ROWS, SUBMISSIONS, REPEATS = 4_000, 400, 5


def whole_command(submissions: int) -> tuple[float, float]:
    """Return the seconds that pass for ``arena attack``, and those of the processor."""
    command = [
        *(str(Path(sys.executable).with_name("arena")), "attack", "--json"),
        *("--mechanism", ",".join(MECHANISMS), "--rows", str(ROWS)),
        *("--submissions", str(submissions), "--repeats", str(REPEATS)),
    ]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def attack_alone(submissions: int) -> float:
    """Return the seconds of the attack without the start of the program and the honest tries."""
    manager = PluginManager()
    metric = manager.metrics.resolve("accuracy")
    campaign = Campaign(
        lambda rng: synthetic_rows(metric, ROWS, 3 * ROWS, 2, rng), submissions, REPEATS
    )
    attacks = {"boosting": manager.competitors.resolve("boosting")}
    mechanisms = {name: manager.mechanisms.resolve(name) for name in MECHANISMS}
    start = time.perf_counter()
    campaign.run(attacks, mechanisms)
    return time.perf_counter() - start


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the submissions")
    parser.add_argument("--runs", type=int, default=3, help="the fastest counts")
    options = parser.parse_args()
    submissions = max(10, round(SUBMISSIONS * options.scale))
    commands = [whole_command(submissions) for _ in range(options.runs)]
    alone = min(attack_alone(submissions) for _ in range(options.runs))
    plays = submissions * REPEATS * len(MECHANISMS)
    print(
        json.dumps(
            {
                "benchmark": "attack",
                "submissions": submissions,
                "rows": ROWS,
                "repeats": REPEATS,
                "mechanisms": len(MECHANISMS),
                "command_seconds": round(min(wall for wall, _ in commands), 2),
                "command_processor_seconds": round(min(used for _, used in commands), 2),
                "attack_seconds": round(alone, 2),
                "submission_microseconds": round(1e6 * alone / plays),
            }
        )
    )


if __name__ == "__main__":
    main()
