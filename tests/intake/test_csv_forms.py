"""CSV in its usual forms is read; what is broken in it is reported with its line."""

from __future__ import annotations

import contextlib
import csv
from typing import Any

import numpy as np
import pytest

from arena.intake import csv_file, csv_header
from arena.intake.table import SOLUTION_BOUNDS, RowNumbers
from arena.interfaces.faults import FaultList, Refused
from arena.types import PredictionKind
from submission_files import N_ROWS, Send, Solve, kinds, only, rows_of

PLAIN = "id,y\n" + rows_of()


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace(",", "\t").replace(".", ","),
        PLAIN + "\n\n\r\n",
        PLAIN + "   \n",
        "\n\n" + PLAIN.replace("\n", "\n\n"),
        PLAIN.rstrip("\n"),
        '"id","y"\n' + "".join(f'"{i:03d}","0.5"\n' for i in range(N_ROWS)),
        '"id";"y"\r\n' + "".join(f'"{i:03d}";"0,5"\r\n' for i in range(N_ROWS)),
        "# predictions\n" + PLAIN,
        "# trained on 5 folds, seed 3\n" + PLAIN,
        PLAIN.replace(",", "  ").replace("\n", "\r "),
    ],
    ids=lambda content: repr(content[:16]),
)
def test_usual_forms_are_read(send: Send, content: str) -> None:
    read = send(content)
    assert read.faults == ()
    assert read.values is not None
    np.testing.assert_array_equal(read.values, np.full((N_ROWS, 1), 0.5))


def test_mixed_decimal_marks_are_refused(send: Send) -> None:
    fault = only(send(PLAIN.replace(",", ";").replace("007;0.5", "007;0,5")), "mixed decimal marks")
    assert (fault.row, fault.id) == (9, "007")
    assert "row 2" in fault.message


def test_separators_of_thousands_are_refused(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,1\nb,2\n", PredictionKind.VALUE)
    assert kinds(send("id;y\na;1.234,5\nb;2,5\n", solution)) >= {"mixed decimal marks"}


def test_rows_of_a_wrong_width_are_each_named(send: Send) -> None:
    content = PLAIN.replace("003,0.5", "003,0.5,9").replace("005,0.5", "005")
    read = send(content.replace("009,0.5", "009,0.5,,"))
    wide = [fault for fault in read.faults if fault.kind == "too many fields"]
    assert [fault.row for fault in wide] == [5, 11]
    assert "3 fields, but the header has 2" in wide[0].message
    assert only(read, "too few fields").row == 7
    missing = [fault.id for fault in read.faults if fault.kind == "missing id"]
    assert missing == ["003", "005", "009"]


def test_rows_after_a_broken_one_keep_their_number(send: Send) -> None:
    content = PLAIN.replace("003,0.5", "003").replace("009,0.5", "\n009,bad")
    assert only(send(content), "not a number").row == 12


def test_rows_after_quoted_line_ends_keep_their_number(send: Send) -> None:
    content = PLAIN.replace("003,0.5", '"0\n0\r\n3",0.5').replace("009,0.5", "009,bad")
    read = send(content)
    assert only(read, "unknown id").row == 5
    assert only(read, "not a number").row == 13


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_rows_are_counted_with_any_line_end(send: Send, end: str) -> None:
    content = "\n\n" + PLAIN.replace("003,0.5", "\n003,bad")
    assert only(send(content.replace("\n", end)), "not a number").row == 8


def test_rows_are_counted_across_blocks(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.intake.table.CHUNK", 7)
    content = ("\n" + PLAIN.replace("020,0.5", "\n\n020,bad")).replace("\n", "\r\n")
    assert only(send(content), "not a number").row == 25


@pytest.mark.parametrize("size", range(1, 12))
def test_records_are_counted_in_pieces_of_any_size(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(csv_file, "_PIECE", size)
    # Two quoted line ends, of which one follows a doubled quotation mark.
    for content in ('1,"a\n"\n2,"b""\n"\n3,c\n', '1,"a\n"\n2,"b""\n"\n3,c'):
        for end in ("\n", "\r", "\r\n"):
            data = content.replace("\n", end).encode()
            assert csv_file.count_records(b"id,y\n" + data, 5) == 3
    assert csv_file.count_records(b"a\n\nb", 2) == 2


@pytest.mark.parametrize(
    ("row", "explained"),
    [("004,0,5,1", True), ("004,0,5", True), ("004,a,b", False), ("0,5", False), ("004", False)],
)
def test_a_row_of_too_many_fields_is_explained_by_decimal_commas(
    send: Send, row: str, explained: bool
) -> None:
    faults = send(PLAIN.replace("004,0.5", row)).faults
    assert any(fault.cause and "comma" in fault.cause for fault in faults) == explained


def test_truncated_last_line_is_named(send: Send) -> None:
    read = send(PLAIN[: -len(",0.5\n")])
    assert only(read, "truncated file").row == N_ROWS + 1
    assert only(read, "missing id").id == "029"


@pytest.mark.parametrize("end", ["", "\n"])
def test_quote_that_is_never_closed_is_named(send: Send, end: str) -> None:
    read = send(PLAIN.replace("020,", '"020,').rstrip("\n") + end)
    assert only(read, "unclosed quote").row == 22


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stray_quote_is_named(end: str) -> None:
    """Otherwise it and rows of a solution would be dropped silently."""
    good = 'id,"y"\n1,"a ""b""\nc"\n2,""\n\n3,"d" \n'
    for rows, lines in (
        ("", []),
        ('4,"e\n5,f\n6,"g\n7,"h"\n', [7]),
        ('4,"e" f\n5,g "h"\n"6"i,j\n', [7, 9]),
        ('4,""e""\n', [7]),
    ):
        faults = FaultList()
        data = (good + rows).replace("\n", end).encode()
        csv_file.read_csv(data, ("id", "y"), SOLUTION_BOUNDS, faults)
        stray_quotes = [(fault.kind, fault.row) for fault in faults.to_tuple()]
        assert stray_quotes == [("misplaced quote", line) for line in lines]


def test_endless_broken_rows_are_given_up(send: Send) -> None:
    read = send("id,y\n" + "x\n" * 50_000)
    assert "10,000" in only(read, "too many broken rows").message
    assert len(read.faults) == 22


@pytest.mark.parametrize("counted_first", [True, False])
def test_more_rows_than_a_submission_may_have_are_refused(
    send: Send, monkeypatch: pytest.MonkeyPatch, counted_first: bool
) -> None:
    monkeypatch.setattr("arena.intake.columns.MORE_ROWS", 0)
    monkeypatch.setattr("arena.intake.csv_file.BYTES_PER_ROW", 0 if counted_first else 100)
    most = 10 * N_ROWS
    assert kinds(send("id,y\n" + "x,0\n" * most)) == {"unknown id", "missing id"}
    one_more = send("id,y\n" + "x,0\n" * (most + 1))
    assert f"has {most + 1:,} rows" in only(one_more, "too many rows").message


@pytest.mark.parametrize("last", ["\n", ""])
def test_more_lines_than_rows_may_be_sent_within_quotes(
    send: Send, solve: Solve, last: str
) -> None:
    poem = "roses\n" * 12_000  # 360,000 lines in all, in 30 rows
    solution = solve("id,y\n" + rows_of(default="a poem"), PredictionKind.TEXT)
    read = send(("id,y\n" + rows_of(default=f'"{poem}"')).removesuffix("\n") + last, solution)
    assert read.faults == ()
    assert read.values is not None
    assert {*read.values.ravel()} == {poem}


@pytest.mark.parametrize("last", ["\n", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_beyond_those_that_may_be_sent_are_counted(send: Send, end: str, last: str) -> None:
    content = "id,y\n" + '"a, b",0.5\n' * 120_000
    read = send((content.removesuffix("\n") + last).replace("\n", end))
    assert "has 120,000 rows" in only(read, "too many rows").message
    assert kinds(read) == {"too many rows"}


@pytest.mark.parametrize("content", ["", "\n", "\r\n\r\n", "\ufeff"])
def test_empty_file(send: Send, content: str) -> None:
    assert kinds(send(content)) == {"empty file"}


@pytest.mark.parametrize("content", ["id,y", "id,y\n", "id,y\r\n\r\n", "\n\nid,y\n"])
def test_header_only(send: Send, content: str) -> None:
    fault = only(send(content), "no rows")
    assert fault.row == (3 if content.startswith("\n") else 1)


def test_a_header_has_so_many_bytes_and_follows_so_many_comments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(csv_header, "_MAX_HEADER", 10)
    monkeypatch.setattr(csv_header, "_MOST_COMMENTS", 2)

    def header_or_faults(data: bytes) -> Any:
        faults = FaultList()
        with contextlib.suppress(Refused):
            header = csv_header.find_header(data, ("id", "y"), (), faults)
            return header.names, header.row, header.n_leading
        return [(fault.message, fault.row) for fault in faults.to_tuple()]

    # The line end is the tenth byte.
    assert header_or_faults(b"id,y,5678\n1,2\n") == (("id", "y", "5678"), 1, 1)
    assert header_or_faults(b"\nid,y,56789\n1,2\n") == [
        ("The first line has 11 bytes: write a header line, then the rows.", 2)
    ]
    assert header_or_faults(b"#1\n#2\nid,y\n1,2\n") == (("id", "y"), 3, 3)
    # The third line is no comment: the first one has as many fields, and is the header.
    assert header_or_faults(b"#1\n#2\n#3\nid,y\n") == (("#1",), 1, 1)


# -- encodings ---------------------------------------------------------------------------------


def test_wrong_encoding_names_row_and_byte(send: Send) -> None:
    content = (
        PLAIN.replace("007,0.5", "007,caf\xe9").replace("009,0.5", "009,\xff").encode("latin-1")
    )
    read = send(content)
    faults = [fault for fault in read.faults if fault.kind == "wrong encoding"]
    assert [fault.row for fault in faults] == [9, 11]
    assert "Byte 0xe9 at position 8 of" in faults[0].message
    assert "UTF-8" in faults[0].message
    assert kinds(read) == {"wrong encoding"}


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        *(("utf-16", b""), ("utf-16-le", b""), ("utf-16-be", b""), ("utf-16-be", b"\xfe\xff")),
        *(("utf-32", b""), ("utf-32-le", b""), ("utf-32-be", b""), ("utf-32-be", b"\0\0\xfe\xff")),
        *(("utf-7", b"+/v8-"), ("gb18030", b"\x84\x31\x95\x33")),
    ],
)
def test_another_encoding_is_read_by_its_mark(send: Send, codec: str, mark: bytes) -> None:
    assert send(mark + PLAIN.encode(codec)).values is not None
    read = send(mark + PLAIN.replace("007,0.5", "007,bad").encode(codec))
    assert only(read, "not a number").row == 9


@pytest.mark.parametrize("ending", [1, 3])
@pytest.mark.parametrize("codec", ["utf-16", "utf-32"])
def test_a_truncated_file_of_another_encoding_is_named(send: Send, codec: str, ending: int) -> None:
    read = send(PLAIN.encode(codec)[:-ending])
    assert f"damaged {codec.upper()}" in only(read, "wrong encoding").message


def test_nul_bytes_are_named(send: Send) -> None:
    read = send(PLAIN.replace("007,0.5", "007,0\x00.5"))
    assert kinds(read) == {"NUL byte"}
    assert only(read, "NUL byte").row == 9


def test_text_beyond_ascii_is_read(send: Send, solve: Solve) -> None:
    solution = solve("id,größe\nä,1\nß\U0001f600,0\n", PredictionKind.PROBABILITY)
    assert send("id,größe\nß\U0001f600,0.5\nä,0.25\n", solution).values is not None


@pytest.mark.parametrize("block", [40, 64, 2**30])
def test_a_file_is_read_alike_in_blocks_of_any_size(
    send: Send, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(csv_file, "_MAX_BLOCK", block)
    values = np.arange(N_ROWS) / 100
    submission = send("id,y\n" + rows_of({i: f"{value}" for i, value in enumerate(values)}))
    assert submission.values is not None
    assert submission.values[:, 0].tolist() == values.tolist()
    submission = send(PLAIN.replace("003,0.5", "003,0.5,9").replace("025,0.5", "025,bad"))
    assert only(submission, "too many fields").row == 5
    assert only(submission, "not a number").row == 27


@pytest.mark.parametrize(("n_comments", "is_header_found"), [(1_000, True), (1_001, False)])
def test_a_thousand_comments_may_come_first(
    send: Send, n_comments: int, is_header_found: bool
) -> None:
    submission = send("# a\n" * n_comments + PLAIN.replace("007,0.5", "007,bad"))
    if is_header_found:
        assert only(submission, "not a number").row == n_comments + 1 + 8
    else:
        assert submission.faults


@pytest.mark.parametrize(("size", "is_read"), [(2**22, True), (2**22 + 1, False)])
def test_a_first_line_of_four_megabytes_is_a_header(send: Send, size: int, is_read: bool) -> None:
    first = "id,y,".ljust(size - 1, "x") + "\n"
    fault = only(send(first + rows_of()), "unreadable header")
    message = "is not a list of column names." if is_read else "has 4,194,305 bytes: write a header"
    assert fault.message.startswith(f"The first line {message}")


@pytest.mark.parametrize("wrong", [b"\0", b"\xff"])
def test_up_to_ten_thousand_damaged_bytes_are_counted(send: Send, wrong: bytes) -> None:
    for damaged, kind in ((10_000, "unknown column"), (10_001, "no text")):
        submission = send(b"id," + wrong * damaged + b"y\n" + rows_of().encode())
        assert ("no text" in kinds(submission)) is (kind == "no text")


@pytest.mark.parametrize(
    ("start", "is_text"),
    [
        (b"\x01\x02", True), (b"\x01\x02\x03", False), (b"\x01" * 9, True),
        (b"\x01\x02\x1f\x1a\t\v\f", False), (b"\x01\x1f\x1a\t\v\f\x20", True),
        # A control character behind the first 4,096 bytes is not looked at.
        (b"\x01\x02".ljust(4_095, b"x") + b"\x03", False),
        (b"\x01\x02".ljust(4_096, b"x") + b"\x03", True),
    ],
)  # fmt: skip
def test_three_control_characters_tell_a_binary_file(
    send: Send, start: bytes, is_text: bool
) -> None:
    submission = send(start + b"\xff\n" + PLAIN.encode())
    assert ("wrong format" not in kinds(submission)) is is_text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_text_with_half_of_its_characters_in_ascii_tells_its_encoding(
    send: Send, codec: str
) -> None:
    assert send(PLAIN.encode(codec)).faults == ()
    for n_foreign, is_known in ((len(PLAIN) - 2, True), (len(PLAIN) + 2, False)):
        submission = send((PLAIN + "\u0101" * n_foreign).encode(codec))
        assert ("NUL byte" not in kinds(submission)) is is_known


def test_a_file_of_one_column_has_no_empty_rows_at_its_end(send: Send) -> None:
    assert kinds(send("id\n" + "".join(f"{i:03d}\n" for i in range(N_ROWS)) + "   \n")) == {
        "missing column"
    }
    # The blanks are part of the texts of the only column.
    table = csv_file.read_csv(b"y\na  b\nc d\n", ("y",), SOLUTION_BOUNDS, FaultList())
    assert (table.names, table.columns[0].to_pylist()) == (("y",), ["a  b", "c d"])


def test_a_separator_at_the_end_of_each_row_is_no_name_of_the_row(send: Send) -> None:
    read = send(PLAIN.replace(",", ";").replace("0.5\n", "0.5;\n"))
    assert kinds(read) == {"too many fields", "missing id"}
    named = send("id;y\n" + "".join(f"{i};{i:03d};0.5\n" for i in range(N_ROWS)))
    assert kinds(named) == {"extra column"}  # R writes row names in this form


def test_a_record_beyond_the_last_one_is_in_the_last_line() -> None:
    rows = RowNumbers(b"id,y\n\na,1\nb,2\n", ",", frozenset([0]))
    # Record 0 is in line 3, and record 1, the first row, in line 4.
    assert [rows.line_of_record(record) for record in (0, 1, 2, 9)] == [3, 4, 4, 4]
    assert [rows(position) for position in (0, 1, 9)] == [4, 4, 4]
    assert RowNumbers(b"", ",").line_of_record(3) == 1


def test_lines_are_counted_without_quotes_in_a_field_that_is_too_long() -> None:
    before = csv.field_size_limit(4)
    try:
        rows = RowNumbers(b'id,y\n"aaaaa",1\n\nb,2\n', ",")
        assert [rows(position) for position in (0, 1)] == [2, 4]
    finally:
        csv.field_size_limit(before)
