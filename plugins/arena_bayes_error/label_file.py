"""Files of labels: CSV, Parquet and .npy, with row numbers for messages."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arena.errors import InputError, UsageError
from arena.intake.cells import (
    Place,
    is_number,
    merge_equal_numbers,
    numbers,
    points_for_commas,
    to_text,
)
from arena.intake.content import read_content
from arena.intake.encoding import to_utf8
from arena.intake.parquet_file import MAGIC
from arena.intake.submission import READING_ERRORS, read_table
from arena.intake.table import MAX_SOLUTION_BYTES, SOLUTION_BOUNDS, count_from_one
from arena.interfaces.faults import FaultList, Refused, describe, show, show_all
from arena.types import RawTable, RowNumber
from arena.utils.file_errors import unreadable

_FAULTS_SHOWN = 3
_SPLIT = {"too few fields", "too many fields"}
_NEAR_THE_START = 1_000
_MAGIC_OF_NUMPY = b"\x93NUMPY"
_NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
_ALL_NUMBERS = re.compile(rf"{_NUMBER}([,;\t]{_NUMBER})*".encode())
_LINE = re.compile(rb"[^\r\n]+")


@dataclass(frozen=True, slots=True, eq=False)
class LabelFile:
    """The columns of a file; without names they are called 0, 1 and so on."""

    path: Path
    names: tuple[str, ...]
    columns: tuple[Any, ...]
    """``pyarrow.Array`` of each; empty for .npy."""
    array: npt.NDArray[Any] | None
    """``(n, n_columns)`` of .npy, which is not copied."""
    row_number: RowNumber
    has_header: bool

    def numbers(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """Return ``(n, k)`` of the columns named, all finite; raises InputError."""
        positions = [self._position(name) for name in names]
        if self.array is not None:
            whole = positions == list(range(self.array.shape[1]))
            return self.array if whole else self.array[:, positions]
        faults = FaultList()
        place = Place(self.row_number, None)
        read = [
            numbers(self.columns[position], self.names[position], place, faults)
            for position in positions
        ]
        self._stop(faults)
        return read[0][:, None] if len(read) == 1 else np.column_stack(read)

    def maybe_numbers(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return ``(n, k)`` of the columns named, NaN where a cell is empty."""
        if self.array is not None:
            return np.asarray(self.numbers(names), dtype=np.float64)
        columns = []
        for name in names:
            position = self._position(name)
            text = pc.utf8_trim_whitespace(to_text(self.columns[position]))
            empty = pc.equal(text, "").to_numpy(zero_copy_only=False)
            faults = FaultList()
            filled = pc.if_else(pa.array(empty), "0", text)
            values = numbers(filled, name, Place(self.row_number, None), faults)
            self._stop(faults)
            columns.append(np.where(empty, np.nan, values))
        return np.column_stack(columns)

    def two_texts(
        self,
        name: str,
        what: str,
        positive: str | None = None,
        allowed: Sequence[str] = (),
        otherwise: str = "",
    ) -> tuple[npt.NDArray[np.bool_], str]:
        """Return whether each cell of a column is the positive one of two texts, and that text.

        Parameters
        ----------
        name
            The column.
        what
            What its cells are, for the messages.
        positive
            The positive text; by default the second in sorted order, numbers by value.
        allowed
            Two texts, where they are known: then one of them need not occur.
        otherwise
            An alternative that needs no two values, for the message.

        Raises
        ------
        InputError
            If a cell is empty, there are not two texts, or none of them is ``positive``.
        """
        text = self._filled(name, what)
        coded = text.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        both = list(allowed) if set(texts) <= {*allowed} else self._sorted(texts)
        if len(both) != 2:
            raise InputError(
                f"The {what} of column {show(name)} in {self.path} must have two values, but it "
                f"has {len(both):,}. Name the column of two values.{otherwise}"
            )
        chosen = self._chosen(positive, both, f"{what} in column {show(name)} of {self.path}")
        mask = np.array([text == chosen for text in texts])
        return mask[coded.indices.to_numpy()], chosen

    def texts_of_two(
        self, names: Sequence[str], positive: str | None
    ) -> tuple[npt.NDArray[np.float64], str]:
        """Return ``(n, k)`` of columns with the same two texts: 1 positive, 0 not, NaN if empty."""
        texts = [self._text(name) for name in names]
        both = self._sorted(
            [text for text in pc.unique(pa.concat_arrays(texts)).to_pylist() if text]
        )
        if len(both) != 2:
            raise InputError(
                f"The hard labels in {show_all(names)} of {self.path} must have two values, but "
                f"have {len(both):,}: {show_all(both)}. For more than two classes, count the "
                f"labels of each row and use --kind counts, with one column per class."
            )
        chosen = self._chosen(positive, both, f"hard label in {self.path}")
        coded = [
            pc.if_else(pc.equal(text, ""), np.nan, pc.cast(pc.equal(text, chosen), pa.float64()))
            for text in texts
        ]
        return np.column_stack([codes.to_numpy(zero_copy_only=False) for codes in coded]), chosen

    def _chosen(self, positive: str | None, both: Sequence[str], what: str) -> str:
        chosen = both[1] if positive is None else positive
        if chosen not in both:
            raise InputError(
                f"No {what} is {show(chosen)}; they are {show_all(both)}. Name one of them with "
                f"--positive."
            )
        return chosen

    def starts_with_text(self, name: str) -> bool:
        """Return whether the first cell that is not empty, near the start, is no number."""
        if self.array is not None:
            return False
        column = to_text(self.columns[self._position(name)].slice(0, _NEAR_THE_START))
        cells = pc.utf8_trim_whitespace(column)
        filled = cells.filter(pc.not_equal(cells, ""))
        return len(filled) > 0 and not is_number(filled.slice(0, 1))[0].as_py()

    def codes(self, name: str, what: str) -> npt.NDArray[np.intp]:
        """Return ``(n,)`` a number for each different text of a column; raises InputError."""
        text = self._filled(name, what)
        return np.asarray(text.dictionary_encode().indices.to_numpy(), dtype=np.intp)

    def values(self, name: str) -> tuple[str, ...]:
        """Return the different texts of a column, sorted."""
        return tuple(self._sorted(pc.unique(self._text(name)).to_pylist()))

    def _filled(self, name: str, what: str) -> Any:
        text = self._text(name)
        empty = np.flatnonzero(pc.equal(text, "").to_numpy(zero_copy_only=False))
        if len(empty):
            raise InputError(f"{self.path}, row {self.row_number(int(empty[0]))}: no {what}.")
        return text

    def _text(self, name: str) -> Any:
        position = self._position(name)
        if self.array is not None:
            column = pa.array([f"{value:g}" for value in self.array[:, position].tolist()])
        else:
            column = self.columns[position]
        return pc.utf8_trim_whitespace(to_text(column))

    def _sorted(self, texts: Sequence[str]) -> list[str]:
        by_value = merge_equal_numbers(texts)
        return sorted(texts) if by_value is None else sorted(texts, key=lambda text: by_value[text])

    def _position(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        listed = show_all(self.names)
        kind = "columns" if self.has_header else "columns, which have no names and are counted"
        raise UsageError(f"{self.path} has no column {show(name)}; its {kind}: {listed}.")

    def _stop(self, faults: FaultList) -> None:
        if faults:
            raise _refusal(self.path, faults)


def _refusal(path: Path, faults: FaultList) -> InputError:
    """Return an error with the first few faults of each kind."""
    shown_faults = faults.to_tuple(_FAULTS_SHOWN)
    lines = [describe(fault) for fault in shown_faults]
    if any(fault.kind in _SPLIT for fault in shown_faults):
        lines.append(
            "If decimals are written with a comma, write points, or put semicolons between the "
            "columns; if the header is split otherwise than the rows, split both alike."
        )
    return InputError("\n".join([f"{path} cannot be used:", *lines]))


def read_label_file(path: Path) -> LabelFile:
    """Read a CSV, Parquet or .npy file; the format is detected from the content.

    A CSV file whose first line is all numbers has no header. An .npy file is memory-mapped.

    Raises
    ------
    InputError
        If the file cannot be read or is not a table.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC_OF_NUMPY))
        if start == _MAGIC_OF_NUMPY:
            return _of_numpy(path)
        return _of_table(path)
    except READING_ERRORS as error:
        raise unreadable(path, error) from error


def label_table(labels: Any) -> LabelFile:
    """Return the columns of a file, an array, a data frame or a mapping of names to columns.

    Raises
    ------
    InputError
        If a file cannot be read, or the labels are no table.

    Examples
    --------
    >>> label_table({"cat": [3, 1], "dog": [2, 4]}).names
    ('cat', 'dog')
    """
    if isinstance(labels, str | Path):
        return read_label_file(Path(labels))
    if not hasattr(labels, "keys"):
        return _of_array(Path("the array"), np.asarray(labels))
    columns = {str(name): pa.array(labels[name], from_pandas=True) for name in labels}
    if not columns or len({len(column) for column in columns.values()}) > 1:
        raise InputError("The columns of labels must be there and have equally many rows.")
    names, values = tuple(columns), tuple(columns.values())
    return LabelFile(
        Path("the table"),
        names,
        columns=values,
        array=None,
        row_number=count_from_one,
        has_header=True,
    )


def _of_numpy(path: Path) -> LabelFile:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InputError(
            f"{path} cannot be read: it is damaged, or holds objects. Save an array of numbers."
        ) from error
    return _of_array(path, array)


def _of_array(path: Path, array: npt.NDArray[Any]) -> LabelFile:
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub" or not array.size:
        raise InputError(f"{path} must be a non-empty array of numbers with one or two dimensions.")
    table = array[:, None] if array.ndim == 1 else array
    names = tuple(str(position) for position in range(table.shape[1]))
    return LabelFile(
        path, names, columns=(), array=table, row_number=count_from_one, has_header=False
    )


def _of_table(path: Path) -> LabelFile:
    faults = FaultList()
    table: RawTable | None = None
    headless = False
    with contextlib.suppress(Refused):  # its fault has been added
        data = read_content(path, MAX_SOLUTION_BYTES, faults).data
        if not data.startswith(MAGIC):
            data = to_utf8(data, faults)
            first = _LINE.search(data)
            headless = first is not None and _ALL_NUMBERS.fullmatch(first[0]) is not None
            data = _header_for(first[0]) + data if headless and first else data
        table = read_table(data, (), SOLUTION_BOUNDS, faults)
    if faults or table is None:
        raise _refusal(path, faults)
    columns = table.columns
    if table.decimal_comma and all(pa.types.is_string(column.type) for column in columns):
        columns = points_for_commas(columns, Place(table.row_number, None), faults)
    return LabelFile(
        path,
        table.names,
        columns=columns,
        array=None,
        row_number=_one_less(table.row_number) if headless else table.row_number,
        has_header=not headless,
    )


def _header_for(line: bytes) -> bytes:
    r"""Return a header for a line of numbers.

    >>> _header_for(b"0.1;0.9")
    b'0;1\n'
    """
    mark = next((mark for mark in (b";", b"\t", b",") if mark in line), b",")
    return mark.join(str(position).encode() for position in range(line.count(mark) + 1)) + b"\n"


def _one_less(row_number: RowNumber) -> RowNumber:
    return lambda position: row_number(position) - 1
