"""Texts as targets and as predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.errors import InputError
from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.interfaces import PlainTable
from arena.types import MetricTraits, PredictionKind, Solution, SolutionColumns
from submission_files import Send, Solve

TEXT = PredictionKind.TEXT
CELLS = ["", " a  b ", "naïve 日本", "1,5", "007", "line\nbreak", 'a "quoted" one', "NA"]


def _csv(column: str, cells: list[str]) -> str:
    rows = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return f"id,{column}\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(rows))


@pytest.fixture
def texts(solve: Solve) -> Solution:
    return solve(_csv("words", CELLS), TEXT)


def test_the_truth_is_what_is_written(texts: Solution) -> None:
    assert texts.truth.tolist() == CELLS
    assert texts.truth.dtype == object
    assert (texts.columns, texts.targets[0].classes) == (("words",), None)


def test_cells_are_taken_as_they_are_written_and_put_in_order(texts: Solution, send: Send) -> None:
    lines = _csv("words", CELLS)
    read = send(lines, texts)
    assert read.values is not None
    assert read.values[:, 0].tolist() == CELLS
    reordered = "words,id\n" + "".join(f"w{i},{i}\n" for i in reversed(range(len(CELLS))))
    again = send(reordered, texts)
    assert again.values is not None
    assert again.values[:, 0].tolist() == [f"w{i}" for i in range(len(CELLS))]


def test_a_decimal_comma_is_no_matter_of_texts(texts: Solution, send: Send) -> None:
    rows = "".join(f"{i};1,5 2.5\n" for i in range(len(CELLS)))
    read = send("id;words\n" + rows, texts)
    assert read.values is not None
    assert set(read.values[:, 0].tolist()) == {"1,5 2.5"}


def test_parquet_of_text_and_of_numbers(texts: Solution, tmp_path: Path) -> None:
    ids = [str(i) for i in range(len(CELLS))]
    for column in (pa.array(CELLS), pa.array([*range(len(CELLS) - 1), None])):
        pq.write_table(pa.table({"id": ids, "words": column}), tmp_path / "t.parquet")
        read = parse_submission(tmp_path / "t.parquet", SubmissionForm.of(texts))
        assert read.values is not None
        expected = ["" if cell is None else str(cell) for cell in column.to_pylist()]
        assert read.values[:, 0].tolist() == expected


def test_bytes_that_are_no_text_are_faults(texts: Solution, send: Send, tmp_path: Path) -> None:
    assert send(b"id,words\n0,\xff\n", texts).faults[0].kind == "wrong encoding"
    ids = [str(i) for i in range(len(CELLS))]
    for cell, kind in ((b"\xff", "wrong encoding"), (b"a\0b", "NUL byte")):
        table = pa.table({"id": ids, "words": pa.array([cell] * len(CELLS))})
        pq.write_table(table, tmp_path / "t.parquet")
        read = parse_submission(tmp_path / "t.parquet", SubmissionForm.of(texts))
        assert {fault.kind for fault in read.faults} == {kind}


def test_ids_and_sizes_are_checked_as_ever(texts: Solution, send: Send) -> None:
    assert {fault.kind for fault in send("id,words\n0,a\n0,b\nx,c\n", texts).faults} == {
        *("unknown id", "duplicate id", "missing id"),
    }
    assert send(_csv("words", CELLS), texts, max_bytes=50).faults[0].kind == "file too large"


def test_empty_cells_are_refused_where_the_metric_has_no_use_for_them(
    texts: Solution, send: Send
) -> None:
    content = _csv("words", ["a", "  ", *["b"] * (len(CELLS) - 2)])
    assert send(content, texts).values is not None
    (fault,) = send(content, texts, modality=PlainTable(empty_cells=False)).faults
    assert (fault.kind, fault.row, fault.id, fault.column) == ("empty cell", 3, "1", "words")


def test_columns_of_a_submission_may_be_others_than_the_targets(solve: Solve, send: Send) -> None:
    columns = ("guess", "second")
    solution = solve(
        "id,y,z,Usage\n1,a,b,Public\n2,c,d,Ignored\n",
        TEXT,
        targets=("y", "z"),
        submission=columns,
    )
    assert solution.truth.tolist() == [["a", "b"], ["", ""]]
    assert (solution.columns, [target.name for target in solution.targets]) == (columns, ["y", "z"])
    read = send("second,id,guess\nq,1,p\ns,2,r\n", solution)
    assert read.values is not None
    assert read.values.tolist() == [["p", "q"], ["r", "s"]]


@pytest.mark.parametrize("columns", [("id",), ("a", "a"), (" ",)])
def test_columns_of_a_submission_have_names_of_their_own(solve: Solve, columns: Any) -> None:
    with pytest.raises(InputError, match="A submission cannot have"):
        solve("id,y\n1,a\n", TEXT, submission=columns)


def test_columns_beside_the_targets_are_numbers_and_no_targets(solve: Solve) -> None:
    content = "id,time,event,Usage\na,1.5,1,Public\nb,2,0,Private\nc,x,y,Ignored\n"
    extra = ("event", "missing")
    solution = solve(content, PredictionKind.VALUE, traits=MetricTraits(extra_columns=extra))
    assert solution.columns == ("time",)
    assert {name: values.tolist() for name, values in solution.extra.items()} == {
        "event": [1.0, 0.0, 0.0]
    }
    with pytest.raises(InputError, match="row 3, id 'b', column 'event'"):
        solve(
            content.replace("2,0", "2,no"),
            PredictionKind.VALUE,
            traits=MetricTraits(extra_columns=extra),
        )


def test_a_target_that_is_named_is_no_column_beside(tmp_path: Path) -> None:
    path = tmp_path / "solution.csv"
    path.write_text("id,event\na,1\n")
    solution = read_solution(
        path,
        kind=PredictionKind.VALUE,
        columns=SolutionColumns(targets=("event",)),
        traits=MetricTraits(extra_columns=("event",)),
    )
    assert (solution.columns, dict(solution.extra)) == (("event",), {})
    np.testing.assert_array_equal(solution.truth, [1.0])


ROWS = "u\nv\nu\n"


@pytest.mark.parametrize(
    ("content", "no_header"),
    [
        (f"label\n{ROWS}", ["label"]),
        ("id,label\n7,u\n9,v\n3,u\n", ["label"]),
        ("the\tDT\tu\ncat\tNN\tv\n\nof\tIN\tu\n", ["token", "tag", "label"]),
        ('{"n": 7, "label": "u"}\n{"n": 9, "label": "v"}\n{"n": 3, "label": "u"}\n', ["label"]),
    ],
    ids=["a column", "ids that are not used", "no header", "records"],
)
def test_rows_without_ids_are_numbered_in_the_order_of_the_file(
    solve: Solve, send: Send, content: str, no_header: list[str]
) -> None:
    roles: dict[str, Any] = {"id": "line", "targets": ("label",), "no_header": tuple(no_header)}
    solution = solve(content, PredictionKind.LABEL, **roles)
    assert solution.ids.to_pylist() == ["1", "2", "3"]
    assert solution.truth.tolist() == [0, 1, 0]
    for submission in (ROWS, "line,label\n3,u\n1,u\n2,v\n"):
        read = send(submission, solution, name="t.txt", header=("label",))
        assert read.values is not None, read.faults
        assert read.values.tolist() == [[0], [1], [0]]
    (fault,) = send("u\nv\n", solution, name="t.txt", header=("label",)).faults
    assert (fault.kind, fault.id) == ("missing id", "3")


def test_blocks_of_lines_are_texts_or_lists_of_them(solve: Solve, send: Send) -> None:
    roles: dict[str, Any] = {"id": "block", "no_header": ("text",)}
    solution = solve("a cat\nthe cat\n\nno dog\n\n\none\nan\n", TEXT, **roles)
    assert solution.ids.to_pylist() == ["1", "2", "3"]
    assert solution.truth.tolist() == ['["a cat", "the cat"]', "no dog", '["one", "an"]']
    for submission in ("the cat\ndog\nan\n", "the cat\n\ndog\n\nan\n"):
        read = send(submission, solution, name="t.txt", header=("text",))
        assert read.values is not None, read.faults
        assert read.values[:, 0].tolist() == ["the cat", "dog", "an"]
