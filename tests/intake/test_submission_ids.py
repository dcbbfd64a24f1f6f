"""Ids are compared as text, each must occur once, and the order does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from arena.types import PredictionKind
from submission_files import N_ROWS, Send, Solve, kinds, only, rows_of


def test_rows_in_another_order_are_aligned(send: Send) -> None:
    rows = rows_of({i: f"0.{i:02d}" for i in range(N_ROWS)}).splitlines()
    read = send("id,y\n" + "\n".join(np.random.default_rng(1).permutation(rows)))
    assert read.values is not None
    np.testing.assert_array_equal(read.values[:, 0], np.arange(N_ROWS) / 100)


def test_missing_id_is_named(send: Send) -> None:
    fault = only(send("id,y\n" + rows_of().replace("007,0.5\n", "")), "missing id")
    assert (fault.id, fault.row) == ("007", None)
    assert "add a row" in fault.message


def test_duplicate_id_names_both_rows(send: Send) -> None:
    read = send("id,y\n" + rows_of() + "007,0.5\n")
    fault = only(read, "duplicate id")
    assert (fault.id, fault.row) == ("007", N_ROWS + 2)
    assert "row 9" in fault.message


def test_unknown_and_empty_ids_are_named(send: Send) -> None:
    read = send("id,y\n" + rows_of() + "x1,0.5\n,0.5\n")
    assert (only(read, "unknown id").id, only(read, "unknown id").row) == ("x1", N_ROWS + 2)
    assert only(read, "empty id").row == N_ROWS + 3


def test_every_fault_of_the_ids_is_counted(send: Send) -> None:
    read = send("id,y\n" + "".join(f"x{i},0.5\n" for i in range(50)))
    assert [f.message for f in read.faults if f.row is None and f.id is None] == [
        "… and 30 more of this kind (unknown id).",
        "… and 10 more of this kind (missing id).",
    ]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("{i}", "leading zeros were lost"),
        ("{i}.0", "leading zeros were lost"),
        ("{i:03d}.0", "decimal number"),
        ("{i:03d} ", "spaces"),
    ],
)
def test_spoilt_ids_are_recognised(send: Send, written: str, hint: str) -> None:
    read = send("id,y\n" + "".join(written.format(i=i) + ",0.5\n" for i in range(N_ROWS)))
    assert kinds(read) == {"unknown id", "missing id"}
    for fault in read.faults:
        assert hint in fault.message or "more of this kind" in fault.message


def test_seven_is_not_007(send: Send, solve: Solve) -> None:
    solution = solve("id,y\n7,1\n007,0\n", PredictionKind.PROBABILITY)
    read = send("id,y\n007,0.25\n7,0.75\n", solution)
    assert read.values is not None
    assert read.values.tolist() == [[0.75], [0.25]]


def test_ids_in_another_case_are_recognised(send: Send, solve: Solve) -> None:
    solution = solve("id,y\nab,1\ncd,0\n", PredictionKind.PROBABILITY)
    assert "case" in only(send("id,y\nAB,0.2\ncd,0.7\n", solution), "unknown id").message


def test_file_that_stops_early_is_recognised(send: Send) -> None:
    lines = rows_of().splitlines(keepends=True)[:-2]
    read = send("id,y\n" + "".join(lines))
    assert [fault.id for fault in read.faults] == ["028", "029"]
    assert all("cut off" in fault.message for fault in read.faults)


def test_long_and_hostile_ids_are_shown_harmlessly(send: Send) -> None:
    fault = only(send("id,y\n" + rows_of() + "\u202e\x07" + "q" * 5_000 + ",0.5\n"), "unknown id")
    assert fault.id is not None
    assert fault.id.isprintable()
    assert len(fault.id) < 300
    assert fault.message.isprintable()
