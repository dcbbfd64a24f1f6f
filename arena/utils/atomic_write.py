"""Writes files atomically."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def atomic_write(path: Path, content: bytes | memoryview, mode: int = 0o600) -> None:
    """Replace a file atomically: a reader sees either the old content or the new content.

    The content is flushed to disk under a temporary name and then renamed. An interruption leaves
    no partial file behind.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "file"
    >>> atomic_write(path, b"whole")
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
