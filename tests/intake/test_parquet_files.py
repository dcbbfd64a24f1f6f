"""Parquet files and Arrow tables are as hostile as text."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.intake import check_table
from arena.intake.arrow_file import read_arrow
from arena.intake.table import Bounds
from arena.interfaces.faults import FaultList, Refused
from arena.types import PredictionKind, Solution
from submission_files import N_ROWS, Send, Solve, arrow, kinds, only, parquet

IDS = [f"{i:03d}" for i in range(N_ROWS)]
HALVES = [0.5] * N_ROWS


def _bytes(columns: dict[str, Any], **options: Any) -> bytes:
    return parquet(pa.table(columns), **options)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(HALVES, pa.float64()),
        pa.array(HALVES, pa.float32()),
        pa.array(np.full(N_ROWS, 0.5, np.float16)),
        pa.array(["0.5"] * N_ROWS),
        pa.array(["0.5"] * N_ROWS, pa.large_string()),
        pa.array(["0.5"] * N_ROWS).dictionary_encode(),
        pa.array([Decimal("0.5")] * N_ROWS),
        pa.array(HALVES).dictionary_encode(),
    ],
    ids=lambda values: str(values.type),
)
def test_flat_types_are_read(send: Send, values: pa.Array) -> None:
    read = send(_bytes({"id": IDS, "y": values}))
    assert read.faults == ()
    assert read.values is not None
    np.testing.assert_array_equal(read.values, 0.5)


def test_integers_and_bools_are_read(send: Send) -> None:
    for values in (pa.array([1] * N_ROWS), pa.array([True] * N_ROWS)):
        read = send(_bytes({"id": IDS, "y": values}))
        assert read.values is not None
        assert (read.values == 1).all()


def test_integer_ids_are_compared_as_text(send: Send, solve: Solve) -> None:
    solution = solve("id,y\n7,1\n10,0\n", PredictionKind.PROBABILITY)
    read = send(_bytes({"id": [10, 7], "y": [0.25, 0.75]}), solution)
    assert read.values is not None
    assert read.values.tolist() == [[0.75], [0.25]]


def test_bools_are_labels_as_pandas_writes_them(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,True\nb,False\n", PredictionKind.LABEL)
    read = send(_bytes({"id": ["a", "b"], "y": [False, True]}), solution)
    assert read.values is not None
    assert read.values.tolist() == [[0], [1]]


def test_rows_count_from_one_and_nulls_are_empty(send: Send) -> None:
    values = [*HALVES[:7], None, float("nan"), float("inf"), 2.0, *HALVES[11:]]
    read = send(_bytes({"id": IDS, "y": pa.array(values)}))
    assert [(f.kind, f.row, f.id) for f in read.faults] == [
        ("empty cell", 8, "007"),
        ("NaN", 9, "008"),
        ("infinite value", 10, "009"),
        ("out of range", 11, "010"),
    ]


@pytest.mark.parametrize(
    "values",
    [pa.array([[0.5]] * N_ROWS), pa.array([{"a": 0.5}] * N_ROWS)],
    ids=lambda values: str(values.type),
)
def test_nested_types_are_refused(send: Send, values: pa.Array) -> None:
    read = send(_bytes({"id": IDS, "y": values}))
    assert only(read, "wrong type").column == "y"


def test_dates_are_no_numbers(send: Send) -> None:
    read = send(_bytes({"id": IDS, "y": pa.array([0] * N_ROWS, pa.timestamp("s"))}))
    assert "not a number" in kinds(read)


def test_truncated_and_damaged_files(send: Send) -> None:
    whole = _bytes({"id": IDS, "y": HALVES})
    assert kinds(send(whole[:-20])) == {"truncated file"}
    damaged = (
        (whole[:4] + bytes(len(whole) - 8) + b"PAR1", "t.parquet"),
        (bytes(4) + whole[4:], "t.bin"),
        (bytes(4) + whole[4:-4], "t.parquet"),
    )
    for content, name in damaged:
        read = send(content, name=name)
        assert only(read, "damaged file").message.startswith("This is not a readable Parquet file")


def test_text_is_read_as_text_under_any_file_name(send: Send) -> None:
    rows = "".join(f"{id},0.5\n" for id in IDS)
    assert send(f"id,y\n{rows}", name="t.parquet").faults == ()


def test_no_rows(send: Send) -> None:
    empty = {"id": pa.array([], pa.string()), "y": pa.array([], pa.float64())}
    assert kinds(send(_bytes(empty))) == {"no rows"}


@pytest.mark.slow
def test_bombs_of_many_rows_or_bytes_are_refused_unread(send: Send) -> None:
    many = pa.table({"id": pa.array(["a"] * 2_000_000), "y": pa.array(np.zeros(2_000_000))})
    read = send(parquet(many, compression="zstd"))
    assert "2,000,000 rows" in only(read, "too many rows").message
    wide = _bytes(
        {"id": IDS, "y": ["x" * 2**20] * N_ROWS}, compression="zstd", use_dictionary=False
    )
    read = send(wide, max_bytes=2**20)
    assert "1,048,576 are allowed" in only(read, "file too large").message


def test_dictionaries_that_unfold_beyond_the_limit_are_refused(send: Send) -> None:
    folded = _bytes({"id": IDS, "y": ["x" * 2**20] * N_ROWS}, compression="zstd")
    assert len(folded) < 2**20
    read = send(folded, max_bytes=4 * 2**20)
    assert kinds(read) >= {"wrong type"} or kinds(read) >= {"file too large"}


def test_table_of_a_plugin_is_checked_alike(binary: Solution, tmp_path: Path) -> None:
    path = tmp_path / "team.xyz"
    path.write_bytes(b"something")
    good = check_table(pa.table({"id": IDS[::-1], "y": HALVES}), path, binary)
    assert good.values is not None
    assert len(good.sha256) == 64
    bad = check_table(pa.table({"id": IDS, "y": [2.0, *HALVES[1:]]}), path, binary)
    assert only(bad, "out of range").row == 1
    assert kinds(check_table(pa.table({"id": [], "y": []}), path, binary)) == {"no rows"}


@pytest.mark.parametrize("kind", [PredictionKind.PROBABILITY, PredictionKind.LABEL])
def test_columns_of_the_null_type_are_empty_cells(
    send: Send, solve: Solve, kind: PredictionKind
) -> None:
    solution = solve("id,y\na,1\nb,0\n", kind)
    read = send(_bytes({"id": ["a", "b"], "y": pa.nulls(2)}), solution)
    assert [(fault.kind, fault.row, fault.column) for fault in read.faults] == [
        ("empty cell", 1, "y"),
        ("empty cell", 2, "y"),
    ]
    read = send(_bytes({"id": pa.nulls(2), "y": [1, 0]}), solution)
    assert kinds(read) == {"empty id", "missing id"}


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_files_are_read(send: Send, new: Any, compression: str | None) -> None:
    table = pa.table({"id": pa.array(IDS).dictionary_encode(), "y": HALVES})
    data = arrow(table, new, compression)
    assert send(data).values is not None
    assert kinds(send(data[:-6])) == {"truncated file"}
    assert kinds(send(data[:100] + bytes(100) + data[200:])) == {"damaged file"}
    lists = pa.table({"id": IDS, "y": [[0.5]] * N_ROWS})
    assert kinds(send(arrow(lists, new, compression))) == {"wrong type"}
    many = pa.table({"id": pa.nulls(10**6), "y": pa.nulls(10**6)})
    assert kinds(send(arrow(many, new, compression))) == {"too many rows"}
    assert kinds(send(arrow(table.select([]), new, compression))) == {"no columns"}


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [
        (Bounds(N_ROWS - 1, 2, 10**4), "too many rows"),
        (Bounds(N_ROWS, 1, 10**4), "too many columns"),
        (Bounds(N_ROWS, 2, 100), "file too large"),
    ],
)
def test_a_large_arrow_file_is_refused_for_what_is_large(bounds: Bounds, kind: str) -> None:
    faults = FaultList()
    with pytest.raises(Refused):
        read_arrow(arrow(pa.table({"id": IDS, "y": HALVES}), pa.ipc.new_stream), bounds, faults)
    assert {fault.kind for fault in faults.to_tuple()} == {kind}


def test_offsets_of_arrow_files_are_validated(send: Send) -> None:
    offsets = pa.py_buffer(np.array([0, 3, 2**30, *range(9, 3 * N_ROWS, 3), 90], np.int32))
    ids = pa.StringArray.from_buffers(N_ROWS, offsets, pa.py_buffer("".join(IDS).encode()))
    table = pa.table({"id": ids, "y": HALVES})
    assert kinds(send(arrow(table, pa.ipc.new_stream))) == {"damaged file"}


def test_a_file_of_parquet_has_twelve_bytes_or_more(send: Send) -> None:
    for between, kind in ((b"\0" * 3, "truncated file"), (b"\0" * 4, "damaged file")):
        assert kinds(send(b"PAR1" + between + b"PAR1", name="t.parquet")) == {kind}
    assert kinds(send(b"PARE" + bytes(20) + b"PARE")) == {"damaged file"}
    assert "is encrypted" in send(b"PARE" + bytes(20) + b"PARE").faults[0].message
