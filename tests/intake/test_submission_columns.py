"""Faults of the header: missing, extra, repeated, misnamed and swapped columns."""

from __future__ import annotations

import string
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.intake.columns import SubmissionForm, match_columns
from arena.intake.table import Bounds
from arena.interfaces import TABLE
from arena.interfaces.faults import FaultList
from arena.types import PredictionKind, Target
from arena_metrics.modalities import MASKS, ROW_SETS
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
    matched = match_columns(names, ["id", "humidity", "temperature", "wind speed"], faults, row=1)
    assert matched == {"id": 0, "temperature": 1, "humidity": 2, "wind speed": 3}
    messages = {fault.column: fault.message for fault in faults.to_tuple()}
    assert messages == {
        name: f"Column {name!r} is unknown; did you mean {meant!r}? Rename it."
        for name, meant in [
            ("temprature", "temperature"), ("humidty", "humidity"), ("windspeed", "wind speed")
        ]
    }  # fmt: skip


def test_a_name_that_is_like_no_other_is_not_guessed() -> None:
    faults = FaultList()
    matched = match_columns(["id", "rain", "snow"], ["id", "humidity", "temperature"], faults)
    assert matched == {"id": 0}
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
    sets = replace(form, modality=ROW_SETS)
    assert sets.bounds == Bounds(10_000 * 30 + 100_000, 2 * 7 + 10_000, form.max_bytes)
    memory = 2**28 + 16 * (form.ids.nbytes + 30 * 3 * 32)
    assert form.max_memory == memory
    text = replace(form, kind=PredictionKind.TEXT)
    assert text.max_memory == memory + 16 * form.max_bytes


def _form(
    kind: PredictionKind, columns: tuple[str, ...], *classes: tuple[str, ...] | None, **more: Any
) -> SubmissionForm:
    targets = tuple(Target(f"t{position}", labels) for position, labels in enumerate(classes))
    return SubmissionForm("id", columns, targets, kind, pa.array(["a"]), **more)


_TWO = ("no", "yes")


@pytest.mark.parametrize(
    ("form", "names", "columns", "sums", "keeps_last"),
    [
        (_form(PredictionKind.PROBABILITY, ("y",), _TWO), ["id", "y"], ("y",), False, False),
        (_form(PredictionKind.PROBABILITY, ("y",), _TWO), ["id", *_TWO], _TWO, True, True),
        (_form(PredictionKind.PROBABILITY, ("yes",), _TWO), ["id", *_TWO], _TWO, True, True),
        # Not both classes, or also the column itself.
        (_form(PredictionKind.PROBABILITY, ("y",), _TWO), ["id", "yes"], ("y",), False, False),
        (_form(PredictionKind.PROBABILITY, ("y",), _TWO), ["y", *_TWO], ("y",), False, False),
        # No probabilities, several targets, three classes.
        (_form(PredictionKind.LABEL, ("y",), _TWO), ["id", *_TWO], ("y",), False, False),
        (
            _form(PredictionKind.PROBABILITY, ("y", "z"), _TWO, _TWO), ["id", *_TWO],
            ("y", "z"), False, False,
        ),
        (
            _form(PredictionKind.PROBABILITY, ("y",), ("a", "b", "c")), ["id", "a", "b", "c"],
            ("y",), False, False,
        ),
        (
            _form(PredictionKind.CLASS_PROBABILITIES, ("a", "b", "c"), ("a", "b", "c")),
            ["id", "a", "b", "c"], ("a", "b", "c"), True, False,
        ),
        (
            _form(PredictionKind.CLASS_PROBABILITIES, ("a", "b"), ("a", "b", "c")),
            ["id", "a", "b"], ("a", "b"), True, False,
        ),
        (
            _form(PredictionKind.CLASS_PROBABILITIES, ("a",), ("a", "b", "c")),
            ["id", "a"], ("a",), False, False,
        ),
        (
            _form(PredictionKind.CLASS_PROBABILITIES, ("y", "z"), _TWO, _TWO), ["id", "y", "z"],
            ("y", "z"), False, False,
        ),
        (_form(PredictionKind.VALUE, ("y", "z"), None, None), [], ("y", "z"), False, False),
    ],
)  # fmt: skip
def test_what_a_file_must_hold_follows_from_its_columns(
    form: SubmissionForm, names: list[str], columns: tuple[str, ...], sums: bool, keeps_last: bool
) -> None:
    layout = form.layout(names)
    assert (layout.columns, layout.sums_to_one, layout.keeps_last) == (columns, sums, keeps_last)


@pytest.mark.parametrize(
    ("kind", "given", "bounds"),
    [
        (PredictionKind.VALUE, None, (-np.inf, np.inf)),
        (PredictionKind.VALUE, (-2.0, 5.0), (-2.0, 5.0)),
        (PredictionKind.PROBABILITY, None, (0.0, 1.0)),
        (PredictionKind.PROBABILITY, (-2.0, 5.0), (0.0, 1.0)),
        (PredictionKind.CLASS_PROBABILITIES, (0.25, 0.75), (0.25, 0.75)),
    ],
)
def test_probabilities_lie_in_the_range_of_predictions_and_between_0_and_1(
    kind: PredictionKind, given: tuple[float, float] | None, bounds: tuple[float, float]
) -> None:
    more = {} if given is None else {"prediction_range": given}
    assert _form(kind, ("y",), _TWO, **more).layout(["id", "y"]).bounds == bounds


def test_a_form_is_a_table_with_empty_cells_unless_another_modality_is_given(solve: Solve) -> None:
    form = _form(PredictionKind.TEXT, ("y", "z"), ("a",), ("b", "c"))
    assert form.modality == TABLE
    assert TABLE.empty_cells
    assert form.classes == ("a",)  # those of the first target
    assert form.names == ("id", "y", "z", "a")
    solution = solve("id,y\na,1\nb,2\n", PredictionKind.TEXT)
    sized = replace(solution, extra={"height": np.array([3.0, 4]), "width": np.array([5.0, 6])})
    assert SubmissionForm.of(sized).sizes is None
    shapes = SubmissionForm.of(sized, modality=MASKS).sizes
    assert shapes is not None
    assert shapes.tolist() == [[3, 5, 0], [4, 6, 0]]


def test_the_most_similar_name_is_guessed() -> None:
    faults = FaultList()
    matched = match_columns(["humidi", "humidit", "q"], ["humidity", "zzz"], faults)
    assert matched == {"humidity": 1}


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["id", "rain", "snow"], ["id", "humidity"]), (["id", "rain"], ["id", "humidity", "wind"])],
)
def test_only_one_name_that_is_left_is_taken_for_the_only_one_missing(
    names: list[str], expected: list[str]
) -> None:
    assert match_columns(names, expected, FaultList()) == {"id": 0}
    assert match_columns(["id", "rain"], ["id", "humidity"], FaultList()) == {
        "id": 0,
        "humidity": 1,
    }


def test_at_most_twenty_names_are_guessed() -> None:
    expected = [8 * chr(ord("a") + number) + "x" for number in range(22)]
    matched = match_columns([name[:-1] for name in expected], expected, FaultList())
    assert matched == {name: position for position, name in enumerate(expected[:20])}


@pytest.mark.parametrize(("longer", "guessed"), [(0, True), (1, False)])
@pytest.mark.parametrize("which", ["written", "expected"])
def test_names_of_up_to_a_hundred_characters_are_guessed(
    which: str, longer: int, guessed: bool
) -> None:
    long, short = (100 + longer) * "a", 95 * "a"
    name, written = (short, long) if which == "written" else (long, short)
    matched = match_columns([written, "rain", "snow"], [name, "humidity"], FaultList())
    assert matched == ({name: 0} if guessed else {})


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


def test_missing_header_is_recognised_where_its_label_is_also_a_class(
    send: Send, solve: Solve
) -> None:
    solution = solve("id,y\na,7\nb,3\nc,7\nd,3\n", PredictionKind.LABEL)
    read = send("a,7\nb,3\nc,7\nd,3\n", solution)
    assert kinds(read) == {"no header"}


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


def fault_counts(names: list[str], expected: list[str]) -> list[str]:
    """Return the kinds of faults of a header, and how many there are of each."""
    faults = FaultList()
    match_columns(names, expected, faults)
    counts = Counter(fault.kind for fault in faults.to_tuple())
    return [f"{count} {kind}" for kind, count in counts.items()]


def test_twenty_misspelt_names_are_guessed_and_none_of_over_a_hundred_letters() -> None:
    for n_names, faults in (
        (20, ["20 misnamed column"]),
        (22, ["20 misnamed column", "2 missing column", "2 extra column"]),
    ):
        expected = [f"value_{letter}" for letter in string.ascii_letters[:n_names]]
        assert fault_counts([name.replace("alu", "lau") for name in expected], expected) == faults
    for length, faults in (
        (100, ["2 misnamed column"]),
        (101, ["2 missing column", "2 extra column"]),
    ):
        expected = ["p" * length, "q" * length]
        assert fault_counts([f"{name[1:]}z" for name in expected], expected) == faults
