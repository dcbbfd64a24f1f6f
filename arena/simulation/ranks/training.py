"""Trains the models that a folder does not hold yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.simulation.data import TrainingRows, World
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.types import FloatArray
from arena.utils.engines import Engine
from arena.utils.parallel import NoProgress, Progress

_SETTINGS_STREAM = 2**32 - 4


@runtime_checkable
class ModelSearch(Protocol):
    """A competitor that draws the settings of a model at random and trains it.

    It must be picklable: it is sent to worker processes, possibly on other machines.
    """

    @property
    def name(self) -> str:
        """The name of the competitor."""

    def identity(self) -> str:
        """Return a text that differs whenever the models would differ."""

    def check(self, rows: TrainingRows) -> None:
        """Try all settings quickly, before anything is trained.

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
            The same for the same rows, so that preprocessed rows can be reused for every model.
        features
            ``(n, d)`` of the rows to predict.
        settings
            As :meth:`draw` returned them.

        Returns
        -------
        ``(n,)`` probabilities of the positive class or numbers, or ``(n, n_classes)``
        probabilities.
        """


def describe_models(world: World, search: ModelSearch, seed: int) -> dict[str, Any]:
    """Return everything that the models of a folder depend on."""
    about = {"format": 1, "about": f"{search.name} on {world.name}"}
    return {**about, "data": world.identity, "search": search.identity(), "seed": seed}


def model_settings(search: ModelSearch, number: int, seed: int) -> Mapping[str, Any]:
    """Return the settings of a model; they depend on the seed and its number only."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_SETTINGS_STREAM, number))
    return search.draw(np.random.default_rng(sequence))


def missing_models(folder: ModelsFolder, count: int) -> list[int]:
    """Return which of the models 0 … count-1 are missing."""
    return [number for number in range(count) if not folder.has(number)]


def train_models(
    world: World,
    search: ModelSearch,
    folder: ModelsFolder,
    count: int,
    *,
    seed: int,
    engine: Engine,
    progress: Progress | None = None,
) -> int:
    """Train the missing ones of the models 0 … count-1, and return how many were missing.

    Each is stored as soon as it is trained, so the same call continues after an interruption. Each
    worker holds the rows, binned once, and the predictions of one model.

    Raises
    ------
    InputError
        If the folder cannot be written to.
    """
    progress = progress or NoProgress()
    missing = missing_models(folder, count)
    progress.start("Training models", len(missing))
    shared = (search, world.rows, world.population.features)
    tasks = ((world.identity, model_settings(search, number, seed), number) for number in missing)
    for number, predictions in engine.run(_train, shared, tasks):
        folder.put(number, predictions)
        progress.advance()
    return len(missing)


def _train(
    search: ModelSearch,
    rows: TrainingRows,
    features: FloatArray,
    key: str,
    settings: Mapping[str, Any],
    number: int,
) -> tuple[int, npt.NDArray[np.float32]]:
    return number, search.predictions(rows, key, features, settings)
