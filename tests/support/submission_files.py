"""What tests of intake write into files, and how they look at the faults."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from arena.intake import ReadSubmission
from arena.types import Fault, Solution

__all__ = [
    "N_ROWS", "Send", "Solve", "arrow", "die", "kinds", "only", "parquet", "rows_of", "zipped"
]  # fmt: skip

N_ROWS = 30

Send: TypeAlias = Callable[..., ReadSubmission]
Solve: TypeAlias = Callable[..., Solution]


def rows_of(values: Mapping[int, str] | None = None, default: str = "0.5") -> str:
    """Return the rows of a valid submission, some of them with other values."""
    changed = values or {}
    return "".join(f"{i:03d},{changed.get(i, default)}\n" for i in range(N_ROWS))


def parquet(table: pa.Table, **options: Any) -> bytes:
    """Return a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def arrow(table: pa.Table, new: Any, compression: str | None = None) -> bytes:
    """Return an Arrow file or stream; ``new`` opens its writer, such as ``pa.ipc.new_file``."""
    file = io.BytesIO()
    with new(file, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return file.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive, with the same bytes at any time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def only(read: ReadSubmission, kind: str) -> Fault:
    """Return the one fault of a kind."""
    faults = [fault for fault in read.faults if fault.kind == kind]
    assert len(faults) == 1, read.faults
    return faults[0]


def kinds(read: ReadSubmission) -> set[str]:
    """Return the kinds of all faults."""
    return {fault.kind for fault in read.faults}


def fail(*_: object) -> NoReturn:
    """Raise what no reader expects; its text quotes the file."""
    raise KeyError("a secret cell")


def swell(*_: object) -> NoReturn:
    """Run out of memory where nothing expects it."""
    raise MemoryError


def die(*_: object) -> NoReturn:
    """End the process as a crash in C does."""
    os.abort()
