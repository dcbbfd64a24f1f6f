"""Rows divided into parts that differ."""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import UsageError
from arena.simulation.competition.setup import data_from_world, with_drift
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.drift import divide_with_drift
from arena.utils.tabular import as_json
from kept import check_kept_document


def distance(first, second):
    """Return the largest difference of means, in standard deviations of the mean's difference."""
    error = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    return float(np.max(np.abs(first.mean(axis=0) - second.mean(axis=0)) / error))


def test_parts_differ_more_with_more_drift_and_are_complete():
    features = np.random.default_rng(0).random((2_000, 5))
    features[::7, 2] = np.nan
    distances = []
    for drift in (0.0, 0.3, 1.0):
        part, other_part = divide_with_drift(features, 600, drift, np.random.default_rng(1))
        assert sorted([*part, *other_part]) == list(range(2_000))
        assert len(part) == 600
        filled = np.nan_to_num(features, nan=0.5)
        distances.append(distance(filled[part], filled[other_part]))
    assert distances[0] < 4 < distances[1] < distances[2]
    with pytest.raises(UsageError, match="from 0"):
        divide_with_drift(features, 600, 1.5, np.random.default_rng(1))


def test_training_rows_and_public_rows_drift():
    sizes = Sizes(400, 100, 800)
    near, far = (synthetic_world(sizes, 1, drift) for drift in (0.0, 0.8))
    assert np.array_equal(near.population.target, synthetic_world(sizes, 1).population.target)
    gaps = [
        distance(divided.rows.training.features, divided.population.features)
        for divided in (near, far)
    ]
    assert gaps[0] < 5 < gaps[1]
    data = with_drift(data_from_world(near), 0.25, 0.8, seed=2)
    public = np.array(data.solution["Usage"].to_pylist()) == "Public"
    assert public.sum() == 200
    assert distance(data.test[public], data.test[~public]) > 5


def test_a_feature_that_does_not_vary_divides_nothing():
    """The larger values come first where they move along the drawn direction backwards."""
    rows = np.stack([np.arange(6.0)[::-1], np.ones(6)], axis=1)
    weight, _ = np.random.default_rng(0).standard_normal(2)
    assert weight > 0  # so the first part has the smallest values, 0 and 1
    first, second = divide_with_drift(rows, 2, 1.0, np.random.default_rng(0))
    assert (first.tolist(), second.tolist()) == ([4, 5], [0, 1, 2, 3])


def test_the_rows_of_a_seed_are_the_kept_ones():
    world = synthetic_world(Sizes(4, 2, 12), seed=1)
    chance = world.population.chance
    document = {
        "training": [world.rows.training.features, world.rows.training.target],
        "validation": [world.rows.validation.features, world.rows.validation.target],
        "population": [world.population.features, world.population.target, chance],
    }
    # Targets are drawn with the chances: of 40,000 rows their means differ by less than 0.01.
    many = synthetic_world(Sizes(2, 2, 40_000), seed=2).population
    assert many.target.mean() == pytest.approx(many.chance.mean() / 100, abs=0.01)
    document["positives of 40,000 rows"] = many.target.sum()
    check_kept_document("synthetic-rows", as_json(document))
