"""The whole program `arena submit` and `arena leaderboard`, with few submissions of 1,000 rows.

Prints the least and the median processor seconds of eleven runs of each, all processes counted.
The two commands take turns; a first run of each fills the caches of Python and of the disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from bench_growth import History, make, predictions, processor_seconds, write_submission

HISTORY = History(submissions=10, teams=10, rows=1_000, samples=10)


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    repeats = parser.parse_args().repeats
    seconds: dict[str, list[float]] = {"submit": [], "leaderboard": []}
    with tempfile.TemporaryDirectory(prefix="arena-start-") as name:
        folder = Path(name) / "race"
        make(folder, HISTORY)
        file = folder / "submission.csv"
        for number in range(repeats + 1):
            write_submission(file, predictions(HISTORY.rows, 0.5, HISTORY.submissions + number))
            commands = {
                "submit": ("submit", file, "-t", f"new team {number}", "-C", folder / "c"),
                "leaderboard": ("leaderboard", "-C", folder / "c"),
            }
            for command, arguments in commands.items():
                seconds[command].append(processor_seconds(*arguments))
    found = {
        command: {"least": round(min(own[1:]), 3), "median": round(statistics.median(own[1:]), 3)}
        for command, own in seconds.items()
    }
    print(json.dumps({"benchmark": "start", "repeats": repeats, **found}))


if __name__ == "__main__":
    main()
