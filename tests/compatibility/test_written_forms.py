"""One way of writing is read as the plain one, or refused for what it is; none is misread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import arena
from arena.errors import ArenaError, InputError, UsageError
from arena.intake import (
    CaseColumns,
    SubmissionForm,
    case_scores_of,
    parse_submission,
    read_case_table,
    read_solution,
    solution_source,
    submission_file,
)
from arena.intake.submission import parse_table
from arena.plugin.manager import PluginManager
from arena.scoring.case_matrix import case_matrix
from arena.scoring.rank import CaseSettings, read_cases
from arena.types import PredictionKind, Solution, SolutionColumns
from submission_files import parquet

IDS, VALUES = ["a", "b", "c"], [0.5, 1.25, 2.0]


def _csv(ids: list[Any] = IDS, values: list[Any] = VALUES, mark: str = ",", end: str = "\n") -> str:
    rows = [("id", "y"), *zip(ids, values, strict=True)]
    return "".join(f"{id}{mark}{value}{end}" for id, value in rows)


def _solution(path: Path, content: str, kind: PredictionKind = PredictionKind.VALUE) -> Solution:
    path.write_text(content)
    return read_solution(path, kind=kind, columns=SolutionColumns(targets=("y",)))


SAME = {
    "bars": _csv(mark="|"),
    "blanks": _csv(mark=" "),
    "aligned": _csv(mark="    "),
    "quoted, blanks": _csv([f'"{id}"' for id in IDS], mark=" "),
    "R's names of rows": '"id" "y"\n"1" "a" 0.5\n"2" "b" 1.25\n"3" "c" 2\n',
    "comments": "# by x, y, z\n# and others\n" + _csv(),
    "comments, blanks": "# made by some program\n" + _csv(mark=" "),
    "empty rows at the end": _csv() + ",\n,\n",
    "space around values": _csv(values=[" 0.5", "1.25 ", 2]),
    "decimal commas": _csv(values=["0,5", "1,25", "2"], mark="|"),
    "three decimals": _csv(values=["0.500", "1.250", "2.000"], mark=";"),
}


@pytest.mark.parametrize("content", SAME.values(), ids=SAME)
def test_texts_are_read_as_the_plain_one(tmp_path: Path, content: str) -> None:
    solution = _solution(tmp_path / "s.csv", content)
    assert solution.ids.to_pylist() == IDS
    assert solution.truth.tolist() == VALUES
    if "R's" not in content and not content.startswith('"id" "y"'):
        (tmp_path / "t.csv").write_text(content)
        read = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution))
        assert read.values is not None, read.faults
        assert read.values.ravel().tolist() == VALUES


REFUSED = {
    "thousands": (_csv(values=["1,500", "2", "3"], mark=";"), "unclear comma", 2),
    "thousands, points": (_csv(values=["1.500", "2", "3"], mark=";"), "unclear point", 2),
    "thousands, quoted": (_csv(values=['"1,500"', "2", "3"]), "decimal comma", 2),
    "header again": (_csv() + "id,y\n", "repeated header", 5),
    "objects and values": ('{"a": {"y": 0.5}, "b": 1.25, "c": 2}', "mixed values", None),
    "SQuAD, damaged": (
        '{"data": [{"paragraphs": [{"qas": [{"id": "a", "answers": [{"text": []}]}]}]}]}',
        "damaged file",
        None,
    ),
    "list": ("[0.5, 1.25, 2]", "not an object", 1),
    "empty": ("id,y\n,\n", "no rows", None),
}


@pytest.mark.parametrize(("content", "kind", "row"), REFUSED.values(), ids=REFUSED)
def test_texts_are_refused_for_what_they_are(
    tmp_path: Path, content: str, kind: str, row: int | None
) -> None:
    solution = _solution(tmp_path / "s.csv", _csv())
    (tmp_path / "t.csv").write_text(content)
    faults = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution)).faults
    assert (kind, row) in {(fault.kind, fault.row) for fault in faults}, faults


def test_long_runs_of_blanks_are_read_in_linear_time(tmp_path: Path) -> None:
    gap = " " * 200_000  # takes minutes if each blank of a run is tried
    solution = _solution(tmp_path / "s.csv", f"id{gap}y\n  a{gap}1  \r\nb 2\n")
    assert (solution.ids.to_pylist(), solution.truth.tolist()) == (["a", "b"], [1.0, 2.0])


def test_lines_that_begin_with_a_hash_may_be_the_header(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text("# a comment\n#id\ty\na\t1\nb\t0\n")
    solution = read_solution(tmp_path / "s.tsv", kind=PredictionKind.VALUE)
    assert (solution.id_column, solution.columns) == ("#id", ("y",))


def test_labels_differ_by_more_than_spaces(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differ only in the spaces around them"):
        _solution(tmp_path / "s.csv", "id,y\na,u \nb,u\nc,v\n", PredictionKind.LABEL)
    solution = _solution(tmp_path / "s.csv", "id,y\na,01\nb,02\n", PredictionKind.LABEL)
    (tmp_path / "t.csv").write_text("id,y\na,1\nb,2\n")
    faults = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution)).faults
    assert all("leading zeros were lost" in str(fault.cause) for fault in faults)


def test_categories_of_polars_are_texts(tmp_path: Path) -> None:
    words = pa.array(["u", "v", "u"], pa.string_view())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint32()), words)
    table = pa.table({"id": IDS, "y": column})
    solution = _solution(tmp_path / "s.csv", "id,y\na,u\nb,v\nc,u\n", PredictionKind.LABEL)
    read = parse_table(table, "", SubmissionForm.of(solution))
    assert read.values is not None, read.faults
    assert read.values.ravel().tolist() == [0, 1, 0]


IN_MEMORY: dict[str, Any] = {
    "rows": [{"id": id, "y": value} for id, value in zip(IDS, VALUES, strict=True)],
    "by id": dict(zip(IDS, VALUES, strict=True)),
    "series": pd.Series(VALUES[::-1], index=IDS[::-1]),
    "series of an array": pd.Series(VALUES),
    "frame, labels": pd.DataFrame({"y": VALUES[::-1]}, index=IDS[::-1]),
    "series as columns": {
        "id": pd.Series(IDS, index=[2, 1, 0]),
        "y": pd.Series(VALUES[::-1], index=[0, 1, 2]),
    },
    "structured": np.array(list(zip(IDS, VALUES, strict=True)), [("id", "U1"), ("y", float)]),
    "mixed": {"id": IDS, "y": [0.5, "1.25", 2]},
}


@pytest.mark.parametrize("data", IN_MEMORY.values(), ids=IN_MEMORY)
def test_data_in_memory_keep_their_labels(tmp_path: Path, data: Any) -> None:
    solution = _solution(tmp_path / "s.csv", _csv())
    file = submission_file(data, "t", solution)
    read = parse_table(file.table.table, "", SubmissionForm.of(solution))
    assert read.values is not None, read.faults
    assert read.values.ravel().tolist() == VALUES


def test_labels_of_a_series_are_the_ids_of_a_solution() -> None:
    truth = pd.Series([1, 0, 1, 0], index=[7, 3, 5, 9], name="id")
    solution = read_solution(solution_source(truth), kind=PredictionKind.LABEL)
    assert solution.ids.to_pylist() == ["7", "3", "5", "9"]
    for data in (truth.sort_index(), truth.to_numpy()):
        read = parse_table(
            submission_file(data, "t", solution).table.table, "", SubmissionForm.of(solution)
        )
        assert read.values is not None, read.faults
        assert read.values.ravel().tolist() == truth.tolist()


def _parquet(frame: pd.DataFrame) -> bytes:
    return parquet(pa.Table.from_pandas(frame))


BY_NAME = {"u": {"x": 1.0, "y": 0.5}, "v": {"x": 0.75, "y": 0.25}}
WIDE = pd.DataFrame(BY_NAME)
LONG = WIDE.rename_axis("case").melt(ignore_index=False, var_name="algorithm").reset_index()
TABLES: dict[str, Any] = {
    "by name": BY_NAME,
    "rows": LONG.to_dict("records"),
    "labels": WIDE,
    "labels with a name": WIDE.rename_axis("case"),
    "series": {name: WIDE[name].iloc[::step] for name, step in (("u", 1), ("v", -1))},
    "two levels": LONG.set_index(["algorithm", "case"])["value"],
    "arrow": pa.table(LONG.to_dict("list")),
    "one value, nested": {
        name: {case: {"dice": value} for case, value in cells.items()}
        for name, cells in BY_NAME.items()
    },
    "melted": LONG.rename(columns={"algorithm": "variable"}).to_csv(index=False),
    "words in names": LONG.rename(columns={"algorithm": "clf_model", "case": "dataset"})
    .assign(note="-")
    .to_csv(index=False),
    "spaces": LONG.to_csv(index=False).replace(",", ", "),
    "numbered models": LONG.rename(columns={"algorithm": "model"})
    .replace({"u": 1, "v": 2})
    .to_csv(index=False),
    "parquet, labels": _parquet(WIDE.rename_axis("case")),
}


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES)
def test_tables_are_read_as_the_plain_one(tmp_path: Path, data: Any) -> None:
    if isinstance(data, str | bytes):
        path = tmp_path / "t.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        scores = read_case_table(path)
    else:
        scores = case_scores_of(data)
    matrix = case_matrix(scores)
    assert matrix.algorithms in {("u", "v"), ("1", "2")}
    assert matrix.cases == ("x", "y")
    assert matrix.values.tolist() == [[1.0, 0.5], [0.75, 0.25]]


Rank = Callable[[], Any]
WITHOUT_CASES = {name: list(cells.values()) for name, cells in BY_NAME.items()}
TWO_VALUES = {name: {"x": {"dice": 1, "hd": 2}, "y": {"dice": 0, "hd": 3}} for name in "uv"}
UNCLEAR: dict[str, tuple[Any, str]] = {
    "values without cases": (WITHOUT_CASES, "'u', could hold the cases or values"),
    "answers without cases": ({"u": [1, 0, 1], "v": [0, 0, 1]}, "could hold the cases or values"),
    "values without cases, JSON": (json.dumps(WITHOUT_CASES), "could hold the cases or values"),
    "two values, nested": (TWO_VALUES, r"several values .* \('dice', 'hd'\): name one"),
    "a case for each column": (
        "algorithm,x,y\nu,1,0\nv,0,1\n",
        "each column is a case, write columns=CaseColumns",
    ),
    "two levels of columns": (pd.concat({"m": WIDE}, axis=1), "columns of 2 levels"),
    "an array": (np.eye(2), "an array of shape"),
    "None": (None, "The table is None"),
    "no rows": ({}, "no rows"),
}


@pytest.mark.parametrize(("data", "message"), UNCLEAR.values(), ids=UNCLEAR)
def test_tables_are_refused_for_what_they_are(tmp_path: Path, data: Any, message: str) -> None:
    if isinstance(data, str):
        (tmp_path / "t.csv").write_text(data)
        data = tmp_path / "t.csv"
    with pytest.raises(ArenaError, match=message):
        arena.rank(data, resamples=20)


def test_rows_of_a_wide_table_are_numbered_on_request() -> None:
    matrix = case_matrix(case_scores_of(WITHOUT_CASES, CaseColumns(case="auto")))
    assert (matrix.algorithms, matrix.cases) == (("u", "v"), ("1", "2"))
    with pytest.raises(UsageError, match="could hold the cases or values"):
        case_scores_of(WITHOUT_CASES)


@pytest.mark.parametrize(
    ("first", "second"),
    [("1", "1.0"), ("001", "1"), ("X", "x"), ("2024-01-02", "2024-01-02T00:00Z")],
)
@pytest.mark.parametrize("worst", [None, 0.0])
def test_cases_that_are_written_in_two_ways_are_refused(
    first: str, second: str, worst: float | None
) -> None:
    data = {"u": {first: 1.0, "z": 0.5}, "v": {second: 0.5, "z": 0.25}}
    with pytest.raises(InputError, match="The cases .* seem to be one"):
        case_matrix(case_scores_of(data), worst)
    different = {"u": {first: 1.0, second: 0.5}, "v": {first: 0.5}}
    assert case_matrix(case_scores_of(different), worst).values.shape == (2, 2)


def test_algorithms_that_are_written_in_two_ways_are_refused() -> None:
    data = {"u": {"x": 1.0}, "U": {"y": 1.0}, "v": {"x": 0.5, "y": 1.0}}
    with pytest.raises(InputError, match="The algorithms 'u' and 'U' seem to be one"):
        case_matrix(case_scores_of(data))


def test_equal_times_are_one_case() -> None:
    cases = ["2024-01-01T00:00Z", "2024-01-01 01:00+01:00"]
    data = {"algorithm": ["u", "v"], "case": cases, "value": [1.0, 0.5]}
    matrix = case_matrix(case_scores_of(data))
    assert (matrix.cases, matrix.values.tolist()) == (("2024-01-01T00:00Z",), [[1.0], [0.5]])


def test_summaries_are_named() -> None:
    data = {"u": {"x": 1.0, "Avg. rank": 1.0}, "mean": {"x": 0.5, "Avg. rank": 2.0}}
    notes = " ".join(read_cases(data, CaseSettings(), PluginManager()).notes)
    assert "'Avg. rank' counts as a case" in notes
    assert "'mean' counts as an algorithm" in notes
    data = {
        "u": {"1": 1.0, "2": 1.0, "3": 0.0, "Rank": 1.0},
        "v": {"1": 0.0, "2": 1.0, "3": 0.0, "Rank": 2.0},
        "median": {"1": 0.0, "2": 0.0, "3": 0.0, "Rank": 3.0},
    }
    notes = " ".join(read_cases(data, CaseSettings(), PluginManager()).notes)
    assert "'median' counts as an algorithm" in notes
    assert "'Rank' sums up other cases" in notes
