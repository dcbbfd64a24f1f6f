"""Predictions as immutable Parquet objects, one for each content, named by their SHA-256.

An object has a column for each column of a submission, a row for each row of the solution, in its
order, and neither ids nor labels of the solution: numbers, codes of predicted labels, or texts. The
database names the object of each submission, and so does the event that stored it. Nothing is
parsed before its digest was compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import ObjectError
from arena.store.arrow import as_arrow, as_numpy
from arena.store.keepers import CellCounts, CellForm
from arena.store.object_places import ObjectPlace, object_name
from arena.types import IntArray, PredictionKind
from arena.utils.file_errors import reason_of
from arena.utils.text import plural

_ROW_BYTES = 200
"""Of a submission in the database: its number and the name of its object."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionObjects:
    """Objects at a place as a :class:`arena.store.keepers.Keeper`."""

    place: ObjectPlace

    @property
    def outside(self) -> str:
        """The place."""
        return self.place.url

    def bytes_of(self, values: npt.NDArray[Any]) -> int:  # noqa: ARG002
        """Return about how many bytes the name of an object takes."""
        return _ROW_BYTES

    def insert(
        self, cursor: duckdb.DuckDBPyConnection, values: Mapping[int, npt.NDArray[Any]]
    ) -> Mapping[str, bytes]:
        """Name the object of each submission; return the objects."""
        objects = {}
        for submission, array in values.items():
            content = object_of(array)
            name = object_name(content)
            cursor.execute("INSERT INTO objects VALUES (?, ?)", [submission, name])
            objects[name] = content
        return objects

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Store objects."""
        self.place.put(objects)

    def reader(
        self, cursor: duckdb.DuckDBPyConnection, submissions: IntArray, form: CellForm
    ) -> ObjectReader:
        """Return a reader that has the names of the objects of these submissions."""
        return ObjectReader(self.place, self.object_names(cursor, submissions.tolist()), form)

    def cells(
        self, cursor: duckdb.DuckDBPyConnection, submission: int, form: CellForm
    ) -> npt.NDArray[Any]:
        """Read the object of a submission."""
        numbers = np.array([submission], dtype=np.intp)
        return self.reader(cursor, numbers, form).read(numbers, None).reshape(-1)

    def object_names(
        self, cursor: duckdb.DuckDBPyConnection, submissions: Sequence[int]
    ) -> Mapping[int, str]:
        """Return the names of the objects of submissions that have one."""
        if not submissions:
            return {}
        query = "SELECT submission, name FROM objects WHERE submission BETWEEN ? AND ?"
        rows = cursor.execute(query, [min(submissions), max(submissions)]).fetchall()
        numbers = set(submissions)
        return {submission: name for submission, name in rows if submission in numbers}

    def stored_and_incomplete(
        self,
        cursor: duckdb.DuckDBPyConnection,
        cells: CellCounts | None,  # noqa: ARG002
        first: int,
    ) -> tuple[set[int], list[int]]:
        """Look for accepted submissions without an object; none is read."""
        query = """
            SELECT submission, name IS NOT NULL,
                name IS NULL AND coalesce(status = 'accepted', false)
            FROM submissions FULL JOIN objects USING (submission)
            WHERE submission >= ? ORDER BY submission
        """
        rows = cursor.execute(query, [first]).fetchall()
        return (
            {number for number, has_one, _ in rows if has_one},
            [number for number, _, lacks_one in rows if lacks_one],
        )

    def misplaced(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """Look for cells in the table."""
        if cursor.execute("SELECT 1 FROM predictions LIMIT 1").fetchall():
            yield f"The database contains predictions, but they are kept at {self.place.url}."

    def unused(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:
        """Compare the names at the place with those in the database."""
        used = {name for (name,) in cursor.execute("SELECT name FROM objects").fetchall()}
        return sorted(name for name in self.place.names() if name not in used)

    def lacking(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:
        """Return the names in the database that are not at the place."""
        used = cursor.execute("SELECT DISTINCT name FROM objects ORDER BY name").fetchall()
        stored_names = set(self.place.names()) if used else set()
        return [name for (name,) in used if name not in stored_names]

    def remove(self, objects: Sequence[str]) -> None:
        """Remove objects from the place."""
        self.place.remove(objects)


@dataclass(frozen=True, slots=True, eq=False)
class ObjectReader:
    """Reads objects as a :class:`arena.store.keepers.CellReader`; picklable.

    At most 64 MB of objects are in memory beside what is returned.
    """

    place: ObjectPlace
    names: Mapping[int, str]
    form: CellForm

    def for_workers(self) -> ObjectReader:
        """Return this reader: a worker needs the place only."""
        return self

    def read(self, submissions: IntArray, rows: IntArray | None) -> npt.NDArray[Any]:
        """Return the cells of submissions at these rows."""
        form, numbers = self.form, submissions.tolist()
        is_text = form.kind is PredictionKind.TEXT
        n = form.n_rows if rows is None else len(rows)
        cells = np.empty((len(numbers), n, form.n_columns), dtype=object if is_text else np.float64)
        for number in numbers:
            if number not in self.names:
                raise ObjectError(
                    f"The predictions of submission {number} are missing: the database names no "
                    f"object at {self.place.url}. Restore a backup of the database."
                )
        names = [self.names[number] for number in numbers]
        contents = self.place.get(names, 8 * form.n_rows * form.n_columns)
        for position, (number, name, content) in enumerate(
            zip(numbers, names, contents, strict=True)
        ):
            table = self._parsed(number, name, content)
            for column in range(form.n_columns):
                values = _cells(table.column(column))
                cells[position, :, column] = values if rows is None else values[rows]
        return cells

    def _parsed(self, number: int, name: str, content: bytes | OSError | None) -> pa.Table:
        path = self.place.path(name)
        if isinstance(content, OSError):
            raise ObjectError(
                f"The predictions of submission {number} cannot be read from {path}: "
                f"{reason_of(content)}. Make the file readable, or restore it from a backup."
            )
        if content is None:
            raise ObjectError(
                f"The predictions of submission {number} are missing: there is no {path}. Restore "
                "it from a backup."
            )
        if object_name(content) != name:
            raise ObjectError(
                f"The predictions of submission {number} were changed or truncated: the content of "
                f"{path} ({plural(len(content), 'byte')}) does not have the SHA-256 that is its "
                "name. Restore it from a backup."
            )
        form = self.form
        kind = pa.string() if form.kind is PredictionKind.TEXT else pa.float64()
        try:
            import pyarrow.parquet as pq

            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        except pa.ArrowException as error:
            raise self._other(number, name) from error
        columns = [column.type == kind and not column.null_count for column in table.columns]
        if table.num_rows != form.n_rows or columns != [True] * form.n_columns:
            raise self._other(number, name)
        return table

    def _other(self, number: int, name: str) -> ObjectError:
        return ObjectError(
            f"{self.place.path(name)} does not hold the predictions of submission {number}: it is"
            f" not a table of {plural(self.form.n_rows, 'row')} and "
            f"{plural(self.form.n_columns, 'column')}. The database was changed: "
            "restore a backup of it."
        )


def object_of(values: npt.NDArray[Any]) -> bytes:
    """Return ``(n_rows, n_columns)`` predictions as a Parquet file.

    The same values give the same bytes, with the same version of pyarrow.
    """
    import pyarrow.parquet as pq

    is_text = values.dtype == object
    columns = [
        pa.array(column, pa.string()) if is_text else as_arrow(column.astype(np.float64))
        for column in values.T
    ]
    names = [str(column) for column in range(len(columns))]
    table = pa.table(columns, names=names)
    sink = pa.BufferOutputStream()
    coded = is_text or _few_values(values)
    pq.write_table(
        table,
        sink,
        row_group_size=max(1, len(values)),
        compression="zstd" if coded else "lz4",
        use_dictionary=coded,
        use_byte_stream_split=not coded,
        write_statistics=False,
        store_schema=False,
    )
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


_SAMPLED = 1_000
_FEW = 100


def _few_values(values: npt.NDArray[Any]) -> bool:
    """Whether a sample of the cells has few different values, as labels do."""
    cells = values.reshape(-1)
    return len(np.unique(cells[:: max(1, len(cells) // _SAMPLED)])) <= _FEW


def _cells(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return the cells of a column; equal texts are one object."""
    if column.type != pa.string():
        return as_numpy(column) if len(column) else np.empty(0)
    encoded = column.combine_chunks().dictionary_encode()
    texts = np.empty(len(encoded.dictionary), dtype=object)
    texts[:] = encoded.dictionary.to_pylist()
    return np.asarray(texts[np.from_dlpack(encoded.indices)], dtype=object)
