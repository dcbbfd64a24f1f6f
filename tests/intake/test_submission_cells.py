"""Every fault of a cell is reported with its row, id and column."""

from __future__ import annotations

import numpy as np
import pytest

from arena.interfaces.faults import FAULTS_OF_A_KIND, fault_lines, group_faults
from arena.types import PredictionKind, Solution
from submission_files import Send, Solve, kinds, only, rows_of

CELLS = [
    ("abc", "not a number", "'abc'"),
    ("0x1F", "not a number", "'0x1F'"),
    ("1_0", "not a number", "'1_0'"),
    ("\u0661", "not a number", "\u0661"),
    ("True", "not a number", "'True'"),
    # The file itself contains the replacement character; no byte of it was replaced.
    ("\ufffd", "not a number", "'\ufffd'"),
    ("0.\ufffd5", "not a number", "'0.\ufffd5'"),
    ("", "empty cell", "empty"),
    ("   ", "empty cell", "empty"),
    ("NaN", "NaN", "'NaN'"),
    ("N/A", "NaN", "'N/A'"),
    ("null", "NaN", "'null'"),
    ("inf", "infinite value", "'inf'"),
    ("-Infinity", "infinite value", "'-Infinity'"),
    ("1e999", "infinite value", "'1e999'"),
    ('"0,5"', "decimal comma", "'0,5'"),
    ("1.5", "out of range", "1.5"),
    ("-1e-9", "out of range", "-1e-09"),
    ("1e300", "out of range", "1e+300"),
]


@pytest.mark.few(8)
@pytest.mark.parametrize(("cell", "kind", "said"), CELLS)
def test_bad_cell_is_reported_with_its_place(send: Send, cell: str, kind: str, said: str) -> None:
    fault = only(send("id,y\n" + rows_of({7: cell})), kind)
    assert (fault.row, fault.id, fault.column) == (9, "007", "y")
    assert said in fault.message


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "cell", ["1.000,5", "1,000.5", "1,234,567", "0,5 %", "0,5x", "1,5e999", "-1,5e400", "a,b"]
)
def test_a_bad_cell_is_quoted_as_it_is_written_among_decimal_commas(send: Send, cell: str) -> None:
    rows = [f"{row:03d};{cell if row == 7 else '0,5'}\n" for row in range(30)]
    (fault,) = (f for f in send("id;y\n" + "".join(rows)).faults if f.row == 9 and f.column)
    assert f"'{cell}'" in fault.message


def test_a_replacement_character_in_the_file_is_no_label_and_no_id(
    send: Send, solve: Solve
) -> None:
    solution = solve(
        "id,y\n" + "".join(f"{i:03d},{'ab'[i % 2]}\n" for i in range(30)), PredictionKind.LABEL
    )
    text = "id,y\n" + "".join(f"{i:03d},a\n" for i in range(29))
    label = send(text + "029,\ufffd\n", solution)
    assert kinds(label) == {"unknown label"}
    stranger = send(text + "029,a\n0\ufffd1,a\n", solution)
    assert kinds(stranger) == {"unknown id"}


@pytest.mark.parametrize("cell", ["+.5", " 0.5 ", "5e-1", "5E-1", "0.5\t", '"0.5"', "1.", "1e-999"])
def test_number_in_any_usual_form_is_read(send: Send, cell: str) -> None:
    read = send("id,y\n" + rows_of({7: cell}))
    assert read.values is not None
    assert read.values[7, 0] == float(cell.strip('"'))


def test_all_bad_cells_are_reported_at_once(send: Send) -> None:
    read = send("id,y\n" + rows_of({3: "abc", 4: "nan", 5: "", 6: "inf", 7: "2", 8: "x"}))
    assert sorted((fault.row, fault.kind) for fault in read.faults) == [
        (5, "not a number"),
        (6, "NaN"),
        (7, "empty cell"),
        (8, "infinite value"),
        (9, "out of range"),
        (10, "not a number"),
    ]


def test_faults_of_a_kind_are_counted_after_twenty(send: Send) -> None:
    bad = dict.fromkeys(range(25), "bad")
    read = send("id,y\n" + rows_of(bad))
    assert len(read.faults) == FAULTS_OF_A_KIND + 1
    assert "5 more" in read.faults[-1].message
    assert read.faults[-1].row is None


def test_range_of_the_metric_is_held(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,1.5\nb,2\n", PredictionKind.VALUE)
    read = send("id,y\na,-0.5\nb,3\n", solution, prediction_range=(0, np.inf))
    fault = only(read, "out of range")
    assert (fault.row, fault.id, fault.column) == (2, "a", "y")
    assert send("id,y\na,-0.5\nb,3\n", solution).values is not None


def test_text_of_a_participant_is_shortened_and_escaped(send: Send) -> None:
    read = send("id,y\n" + rows_of({7: "\x1b[2J\u202e" + "z" * 10_000}))
    message = only(read, "not a number").message
    assert len(message) < 200
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert "\\x1b[2J\\u202e" in message


# -- probabilities of several classes ----------------------------------------------------------


@pytest.fixture
def three(solve: Solve) -> Solution:
    return solve("id,y\na,cat\nb,dog\nc,eel\n", PredictionKind.CLASS_PROBABILITIES)


def test_class_probabilities_are_read_in_any_order_of_columns(send: Send, three: Solution) -> None:
    read = send("eel,id,cat,dog\n0.7,c,0.1,0.2\n0,a,1,0\n0.2004,b,0.3,0.5\n", three)
    assert read.values is not None
    assert read.values.flags.c_contiguous
    np.testing.assert_allclose(read.values, [[1, 0, 0], [0.3, 0.5, 0.2004], [0.1, 0.2, 0.7]])


def test_class_probabilities_must_sum_to_one(send: Send, three: Solution) -> None:
    read = send("id,cat,dog,eel\na,1,0,0\nb,0.5,0.5,0.5\nc,0.1,0.2,0.7\n", three)
    fault = only(read, "probabilities do not sum to 1")
    assert (fault.row, fault.id) == (3, "b")
    assert "1.5" in fault.message


def test_both_classes_of_a_binary_target_are_reduced_to_the_positive(
    send: Send, solve: Solve
) -> None:
    solution = solve("id,y\na,no\nb,yes\n", PredictionKind.CLASS_PROBABILITIES)
    assert solution.columns == ("y",)
    for content in ("id,y\nb,0.7\na,0.2\n", "id,yes,no\nb,0.7,0.3\na,0.2,0.8\n"):
        read = send(content, solution)
        assert read.values is not None
        assert read.values.tolist() == [[0.2], [0.7]]
        assert read.values.flags.c_contiguous
    bad = send("id,yes,no\nb,0.7,0.4\na,0.2,0.8\n", solution)
    assert only(bad, "probabilities do not sum to 1").id == "b"


# -- labels ------------------------------------------------------------------------------------


def test_labels_become_codes(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,cat\nb,dog\nc,eel\n", PredictionKind.LABEL)
    read = send("id,y\nc,cat\na,eel\nb,dog\n", solution)
    assert read.values is not None
    assert read.values.tolist() == [[2], [1], [0]]


@pytest.mark.parametrize("label", ["Cat", " cat", "mouse", "cat\u200b"])
def test_unknown_label_is_shown_and_no_true_one(send: Send, solve: Solve, label: str) -> None:
    solution = solve("id,y\na,cat\nb,dog\nc,eel\n", PredictionKind.LABEL)
    fault = only(send(f"id,y\na,dog\nb,{label}\nc,eel\n", solution), "unknown label")
    assert (fault.row, fault.id, fault.column) == (3, "b", "y")
    assert "dog" not in fault.message
    assert "eel" not in fault.message


def test_empty_label_is_an_empty_cell(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,cat\nb,dog\n", PredictionKind.LABEL)
    assert only(send("id,y\na,\nb,dog\n", solution), "empty cell").row == 2


@pytest.mark.parametrize("label", ["1", "1.0", "1e0", " 1", "+1"])
def test_numeric_labels_are_compared_by_value(send: Send, solve: Solve, label: str) -> None:
    solution = solve("id,y\na,1\nb,2\nc,10\n", PredictionKind.LABEL)
    assert solution.targets[0].classes == ("1", "2", "10")
    read = send(f"id,y\na,{label}\nb,10\nc,2.0\n", solution)
    assert read.values is not None
    assert read.values.tolist() == [[0], [2], [1]]
    assert kinds(send("id,y\na,1.5\nb,10\nc,nan\n", solution)) == {"unknown label"}


@pytest.mark.parametrize(
    ("kind", "cells", "fault", "cause"),
    [
        ("probability", ("50", "7.5"), "out of range", "percentages"),
        ("probability", ("-2.5", "300"), "out of range", "scores or log-odds"),
        ("probability", ("50%", "7 %"), "not a number", "percentages"),
        ("label", ("0.75", "0.25"), "unknown label", "probabilities"),
        ("label", ("CAT", " dog"), "unknown label", "differs only in case or spaces"),
        ("label", ("407.5", "-3.25"), "unknown label", "measured values"),
        ("label", ("3", "7"), "unknown label", None),
        ("label", ("eel", "ant"), "unknown label", None),
    ],
)
def test_the_likely_cause_of_bad_cells(
    send: Send, solve: Solve, kind: str, cells: tuple[str, str], fault: str, cause: str | None
) -> None:
    solution = solve("id,y\na,cat\nb,dog\n", PredictionKind(kind))
    read = send(f"id,y\na,{cells[0]}\nb,{cells[1]}\n", solution)
    (group,) = group_faults(read.faults)
    assert (group.kind, group.count, len(group.examples)) == (fault, 2, 2)
    assert (group.cause is None) == (cause is None)
    assert (cause or "") in (group.cause or "")


def test_faults_are_printed_by_kind_with_a_count_and_three_examples(send: Send) -> None:
    lines = fault_lines(send("id,y\n" + rows_of(dict.fromkeys(range(25), "50"))).faults)
    assert lines[0].startswith("out of range (25): looks like percentages")
    assert [line[:9] for line in lines[1:]] == ["  row 2, ", "  row 3, ", "  row 4, "]


@pytest.mark.parametrize(
    ("cells", "cause"),
    [
        (("100", "0"), "percentages"),
        (("100.5", "0"), "scores"),
        (("50", "-0.5"), "scores"),
        (("50", "0.5"), "percentages"),
    ],
)
def test_numbers_from_0_to_100_are_percentages_and_others_scores(
    send: Send, cells: tuple[str, str], cause: str
) -> None:
    faults = send("id,y\n" + rows_of({3: cells[0], 4: cells[1]})).faults
    assert [fault.cause.split(":")[0] for fault in faults if fault.cause] == [
        "looks like percentages" if cause == "percentages" else "looks like scores or log-odds"
    ] * len(faults)


@pytest.mark.parametrize(
    ("cells", "cause"),
    [
        (("0.25", "0.5", "0"), "looks like probabilities"),
        (("0.25", "0.5", "1"), "looks like probabilities"),
        (("0.25", "0.5", "-0.5"), "looks like measured values"),
        (("0.25", "1.5", "1"), "looks like measured values"),
        (("0.25", "1", "2"), None),  # most are whole numbers, which may be other labels
        (("0.25", "1"), None),
    ],
)
def test_unknown_labels_of_which_most_are_fractions_are_probabilities_or_values(
    send: Send, solve: Solve, cells: tuple[str, ...], cause: str | None
) -> None:
    rows = "".join(f"{i:03d},{'ab'[i % 2]}\n" for i in range(len(cells), 30))
    labels = "".join(f"{i:03d},{cell}\n" for i, cell in enumerate(cells))
    truth = "".join(f"{i:03d},a\n" for i in range(len(cells)))
    solution = solve(f"id,y\n{truth}{rows}", PredictionKind.LABEL)
    faults = send(f"id,y\n{labels}{rows}", solution).faults
    assert {fault.cause and fault.cause[: len(cause or "")] for fault in faults} == {cause}


@pytest.mark.parametrize(("second", "is_explained"), [("6 kg", True), ("x", False)])
def test_a_form_of_more_than_half_of_the_wrong_cells_explains_them(
    send: Send, second: str, is_explained: bool
) -> None:
    read = send("id,y\n" + rows_of({3: "5 kg", 4: second}))
    assert kinds(read) == {"not a number"}
    assert any(fault.cause is not None for fault in read.faults) is is_explained


@pytest.mark.parametrize(
    ("classes", "cell", "label"),
    [
        (("1000", "2"), "1e3", "1000"),
        (("1000", "2"), "2.0", "2"),
        (("1000", "2"), "1_000", None),
        (("1000", "2"), "\u0662", None),  # an Arabic digit 2
        (("0", "1"), "True", "1"),
        (("0", "1"), "false", "0"),
        (("1", "2"), "True", None),
        (("True", "False"), "1.0", "True"),
    ],
)
def test_labels_that_are_numbers_are_compared_by_value(
    send: Send, solve: Solve, classes: tuple[str, str], cell: str, label: str | None
) -> None:
    solution = solve(f"id,y\na,{classes[0]}\nb,{classes[1]}\n", PredictionKind.LABEL)
    read = send(f"id,y\na,{cell}\nb,{classes[1]}\n", solution)
    if label is None:
        assert only(read, "unknown label").row == 2
    else:
        assert read.values is not None
        known = solution.targets[0].classes
        assert known is not None
        assert read.values[0, 0] == known.index(label)
