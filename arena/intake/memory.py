"""Data in memory as Arrow tables, which are then checked like the table of a Parquet file.

============================================== ==================================================
data                                           what becomes of them
============================================== ==================================================
a data frame                                   as it is; also with the Arrow PyCapsule interface
a dictionary of columns, a structured array    columns
dictionaries and lists nested otherwise        what a JSON document of this form becomes
a pandas series with labels of its own         two columns: its labels are the ids
another array, series or list of values        a column, in the order of the solution's rows
============================================== ==================================================
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from arena.errors import InputError, UsageError
from arena.intake.folder import SubmissionFile, find_submissions, named_file
from arena.intake.json_file import read_json
from arena.intake.table import SOLUTION_BOUNDS
from arena.interfaces.faults import FaultList, Refused, fault_lines, show, show_all
from arena.types import Solution
from arena.utils.text import plural

_FORMS = "a path, a data frame, a dictionary of columns"
_SCALARS = (str, int, float, date, Decimal, np.generic, type(None))


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """A table that stays in memory, with the name under which messages speak of it."""

    name: str
    table: Any
    """``pyarrow.Table``."""

    @cached_property
    def sha256(self) -> str:
        """The sha256 of the table as an Arrow stream: the same for the same columns and types."""
        sink = pa.BufferOutputStream()
        whole = self.table.combine_chunks().replace_schema_metadata(None)
        with pa.ipc.new_stream(sink, whole.schema) as writer:
            writer.write_table(whole)
        return hashlib.sha256(sink.getvalue()).hexdigest()


SolutionSource: TypeAlias = Path | MemoryTable


def solution_source(data: Any) -> SolutionSource:
    """Return the organiser's solution as a path or a table.

    Parameters
    ----------
    data
        A path, a data frame, a dictionary of columns, or an array ``(n,)`` of the truth: its ids
        are then the labels of a pandas series, or else the row numbers from 0, and its column is
        called ``target``, or as the series is.

    Raises
    ------
    UsageError
        If it is something else; the message says what was given.
    InputError
        If a column cannot be converted.

    Examples
    --------
    >>> source = solution_source({"id": ["a", "b"], "y": [1, 0]})
    >>> source.name, source.table.column_names
    ('(a dictionary)', ['id', 'y'])
    >>> solution_source(np.array([1, 0])).table.column_names
    ['id', 'target']
    """
    if isinstance(data, str | Path):
        return Path(data)
    if isinstance(data, MemoryTable):
        return data
    name = f"({describe_data(data)})"
    if _has_labels(data):
        labels = [str(label) for label in data.index]
        column = str(data.name or "target")
        data = {"id": labels, "target" if column == "id" else column: data.to_numpy()}
    elif _is_array(data):
        values = np.asarray(data)
        if values.ndim != 1:
            raise UsageError(
                f"The solution is {describe_data(data)}: an array must have one dimension. Give "
                "several targets as columns of a data frame."
            )
        data = {"id": np.arange(len(values)).astype(str), "target": values}
    return MemoryTable(name, arrow_table("The solution", data))


def submission_files(submissions: Any, solution: Solution) -> tuple[SubmissionFile, ...]:
    """Return the submissions of several teams, in the order of their names.

    Parameters
    ----------
    submissions
        A path, several paths (files or folders, see
        :func:`~arena.intake.folder.find_submissions`), or a dictionary of team -> submission, each
        as :func:`submission_file` takes it.
    solution
        Ids and columns for submissions that are arrays.

    Raises
    ------
    UsageError
        If it is something else; the message says what was given.
    InputError
        If a path does not exist, or a column cannot be converted.
    """
    if isinstance(submissions, str | Path):
        return find_submissions([Path(submissions)])
    if isinstance(submissions, Mapping):
        if solution.id_column in submissions:
            raise UsageError(
                f"The submissions are a dictionary with the key {show(solution.id_column)}, the id "
                "column: this looks like one submission. Give a dictionary of team -> submission."
            )
        files = [submission_file(data, str(team), solution) for team, data in submissions.items()]
        return tuple(sorted(files, key=lambda file: file.name))
    if isinstance(submissions, Sequence) and all(isinstance(s, str | Path) for s in submissions):
        return find_submissions([Path(submission) for submission in submissions])
    raise UsageError(
        f"The submissions are {describe_data(submissions)}: give a path, a list of paths, or a "
        "dictionary of team -> submission."
    )


def submission_file(data: Any, team: str, solution: Solution) -> SubmissionFile:
    """Return the submission of a team.

    Parameters
    ----------
    data
        A path, a data frame, a dictionary of columns, or an array ``(n,)`` or ``(n, n_columns)``
        in the order of the solution's rows and of the columns of a submission. The labels of a
        pandas series that are not only counted are ids.

    Raises
    ------
    UsageError
        If it is something else, or an array of another shape; the message says what was given.
    InputError
        If there is no such file, or a column cannot be converted.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.exists():
            raise InputError(f"There is no file {path}.")
        return named_file(path, team)
    what = f"The submission of {show(team)}"
    if _has_labels(data) and len(solution.columns) == 1:
        data = data.rename_axis(solution.id_column).to_frame(*solution.columns)
    elif _is_array(data):
        data = _with_ids(np.asarray(data), what, solution)
    file = named_file(Path(team), team)
    names = (solution.id_column, *solution.columns)
    table = MemoryTable(file.team, arrow_table(what, data, names))
    return replace(file, name=file.team, table=table)


def describe_data(data: Any) -> str:
    """Return what some data are, for a message.

    >>> describe_data([1, 2, 3]), describe_data(np.zeros((2, 3))), describe_data(None)
    ('a list of 3 items', 'an array of shape (2, 3)', 'None')
    """
    if data is None:
        return "None"
    if isinstance(data, np.ndarray):
        return f"an array of shape {data.shape}"
    if isinstance(data, Mapping):
        return "a dictionary"
    if isinstance(data, list | tuple):
        return f"a {type(data).__name__} of {plural(len(data), 'item')}"
    library = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    return f"a {name}" if library == "builtins" else f"a {library} {name}"


def _is_array(data: Any) -> bool:
    """Return whether data are values without names: arrays, lists and series."""
    if (_is_series(data) and data.index.nlevels > 1) or _is_structured(data):
        return False
    if isinstance(data, Mapping) or hasattr(data, "columns") or hasattr(data, "column_names"):
        return False
    if isinstance(data, list | tuple):
        return all(not isinstance(element, Mapping) for element in data)
    return hasattr(data, "__array__")


def _with_ids(values: Any, what: str, solution: Solution) -> dict[str, Any]:
    """Return an array in the order of the solution's rows as columns with their ids."""
    columns = solution.columns
    expected_shape = (solution.n_rows,) if len(columns) == 1 else (solution.n_rows, len(columns))
    if values.shape not in {expected_shape, (solution.n_rows, len(columns))}:
        raise UsageError(
            f"{what} is an array of shape {values.shape}, but must have the shape "
            f"{expected_shape}: a row for each of the solution's {plural(solution.n_rows, 'id')}, "
            f"and the {'column' if len(columns) == 1 else 'columns'} {show_all(columns)}."
        )
    parts = values.reshape(solution.n_rows, -1).T
    return {solution.id_column: solution.ids, **dict(zip(columns, parts, strict=True))}


def arrow_table(
    what: str,
    data: Any,
    expected: Sequence[str] = (),
    *,
    index: str | None = None,
    flat: bool = False,
) -> Any:
    """Return data in memory as a ``pyarrow.Table``.

    Parameters
    ----------
    what
        What the data are, for messages.
    expected
        The names of columns that may occur, the id column first. Labels of the rows of a data
        frame without a name are ids if it has no id column.
    index
        The name of a column of such labels otherwise; None: they are left out.
    flat
        As for :func:`~arena.intake.json_file.read_json`.

    Raises
    ------
    UsageError
        If the data have no form that can be read; the message says what was given.
    InputError
        If a column cannot be converted.
    """
    try:
        if _is_structured(data):
            data = {name: np.ascontiguousarray(data[name]) for name in data.dtype.names}
        if _is_series(data):
            data = data.reset_index(name="value" if data.name is None else data.name)
        if isinstance(data, Mapping) and data and all(map(_is_series, data.values())):
            data = _aligned(data)
        if _is_document(data):
            return _table_of_document(what, data, expected, flat=flat)
        if isinstance(data, Mapping):
            return _table_of_columns(what, data)
        if _is_of_pandas(data, "DataFrame"):
            return _table_of_pandas(what, data, expected[0] if expected else index)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        # The text of the error may quote a cell of the solution.
        raise InputError(
            f"{what} is {describe_data(data)} that cannot be converted to columns of text or "
            f"numbers ({type(error).__name__}): each column must have one type, and a name that "
            "occurs once."
        ) from None
    raise UsageError(f"{what} is {describe_data(data)}: give {_FORMS}, or an array.")


def _is_document(data: Any) -> bool:
    """Return whether data are nested as JSON documents are, and not a dictionary of columns."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(row, Mapping) for row in data)
    if not isinstance(data, Mapping) or not data:
        return False
    return all(isinstance(cell, _SCALARS) for cell in data.values()) or any(
        isinstance(cell, Mapping)
        or (isinstance(cell, list | tuple) and bool(cell) and isinstance(cell[0], Mapping))
        for cell in data.values()
    )


def _table_of_document(what: str, data: Any, expected: Sequence[str], *, flat: bool) -> Any:
    text = json.dumps(data, default=_plain).encode()
    faults = FaultList()
    try:
        table = read_json(text, SOLUTION_BOUNDS, faults, expected=expected, flat=flat)
    except Refused:
        raise InputError("\n".join([f"{what}:", *fault_lines(faults.to_tuple())])) from None
    return pa.Table.from_arrays(list(table.columns), names=list(table.names))


def _plain(value: Any) -> Any:
    """Return what :mod:`json` can write."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, date | Decimal):
        return str(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(type(value).__name__)


def _is_structured(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.dtype.names is not None


def _is_series(data: Any) -> bool:
    return _is_of_pandas(data, "Series")


def _is_counted(index: Any) -> bool:
    """Return whether the labels of pandas are positions only."""
    return type(index).__name__ == "RangeIndex"


def _has_labels(data: Any) -> bool:
    """Return whether data are a pandas series whose labels say what its values belong to."""
    return _is_series(data) and not _is_counted(data.index) and data.index.nlevels == 1


def _aligned(columns: Mapping[Any, Any]) -> Any:
    """Return series as a data frame if they have labels, which pandas aligns."""
    first = next(iter(columns.values())).index
    counted = all(_is_counted(column.index) for column in columns.values())
    if counted and all(len(column) == len(first) for column in columns.values()):
        return columns
    return sys.modules["pandas"].DataFrame(columns)


def _table_of_pandas(what: str, data: Any, index: str | None) -> Any:
    """Return a data frame; labels of its rows are a column if they have names, or are texts."""
    if data.columns.nlevels > 1:
        raise UsageError(
            f"{what} has columns of {data.columns.nlevels} levels: select one, such as "
            "frame['value'], or join their names."
        )
    names = data.index.names
    if any(name is not None for name in names):
        data = data.reset_index()
    elif index not in (None, *data.columns) and data.index.inferred_type != "integer":
        data = data.rename_axis(index).reset_index()
    try:
        return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError):
        columns = [_column(data.iloc[:, position]) for position in range(data.shape[1])]
        return pa.Table.from_arrays(columns, names=[str(name) for name in data.columns])


def _is_of_pandas(data: Any, name: str) -> bool:
    kind = type(data)
    return kind.__name__ == name and kind.__module__.partition(".")[0] == "pandas"


def _table_of_columns(what: str, columns: Mapping[Any, Any]) -> Any:
    arrays = {str(name): _column(values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join(f"{show(name)} {length:,}" for name, length in lengths.items())
        raise UsageError(f"{what} has columns of different lengths: {lengths_text}.")
    return pa.table(arrays)


def _column(values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if _is_series(values) and values.dtype == object:
        values = values.to_numpy()  # pyarrow takes no series of numbers beside texts
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return (
            pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
        )
    if isinstance(values, Iterable) and not hasattr(values, "__array__"):
        values = list(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Numbers beside texts are texts, as in a file.
        if not all(isinstance(value, _SCALARS) for value in values):
            raise
        texts = [None if _is_missing(value) else str(value) for value in values]
        return pa.array(texts, pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))
