"""Keeps what players computed, so that nothing is trained twice."""

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
from arena.whole_files import put_whole

__all__ = ["KeptResults", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Put a file there whole or not at all, and its folder if it is missing.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put_whole(path, content)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}. What was stored before is kept; the "
            f"same command goes on from there."
        ) from error


@dataclass(frozen=True, slots=True)
class KeptResults:
    """A folder with one array per computation, put there whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> kept = KeptResults(Path(tempfile.mkdtemp()))
    >>> kept.put("a model", np.array([0.5]))
    >>> kept.get("a model"), kept.get("another") is None
    (array([0.5]), True)
    """

    folder: Path

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.npy"

    def get(self, key: str) -> npt.NDArray[Any] | None:
        """Return the result of a computation, or None; a damaged file counts as none."""
        with contextlib.suppress(OSError, ValueError, EOFError):
            array: npt.NDArray[Any] = np.load(self._file(key), allow_pickle=False)
            return array
        return None

    def put(self, key: str, result: npt.NDArray[Any]) -> None:
        """Keep the result of a computation.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        content = io.BytesIO()
        np.save(content, result, allow_pickle=False)
        write_whole(self._file(key), content.getvalue())
