"""What families of models are drawn from."""

from __future__ import annotations

import numpy as np

from arena.simulation.data import LabelledRows, TrainingRows
from arena_competitors.scikit_learn.models import (
    FAMILIES,
    FOREST_TREES,
    MOST_CATEGORIES,
    NETWORK_ROUNDS,
    predictions_of_family,
)
from kept import check_kept_document


def test_settings_of_families_are_kept() -> None:
    sizes = {"trees": FOREST_TREES, "rounds": NETWORK_ROUNDS, "categories": MOST_CATEGORIES}
    check_kept_document("training-families", {"families": FAMILIES, "sizes": sizes})


def test_more_neighbours_than_rows_are_all_rows() -> None:
    # Four of six rows are of the second class.
    features, target = np.arange(6.0)[:, np.newaxis], np.array([0, 1, 1, 0, 1, 1])
    halves = [LabelledRows(features[half], target[half]) for half in (slice(3), slice(3, 6))]
    rows = TrainingRows(*halves, n_classes=2)
    settings = {"n_neighbors": 101, "weights": "uniform", "p": 2, "seed": 0}
    predictions = predictions_of_family(
        rows, "key", features[:2], settings, {"family": "neighbours"}
    )
    np.testing.assert_allclose(predictions, [4 / 6, 4 / 6], rtol=1e-6)
