"""Faults of the header: missing, extra, repeated, misnamed and swapped columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arena.intake.columns import SubmissionForm, match_columns
from arena.intake.faults import FaultList
from arena.intake.table import Bounds
from arena.types import PredictionKind
from submission_files import Send, Solve, kinds, only, rows_of


def _with_header(header: str, more: str = "") -> str:
    return header + "\n" + rows_of().replace("\n", f"{more}\n")


def test_missing_column(send: Send) -> None:
    read = send("id\n" + "".join(f"{i:03d}\n" for i in range(30)))
    fault = only(read, "missing column")
    assert (fault.row, fault.column) == (1, "y")


def test_extra_column(send: Send) -> None:
    fault = only(send(_with_header("id,y,z", ",1")), "extra column")
    assert (fault.row, fault.column) == (1, "z")


def test_index_of_pandas_is_recognised(send: Send) -> None:
    rows = "".join(f"{i},{row}\n" for i, row in enumerate(rows_of().splitlines()))
    assert "index=False" in only(send(",id,y\n" + rows), "extra column").message


def test_repeated_column(send: Send) -> None:
    fault = only(send(_with_header("id,y,y", ",1")), "repeated column")
    assert (fault.row, fault.column) == (1, "y")
    assert "2 times" in fault.message


@pytest.mark.parametrize(
    ("header", "written", "hint"),
    [
        ("id,Y", "Y", "case"),
        ("id, y", " y", "spaces"),
        ("id,prediction", "prediction", "did you mean 'y'"),
        ("Id,y", "Id", "case"),
    ],
)
def test_misnamed_column_is_guessed(send: Send, header: str, written: str, hint: str) -> None:
    read = send(_with_header(header))
    assert kinds(read) == {"misnamed column"}
    fault = only(read, "misnamed column")
    assert (fault.row, fault.column) == (1, written)
    assert hint in fault.message


def test_cells_of_a_misnamed_column_are_checked_too(send: Send) -> None:
    read = send("id,Y\n" + rows_of({7: "abc"}))
    assert kinds(read) == {"misnamed column", "not a number"}
    assert only(read, "not a number").row == 9


def test_each_of_several_misspelt_columns_is_guessed() -> None:
    faults = FaultList()
    names = ["id", "temprature", "humidty", "windspeed"]
    found = match_columns(names, ["id", "humidity", "temperature", "wind speed"], faults, row=1)
    assert found == {"id": 0, "temperature": 1, "humidity": 2, "wind speed": 3}
    said = {fault.column: fault.message for fault in faults.to_tuple()}
    assert said == {
        name: f"Column {name!r} is unknown; did you mean {meant!r}? Rename it."
        for name, meant in [
            ("temprature", "temperature"), ("humidty", "humidity"), ("windspeed", "wind speed")
        ]
    }  # fmt: skip


def test_a_name_that_is_like_no_other_is_not_guessed() -> None:
    faults = FaultList()
    found = match_columns(["id", "rain", "snow"], ["id", "humidity", "temperature"], faults)
    assert found == {"id": 0}
    kinds_of = sorted((fault.kind, str(fault.column)) for fault in faults.to_tuple())
    assert kinds_of == [
        ("extra column", "rain"),
        ("extra column", "snow"),
        ("missing column", "humidity"),
        ("missing column", "temperature"),
    ]


def test_a_column_that_must_not_be_guessed_is_not_taken_for_the_last_one() -> None:
    faults = FaultList()
    assert match_columns(["x", "id"], ["y"], faults, never_guessed=["id"]) == {"y": 0}
    faults = FaultList()
    assert match_columns(["id"], ["y"], faults, never_guessed=["id"]) == {}


def test_the_bounds_of_a_file_follow_from_its_valid_form(solve: Solve) -> None:
    rows = "".join(f"{i:03d},{i % 3}\n" for i in range(30))
    form = SubmissionForm.of(solve("id,y\n" + rows, PredictionKind.CLASS_PROBABILITIES))
    assert form.columns == form.classes == ("0", "1", "2")
    assert form.bounds == Bounds(10 * 30 + 100_000, 2 * 7 + 10_000, form.max_bytes)
    sets = replace(form, row_sets=True)
    assert sets.bounds == Bounds(10_000 * 30 + 100_000, 2 * 7 + 10_000, form.max_bytes)
    memory = 2**28 + 16 * (form.ids.nbytes + 30 * 3 * 32)
    assert form.max_memory == memory
    text = replace(form, kind=PredictionKind.TEXT)
    assert text.max_memory == memory + 16 * form.max_bytes


def test_names_in_another_order_are_fine(send: Send) -> None:
    rows = "".join(",".join(reversed(row.split(","))) + "\n" for row in rows_of().splitlines())
    assert send("y,id\n" + rows).values is not None


def test_swapped_names_are_recognised(send: Send) -> None:
    read = send(_with_header("y,id"))
    assert kinds(read) == {"swapped columns"}
    assert only(read, "swapped columns").column == "y"


def test_missing_header_is_recognised(send: Send) -> None:
    read = send(rows_of())
    assert kinds(read) == {"no header"}
    assert "'id', 'y'" in only(read, "no header").message


def test_hostile_names_are_shown_harmlessly(send: Send) -> None:
    read = send(_with_header("id,y,\x1b]0;" + "x" * 5_000, ",1"))
    fault = only(read, "extra column")
    assert fault.message.isprintable()
    assert fault.column is not None
    assert fault.column.isprintable()
    assert len(fault.message) < 300


def test_thousands_of_columns_are_counted(send: Send) -> None:
    names = ",".join(f"c{i}" for i in range(5_000))
    read = send(_with_header(f"id,y,{names}", "," + ",".join(["1"] * 5_000)))
    assert len(read.faults) == 21
    assert "4,980 more" in read.faults[-1].message


def test_no_more_columns_than_can_be_parsed(send: Send) -> None:
    assert kinds(send("id,y" + "," * 30_000 + "\na,1\n")) == {"unreadable header"}
