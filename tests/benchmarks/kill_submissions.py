"""Kill a process again and again while it submits, and look for anything lost or half there.

After each kill the store is opened, and what it holds is compared with what was acknowledged: the
record, its predictions, its release, its scores, its event, the places of its team. The writer
closes and opens its store every few submissions, so that kills fall on checkpoints too. Prints one
JSON object last; the exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import benchmark_paths  # noqa: F401
import numpy as np

from arena.store import Store
from submit_work import N_TEAMS, make_solution, submit, values_of

N_ROWS, N_PER_OPENING = 20_000, 6
MOST_SECONDS = 0.15
"""A kill falls within this time after the writer's first submission."""


def write(path: Path, n_rows: int, sender: Connection) -> None:
    """Submit for ever, and tell the number of each submission once it is stored."""
    while True:
        with Store.open(path, create=False) as store:
            for _ in range(N_PER_OPENING):
                number = len(store.submissions()) + 1
                sender.send(submit(store, number, values_of(number, n_rows)).submission)


def kill_one(path: Path, n_rows: int, seconds: float) -> int:
    """Start a writer, kill it, and return the last number that it told of."""
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    writer = context.Process(target=write, args=(path, n_rows, sender))
    writer.start()
    sender.close()
    if not receiver.poll(600):
        writer.kill()
        raise TimeoutError("The writer stored nothing within ten minutes.")
    n_acknowledged = receiver.recv()
    time.sleep(seconds)
    writer.kill()
    writer.join(timeout=600)
    try:
        while True:
            n_acknowledged = receiver.recv()
    except (EOFError, OSError):
        receiver.close()
    return int(n_acknowledged)


def wrong_with(store: Store, n_acknowledged: int, n_checked: int, n_rows: int) -> list[str]:
    """Return what is wrong; predictions are read from number ``seen`` + 1 on."""
    wrong = []
    records = store.submissions()
    numbers = list(range(1, len(records) + 1))
    if len(records) < n_acknowledged:
        wrong.append(f"{n_acknowledged} were acknowledged, {len(records)} are there")
    if [record.submission for record in records] != numbers:
        wrong.append("the numbers have gaps")
    for name, stored in {
        "releases": [release.submission for release in store.releases()],
        "scores": [score.submission for score in store.scores(1) if score.public],
        "events": [event.payload["submission"] for event in store.events()],
    }.items():
        if stored != numbers:
            wrong.append(f"{name} do not belong to the submissions")
    used = sum(store.quota_used(f"t{i}", None) for i in range(N_TEAMS))
    if used != len(records):
        wrong.append(f"{used} places are used by {len(records)} submissions")
    broken = store.verify_events()
    wrong += [broken] if broken else []
    for start, block in store.predictions(numbers[n_checked:]).blocks(16):
        for i, values in enumerate(block):
            if not np.array_equal(values, values_of(n_checked + start + i + 1, n_rows)[:, 0]):
                wrong.append(f"submission {n_checked + start + i + 1} has other predictions")
    return wrong


def run(kills: int, n_rows: int, seed: int, folder: Path) -> dict[str, object]:
    """Kill that often, and return what came of it."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["submit_work"])
    rng = np.random.default_rng(seed)
    path, n_stored, torn, wrong = folder / "kill.duckdb", 0, 0, []
    with Store.open(path) as store:
        store.put_solution(make_solution(n_rows))
    for kill in range(1, kills + 1):
        n_acknowledged = kill_one(path, n_rows, rng.uniform(0, MOST_SECONDS))
        with Store.open(path, create=False) as store:
            wrong += [
                f"kill {kill}: {what}"
                for what in wrong_with(store, n_acknowledged, n_stored, n_rows)
            ]
            n_stored = len(store.submissions())
        torn += n_stored - n_acknowledged
        if sys.stderr.isatty():
            print(f"\r{kill} kills, {n_stored} submissions", end="", file=sys.stderr)
    with Store.open(path, create=False) as store:
        wrong += wrong_with(store, n_stored, 0, n_rows)
    return {
        "benchmark": "kill_submissions",
        "kills": kills,
        "submissions": n_stored,
        "stored_but_not_told": torn,
        "wrong": wrong,
    }


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        outcome = run(options.kills, options.rows, options.seed, Path(name))
    print(json.dumps(outcome))
    sys.exit(bool(outcome["wrong"]))


if __name__ == "__main__":
    main()
