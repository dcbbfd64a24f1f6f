"""What a competitor must be able to do for an experiment on ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.simulation.data import TrainingRows
from arena.types import FloatArray

__all__ = ["ModelSearch"]


@runtime_checkable
class ModelSearch(Protocol):
    """A competitor that draws the settings of a model by chance and trains it by itself.

    It travels to worker processes, which may be on other machines: it must be picklable.
    """

    @property
    def name(self) -> str:
        """The name under which it is asked for."""

    def identity(self) -> str:
        """Return a text that changes with anything that would change a model."""

    def check(self, rows: TrainingRows) -> None:
        """Try all settings, quickly, before anything is trained.

        Raises
        ------
        InputError
            If one of the settings cannot be used.
        """

    def draw(self, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return the settings of one model, of plain JSON."""

    def predictions(
        self, rows: TrainingRows, key: str, features: FloatArray, settings: Mapping[str, Any]
    ) -> npt.NDArray[np.float32]:
        """Train one model and predict with it.

        Parameters
        ----------
        rows
            What it trains on.
        key
            The same for the same rows: what is made of them once serves every model.
        features
            ``(n, d)`` of the rows to predict.
        settings
            As :meth:`draw` returned them.

        Returns
        -------
        ``(n,)`` probabilities of the positive class or numbers, or ``(n, n_classes)``
        probabilities.
        """
