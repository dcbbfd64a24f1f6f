"""Every form of data in memory: the table that it becomes, or why it is refused."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from arena.errors import InputError, UsageError
from arena.intake.memory import (
    MemoryTable,
    arrow_table,
    describe_data,
    solution_source,
    submission_file,
    submission_files,
)

ROWS = ["a", "b"]
TWO_LEVELS = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["id", "n"])


class OfArrow:
    """A column of a library that exports an Arrow array but no stream of arrays."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return pa.array(["c", "d"]).__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (pd.DataFrame({"id": ["a", "b"], "y": [1, 2]}), {"id": ["a", "b"], "y": [1, 2]}),
        (pl.DataFrame({"id": ["a"], "y": [0.5]}), {"id": ["a"], "y": [0.5]}),
        # An index of texts is the id column, and an index with a name is a column.
        (pd.DataFrame({"y": [1, 2]}, index=["a", "b"]), {"id": ["a", "b"], "y": [1, 2]}),
        (pd.DataFrame({"y": [1, 2]}, index=[7, 8]), {"y": [1, 2]}),
        (pd.DataFrame({"y": [1]}, index=pd.Index([7], name="n")), {"n": [7], "y": [1]}),
        (pd.DataFrame({"id": ["c"], "y": [1]}, index=["a"]), {"id": ["c"], "y": [1]}),
        (pd.DataFrame({"y": [3, 4]}, index=TWO_LEVELS), {"id": ROWS, "n": [1, 2], "y": [3, 4]}),
        (pd.Series([3, 4], TWO_LEVELS), {"id": ROWS, "n": [1, 2], "value": [3, 4]}),
        (pd.Series([3, 4], TWO_LEVELS, name="y"), {"id": ROWS, "n": [1, 2], "y": [3, 4]}),
        # Numbers beside texts are texts, and None and NaN are empty.
        ({"y": [1, "x", None, float("nan"), 2.5]}, {"y": ["1", "x", None, None, "2.5"]}),
        (pd.DataFrame({"y": [1, "x", None, 2.5]}), {"y": ["1", "x", None, "2.5"]}),
        ({"y": pd.Series([1, "x"])}, {"y": ["1", "x"]}),
        (np.array([("a", 1.5)], dtype=[("id", "U1"), ("y", "f8")]), {"id": ["a"], "y": [1.5]}),
        (
            {1: pa.array([1, 2]), "y": pa.chunked_array([["a"], ["b"]]), "z": range(2)},
            {"1": [1, 2], "y": ["a", "b"], "z": [0, 1]},
        ),
        ({"y": pl.Series(["a", "b"]), "z": OfArrow()}, {"y": ["a", "b"], "z": ["c", "d"]}),
        ({"y": np.array([0.5, np.nan])}, {"y": [0.5, None]}),
        # Series are aligned by their index; a default index is no column.
        ({"x": pd.Series([1, 2]), "y": pd.Series([3, 4])}, {"x": [1, 2], "y": [3, 4]}),
        ({"x": pd.Series([1, 2]), "y": pd.Series([3])}, {"x": [1, 2], "y": [3.0, None]}),
        (
            {"x": pd.Series([1, 2], ["a", "b"]), "y": pd.Series([3, 4], ["b", "a"])},
            {"id": ["a", "b"], "x": [1, 2], "y": [4, 3]},
        ),
        # A dictionary of scalars and a list of dictionaries are read like JSON.
        ({"a": 1, "b": 2.5}, {"id": ["a", "b"], "y": ["1", "2.5"]}),
        (
            [
                {"id": "a", "y": np.float32(0.5), "z": date(2026, 3, 1)},
                {"id": "b", "y": Decimal("1.50")},
            ],
            {"id": ["a", "b"], "y": ["0.5", "1.50"], "z": ["2026-03-01", ""]},
        ),
        (({"id": "a", "y": np.array([1, 2])},), {"id": ["a"], "y": ["[1, 2]"]}),
        ({"a": {"y": 1}, "b": {"y": 2}}, {"id": ["a", "b"], "y": ["1", "2"]}),
        ({"rows": [{"id": "a", "y": 1}], "n": [2]}, {"id": ["a"], "y": ["1"]}),
    ],
)  # fmt: skip
def test_data_become_columns(data: Any, columns: dict[str, list[Any]]) -> None:
    table = arrow_table("The data", data, ("id", "y"))
    assert table.to_pydict() == columns


def test_a_name_that_occurs_twice_is_kept_for_the_checks() -> None:
    table = arrow_table("The data", pd.DataFrame([["a", 1, 2]], columns=["id", "y", "y"]))
    assert table.column_names == ["id", "y", "y"]
    assert [column.to_pylist() for column in table.columns] == [["a"], [1], [2]]


def test_labels_without_a_name_are_a_column_where_no_id_is_expected() -> None:
    data = pd.DataFrame({"y": [1, 2]}, index=["a", "b"])
    assert arrow_table("The data", data).to_pydict() == {"y": [1, 2]}
    assert arrow_table("The data", data, index="case").to_pydict() == {
        "case": ["a", "b"],
        "y": [1, 2],
    }
    nested = [{"case": "a", "y": {"b": 1, "c": 2}}]
    flat = arrow_table("The data", nested, flat=True)
    assert flat.to_pydict() == {"case": ["a"], "y.b": ["1"], "y.c": ["2"]}


def mixed(data: str, error: str) -> str:
    return (
        f"{data} that cannot be converted to columns of text or numbers ({error}): each column "
        "must have one type, and a name that occurs once."
    )


LEVELS = pd.MultiIndex.from_tuples([("y", "a"), ("y", "b")])
GIVE = "give a path, a data frame, a dictionary of columns, or an array."


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (7, UsageError, f"The data is a int: {GIVE}"),
        ([], UsageError, f"The data is a list of 0 items: {GIVE}"),
        (
            {"x": [1, 2], "y": range(1_000)},
            UsageError,
            "The data has columns of different lengths: 'x' 2, 'y' 1,000.",
        ),
        (
            pd.DataFrame([[1, 2]], columns=LEVELS),
            UsageError,
            "The data has columns of 2 levels: select one, such as frame['value'], or join their "
            "names.",
        ),
        ({"y": [1, [2]]}, InputError, mixed("The data is a dictionary", "ArrowInvalid")),
        ([{"y": object()}], InputError, mixed("The data is a list of 1 item", "TypeError")),
        (
            {"a": {"x": 1}, "b": 2},
            InputError,
            "The data:\nSome keys of the document hold objects and others do not: keep those of "
            "the rows, and write each as an object.",
        ),
    ],
)
def test_other_data_are_refused(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        arrow_table("The data", data, ("id", "y"))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (np.array([1, 0]), {"id": ["0", "1"], "target": [1, 0]}),
        ([1, 0], {"id": ["0", "1"], "target": [1, 0]}),
        (pd.Series([1, 0]), {"id": ["0", "1"], "target": [1, 0]}),
        (pd.Series([1, 0], [7, 8]), {"id": ["7", "8"], "target": [1, 0]}),
        (pd.Series([1, 0], [7, 8], name="y"), {"id": ["7", "8"], "y": [1, 0]}),
        (pd.Series([1, 0], [7, 8], name="id"), {"id": ["7", "8"], "target": [1, 0]}),
        ({"id": ["a"], "y": [1]}, {"id": ["a"], "y": [1]}),
    ],
)
def test_a_solution_has_ids(data: Any, columns: dict[str, list[Any]]) -> None:
    source: Any = solution_source(data)
    assert source.table.to_pydict() == columns
    assert source.name == f"({describe_data(data)})"
    assert solution_source(source) is source


def test_a_solution_may_be_a_path_and_no_matrix() -> None:
    assert solution_source("a.csv") == solution_source(Path("a.csv")) == Path("a.csv")
    with pytest.raises(UsageError) as refused:
        solution_source([[1, 2]])
    assert str(refused.value) == (
        "The solution is a list of 1 item: an array must have one dimension. Give several targets "
        "as columns of a data frame."
    )


def test_the_digest_of_a_table_is_that_of_its_columns_and_types() -> None:
    whole = pa.table({"y": [1, 2]})
    chunks = pa.concat_tables([whole[:1], whole[1:]]).replace_schema_metadata({"written": "by x"})
    other = pa.table({"y": pa.array([1, 2], pa.int32())})
    digests = [MemoryTable("", table).sha256 for table in (whole, chunks, other)]
    assert digests[0] == digests[1] != digests[2]


def solution_of(*columns: str) -> Any:
    """Return what a submission needs of a solution of two rows."""
    return SimpleNamespace(id_column="id", columns=columns, ids=pa.array(["a", "b"]), n_rows=2)


@pytest.mark.parametrize(
    ("columns", "data", "expected"),
    [
        ("y", [0.5, 1], {"id": ["a", "b"], "y": [0.5, 1]}),
        ("y", [[0.5], [1]], {"id": ["a", "b"], "y": [0.5, 1]}),
        ("yz", [[1, 2], [3, 4]], {"id": ["a", "b"], "y": [1, 3], "z": [2, 4]}),
        ("y", pd.Series([3, 4], ["b", "a"]), {"id": ["b", "a"], "y": [3, 4]}),
        ("y", pd.Series([3, 4]), {"id": ["a", "b"], "y": [3, 4]}),
        ("y", pd.DataFrame({"y": [3, 4]}, index=["b", "a"]), {"id": ["b", "a"], "y": [3, 4]}),
        ("y", {"a": 1, "b": 2}, {"id": ["a", "b"], "y": ["1", "2"]}),
    ],
)
def test_a_submission_has_the_ids_of_the_solution(
    columns: str, data: Any, expected: dict[str, list[Any]]
) -> None:
    file = submission_file(data, " Zoe ", solution_of(*columns))
    assert file.table.table.to_pydict() == expected
    assert (file.team, file.name, file.table.name) == ("Zoe", "Zoe", "Zoe")


@pytest.mark.parametrize(
    ("columns", "data", "message"),
    [
        ("y", [1], "(1,), but must have the shape (2,): {}, and the column 'y'."),
        ("y", [[1, 2]] * 2, "(2, 2), but must have the shape (2,): {}, and the column 'y'."),
        ("yz", [1, 2], "(2,), but must have the shape (2, 2): {}, and the columns 'y', 'z'."),
    ],
)
def test_an_array_of_another_shape_is_refused(columns: str, data: Any, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        submission_file(data, "t", solution_of(*columns))
    shapes = message.format("a row for each of the solution's 2 ids")
    assert str(refused.value) == f"The submission of 't' is an array of shape {shapes}"


def test_submissions_are_paths_or_teams(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).touch()
    paths = [tmp_path / "b.csv", str(tmp_path / "a.csv")]
    for submissions in (tmp_path, str(tmp_path), paths, tuple(paths)):
        assert [file.team for file in submission_files(submissions, solution_of("y"))] == ["a", "b"]
    teams = submission_files(
        {"z": [1, 2], 7: tmp_path / "b.csv", "c": str(paths[0])}, solution_of("y")
    )
    assert [(file.team, file.name) for file in teams] == [
        ("7", "b.csv"),
        ("c", "b.csv"),
        ("z", "z"),
    ]
    missing = tmp_path / "c.csv"
    with pytest.raises(InputError, match=f"^{re.escape(f'There is no file {missing}.')}$"):
        submission_files({"t": missing}, solution_of("y"))
    for submissions, message in (
        (
            {"id": ["a"], "y": [1]},
            "The submissions are a dictionary with the key 'id', the id column: this looks like "
            "one submission. Give a dictionary of team -> submission.",
        ),
        (
            [paths[0], 7],
            "The submissions are a list of 2 items: give a path, a list of paths, or a dictionary "
            "of team -> submission.",
        ),
    ):
        with pytest.raises(UsageError) as refused:
            submission_files(submissions, solution_of("y"))
        assert str(refused.value) == message


def test_a_message_says_what_data_are() -> None:
    for data, text in (
        (None, "None"),
        (np.zeros((2, 3)), "an array of shape (2, 3)"),
        ({}, "a dictionary"),
        ((1,), "a tuple of 1 item"),
        ([1, 2], "a list of 2 items"),
        (7, "a int"),
        (pd.Series([1]), "a pandas Series"),
        (pl.DataFrame(), "a polars DataFrame"),
    ):
        assert describe_data(data) == text
