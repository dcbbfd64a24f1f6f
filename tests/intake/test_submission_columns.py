"""Faults of the header: missing, extra, repeated, misnamed and swapped columns."""

from __future__ import annotations

import pytest

from submission_files import Send, kinds, only, rows_of


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
