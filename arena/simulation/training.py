"""Trains the competitors that a folder does not hold yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.engines import Engine
from arena.execution import Progress, Silence
from arena.simulation.data import TrainingRows, World
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.search import ModelSearch
from arena.types import FloatArray

__all__ = ["describe_models", "missing_models", "model_settings", "train_models"]

_SETTINGS_STREAM = 2**32 - 4


def describe_models(world: World, search: ModelSearch, seed: int) -> dict[str, Any]:
    """Return what the models of a folder are a function of."""
    about = {"format": 1, "about": f"{search.name} on {world.name}"}
    return {**about, "data": world.identity, "search": search.identity(), "seed": seed}


def model_settings(search: ModelSearch, number: int, seed: int) -> Mapping[str, Any]:
    """Return the settings of a model, which depend on the seed and its number only."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_SETTINGS_STREAM, number))
    return search.draw(np.random.default_rng(sequence))


def missing_models(folder: ModelsFolder, count: int) -> list[int]:
    """Return which of the models 0 … count-1 are not there."""
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
    """Train the models 0 … count-1 that are missing, and return how many these were.

    Each is kept as soon as it is there: after an interruption the same call goes on. One model
    per worker is under way; each worker holds the rows, once binned, and what it predicts.

    Raises
    ------
    InputError
        If the folder cannot be written to.
    """
    progress = progress or Silence()
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
