"""Submissions in memory are answered and read back as those in a database."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from arena.interfaces import PredictionBlocks
from arena.scoring.memory_store import MemoryStore
from arena.store import Incoming, Store
from arena.types import Fault, PredictionKind, Solution, SubmissionRecord, Target

LABEL, VALUE, SCORE = PredictionKind.LABEL, PredictionKind.VALUE, PredictionKind.SCORE
FAULT = Fault("empty cell", "The cell is empty.", row=3)
N_ROWS = 6


def _solution(kind: PredictionKind, n_columns: int) -> Solution:
    columns = tuple(f"c{column}" for column in range(n_columns))
    return Solution(
        id_column="id",
        targets=(Target("y", ("a", "b", "c")),),
        columns=columns,
        kind=kind,
        ids=pa.array([f"{row}" for row in range(N_ROWS)]),
        truth=np.zeros(N_ROWS, dtype=np.intp),
        usage=np.ones(N_ROWS, dtype=np.uint8),
        sha256="solution",
    )


def _incoming(n_columns: int) -> list[Incoming]:
    cells = np.random.default_rng(0).integers(0, 3, (4, N_ROWS, n_columns)).astype(np.float64)
    return [
        Incoming("a", "a/1.csv", sha256="1", values=cells[0]),
        Incoming("b", "b/1.csv", sha256="1", values=cells[0]),
        Incoming("a", "a/2.csv", sha256="1", values=cells[0]),  # the first file of a again
        Incoming("b", "b/2.csv", sha256="2", values=None, faults=(FAULT,)),
        Incoming("b", "b/3.csv", sha256="", values=None, faults=(FAULT,)),
        Incoming("c", "c/1.csv", sha256="1", key="other rules", values=cells[2]),
        Incoming("a", "a/3.csv", sha256="3", values=cells[3]),
    ]


def _read(predictions: PredictionBlocks) -> npt.NDArray[np.float64]:
    return np.concatenate([block for _, block in predictions.blocks(2)])


@pytest.mark.parametrize(("kind", "n_columns"), [(VALUE, 1), (LABEL, 1), (SCORE, 3)])
def test_records_and_predictions_are_those_of_a_database(
    kind: PredictionKind, n_columns: int
) -> None:
    solution, incoming = _solution(kind, n_columns), _incoming(n_columns)
    memory = MemoryStore(solution, len(incoming))
    with Store.open() as store:
        store.put_solution(solution)
        records = [[*of.add_submissions(incoming[:4]), *of.add_submissions(incoming[4:])]
                   for of in (memory, store)]  # fmt: skip

        def without_time(record: SubmissionRecord) -> SubmissionRecord:
            return replace(record, received="")

        assert [*map(without_time, records[0])] == [*map(without_time, records[1])]
        accepted = {record.submission: None for record in records[1] if record.status == "accepted"}
        some_rows = np.arange(N_ROWS) % 3 > 0
        for submissions in ([*accepted], [*accepted][::-2]):
            for rows in (None, np.ones(N_ROWS, dtype=np.bool_), some_rows):
                held = memory.predictions(submissions, rows)
                read, expected = _read(held), _read(store.predictions(submissions, rows))
                assert held.n_submissions == len(submissions)
                assert read.dtype == expected.dtype
                np.testing.assert_array_equal(read, expected)


def test_values_that_do_not_fit_the_solution_are_refused() -> None:
    store = MemoryStore(_solution(VALUE, 1), 1)
    for values in (np.zeros((N_ROWS, 2)), np.full((N_ROWS, 1), np.nan)):
        with pytest.raises(ValueError, match="values"):
            store.add_submissions([Incoming("a", "a.csv", sha256="1", values=values)])


def test_numbers_of_at_most_256_mb_are_held() -> None:
    most = 2**28 // (8 * N_ROWS)
    assert MemoryStore.holds(_solution(VALUE, 1), most)
    assert not MemoryStore.holds(_solution(VALUE, 1), most + 1)
    assert not MemoryStore.holds(_solution(SCORE, 2), most)
    assert not MemoryStore.holds(_solution(PredictionKind.TEXT, 1), 1)
