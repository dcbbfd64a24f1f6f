"""Reads Parquet to a table of flat columns; the footer is checked before any data are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList, Refused, clean, show
from arena.types import Fault, RawTable
from arena.utils.lazy import pc
from arena.utils.text import plural

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
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
    r"""Return whether a file is Parquet, possibly with a damaged beginning.

    A damaged file counts as Parquet if its name or its end says so and it is not text.

    >>> is_parquet(b"\0\0\0\0", "team.parquet"), is_parquet(b"id,y", "a.pq")
    (True, False)
    """
    if data.startswith(_ENCRYPTED) and data.endswith(_ENCRYPTED):
        return True
    meant = name.lower().endswith(_ENDINGS) or data.endswith(MAGIC)
    return data.startswith(MAGIC) or (meant and b"\0" in data)


def read_parquet(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    """Return the table of a Parquet file; raise :class:`Refused` if it cannot be read as one.

    The footer is checked before any data are read: rows, columns, decompressed bytes, and types,
    which must be flat. Text is read as a dictionary and expanded only if the result is within
    bounds.
    """
    if data.startswith(_ENCRYPTED):
        faults.refuse("damaged file", "The Parquet file is encrypted: send it open.")
    if not data.startswith(MAGIC):
        faults.refuse("damaged file", _DAMAGED)
    if len(data) < _MIN_BYTES or not data.endswith(MAGIC):
        faults.refuse("truncated file", "The Parquet file ends too early: write and send it again.")
    import pyarrow.parquet as pq  # a third of the start-up time of a reading process

    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
        _check_size(metadata, bounds, faults)
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError):
        faults.refuse("damaged file", _DAMAGED)
    check_types(schema, faults)
    text = [f.name for f in schema if _is_any(_TEXT, f.type)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=text, memory_map=False)
    batches, n_rows = [], 0
    for batch in file.iter_batches(batch_size=2**17, use_threads=False):
        n_rows += batch.num_rows
        if n_rows > bounds.rows:
            faults.refuse("too many rows", too_many_rows(f"more than {bounds.rows:,}"))
        batches.append(batch)
    table = pa.Table.from_batches(batches, schema=file.schema_arrow)
    return table_of_arrow(table, bounds, faults)


def _check_size(metadata: Any, bounds: Bounds, faults: FaultList) -> None:
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    if n_columns > bounds.columns:
        faults.refuse("too many columns", f"The file has {plural(n_columns, 'column')}.")
    if not 0 <= n_rows <= bounds.rows:
        faults.refuse("too many rows", too_many_rows(f"{n_rows:,}"))
    if metadata.num_row_groups > bounds.rows:
        faults.refuse("damaged file", _DAMAGED)
    unpacked = sum(
        metadata.row_group(g).column(c).total_uncompressed_size
        for g in range(metadata.num_row_groups)
        for c in range(n_columns)
    )
    if not 0 <= unpacked <= bounds.unpacked_bytes:
        faults.refuse("file too large", too_many_bytes(f"{unpacked:,}", bounds))


def too_many_bytes(size: str, bounds: Bounds) -> str:
    """Return the sentence about a file that is too large once it is decompressed."""
    return (
        f"The file decompresses to {size} bytes, but at most {bounds.unpacked_bytes:,} are allowed."
    )


def too_many_rows(rows: str) -> str:
    """Return the sentence about a file with too many rows.

    >>> too_many_rows("9")
    'The file has 9 rows: send one row per id.'
    """
    return f"The file has {rows} rows: send one row per id."


def check_types(schema: Any, faults: FaultList) -> None:
    """Refuse columns that are neither text nor numbers: lists, structs, fixed-size binary.

    Raises
    ------
    Refused
        If there are any, or the file has other faults.
    """
    for field in schema:
        values = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not _is_any(_FLAT, values):
            faults.add("wrong type", _no_text_or_number(field.name), column=field.name)
    if faults:
        raise Refused("wrong type")


def _is_any(kinds: tuple[Callable[[Any], bool], ...], type_: Any) -> bool:
    return any(is_kind(type_) for is_kind in kinds)


def _no_text_or_number(name: str) -> str:
    return f"Column {show(name)} contains neither text nor numbers: write text or numbers."


def table_of_arrow(table: Any, bounds: Bounds, faults: FaultList) -> RawTable:
    """Return an Arrow table as a raw table: flat columns, dictionaries expanded within bounds."""
    if not table.num_rows:
        faults.refuse("no rows", "The file contains no rows: add one row per id.")
    if not table.num_columns:
        faults.refuse("no columns", "The file contains no columns: add those of ids and values.")
    names, columns = [], []
    for i, name in enumerate(table.column_names):
        column = _unfold(table.column(i), bounds.unpacked_bytes)
        if column is None:
            faults.add("wrong type", _no_text_or_number(name), column=name)
        else:
            names.append(name)
            columns.append(_valid_text(column, name, faults))
    if not columns:
        raise Refused("no column can be read")
    return RawTable(composed_names(names), tuple(columns), count_from_one)


def _unfold(column: Any, max_bytes: int) -> Any:
    """Return one flat array, or None if the type is nested or the expanded text is too long.

    Text is returned as ``pyarrow.BinaryArray``, because it may not be UTF-8.
    """
    type_ = column.type
    if pa.types.is_dictionary(type_):
        if pa.types.is_string_view(type_.value_type):
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
                for chunk in column.chunks
            ]
            type_ = pa.dictionary(type_.index_type, pa.string())
            column = pa.chunked_array(chunks, type_)
        if any(_unfolded_bytes(chunk) > max_bytes for chunk in column.chunks):
            return None
        type_ = type_.value_type
    if not _is_any(_FLAT, type_):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(type_)
    if pa.types.is_string_view(type_):
        column = column.cast(pa.string())
    if _is_any(_TEXT, type_):
        column = column.cast(pa.binary())
    combined = column.combine_chunks()
    return combined.combine_chunks() if isinstance(combined, pa.ChunkedArray) else combined


def _valid_text(column: Any, name: str, faults: FaultList) -> Any:
    """Return binary cells as text, other cells unchanged; a cell that is not UTF-8 is a fault."""
    if not pa.types.is_binary(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        cells = [cell or b"" for cell in column.to_pylist()]
    read = [cell.decode(errors="replace") for cell in cells]
    wrong = [row for row, cell in enumerate(cells) if read[row].encode() != cell]
    message = "The cell is not valid UTF-8: write the file again with UTF-8 text."
    faults.add_each(
        "wrong encoding",
        wrong,
        lambda row: Fault("wrong encoding", message, row=count_from_one(row), column=clean(name)),
    )
    return pa.array(read, pa.string())


def _unfolded_bytes(chunk: Any) -> int:
    if not any(is_type(chunk.type.value_type) for is_type in _TEXT):
        return 0
    lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
    total = pc.sum(pc.take(lengths, chunk.indices)).as_py()
    return int(total or 0)
