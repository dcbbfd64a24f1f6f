"""Stores what players computed, so that nothing is trained twice."""

from __future__ import annotations

import contextlib
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.utils.atomic_write import atomic_write
from arena.utils.file_errors import reason_of


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, and create its folder if it is missing.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, content)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {reason_of(error)}. Data stored before are kept; the "
            f"same command continues from there."
        ) from error


@dataclass(frozen=True, slots=True)
class ResultCache:
    """A folder with one array per computation, each written atomically.

    Examples
    --------
    >>> import tempfile
    >>> cache = ResultCache(Path(tempfile.mkdtemp()))
    >>> cache.put("a model", np.array([0.5]))
    >>> cache.get("a model"), cache.get("another") is None
    (array([0.5]), True)
    """

    folder: Path

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.npy"

    def get(self, key: str) -> npt.NDArray[Any] | None:
        """Return the result of a computation, or None; also for a damaged file."""
        with contextlib.suppress(OSError, ValueError, EOFError):
            array: npt.NDArray[Any] = np.load(self._file(key), allow_pickle=False)
            return array
        return None

    def put(self, key: str, result: npt.NDArray[Any]) -> None:
        """Store the result of a computation.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        content = io.BytesIO()
        np.save(content, result, allow_pickle=False)
        write_file(self._file(key), content.getvalue())
