"""Ids are compared as text, each must occur once, and the order does not matter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from arena.intake.alignment import are_consecutive_numbers, damage_of_ids
from arena.intake.alterations import ALTERATIONS, common_cause, reasons_of
from arena.intake.equal_texts import first_written, locate_equal
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
    unknown = only(read, "unknown id")
    assert (unknown.id, unknown.row, unknown.cause) == ("x1", N_ROWS + 2, None)
    assert unknown.message.endswith("is not an id of the solution: remove the row.")
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
    assert {"cut off" in str(fault.cause) for fault in read.faults} == {True}


def test_rows_that_are_missing_in_the_middle_were_not_cut_off(send: Send) -> None:
    lines = rows_of().splitlines(keepends=True)
    read = send("id,y\n" + "".join(lines[:3] + lines[5:]))
    assert {fault.kind for fault in read.faults} == {"missing id"}
    assert not any("cut off" in f"{fault.message} {fault.cause}" for fault in read.faults)


def test_long_and_hostile_ids_are_shown_harmlessly(send: Send) -> None:
    fault = only(send("id,y\n" + rows_of() + "\u202e\x07" + "q" * 5_000 + ",0.5\n"), "unknown id")
    assert fault.id is not None
    assert fault.id.isprintable()
    assert len(fault.id) < 300
    assert fault.message.isprintable()


def test_more_duplicates_than_are_kept_name_the_rows_of_their_own_ids(send: Send) -> None:
    read = send("id,y\n" + rows_of() + "".join(f"{i:03d},0.5\n" for i in reversed(range(25))))
    faults = [fault for fault in read.faults if fault.kind == "duplicate id"]
    assert [fault.id for fault in faults[:-1]] == [f"{i:03d}" for i in range(24, 4, -1)]
    for position, fault in enumerate(faults[:-1]):
        assert fault.row == N_ROWS + 2 + position
        assert f"already occurs in row {24 - position + 2}:" in fault.message
    assert faults[-1].message == "… and 5 more of this kind (duplicate id)."
    assert faults[-1].count == 5


def test_ids_that_differ_for_different_reasons_have_their_own_hints(
    send: Send, solve: Solve
) -> None:
    solution = solve("id,y\nab,1\n007,0\n8,1\ncd,0\n09,1\nef,0\n", PredictionKind.PROBABILITY)
    read = send("id,y\nAB,.5\n7,.5\n8.0,.5\ncd ,.5\n9.0,.5\n EF,.5\n", solution)
    said = {f.id: f.message for f in read.faults if f.kind == "unknown id"}
    expected = {
        "AB": "upper and lower case must match",
        "7": "leading zeros were lost or added, e.g.",
        "8.0": "a decimal number here or in the solution",
        "cd ": "there are spaces around it.",
        "9.0": "lost or added and it is written as a decimal",
        " EF": "spaces around it, and upper and lower case must match",
    }
    assert said.keys() == expected.keys()
    for id, hint in expected.items():
        assert hint in said[id]
    said = {f.id: f.message for f in read.faults if f.kind == "missing id"}
    assert "upper and lower case must match" in said["ab"]
    assert "leading zeros were lost or added, e.g." in said["007"]
    assert "perhaps there are spaces around it." in said["cd"]
    assert {fault.cause for fault in read.faults} == {None}


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        ("00{i:03d}", "zeros were lost or added"),
        ("{i}", "look like row numbers"),
        ("{j}", "look like row numbers"),
        (" {i:03d}", "differs only in case or spaces"),
        ("{i:03d}.0", "decimal numbers"),
        ("{k}", "is it the right file?"),
        ("{h}", None),
        ("x{i}", "is it the right file?"),
    ],
)
def test_the_likely_cause_of_unknown_ids(send: Send, written: str, cause: str | None) -> None:
    rows = "".join(
        written.format(i=i, j=i + 1, k=i + 500, h=2 * i) + ",0.5\n" for i in range(N_ROWS)
    )
    said = {fault.cause for fault in send("id,y\n" + rows).faults if fault.kind == "unknown id"}
    (found,) = said
    assert found is None if cause is None else cause in str(found)


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        ([4, 4, -1, -1], None),  # just half
        ([4, 4, -1, -1, -1], None),
        ([4, 0, 5, -1, -1], "differs only in case or spaces"),  # in three ways, one cause
        ([2, 2, 4, 0, -1], None),
        ([-1], None),
        ([], None),
    ],
)
def test_a_cause_applies_to_more_than_half_of_the_ids(
    reasons: list[int], cause: str | None
) -> None:
    assert common_cause(np.array(reasons, dtype=np.int8)) == cause


@pytest.mark.parametrize(
    ("damaged", "others", "cause"),
    [
        ("2-Mar", 9, "dates"),
        ("2-Mar", 10, None),
        ("Sep-01", 9, "dates"),
        ("1.2E+15", 9, "rounded"),
        ("1E+3", 9, None),
        ("9007199254740992.0", 9, "rounded"),
        ("123456789012345.0", 9, None),
        ("12-March", 9, None),
    ],
)
def test_a_tenth_of_damaged_ids_tells_the_cause(
    damaged: str, others: int, cause: str | None
) -> None:
    advice = damage_of_ids(pa.array([damaged, *(f"x{number}" for number in range(others))]))
    assert advice is None if cause is None else cause in (advice or "")


@pytest.mark.parametrize(
    ("ids", "are_row_numbers"),
    [
        (["0", "1", "2"], True),
        (["1", "2", "3"], True),
        (["2", "3", "4"], False),
        (["0", "1", "3"], False),
        (["1", "2", "2"], False),
        (["01", "02"], False),
        (["0", "x"], False),
        (["0"], True),
    ],
)
def test_ids_from_0_or_1_in_steps_of_one_are_row_numbers(
    ids: list[str], are_row_numbers: bool
) -> None:
    assert are_consecutive_numbers(pa.array(ids)) is are_row_numbers


@pytest.mark.parametrize(
    ("texts", "expected", "positions"),
    [
        (["e\u0301"], ["\u00e9", "e"], [0]),
        # Two expected ids are equal to the text: it is neither.
        (["\u00e9"], ["e\u0301", "\u00e9"], [-1]),
        (["2024-01-01T00:00"], ["2024-01-01", "2024-01-02"], [0]),
        (["2024-01-01T00:00Z"], ["2024-01-02T00Z", "2024-01-01 01:00+01:00"], [1]),
        # Years beyond the range of timestamps in nanoseconds.
        (["2500-01-01T00:00"], ["2500-01-01 00:00:00", "1000-01-01"], [0]),
        (["2500-01-01T00:00:00.0000001"], ["2500-01-01"], [-1]),
        (["2024-13-45T00:00"], ["2024-13-45", "2024-01-01"], [-1]),
        (["x"], [], [-1]),
    ],
)
def test_ids_are_found_in_another_way_of_writing(
    texts: list[str], expected: list[str], positions: list[int]
) -> None:
    located = locate_equal(pa.array(texts, pa.string()), pa.array(expected, pa.string()))
    assert located.tolist() == positions


ZEROS = (
    "leading zeros were lost or added, e.g. by opening the CSV file in a spreadsheet: write them "
    "as the sample submission has them, as text"
)
SPACES, AS_SAMPLE = "differs only in case or spaces", "write it as the sample submission"
OTHER_NUMBERS = (
    "numbers are written in another way, such as 1e3 for 1000: write them as the sample submission"
)
ALTERED = [  # an altered text, the original, the reason and the cause
    (" ab", "ab", "there are spaces around it", SPACES),
    ("7", "007", ZEROS, ZEROS),
    ("0007a", "7a", ZEROS, ZEROS),
    (
        "-7.00", "-7",
        "it is a decimal number here or in the solution: write 1 or 1.0, as the sample submission",
        "they are decimal numbers here or in the solution: write 1 or 1.0, as the sample "
        "submission",
    ),
    (
        "7.0", "007",
        "leading zeros were lost or added and it is written as a decimal number: write the column "
        "as text",
        ZEROS,
    ),
    ("AB", "ab", "upper and lower case must match", SPACES),
    ("AB ", "ab", "there are spaces around it, and upper and lower case must match", SPACES),
    (
        '="001"', "001",
        'it is a formula of a spreadsheet: write 001 and not ="001"',
        'there are formulas of a spreadsheet: write 001 and not ="001"',
    ),
    (
        "a\u200db", "ab",
        f"it has an invisible character: {AS_SAMPLE}",
        "there are invisible characters: write the texts of the sample submission",
    ),
    *(
        (
            altered, original,
            "only one of both has an offset from UTC: write times as the sample submission",
            "times have an offset from UTC here or in the solution only: write them as the sample "
            "submission",
        )
        for altered, original in (
            ("2024-01-01T05:30:00Z", "2024-01-01 05:30"),
            ("2024-01-01 05:30:01.5+0100", "2024-01-01T05:30:01.5"),
            ("2024-01-01T00:00:00.000-05:30", "2024-01-01"),
        )
    ),
    *(
        (altered, original, f"the number is written in another way: {AS_SAMPLE}", OTHER_NUMBERS)
        for altered, original in (
            ("1e3", "1000"), (".5", "0.50"), ("-0", "0"), ("+2.", "2"),
            ("9007199254740991", "9007199254740991.0e0"),
        )
    ),
    (
        "\uff17a", "7a",
        "it has characters that look like others, such as a non-breaking space or wide digits: "
        "copy the text from the sample submission",
        "there are characters that look like others, such as non-breaking spaces or wide digits: "
        "copy the texts from the sample submission",
    ),
    *(
        (
            altered, original,
            "it was read in a wrong encoding: read and write UTF-8",
            "the texts were read in a wrong encoding, such as \u00c3\u00a9 for \u00e9: read and "
            "write UTF-8",
        )
        for altered, original in (
            ("\u00c3\u00a9", "\u00e9"), ("\u00e2\u201a\u00ac", "\u20ac"),
            ("\u00c3\u0081", "\u00c1"),
        )
    ),
    *(
        (
            altered, "ab",
            "it has quotation marks or brackets around it: write it without them",
            "there are quotation marks or brackets around the texts: write them without",
        )
        for altered in ("b'ab'", '"ab"', "[ab]", "\u2018ab\u2019", "(ab")
    ),
    *(
        (
            altered, original,
            "it has the ending or the folder of a file here or in the solution: write it as the "
            "sample submission",
            "there are endings or folders of files here or in the solution only: write the texts "
            "of the sample submission",
        )
        for altered, original in (
            ("x/ab.nii.gz", "ab"), ("ab", "ab.jpeg2"), ("C:\\x\\ab", "ab"),
        )
    ),
    *(
        (altered, original, None, None)
        for altered, original in (
            ("ab", "abc"), ("ab.jpeg20", "ab"), ("ab.1", "ab"),
            ("9007199254740992", "9007199254740992.0e0"), ("1e1000", "2e1000"),
            ("1e-17", "2e-17"),
            ("2024-01-01T05:30:00Z", "2024-01-01"),
        )
    ),
]  # fmt: skip


def test_what_has_happened_to_a_text_is_said() -> None:
    for number, (altered, original, reason, cause) in enumerate(ALTERED):
        texts = (altered, original) if number % 2 else (original, altered)
        text, other = (pa.array([text], pa.string()) for text in texts)
        reasons = reasons_of(text, other)
        alteration = None if reasons[0] < 0 else ALTERATIONS[reasons[0]]
        assert (alteration and alteration.reason) == reason, texts
        assert common_cause(reasons) == cause, texts
    assert reasons_of(pa.array(["a"]), pa.array([], pa.string())).tolist() == [-1]
    texts, others = pa.array(["AB", "x", " cd"]), pa.array(["cd", "ab"])
    reasons_found = [
        None if place < 0 else ALTERATIONS[place].reason for place in reasons_of(texts, others)
    ]
    assert reasons_found == ["upper and lower case must match", None, "there are spaces around it"]


def test_the_first_way_of_writing_a_time_is_kept() -> None:
    written = ["2500-01-01", "2024-01-01T00:00Z", "x", "2024-01-01 01:00+01:00", "2500-01-01T00:00"]
    assert first_written(written) == [*written[:3], written[1], written[0]]
    assert first_written(["b", "a"]) == ["b", "a"]
