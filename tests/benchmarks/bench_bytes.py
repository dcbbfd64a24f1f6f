"""How many bytes of the database a submission of 1,000 rows takes, sent singly and in bulk.

Sent singly, each of 2,000 submissions is a transaction, and the competition is opened and closed
around it, as `arena submit` does; closing writes DuckDB's log into the file. In bulk, the same
files are read by `arena import`. The values have four decimals or all digits. The bytes are those
of the database and its log above those of a competition without submissions, ``free`` those of
blocks that DuckDB keeps for what comes next, ``last_quarter`` what each of the last quarter added,
and ``journal`` what each takes in the journal. Prints a line of JSON for each kind of values, and a
last one with all.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from bench_growth import History, create, write_submission

from arena.competition.competition import Competition

N_SUBMISSIONS, N_TEAMS, N_ROWS = 2_000, 50, 1_000
DIGITS = {"four_decimals": 4, "all_digits": 17}


def write_files(folder: Path, n_files: int, digits: int) -> list[Path]:
    """Write submissions of some teams."""
    rng, paths = np.random.default_rng(0), []
    for number in range(n_files):
        path = folder / f"team {number % N_TEAMS}" / f"{number}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_submission(path, rng.random(N_ROWS).round(digits))
        paths.append(path)
    return paths


def sizes(competition: Path) -> np.ndarray:
    """Return the bytes of the database with its log, and of the files beside it."""
    files = {path.name: path.stat().st_size for path in competition.rglob("*") if path.is_file()}
    database = sum(files.pop(name, 0) for name in ("arena.duckdb", "arena.duckdb.wal"))
    return np.array([database, sum(files.values())])


def free_bytes(competition: Path) -> int:
    """Return the bytes of the database's blocks that hold nothing."""
    with duckdb.connect(str(competition / "arena.duckdb"), read_only=True) as connection:
        query = "SELECT free_blocks * block_size FROM pragma_database_size()"
        ((n_bytes,),) = connection.execute(query).fetchall()
    return int(n_bytes)


def per_submission(competition: Path, empty: np.ndarray, count: int) -> dict[str, int]:
    """Return what each submission has added to an empty competition."""
    database, beside = (sizes(competition) - empty) / count
    free = free_bytes(competition) / count
    return {"bytes": round(database), "free": round(free), "journal": round(beside)}


def singly(competition: Path, files: list[Path]) -> dict[str, int]:
    """Submit every file by itself."""
    empty = at_three_quarters = sizes(competition)
    quarter = max(1, len(files) // 4)
    for left, file in zip(range(len(files), 0, -1), files, strict=True):
        if left == quarter:
            at_three_quarters = sizes(competition)
        with Competition.open(competition) as opened:
            assert opened.submit(file, file.parent.name).status == "accepted"
    last = (sizes(competition) - at_three_quarters)[0] / quarter
    return {
        **per_submission(competition, empty, len(files)),
        "last_quarter": round(last),
    }


def in_bulk(competition: Path, folder: Path) -> dict[str, int]:
    """Import the folder."""
    empty, count = sizes(competition), 0
    with Competition.open(competition) as opened:
        for answer in opened.import_folder(folder):
            assert answer.status == "accepted"
            count += 1
    return per_submission(competition, empty, count)


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the submissions")
    n_files = max(4, round(N_SUBMISSIONS * parser.parse_args().scale))
    sizes: dict[str, dict[str, dict[str, int]]] = {"singly": {}, "in_bulk": {}}
    for name, digits in DIGITS.items():
        with tempfile.TemporaryDirectory(prefix="arena-bytes-") as scratch:
            folder = Path(scratch)
            files = write_files(folder / "files", n_files, digits)
            for way in sizes:
                create(folder / way, History(0, 1, N_ROWS))
            sizes["singly"][name] = singly(folder / "singly" / "c", files)
            sizes["in_bulk"][name] = in_bulk(folder / "in_bulk" / "c", folder / "files")
        print(
            json.dumps({name: {way: of_name[name] for way, of_name in sizes.items()}}), flush=True
        )
    print(json.dumps({"benchmark": "bytes", "submissions": n_files, "rows": N_ROWS, **sizes}))


if __name__ == "__main__":
    main()
