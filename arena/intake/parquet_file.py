"""Parquet to a table of flat columns; what its footer promises is checked before it is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from arena.intake.csv_file import MAX_COLUMNS
from arena.intake.faults import FaultList, show
from arena.intake.table import RawTable, count_from_one

__all__ = ["MAGIC", "is_parquet", "read_parquet", "table_of_arrow"]

MAGIC = b"PAR1"
_DAMAGED = "This is not a readable Parquet file: write and send it again."
_MIN_BYTES = 12
_ENDINGS = (".parquet", ".pq")

_FLAT = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_null,
    pa.types.is_temporal,
)
_TEXT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


def is_parquet(data: bytes, name: str) -> bool:
    r"""Return whether a file is Parquet, or was before its beginning was damaged.

    Then it is no text, and its name or its end says so; a text is one, whatever its name.

    >>> is_parquet(b"\0\0\0\0", "team.parquet"), is_parquet(b"id,y", "a.pq")
    (True, False)
    """
    meant = name.lower().endswith(_ENDINGS) or data.endswith(MAGIC)
    return data.startswith(MAGIC) or (meant and b"\0" in data)


def read_parquet(data: bytes, max_rows: int, max_bytes: int, faults: FaultList) -> RawTable | None:
    """Return the table of a Parquet file, or None and a fault.

    Rows and unpacked bytes are bounded by what the footer says before anything else is read.
    Text is read as a dictionary and unfolded only if it then stays within ``max_bytes``.
    """
    if not data.startswith(MAGIC):
        faults.add("damaged file", _DAMAGED)
        return None
    if len(data) < _MIN_BYTES or not data.endswith(MAGIC):
        faults.add("truncated file", "The Parquet file ends too early: write and send it again.")
        return None
    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        faults.add("damaged file", _DAMAGED)
        return None
    if not _is_within(metadata, max_rows, max_bytes, faults):
        return None
    schema = metadata.schema.to_arrow_schema()
    text = [f.name for f in schema if any(is_type(f.type) for is_type in _TEXT)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=text, memory_map=False)
    batches, n_rows = [], 0
    for batch in file.iter_batches(batch_size=2**17, use_threads=False):
        n_rows += batch.num_rows
        if n_rows > max_rows:
            faults.add("too many rows", f"The file has more than {max_rows:,} rows.")
            return None
        batches.append(batch)
    table = pa.Table.from_batches(batches, schema=batches[0].schema if batches else schema)
    return table_of_arrow(table, max_bytes, faults)


def _is_within(metadata: Any, max_rows: int, max_bytes: int, faults: FaultList) -> bool:
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    unpacked = sum(
        metadata.row_group(g).column(c).total_uncompressed_size
        for g in range(metadata.num_row_groups if n_columns <= MAX_COLUMNS else 0)
        for c in range(n_columns)
    )
    if n_columns > MAX_COLUMNS:
        faults.add("too many columns", f"The file has {n_columns:,} columns.")
    elif not 0 <= n_rows <= max_rows:
        faults.add("too many rows", f"The file has {n_rows:,} rows: send one row per id.")
    elif not 0 <= unpacked <= max_bytes:
        faults.add(
            "file too large",
            f"The file unpacks to {unpacked:,} bytes, and {max_bytes:,} are allowed.",
        )
    else:
        return True
    return False


def table_of_arrow(table: Any, max_bytes: int, faults: FaultList) -> RawTable | None:
    """Return an Arrow table as a raw table: flat columns, dictionaries unfolded within bounds."""
    if not table.num_rows:
        faults.add("no rows", "The file holds no rows: add one row per id.")
        return None
    columns = [_unfold(table.column(i), max_bytes) for i in range(table.num_columns)]
    for name, column in zip(table.column_names, columns, strict=True):
        if column is None:
            message = (
                f"Column {show(name)} has a type that is no text and no number: "
                "write text or numbers."
            )
            faults.add("wrong type", message, column=name)
    names = tuple(
        name for name, c in zip(table.column_names, columns, strict=True) if c is not None
    )
    kept = tuple(column for column in columns if column is not None)
    return RawTable(names, kept, count_from_one) if kept else None


def _unfold(column: Any, max_bytes: int) -> Any:
    """Return one flat array, or None where the type is nested or text is too long unfolded."""
    if pa.types.is_dictionary(column.type):
        if any(_unfolded_bytes(chunk) > max_bytes for chunk in column.chunks):
            return None
        column = column.cast(column.type.value_type)
    if not any(is_type(column.type) for is_type in _FLAT):
        return None
    if any(is_type(column.type) for is_type in _TEXT):
        column = column.cast(pa.string())
    combined = column.combine_chunks()
    return combined.combine_chunks() if isinstance(combined, pa.ChunkedArray) else combined


def _unfolded_bytes(chunk: Any) -> int:
    if not any(is_type(chunk.type.value_type) for is_type in _TEXT):
        return 0
    lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
    total = pc.sum(pc.take(lengths, chunk.indices)).as_py()
    return int(total or 0)
