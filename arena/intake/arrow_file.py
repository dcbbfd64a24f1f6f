"""Reads Arrow files (Feather, version 2) and Arrow streams, as those of Hugging Face's datasets."""

from __future__ import annotations

import pyarrow as pa

from arena.intake.parquet_file import check_types, table_of_arrow, too_many_bytes, too_many_rows
from arena.intake.table import Bounds
from arena.interfaces.faults import FaultList
from arena.types import RawTable
from arena.utils.text import plural

_MAGIC = b"ARROW1"
_BEGIN = b"\xff\xff\xff\xff"
"""The first bytes of each message of a stream."""
_STREAM_END = _BEGIN + bytes(4)
_STREAM_OF_FILE = 8
"""Where the stream begins in a file; a footer follows it."""


def is_arrow(data: bytes) -> bool:
    """Return whether data begin as an Arrow file or stream does.

    >>> is_arrow(b"ARROW1" + bytes(2)), is_arrow(b"id,y")
    (True, False)
    """
    return data.startswith((_MAGIC, _BEGIN))


def read_arrow(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    """Return the table of an Arrow file or stream; its columns must be flat.

    Arrow trusts the offsets in a file, so that they are validated.

    Raises
    ------
    Refused
        If it cannot be read, or is too large; the fault has been added.
    """
    is_file = data.startswith(_MAGIC)
    if not data.endswith(_MAGIC if is_file else _STREAM_END):
        faults.refuse("truncated file", "The Arrow file ends too early: write and send it again.")
    stream = pa.py_buffer(data).slice(_STREAM_OF_FILE if is_file else 0)
    batches, n_rows, n_bytes = [], 0, 0
    try:
        with pa.ipc.open_stream(stream) as reader:
            schema = reader.schema
            if len(schema) > bounds.columns:
                faults.refuse("too many columns", f"The file has {plural(len(schema), 'column')}.")
            check_types(schema, faults)
            for batch in reader:
                batch.validate(full=True)
                batches.append(batch)
                n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
                if n_rows > bounds.rows:
                    faults.refuse("too many rows", too_many_rows(f"at least {n_rows:,}"))
                if n_bytes > bounds.unpacked_bytes:
                    faults.refuse("file too large", too_many_bytes(f"at least {n_bytes:,}", bounds))
    except (pa.ArrowException, OSError):
        faults.refuse("damaged file", "This is not a readable Arrow file: write and send it again.")
    return table_of_arrow(pa.Table.from_batches(batches, schema=schema), bounds, faults)
