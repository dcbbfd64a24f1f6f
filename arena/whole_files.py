"""Puts a file in its place whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["put_whole"]


def put_whole(path: Path, content: bytes | memoryview, mode: int = 0o600) -> None:
    """Write a file beside its place and put it there: a reader sees the old one or the new one.

    It is on the disk before it is in its place. Whatever ends the writing leaves nothing behind.

    Raises
    ------
    OSError
        If it cannot be written.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "file"
    >>> put_whole(path, b"whole")
    >>> path.read_bytes(), [one.name for one in path.parent.iterdir()]
    (b'whole', ['file'])
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".arena-", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
