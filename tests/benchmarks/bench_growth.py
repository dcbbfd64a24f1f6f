"""What a command costs as the history grows: submit, leaderboard, a repeated file, rank scope.

Makes competitions with long histories by the hashing of the store itself, so that their audit
passes, and runs the commands on them as a participant or organiser does. Prints one line of JSON
for each history, and a last one with the ratios of the longest history to the shortest, of several
mechanisms the largest: processor time (of all processes) above the start of the program, which is
the same command in a folder without a competition. ``submit_seconds`` is that time of ``submit`` on
the longest history.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arena.competition.competition import Competition
from arena.config import Settings
from arena.store import Event, Store
from arena.store.derived import rebuild
from arena.store.digests import predictions_digest, rows_digest
from arena.store.events import canonical_json
from arena.store.facts import recorded_cells
from arena.store.timestamps import as_stored, as_text

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 90
CELLS = 10_000_000
"""How many predictions are appended at a time."""
SCOPES = ("team", "rank")
MECHANISMS = ("full", "kaggle", "ladder", "ladder-free", "noisy-ladder")


@dataclass(frozen=True)
class History:
    """The size of a history, and the mechanism that released it."""

    submissions: int
    teams: int
    rows: int
    mechanism: str = "ladder-free"
    scope: str = "team"
    samples: int = 64
    """How many different predictions there are, used again and again."""
    metric: str = "roc_auc"


def write_solution(path: Path, rows: int) -> None:
    """Write labels of half the rows each; half of the rows are public."""
    lines = ["id,y,Usage"]
    lines += [f"{i},{i % 2},{'Public' if i % 4 < 2 else 'Private'}" for i in range(rows)]
    path.write_text("\n".join(lines) + "\n")


def predictions(rows: int, quality: float, number: int) -> np.ndarray:
    """Return probabilities that are better the larger ``quality`` in [0, 1] is."""
    rng = np.random.default_rng(number)
    return np.round((quality * (np.arange(rows) % 2) + rng.random(rows)) / 2, 4)


def write_submission(path: Path, values: np.ndarray) -> None:
    """Write predictions as a CSV file."""
    path.write_text("id,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values)))


def create(folder: Path, history: History) -> None:
    """Create a competition without submissions in a folder."""
    folder.mkdir(parents=True)
    write_solution(folder / "solution.csv", history.rows)
    settings = Settings.model_validate(
        {
            "metric": {"name": history.metric},
            "public": {"mechanism": history.mechanism, "scope": history.scope},
        }
    )
    Competition.create(
        folder / "c", folder / "solution.csv", settings, seed=1, clock=lambda: START
    ).close()


def make(folder: Path, history: History) -> None:
    """Create a competition in a folder, and append the history to its database."""
    create(folder, history)
    with Store.open(folder / "c" / "arena.duckdb", create=False) as store:
        # With fewer samples than submissions they are used again: what grows is the history.
        levels = min(history.samples, history.teams)
        samples = np.stack(
            [predictions(history.rows, i % levels / levels, i) for i in range(history.samples)]
        )
        append(store, history, samples)


def append(store: Store, history: History, samples: np.ndarray) -> None:
    """Append the history in bulk: the rows and events that as many commands would have written."""
    database = store.database
    key, last = store.record_key(), store.events()[-1]
    sequence, previous = last.sequence, last.hash
    used: dict[tuple[str, str], int] = {}
    digests = [predictions_digest(key, values) for values in samples]
    batch = min(10_000, CELLS // history.rows)
    for first in range(1, history.submissions + 1, batch):
        numbers = range(first, min(first + batch, history.submissions + 1))
        tables: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("submissions", "releases", "scores", "events")
        }
        for number in numbers:
            team_number = (number - 1) % history.teams
            team, submitted = (
                f"team {team_number:06}",
                START + timedelta(days=DAYS * number / history.submissions),
            )
            day = submitted.date().isoformat()
            for name in (day, "total"):
                used[team, name] = used.get((team, name), 0) + 1
            score = round(0.9 - 0.4 * team_number / history.teams, 6)
            best = team_number + 1  # the team's first submission
            state = {"score": score, "bar": 1 - score, "submission": best}
            instance = team if history.scope == "team" else f"rank {team_number + 1}"
            digest = sha256(f"{number}".encode()).hexdigest()
            stored = as_stored(submitted)
            row = (
                number, team, f"{number}.csv", digest, digest, "accepted", stored, "[]", False, "",
            )  # fmt: skip
            release = (
                number, number, 1, instance, score, None, number == best, json.dumps(state), stored,
                best,
            )  # fmt: skip
            scores = (1, number, score, None)
            facts = {
                "submissions": [
                    f"{number}",
                    rows_digest(key, [recorded_cells("submissions", row)]),
                ],
                "predictions": {f"{number}": digests[number % len(samples)]},
                "releases": [f"{number}", rows_digest(key, [recorded_cells("releases", release)])],
                "scores": {"1": [f"{number}", rows_digest(key, [scores])]},
                "places": [[team, day, used[team, day]], [team, "total", used[team, "total"]]],
            }
            payload = {
                "submission": number, "team": team, "status": "accepted", "released": score,
                "faults": [], "file": f"{number}.csv", "sha256": digest, "facts": facts,
            }  # fmt: skip
            sequence += 1
            event = Event(
                sequence=sequence,
                time=as_text(stored),
                actor="host",
                kind="submission",
                payload=payload,
                previous=previous,
                hash="",
            )
            hashed = event.computed_hash()
            text = canonical_json(payload)
            tables["submissions"].append(row)
            tables["releases"].append(release)
            tables["scores"].append(scores)
            tables["events"].append(
                (sequence, stored, "host", "submission", text, previous, hashed, number)
            )
            previous = hashed
        with database.transaction() as cursor:
            for name, rows in tables.items():
                columns = [pa.array(column) for column in zip(*rows, strict=True)]
                table = pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
                cursor.register("bulk", table)
                cursor.execute(f"INSERT INTO {name} SELECT * FROM bulk")  # noqa: S608
                cursor.unregister("bulk")
            cells = np.concatenate([samples[number % len(samples)] for number in numbers])
            bulk = pa.table(
                {
                    "submission": np.repeat(np.array(numbers, dtype=np.int32), history.rows),
                    "value": cells,
                }
            )
            cursor.register("bulk", bulk)
            cursor.execute("INSERT INTO predictions SELECT * FROM bulk")
            cursor.unregister("bulk")
    with database.transaction() as cursor:
        teams, days = zip(*used, strict=True)
        table = pa.table({"team": teams, "day": days, "used": list(used.values())})
        cursor.register("bulk", table)
        cursor.execute("INSERT INTO places SELECT * FROM bulk")
        cursor.unregister("bulk")
        rebuild(cursor)


def processor_seconds(*arguments: object, code: int = 0) -> float:
    """Return the user and system time of a command and its children."""
    # With it every start of the program would compile its modules.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called = subprocess.run(
        [sys.executable, "-m", "arena", *map(str, arguments)],
        capture_output=True, check=False, env=environment,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if called.returncode != code:
        raise SystemExit(f"arena {arguments}: {called.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(
    nowhere: Path, competitions: Sequence[Path], rows: int, team: str, repeats: int
) -> list[dict[str, float]]:
    """Return the least processor seconds of each command: without a competition, on each history.

    They take turns, because the load of the machine changes, and only adds to the time.
    """
    costs: list[dict[str, float]] = [{} for _ in (nowhere, *competitions)]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "predictions.csv"
        for number in range(repeats + 1):
            write_submission(file, predictions(rows, 0.4, secrets.randbits(32)))
            for seconds_of, folder in zip(costs, (nowhere, *competitions), strict=True):
                submit = ("submit", file, "-t", team, "-C", folder, "--json")
                commands = {
                    "submit": submit,
                    "resend": submit,
                    "leaderboard": ("leaderboard", "-C", folder),
                }
                for name, command in commands.items():
                    seconds = processor_seconds(*command, code=int(folder == nowhere))
                    # The first opens the journal and warms the caches of the disk.
                    if number or not repeats:
                        seconds_of[name] = min(seconds_of.get(name, seconds), seconds)
    return costs


def main() -> None:
    """Run and print JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", default="1000,100000", help="lengths of the histories")
    parser.add_argument("--teams", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=100, help="rows of a submission")
    parser.add_argument("--mechanism", default="ladder-free", help="one, several, or all")
    parser.add_argument("--team", type=int, default=7, help="that submits: best team first")
    parser.add_argument("--keep", type=Path, help="keep the competitions in this folder")
    parser.add_argument(
        "--scope", choices=SCOPES, action="append", help="only this one (both by default)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="the fastest counts; 0: the first")
    options = parser.parse_args()
    repeats, scopes = options.repeats, options.scope or SCOPES
    lengths = sorted(int(length) for length in options.submissions.split(","))
    chosen = options.mechanism
    mechanisms = MECHANISMS if chosen == "all" else re.split(r",(?![^(]*\))", chosen)
    nowhere = Path(tempfile.mkdtemp(prefix="arena-growth-"))
    costs: dict[tuple[int, str, str], dict[str, float]] = {}
    root = options.keep or nowhere
    try:
        for mechanism, scope in itertools.product(mechanisms, scopes):
            folders = []
            for length in lengths:
                history = History(
                    length, min(options.teams, length), options.rows, mechanism, scope
                )
                name = f"{re.sub('[^a-z0-9.]+', '-', mechanism)}-{length}-{scope}"
                folders.append(root / name)
                if not folders[-1].exists():
                    make(folders[-1], history)
            competitions = [folder / "c" for folder in folders]
            start, *seconds = measured(
                nowhere, competitions, options.rows, f"team {options.team:06}", repeats
            )
            print(json.dumps({"start": {phase: round(value, 3) for phase, value in start.items()}}))
            for length, folder, own in zip(lengths, competitions, seconds, strict=True):
                costs[length, mechanism, scope] = {
                    phase: own[phase] - start[phase] for phase in own
                }
                line: dict[str, Any] = {
                    "mechanism": mechanism,
                    "scope": scope,
                    "submissions": length,
                    "teams": min(options.teams, length),
                    "bytes": round((folder / "arena.duckdb").stat().st_size / length),
                    **{phase: round(value, 3) for phase, value in own.items()},
                }
                print(json.dumps(line), flush=True)
            if options.keep is None:
                for folder in folders:
                    shutil.rmtree(folder)
    finally:
        shutil.rmtree(nowhere)

    def ratio(command: str, scope: str) -> float:
        short, long = lengths[0], lengths[-1]
        return max(
            round(
                costs[long, mechanism, scope][command] / costs[short, mechanism, scope][command], 2
            )
            for mechanism in mechanisms
        )

    ratios = {
        "submit_ratio": ("submit", "team"),
        "leaderboard_ratio": ("leaderboard", "team"),
        "resend_ratio": ("resend", "team"),
        "submit_rank_scope_ratio": ("submit", "rank"),
    }
    result: dict[str, Any] = {name: ratio(*of) for name, of in ratios.items() if of[1] in scopes}
    longest = [cost["submit"] for (length, *_), cost in costs.items() if length == lengths[-1]]
    result |= {"submissions": lengths, "teams": options.teams}
    result |= {"submit_seconds": round(max(longest), 3)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
