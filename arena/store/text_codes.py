"""Stores predicted texts once per submission, under numeric codes."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreFormatError
from arena.store.arrow import as_arrow, as_numpy
from arena.types import FloatArray
from arena.utils.lazy import pa

_MOST = 2.0**53
"""Codes are whole numbers below this, which a float holds exactly."""


def insert_texts(cursor: duckdb.DuckDBPyConnection, values: npt.NDArray[Any]) -> FloatArray:
    """Append the distinct texts of an array, inside a transaction; return the codes of its cells.

    The codes are new and consecutive, so that the texts of a submission are read back as one
    range. Texts of other submissions are not reused: searching them would take ever longer.
    """
    encoded = pa.array(values.reshape(-1), pa.string()).dictionary_encode()
    query = "SELECT coalesce(max(code) + 1, 0) FROM texts"
    ((first,),) = cursor.execute(query).fetchall()
    codes = np.arange(first, first + len(encoded.dictionary), dtype=np.int64)
    incoming = pa.table({"code": as_arrow(codes), "text": encoded.dictionary})
    cursor.register("incoming_texts", incoming)
    cursor.execute("INSERT INTO texts SELECT * FROM incoming_texts")
    cursor.unregister("incoming_texts")
    numbers = np.from_dlpack(encoded.indices).astype(np.float64) + first
    return np.asarray(numbers.reshape(values.shape))


def select_texts(
    cursor: duckdb.DuckDBPyConnection, codes: npt.NDArray[Any]
) -> npt.NDArray[np.object_]:
    """Return the texts of the codes of one submission, or of one target; equal ones are one object.

    Raises
    ------
    StoreFormatError
        If a code has no text, or is no number.
    """
    if not (np.isfinite(codes) & (np.abs(codes) < _MOST)).all():
        raise _damaged()
    low, high = int(codes.min()), int(codes.max())
    query = f"SELECT code, text FROM texts WHERE code BETWEEN {low} AND {high}"  # noqa: S608
    table: Any = cursor.sql(query).to_arrow_table()
    known_codes = as_numpy(table["code"]) if len(table) else np.empty(0, dtype=np.int64)
    # The length first: damaged codes can be far apart.
    complete = len(known_codes) == high - low + 1
    if not complete or not np.array_equal(np.sort(known_codes), np.arange(low, high + 1)):
        raise _damaged()
    texts = np.empty(len(known_codes), dtype=object)
    texts[known_codes - low] = table["text"].to_numpy()
    return np.asarray(texts[codes.astype(np.int64) - low], dtype=object)


def _damaged() -> StoreFormatError:
    return StoreFormatError(
        "Submitted texts are missing in the database: the file is damaged. Restore a backup, "
        "or import the submission files into a new database."
    )
