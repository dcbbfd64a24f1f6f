"""Writes files and folders atomically."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
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
    >>> path.read_bytes(), [file.name for file in path.parent.iterdir()]
    (b'whole', ['file'])
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".arena-", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(mode)
            _rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


@contextlib.contextmanager
def atomic_folder(path: Path, mode: int = 0o777) -> Iterator[Path]:
    """Yield the folder to write into; it has its own name only once it is complete.

    An interruption leaves nothing behind that could be taken for the complete folder. A new folder
    is written as ``NAME.part`` and then renamed. One that exists, and must be empty, may be the
    working folder of its user: it is written in place, and emptied after an error.

    Raises
    ------
    OSError
        If the folder cannot be made, emptied or renamed.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "folder"
    >>> with atomic_folder(path) as partial:
    ...     partial.name, path.exists()
    ('folder.part', False)
    >>> path.is_dir(), partial.exists()
    (True, False)
    """
    if path.exists():
        try:
            yield path
        except BaseException:
            for file in path.iterdir():
                shutil.rmtree(file) if file.is_dir() else file.unlink()
            raise
        return
    partial = path.with_name(f"{path.name}.part")
    shutil.rmtree(partial, ignore_errors=True)  # of a command that was killed
    partial.mkdir(mode, parents=True)
    try:
        yield partial
        _rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _rename(source: Path, target: Path) -> None:
    inode = source.stat().st_ino
    try:
        source.replace(target)
    except FileNotFoundError:
        # A shared folder (NFS) answers so to a rename that it has done and is asked for again. Not
        # so if the source was removed: then the target is still the file from before.
        if not target.exists() or target.stat().st_ino != inode:
            raise
