"""Mutated submission files against both readers, from a numbered stream of cases.

The case of a number is always the same file. Cases run in the process that participants' files
are parsed in; when it dies, the number is printed, and that is no failure: the file is rejected.
A failure is an answer that is neither valid predictions nor harmless faults. The counts are printed
as one JSON object. Run 10^8 cases, which takes days, in shares:

    python tests/support/fuzz_readers.py --first 0 --cases 100000000
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from arena.intake import ReadSubmission, SubmissionForm, parse_submission
from arena.interfaces.faults import FAULTS_OF_A_KIND, describe
from arena.types import PredictionKind, Target
from arena.utils.processes import Limits, call_limited
from submission_files import arrow, parquet

N_ROWS = 30
IDS = [f"{i:03d}" for i in range(N_ROWS)]
ROWS = "".join(f"{id},0.5\n" for id in IDS)
CSV = f"id,y\n{ROWS}".encode()
PIECES = (
    *(b'"', b",", b";", b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbf\xbd", b"\xef\xbb\xbf"),
    *(b"nan", b"inf", b"1e400", b"-1", b"0x1", b"1,5", b"id", b"y", b"007", b"PAR1", b"\x1f\x8b"),
)
KINDS = (PredictionKind.PROBABILITY, PredictionKind.LABEL, PredictionKind.TEXT)
BATCH = 500


def form(kind: PredictionKind) -> SubmissionForm:
    """Return what a submission must hold: thirty ids, and one column."""
    classes = None if kind is PredictionKind.TEXT else ("0", "1")
    return SubmissionForm("id", ("y",), (Target("y", classes),), kind, pa.array(IDS))


@functools.cache
def corpus() -> tuple[bytes, ...]:
    """Return the files that are mutated: valid ones of every form, and some of wrong types."""
    values = pa.table({"id": IDS, "y": [0.5] * N_ROWS})
    quoted = "".join(f'"{id}","0.5"\r\n' for id in IDS)
    return (
        CSV,
        f'"id","y"\r\n{quoted}'.encode(),
        CSV.replace(b",", b";").replace(b"0.5", b"0,5"),
        CSV.decode().encode("utf-16"),
        gzip.compress(CSV, mtime=0),
        *(arrow(values, new) for new in (pa.ipc.new_file, pa.ipc.new_stream)),
        *(parquet(values, compression=name) for name in ("none", "snappy", "zstd")),
        parquet(values, use_dictionary=False, data_page_version="2.0"),
        parquet(pa.table({"id": IDS, "y": pa.array(["1"] * N_ROWS).dictionary_encode()})),
        parquet(pa.table({"id": list(range(N_ROWS)), "y": pa.nulls(N_ROWS)})),
        parquet(pa.table({"id": IDS, "y": [[0.5]] * N_ROWS})),
        parquet(pa.table({"id": IDS, "y": pa.nulls(N_ROWS, pa.binary(8))})),
    )


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut, delete, insert, replace, repeat or flip a bit, at up to six places."""
    for _ in range(rng.integers(1, 7)):
        place = int(rng.integers(len(data) + 1))
        head, tail = data[:place], data[place:]
        piece = PIECES[rng.integers(len(PIECES))]
        match rng.integers(7):
            case 0:
                data = head
            case 1:
                data = head + tail[int(rng.integers(1, 9)) :]
            case 2:
                data = head + piece + tail
            case 3:
                data = head + piece + tail[len(piece) :]
            case 4:
                data = head + tail[:20] * int(rng.integers(2, 50)) + tail
            case 5 if tail:
                data = head + bytes([tail[0] ^ (1 << int(rng.integers(8)))]) + tail[1:]
            case _:
                data = head + rng.bytes(4) + tail
    return data


def case(number: int) -> tuple[bytes, PredictionKind]:
    """Return the file of a number, and what it is to hold."""
    rng = np.random.default_rng([20_261, number])
    seeds = corpus()
    data = mutate(seeds[number % len(seeds)], rng)
    return data, KINDS[int(rng.integers(len(KINDS)))]


def wrong_with(read: ReadSubmission, kind: PredictionKind) -> str | None:
    """Return what an answer breaks: values or faults, and both harmless."""
    if read.values is None:
        kinds = [fault.kind for fault in read.faults]
        if not kinds:
            return "neither values nor faults"
        if max(map(kinds.count, kinds)) > FAULTS_OF_A_KIND + 1:
            return "too many faults of a kind"
        lines = [describe(fault) for fault in read.faults]
        bad = [line for line in lines if not line.isprintable() or len(line) > 2_000]
        return f"a fault cannot be printed: {bad[0]!r}" if bad else None
    if read.faults or read.values.shape != (N_ROWS, 1):
        return f"values of shape {read.values.shape} with {len(read.faults)} faults"
    if kind is PredictionKind.TEXT:
        return None if all(isinstance(value, str) for value in read.values.flat) else "no text"
    return None if ((read.values >= 0) & (read.values <= 1)).all() else "a value out of range"


def run(first: int, last: int) -> list[tuple[int, str]]:
    """Return the numbers of cases that fail, and why."""
    forms = {kind: form(kind) for kind in KINDS}
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.bin"
        for number in range(first, last):
            data, kind = case(number)
            path.write_bytes(data)
            try:
                wrong = wrong_with(parse_submission(path, forms[kind]), kind)
            except Exception as error:  # noqa: BLE001 - any is a failure
                wrong = f"{type(error).__name__}: {error}"
            if wrong:
                problems.append((number, wrong))
    return problems


def run_apart(first: int, last: int) -> tuple[list[tuple[int, str]], list[int]]:
    """Return what fails, and the cases that end their process, halving the batch to find them."""
    limits = Limits(memory=512 * 2**20)
    try:
        answer = call_limited(run, first, last, seconds=3600.0, limits=limits, purpose="fuzz")
    except MemoryError:  # beside the reader, in what makes or checks a case
        answer = None
    if isinstance(answer, list):
        return answer, []
    if last - first == 1:
        return [], [first]
    middle = (first + last) // 2
    first_half, second_half = run_apart(first, middle), run_apart(middle, last)
    return first_half[0] + second_half[0], first_half[1] + second_half[1]


def main() -> None:
    """Run a share of the cases; exit with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after this time")
    options = parser.parse_args()
    counts = {"first": options.first, "cases": 0, "wrong": 0, "ended_their_process": 0}
    until = time.monotonic() + options.seconds
    for first in range(options.first, options.first + options.cases, BATCH):
        if time.monotonic() > until:
            break
        last = min(first + BATCH, options.first + options.cases)
        wrong, ended = run_apart(first, last)
        for number, why in wrong:
            print(f"case {number}: {why}", flush=True)
        for number in ended:
            print(f"case {number} ended its process", flush=True)
        counts["cases"] += last - first
        counts["wrong"] += len(wrong)
        counts["ended_their_process"] += len(ended)
    print(json.dumps(counts))
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    import fuzz_readers  # the other process imports it by this name

    fuzz_readers.main()
