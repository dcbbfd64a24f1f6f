"""Predictions in a table of the database, read in the order in which they were appended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreFormatError
from arena.evaluation.predictions import cell_bytes
from arena.store.arrow import as_arrow
from arena.store.keepers import CellCounts, CellForm
from arena.store.statements import execute
from arena.store.text_codes import insert_texts, select_texts
from arena.types import FloatArray, IntArray, PredictionKind

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from arena.utils.lazy import pa


BATCH_ROWS = 2**20
"""Rows of the table that are read at a time."""
MOST_RUNS = 64
_INSERTED_CELLS = 2**23
"""Cells that are copied for one statement: 100 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionTable:
    """The table ``predictions`` as a :class:`arena.store.keepers.Keeper`."""

    path: Path
    """The database, for messages."""
    reading: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
    """Yields a new cursor."""

    @property
    def outside(self) -> None:
        """None: the table is in the database."""
        return

    def bytes_of(self, values: npt.NDArray[Any]) -> int:
        """Return about how many bytes a submission takes."""
        return (4 + cell_bytes(values)) * values.size

    def insert(
        self, cursor: duckdb.DuckDBPyConnection, values: Mapping[int, npt.NDArray[Any]]
    ) -> Mapping[str, bytes]:
        """Append the cells of new submissions."""
        stored = {
            submission: insert_texts(cursor, array) if array.dtype == object else array
            for submission, array in values.items()
        }
        for rows in _tables(stored):
            cursor.register("incoming_values", rows)
            execute(cursor, "INSERT INTO predictions SELECT * FROM incoming_values")
            cursor.unregister("incoming_values")
        return {}

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Do nothing: the commit writes the cells."""

    def reader(
        self,
        cursor: duckdb.DuckDBPyConnection,  # noqa: ARG002
        submissions: IntArray,  # noqa: ARG002
        form: CellForm,
    ) -> TableReader:
        """Return a reader of any submissions."""
        return TableReader(self.path, self.reading, form)

    def cells(
        self, cursor: duckdb.DuckDBPyConnection, submission: int, form: CellForm
    ) -> npt.NDArray[Any]:
        """Return the cells of one submission."""
        query = "SELECT value FROM predictions WHERE submission = ? ORDER BY rowid"
        values = np.asarray(execute(cursor, query, [submission]).fetchnumpy()["value"])
        return select_texts(cursor, values) if form.kind is PredictionKind.TEXT else values

    def object_names(
        self,
        cursor: duckdb.DuckDBPyConnection,  # noqa: ARG002
        submissions: Sequence[int],  # noqa: ARG002
    ) -> Mapping[int, str]:
        """Return nothing: there are no objects."""
        return {}

    def stored_and_incomplete(
        self, cursor: duckdb.DuckDBPyConnection, cells: CellCounts | None, first: int
    ) -> tuple[set[int], list[int]]:
        """Compare the number of cells of each submission, which must follow one another."""
        query = """
            WITH cells AS (
                SELECT submission, count(*) AS n, max(rowid) - min(rowid) + 1 AS extent
                FROM predictions WHERE submission >= $first GROUP BY submission
            )
            SELECT submission, coalesce(if(extent = n, n, -1), 0), n IS NOT NULL,
                coalesce(status = 'accepted', false), status IS NOT NULL
            FROM submissions FULL JOIN cells USING (submission)
            WHERE submission >= $first ORDER BY submission
        """
        rows = execute(cursor, query, {"first": first}).fetchall()
        numbers = [number for number, *_ in rows]
        if cells is None:
            longest = max((n for _, n, _, _, is_stored in rows if is_stored), default=0)
            expected = [longest] * len(rows)
        else:
            expected = cells(numbers).tolist()
        return (
            {number for number, _, has_some, _, _ in rows if has_some},
            [
                number
                for (number, n, has_some, accepted, _), n_cells in zip(rows, expected, strict=True)
                if accepted and not (has_some and n == n_cells)
            ],
        )

    def misplaced(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """Look for names of objects."""
        if execute(cursor, "SELECT 1 FROM objects LIMIT 1").fetchall():
            yield "The database names objects with predictions, but it keeps predictions itself."

    def unused(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:  # noqa: ARG002
        """Return nothing: there are no objects."""
        return []

    def lacking(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:  # noqa: ARG002
        """Return nothing: there are no objects."""
        return []

    def remove(self, objects: Sequence[str]) -> None:
        """Do nothing: there are no objects."""


@dataclass(frozen=True, slots=True, eq=False)
class TableReader:
    """Reads cells of the table as a :class:`arena.store.keepers.CellReader`."""

    path: Path
    reading: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
    form: CellForm

    def for_workers(self) -> None:
        """Return None: only one process can open the database."""
        return

    def read(self, submissions: IntArray, rows: IntArray | None) -> npt.NDArray[Any]:
        """Return the cells of submissions at these rows."""
        n_rows, n_columns = self.form.n_rows, self.form.n_columns
        block = self._read(submissions).reshape(len(submissions), n_rows, n_columns)
        if rows is not None:
            block = block.take(rows, axis=1)  # one submission after another; an index would not
        return self._texts(block) if self.form.kind is PredictionKind.TEXT else block

    def _texts(self, codes: FloatArray) -> npt.NDArray[np.object_]:
        texts = np.empty(codes.shape, dtype=object)
        with self.reading() as cursor:
            for column in range(len(codes)):
                texts[column] = select_texts(cursor, codes[column])
        return texts

    def _read(self, submissions: IntArray) -> FloatArray:
        """Return the cells of submissions in ascending order, one after another.

        DuckDB guarantees an order only with a sort, which takes ten times as long as reading. So
        the order of the rows is checked, and they are sorted only if it is wrong or if the ids are
        too scattered for a plain filter.
        """
        runs = _runs(submissions)
        values = None
        if len(runs) <= MOST_RUNS:
            values = self._read_in_order(query_of_runs(runs), submissions)
        if values is None:
            values = self._read_in_order(_sorted_query(submissions), submissions)
        if values is None:
            raise StoreFormatError(
                f"The predictions in '{self.path}' are incomplete or out of order: "
                "the file is damaged. Restore a backup, or import the submission files into a new "
                "database."
            )
        return values

    def _read_in_order(self, query: str, submissions: IntArray) -> FloatArray | None:
        """Return the cells of a query; None if they are incomplete or out of order."""
        cells = self.form.n_rows * self.form.n_columns
        values = np.empty(len(submissions) * cells)
        positions = np.arange(cells)
        numbers = submissions.astype(np.int32)  # as stored: another type would be converted
        starts = np.empty((len(submissions), 1), dtype=np.int64)
        """The rowid of the first cell of each submission."""
        filled = 0
        with self.reading() as cursor:
            for batch in cursor.sql(query).to_arrow_reader(BATCH_ROWS):
                ids, places, read = (np.from_dlpack(column) for column in batch.columns)
                if filled + len(read) > len(values):
                    return None
                values[filled : filled + len(read)] = read
                n_copied = 0
                while n_copied < len(read):
                    row, first = divmod(filled, cells)
                    rest = len(read) - n_copied
                    many = rest // cells if first == 0 else 0  # submissions that are whole
                    width = cells if many else min(cells - first, rest)
                    stop = n_copied + max(1, many) * width
                    block_rows = slice(row, row + max(1, many))
                    if not (
                        ids[n_copied:stop].reshape(-1, width) == numbers[block_rows, np.newaxis]
                    ).all():
                        return None
                    rowids = places[n_copied:stop].reshape(-1, width)
                    if first == 0:
                        starts[block_rows] = rowids[:, :1]
                    if not (rowids - starts[block_rows] == positions[first : first + width]).all():
                        return None
                    filled += stop - n_copied
                    n_copied = stop
        return values if filled == len(values) else None


def _tables(values: Mapping[int, FloatArray]) -> Iterator[pa.Table]:
    """Yield the rows of the table, of several submissions at a time.

    They are copied into one array: DuckDB takes 1.5 times as long to store an Arrow table of many
    small batches, which also needs 1.4 times the space in the file.
    """
    stored = list(values.items())
    many = max(1, _INSERTED_CELLS // max(1, stored[0][1].size))
    for start in range(0, len(stored), many):
        group = stored[start : start + many]
        counts = [array.size for _, array in group]
        ids = np.repeat(np.array([table for table, _ in group], dtype=np.int32), counts)
        cells = [np.ascontiguousarray(array, dtype=np.float64).ravel() for _, array in group]
        joined = cells[0] if len(cells) == 1 else np.concatenate(cells)
        yield pa.table({"submission": as_arrow(ids), "value": as_arrow(joined)})


def _runs(submissions: IntArray) -> list[tuple[int, int]]:
    """Return the first and last of every run of consecutive ids.

    >>> _runs(np.array([2, 3, 5, 8, 9]))
    [(2, 3), (5, 5), (8, 9)]
    """
    breaks = np.flatnonzero(np.diff(submissions) > 1)
    firsts = submissions[np.concatenate([[0], breaks + 1])]
    lasts = submissions[np.concatenate([breaks, [len(submissions) - 1]])]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


# Only integers are inserted into the queries. A list of ids after IN becomes a join, whose rows
# come in any order; comparisons are a filter, whose rows come in the order of insertion.


def query_of_runs(runs: Sequence[tuple[int, int]]) -> str:
    """Return the query of the values of consecutive submissions, ``(first, last)`` each."""
    chosen = " OR ".join(f"submission BETWEEN {first} AND {last}" for first, last in runs)
    return f"SELECT submission, rowid, value FROM predictions WHERE {chosen}"  # noqa: S608


def _sorted_query(submissions: IntArray) -> str:
    ids = ", ".join(map(str, submissions.tolist()))
    columns = "submission, rowid, value"
    query = f"SELECT {columns} FROM predictions WHERE submission IN ({ids})"  # noqa: S608
    return f"{query} ORDER BY submission, rowid"
