"""A small world whose models are made in no time."""

from __future__ import annotations

import numpy as np
import pytest

from arena.plugin.manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.ranks.model_cache import ModelsFolder

N_MODELS = 12


@pytest.fixture(scope="session")
def manager():
    return PluginManager()


@pytest.fixture(scope="session")
def world():
    return synthetic_world(Sizes(300, 150, 4_000), seed=3)


@pytest.fixture(scope="session")
def folder(world, tmp_path_factory):
    """Models that know the chance of each row, up to noise of their own."""
    models = ModelsFolder.open(
        tmp_path_factory.mktemp("models"),
        {"data": "d", "search": "s", "seed": 0},
        world.population.n_rows,
    )
    rng = np.random.default_rng(0)
    chance = world.population.chance / 100
    for number in range(N_MODELS):
        noise = rng.normal(scale=0.1 + 0.02 * number, size=len(chance))
        models.put(number, np.clip(chance + noise, 0, 1).astype(np.float32))
    return models
