"""Any file gives values or faults, never an exception, and no message holds a label."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arena.intake import ReadSubmission, read_solution, read_submission
from arena.interfaces.faults import FAULTS_OF_A_KIND, describe
from arena.types import PredictionKind, Solution
from submission_files import N_ROWS, Send, Solve, parquet, rows_of
from thinned import examples

CSV = ("id,y\n" + rows_of()).encode()
_TABLE = pa.table({"id": [f"{i:03d}" for i in range(N_ROWS)], "y": [0.5] * N_ROWS})


ROWS = [[f"{row:03d}", 0.5] for row in range(N_ROWS)]
ARFF = (
    "@relation r\n@attribute id string\n@attribute y integer\n@data\n"
    + "".join(f"{{0 '{name}', 1 {value}}}\n" for name, value in ROWS)
).encode()
SEEDS = [
    CSV,
    gzip.compress(CSV),
    parquet(_TABLE, compression="none"),
    parquet(_TABLE, compression="zstd"),
    CSV.decode().encode("utf-16"),
    ARFF,
    json.dumps({"columns": ["id", "y"], "data": ROWS}).encode(),
    json.dumps({"id": [name for name, _ in ROWS], "y": [value for _, value in ROWS]}).encode(),
]

mutations = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from("cdirq"), st.binary(min_size=1, max_size=8)),
    min_size=1,
    max_size=6,
)


def _mutate(data: bytes, changes: list[tuple[int, str, bytes]]) -> bytes:
    """Cut, delete, insert, replace or repeat at a few places."""
    for place, how, piece in changes:
        offset = place % (len(data) + 1)
        head, tail = data[:offset], data[offset:]
        data = {
            "c": head,
            "d": head + tail[len(piece) :],
            "i": head + piece + tail,
            "r": head + piece + tail[len(piece) :],
            "q": head + b'"' + tail,
        }[how]
    return data


@pytest.fixture(scope="module")
def solution() -> Solution:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "solution.csv"
        rows = "".join(f"{i:03d},{i % 2}\n" for i in range(N_ROWS))
        path.write_text("id,y\n" + rows)
        return read_solution(path, kind=PredictionKind.PROBABILITY)


def _read(data: bytes, solution: Solution) -> ReadSubmission:
    with tempfile.NamedTemporaryFile(dir=tempfile.gettempdir()) as file:
        file.write(data)
        file.flush()
        return read_submission(Path(file.name), solution, max_bytes=2**20)


def _assert_answered(read: ReadSubmission) -> None:
    if read.values is None:
        assert read.faults
    else:
        assert not read.faults
        assert read.values.shape == (N_ROWS, 1)
        assert np.isfinite(read.values).all()
        assert ((read.values >= 0) & (read.values <= 1)).all()
    for fault in read.faults:
        assert fault.row is None or fault.row >= 1
        assert describe(fault).isprintable()
        assert len(describe(fault)) < 2_000
        assert "could not be read: " not in fault.message  # the name of an unexpected error
    kinds = [fault.kind for fault in read.faults]
    assert max((kinds.count(kind) for kind in kinds), default=0) <= FAULTS_OF_A_KIND + 1


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(data=st.binary(max_size=300))
@example(data=b"PAR1PAR1PAR1")
@example(data=b"\x1f\x8b\x08\x00")
@example(data=b'"')
@example(data=b"\r")
@example(data=b"id,y\n\xef\xbf\xbd,\xef\xbf\xbd\n")
def test_random_bytes(solution: Solution, data: bytes) -> None:
    _assert_answered(_read(data, solution))


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(text=st.text(alphabet='id,y;\t\n\r"0.5 \u202e\x00é', max_size=200))
def test_random_csv(solution: Solution, text: str) -> None:
    _assert_answered(_read(text.encode(), solution))
    _assert_answered(_read(b"id,y\n" + text.encode(), solution))


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(seed=st.sampled_from(SEEDS), changes=mutations)
def test_mutated_files(
    solution: Solution, seed: bytes, changes: list[tuple[int, str, bytes]]
) -> None:
    _assert_answered(_read(_mutate(seed, changes), solution))


def test_parsers_that_disagree_on_records(solution: Solution) -> None:
    """A stray quote: one parser sees a single record, the other skips a broken row."""
    for seed in SEEDS:
        _assert_answered(_read(_mutate(seed, [(0, "q", b"\x00"), (8, "d", b"\x00\x00")]), solution))


@pytest.mark.slow
@settings(max_examples=examples(4_000))
@given(seed=st.sampled_from(SEEDS), changes=mutations)
def test_many_mutated_files(
    solution: Solution, seed: bytes, changes: list[tuple[int, str, bytes]]
) -> None:
    _assert_answered(_read(_mutate(seed, changes), solution))


# -- secrets -----------------------------------------------------------------------------------

SECRETS = [f"7{i:03d}1389" for i in range(N_ROWS)]
"""Labels that occur nowhere else, so that they can be looked for."""

PROBES = [
    "id,y\n",
    "id,y\n" + rows_of(),
    "id,z\n" + rows_of({3: "nan", 4: "7"}),
    "id,y\n" + rows_of({3: "1", 5: "x", 6: ""}).replace("007,", "7,"),
    "y,id\n" + rows_of(),
    rows_of(),
    "\x00",
]


@pytest.mark.parametrize("kind", [PredictionKind.LABEL, PredictionKind.VALUE])
@pytest.mark.parametrize("probe", PROBES)
def test_no_label_of_the_solution_is_in_a_fault(
    send: Send, solve: Solve, kind: PredictionKind, probe: str
) -> None:
    secret = solve("id,y\n" + "".join(f"{i:03d},{s}\n" for i, s in enumerate(SECRETS)), kind)
    messages = "\n".join(map(str, send(probe, secret, prediction_range=(-1, 1)).faults))
    assert not any(label in messages for label in SECRETS)


@pytest.mark.parametrize("probe", PROBES)
def test_faults_do_not_depend_on_labels_or_usage(send: Send, solve: Solve, probe: str) -> None:
    def solution(usages: str, flip: int) -> Solution:
        names = {"u": "Public", "r": "Private", "i": "Ignored"}
        rows = (f"{i:03d},{(i + flip) % 2},{names[usages[i % 3]]}\n" for i in range(N_ROWS))
        return solve("id,y,Usage\n" + "".join(rows), PredictionKind.PROBABILITY)

    first = send(probe, solution("uri", 0)).faults
    assert send(probe, solution("iru", 0)).faults == first
    assert send(probe, solution("rui", 1)).faults == first
