"""Files that a metric reads itself: each is one row, whose only cell holds the whole file."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from arena.errors import InputError
from arena.intake.content import read_raw
from arena.intake.submission import ReadSubmission
from arena.interfaces.faults import FaultList, Refused, describe, show
from arena.types import PredictionKind, Solution, Target, Usage
from arena.utils.file_errors import unreadable

_COLUMN, _ID = "file", "the file"


def cell_of_file(name: str, data: bytes) -> str:
    """Return a file's name and content as one text.

    >>> cell_of_file("a.txt", b"1 2")
    '["a.txt", "text", "1 2"]'
    """
    try:
        return json.dumps([name, "text", data.decode("utf-8")])
    except UnicodeDecodeError:
        return json.dumps([name, "base64", base64.b64encode(data).decode("ascii")])


def file_of_cell(cell: str) -> tuple[str, bytes]:
    r"""Return the name and the content of :func:`cell_of_file`.

    >>> file_of_cell(cell_of_file("a.bin", bytes([255, 0])))
    ('a.bin', b'\xff\x00')
    """
    name, form, content = json.loads(cell)
    return name, content.encode("utf-8") if form == "text" else base64.b64decode(content)


def read_whole_submission(path: Path, max_bytes: int) -> ReadSubmission:
    """Return a participant's file as one row; only its size and that it is a file are checked."""
    faults = FaultList()
    try:
        data = read_raw(path, max_bytes, faults)
    except Refused:
        return ReadSubmission(None, faults.to_tuple(), "")
    values = np.array([[cell_of_file(path.name, data)]], dtype=object)
    return ReadSubmission(values, (), hashlib.sha256(data).hexdigest())


def read_whole_solution(path: Path, max_bytes: int) -> Solution:
    """Return the organiser's file as a solution of one private row; a folder becomes a ZIP file.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    faults = FaultList()
    try:
        data = _zipped(path) if path.is_dir() else read_raw(path, max_bytes, faults)
    except Refused:
        what = describe(faults.to_tuple()[0])
        raise InputError(f"The solution {show(path.name)} cannot be used: {what}") from None
    except OSError as error:
        raise unreadable(path, error) from error
    name = f"{path.name}.zip" if path.is_dir() else path.name
    return Solution(
        id_column="id",
        targets=(Target(_COLUMN, None),),
        columns=(_COLUMN,),
        kind=PredictionKind.TEXT,
        ids=pa.array([_ID], pa.string()),
        truth=np.array([cell_of_file(name, data)], dtype=object),
        usage=np.array([Usage.PRIVATE], dtype=np.uint8),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            # A fixed time, so that the same files give the same bytes.
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            archive.writestr(info, path.read_bytes())
    return buffer.getvalue()
