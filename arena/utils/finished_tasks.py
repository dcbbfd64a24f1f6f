"""Keeps the results of finished tasks in a folder, so that an interrupted command continues.

A result is an array of numbers under a key: a digest of everything that it depends on
(:mod:`arena.utils.task_digests`). A changed input has another key, and finds nothing. What was
kept is read once, at the start; results are written together every ten seconds, and at the end of
the command, however it ends. A file has a unique name and a digest of its content, so that several
processes can share a folder, and a damaged or foreign file is ignored.

A folder that :func:`resumable` has opened is in use until it is closed, as a cluster is
(:mod:`arena.utils.engines`): scoring finds it by :func:`tasks_in_use`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.utils.atomic_write import atomic_write
from arena.utils.file_errors import reason_of
from arena.utils.parallel import Progress

FloatArray = npt.NDArray[np.float64]

SECONDS_BETWEEN_FILES = 10.0
"""A SIGKILL loses at most the work of this time."""
MAGIC = b"arena-tasks-1\n"
_SUFFIX = ".tasks"
_TEMPORARY = ".arena-*"
"""What :func:`atomic_write` leaves behind when its process is killed."""


class FinishedTasks:
    """The results of finished tasks in a folder, which is created when the first one is written.

    Only the owner can read the files: they hold scores on private rows.

    Examples
    --------
    >>> import tempfile
    >>> from arena.utils.parallel import NoProgress
    >>> folder = Path(tempfile.mkdtemp()) / "tasks"
    >>> tasks = FinishedTasks(folder, NoProgress())
    >>> tasks.put("a key", [0.5, 1.0])
    >>> tasks.write()
    >>> FinishedTasks(folder, NoProgress()).get("a key")
    [array([0.5, 1. ])]
    """

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.progress = progress
        self._found: dict[str, list[FloatArray]] = defaultdict(list)
        self._new: list[tuple[str, FloatArray]] = []
        self._written_at = time.monotonic()
        self._writes = True
        self._said: set[str] = set()
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is not a folder: name one for finished tasks.")
        for file in sorted(folder.glob(f"*{_SUFFIX}")):
            for key, values in _read(file):
                self._found[key].append(values)

    @property
    def found_any(self) -> bool:
        """Whether an earlier command has left results."""
        return bool(self._found)

    @property
    def kept_any(self) -> bool:
        """Whether the folder has results."""
        return any(self.folder.glob(f"*{_SUFFIX}"))

    def say_once(self, sentence: str) -> None:
        """Report a sentence, unless the command has reported it."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.progress.say(sentence)

    def say_found(self, count: int, wanted: int, noun: str) -> None:
        """Report how many calls or repetitions (``noun``) need not be made again, if any."""
        if count:
            self.progress.say(
                f"{count:,} of {wanted:,} {noun} are already done: an interrupted command kept "
                "them."
            )

    def get(self, key: str) -> Sequence[FloatArray]:
        """Return the arrays that earlier commands kept under a key; there may be several."""
        return self._found.get(key, ())

    def put(self, key: str, values: npt.ArrayLike) -> None:
        """Keep an array; it is written within seconds."""
        self._new.append((key, np.array(values, dtype=np.float64).reshape(-1)))
        if time.monotonic() - self._written_at >= SECONDS_BETWEEN_FILES:
            self.write()

    def write(self) -> None:
        """Write what is not yet written. A full disk is reported, and does not end the command."""
        new, self._new = self._new, []
        if new and self._writes:
            try:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                atomic_write(self.folder / f"{os.urandom(16).hex()}{_SUFFIX}", _content(new))
            except OSError as error:
                self._writes = False
                self.progress.say(
                    f"Finished tasks cannot be kept in {self.folder}: {reason_of(error)}. The "
                    "command goes on; if it is interrupted, what follows is computed again."
                )
        self._written_at = time.monotonic()

    def remove(self) -> None:
        """Remove the files, and the folder if it is empty then."""
        self._new, self._writes = [], False
        for pattern in (f"*{_SUFFIX}", _TEMPORARY):
            for file in self.folder.glob(pattern):
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _content(tasks: Sequence[tuple[str, FloatArray]]) -> bytes:
    body = io.BytesIO()
    np.savez(
        body,
        keys=np.array([key.encode() for key, _ in tasks]),
        lengths=np.array([len(values) for _, values in tasks], dtype=np.int64),
        values=np.concatenate([values for _, values in tasks]),
    )
    content = body.getvalue()
    return MAGIC + hashlib.sha256(content).digest() + content


def _read(file: Path) -> Iterator[tuple[str, FloatArray]]:
    """Yield the keys and arrays of a file; none if it is damaged or another user's."""
    try:
        if hasattr(os, "getuid") and file.stat().st_uid != os.getuid():
            return
        whole = file.read_bytes()
    except OSError:
        return
    start = len(MAGIC) + hashlib.sha256().digest_size
    content = whole[start:]
    if whole[:start] != MAGIC + hashlib.sha256(content).digest():
        return
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            keys, lengths, values = arrays["keys"], arrays["lengths"], arrays["values"]
        parts = np.split(values, np.cumsum(lengths)[:-1])
        parts_by_key = [(key.decode(), part) for key, part in zip(keys, parts, strict=True)]
    except (ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile):
        return  # what another program has written
    yield from parts_by_key


_in_use: ContextVar[FinishedTasks | None] = ContextVar("the finished tasks in use", default=None)
_kept_in: list[Path] = []
"""The folder of the last command that did not end as intended, if it has results."""


def tasks_in_use() -> FinishedTasks | None:
    """Return the finished tasks of the command; None: nothing is kept.

    >>> tasks_in_use() is None
    True
    """
    return _in_use.get()


@contextlib.contextmanager
def resumable(folder: Path | None, progress: Progress) -> Iterator[FinishedTasks | None]:
    """Let :func:`tasks_in_use` return the finished tasks of a folder in the body.

    None: nothing is kept.

    Raises
    ------
    InputError
        If there is something else of this name.
    """
    _kept_in.clear()
    if folder is None:
        yield None
        return
    tasks = FinishedTasks(folder, progress)
    before = _in_use.set(tasks)
    try:
        yield tasks
    except BaseException:
        tasks.write()
        if tasks.kept_any:
            _kept_in[:] = [folder]
        raise
    finally:
        _in_use.reset(before)
    tasks.write()


def where_kept() -> Path | None:
    """Return the folder with the finished tasks of a command that was interrupted; None: none.

    >>> where_kept() is None
    True
    """
    return next(iter(_kept_in), None)
