"""A folder of the predictions of trained models, so that nothing is trained twice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.interfaces import PredictionBlocks
from arena.simulation.ranks.submission import Shape
from arena.types import IntArray
from arena.utils.atomic_write import atomic_write
from arena.utils.file_errors import reason_of

_ABOUT = "models.json"
_MEANINGS = {
    "data": "other data, or other numbers of rows",
    "search": "another grid, or another version of the library that trains",
    "seed": "another seed",
}


@dataclass(frozen=True, slots=True)
class ModelsFolder:
    """One file per model, each written atomically.

    On disk 4 bytes per row of the population (and class) and model.
    """

    path: Path
    n_rows: int
    """Rows of the population."""

    @classmethod
    def open(cls, path: Path, about: Mapping[str, Any], n_rows: int) -> ModelsFolder:
        """Open or make a folder for these models.

        Parameters
        ----------
        about
            ``data``, ``search`` and ``seed``: everything that the models depend on.

        Raises
        ------
        InputError
            If it cannot be used, or holds other models.
        """
        file = path / _ABOUT
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                if any(path.glob("*.npy")):
                    raise InputError(f"{path} holds arrays that arena did not write.")
                atomic_write(file, json.dumps(about, indent=2).encode())
            document = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be used for models: {reason_of(error)}.") from error
        except ValueError as error:
            raise InputError(f"{file} is damaged; use another folder for the models.") from error
        other = [meaning for key, meaning in _MEANINGS.items() if document.get(key) != about[key]]
        if other:
            raise InputError(
                f"{path} holds models of {' and '.join(other)}. Use the options it was made "
                f"with, or another folder with --models."
            )
        return cls(path, n_rows)

    def _file(self, number: int) -> Path:
        return self.path / f"model-{number:06d}.npy"

    def put(self, number: int, predictions: npt.NDArray[np.float32]) -> None:
        """Store a model's predictions for the population.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        import io

        content = io.BytesIO()
        np.save(content, predictions, allow_pickle=False)
        try:
            atomic_write(self._file(number), content.getbuffer())
        except OSError as error:
            raise InputError(
                f"{self._file(number)} cannot be written: {reason_of(error)}. What was trained "
                f"before is kept; the same command continues from there."
            ) from error

    def has(self, number: int) -> bool:
        """Whether the model is there; a damaged file counts as missing."""
        with contextlib.suppress(OSError, ValueError):
            return len(self.get(number)) == self.n_rows
        return False

    def get(self, number: int) -> npt.NDArray[np.float32]:
        """Return ``(n,)`` or ``(n, n_classes)`` predictions; the disk is read as they are used."""
        array: npt.NDArray[np.float32] = np.load(
            self._file(number), mmap_mode="r", allow_pickle=False
        )
        return array


@dataclass(frozen=True, slots=True, eq=False)
class FolderPredictions:
    """The submissions of some models for some rows, read in blocks."""

    folder: ModelsFolder
    numbers: IntArray
    """``(m,)`` of the models."""
    rows: IntArray
    """``(n,)`` positions in the population."""
    shape: Shape

    @property
    def n_submissions(self) -> int:
        """The number m of models."""
        return len(self.numbers)

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` models each."""
        for start in range(0, len(self.numbers), size):
            predictions = [
                self.shape.submission(self.folder.get(int(number))[self.rows])
                for number in self.numbers[start : start + size]
            ]
            yield start, np.stack(predictions)

    def subset(self, submissions: IntArray) -> PredictionBlocks:
        """Return the same for the models at these positions."""
        return FolderPredictions(self.folder, self.numbers[submissions], self.rows, self.shape)
