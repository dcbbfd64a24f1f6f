"""Uploaded files, on disk before their request is stored."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from arena.errors import ArenaError, StoreError
from arena.server.records.intake import new_id
from arena.utils.file_errors import reason_of
from arena.utils.text import plural

_PART = ".part"


class UploadTooLargeError(ArenaError):
    """An upload is larger than the competition allows (status 413)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored upload."""

    name: str
    """Its random name in the folder."""
    bytes: int
    sha256: str
    """The hexadecimal digest of its content."""


class Upload:
    """An upload in progress. A context manager; without a commit the file is removed.

    The methods block on the disk: call :meth:`commit` in a thread of an asynchronous server.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._name = new_id()
        self._folder = folder
        self._part = folder / f"{self._name}{_PART}"
        self._max_bytes = max_bytes
        self._size = 0
        self._digest = hashlib.sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(self._part, flags, 0o640)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise StoreError(
                f"No file can be created in the folder of uploads {folder}: {reason_of(error)}."
            ) from error
        self._file = open(descriptor, "wb")  # noqa: PTH123, SIM115
        self._committed = False

    def write(self, chunk: bytes) -> None:
        """Append some bytes.

        Raises
        ------
        UploadTooLargeError
            If the upload is larger than allowed.
        OSError
            If the disk is full (``errno.ENOSPC``, ``errno.EDQUOT``).
        """
        self._size += len(chunk)
        if self._size > self._max_bytes:
            raise UploadTooLargeError(
                f"The file has more than {plural(self._max_bytes, 'byte')}, which is the limit of "
                "this competition."
            )
        self._digest.update(chunk)
        self._file.write(chunk)

    def commit(self) -> Stored:
        """Flush the file to disk, name it, flush its folder, and return its description.

        Raises
        ------
        OSError
            If it cannot be stored; nothing is left behind then.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.rename(self._folder / self._name)
        self._committed = True
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return Stored(self._name, self._size, self._digest.hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self._committed:
            self._part.unlink(missing_ok=True)


class Uploads:
    r"""The folder of uploaded files, each under a random name.

    Examples
    --------
    >>> import tempfile
    >>> uploads = Uploads(Path(tempfile.mkdtemp()))
    >>> stored = uploads.put([b"id,y\n", b"a,0.5\n"])
    >>> stored.bytes, uploads.path(stored.name).read_bytes()
    (11, b'id,y\na,0.5\n')
    >>> uploads.drop(stored.name)
    >>> uploads.sweep(keep=())
    0
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, max_bytes: int) -> Upload:
        """Begin an upload whose bytes arrive in pieces.

        Raises
        ------
        StoreError
            If the folder is missing or not writable.
        OSError
            If no file can be created for another reason, such as a full disk.
        """
        return Upload(self.folder, max_bytes)

    def put(self, chunks: Iterable[bytes], max_bytes: int = 2**40) -> Stored:
        """Store an upload whose bytes are at hand; raise as :class:`Upload` does."""
        with self.begin(max_bytes) as upload:
            for chunk in chunks:
                upload.write(chunk)
            return upload.commit()

    def path(self, name: str) -> Path:
        """Return the path of an upload; raise ValueError for a name that is not one."""
        if not isinstance(name, str) or not name.isalnum():
            raise ValueError(f"{name!r} is no name of an upload.")
        return self.folder / name

    @contextlib.contextmanager
    def opened(self, names: Iterable[str]) -> Iterator[dict[str, Path]]:
        """Open uploads; yield, by its name, a path to each that is there.

        The folder belongs to the web process, which could be taken over and put a link to the
        solution into it, or in its place one to another folder. Links are not followed, and a path
        leads to the opened file even if another one gets its name; without ``/proc`` it is the
        path in the folder.

        Raises
        ------
        StoreError
            If the folder cannot be opened, or is a link.
        """
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(self._opened_folder())
            paths = {}
            for name in names:
                try:
                    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                    descriptor = os.open(self.path(name).name, flags, dir_fd=folder)
                except (OSError, ValueError):
                    continue
                stack.callback(os.close, descriptor)
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    opened = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
                    paths[name] = opened if opened.exists() else self.path(name)
            yield paths

    def drop(self, name: str) -> None:
        """Remove an upload, if it exists.

        Raises
        ------
        StoreError
            If the folder cannot be opened, or is a link.
        """
        with self._opened_folder() as folder, contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(name).name, dir_fd=folder)

    @contextlib.contextmanager
    def _opened_folder(self) -> Iterator[int]:
        """Open the folder, but no link in its place: another process can rename it."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.folder, flags)
        except OSError as error:
            reason = reason_of(error)
            raise StoreError(
                f"The folder of uploads {self.folder} cannot be opened ({reason}). It must be a "
                f"folder, not a link to one: to keep uploads elsewhere, serve with --data."
            ) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def unnamed(self, keep: Collection[str]) -> int:
        """Return how many complete uploads no request names."""
        return sum(path.name not in keep and path.suffix != _PART for path in self.folder.iterdir())

    def sweep(self, keep: Collection[str], *, complete: bool = True) -> int:
        """Remove unfinished uploads and those that no request names; return how many.

        Only for the start of a web process, before it takes uploads. With ``complete`` false,
        only unfinished ones.
        """
        leftover = [
            path
            for path in self.folder.iterdir()
            if path.name not in keep and (complete or path.suffix == _PART)
        ]
        for path in leftover:
            path.unlink(missing_ok=True)
        return len(leftover)
