"""``plan`` from pilots, ``simulate ranks`` and the truth, on three kinds of boards."""

from __future__ import annotations

import numpy as np
import pytest

from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.plan.plan import plan_rows
from arena.simulation.plan.uncertainty import pair_degrees_of_freedom
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.study import compare_ranks
from arena.simulation.requests import RanksRequest

pytestmark = pytest.mark.slow

N_MODELS, PILOT_ROWS, PILOTS = 10, 1_000, 8
GRID = (500, 2_000)
KINDS = {
    "long tail": 0.06 * np.arange(N_MODELS),
    "leader and crowd": np.r_[0.0, np.full(N_MODELS - 1, 0.35)],
    "crowded top": np.r_[np.full(5, 0.2), 0.4 + 0.05 * np.arange(5)],
}
"""The noise of each model's probabilities about the true ones: more noise, a worse score."""


def brier_rows(models, chance, rows, rng):
    """Return ``(m, n)`` squared errors on rows with newly drawn labels."""
    labels = rng.random(len(rows)) < chance[rows]
    return (models[:, rows] - labels) ** 2


@pytest.mark.parametrize("kind", KINDS)
def test_plan_and_simulation_agree_with_the_truth(kind, manager, tmp_path):
    world = synthetic_world(Sizes(300, 150, 20_000), seed=3)
    rng = np.random.default_rng(0)
    chance = world.population.chance / 100
    noise = rng.normal(size=(N_MODELS, len(chance)))
    models = np.clip(chance + KINDS[kind][:, None] * noise, 0, 1).astype(np.float32)
    folder = ModelsFolder.open(tmp_path, {"data": "d", "search": "s", "seed": 0}, len(chance))
    for number, model in enumerate(models):
        folder.put(number, model)

    expected = (models**2 - 2 * models * chance + chance).mean(axis=1)
    best = expected.argmin()
    truth = {}
    for rows in GRID:
        tests = [
            brier_rows(models, chance, rng.integers(0, len(chance), rows), rng).mean(axis=1)
            for _ in range(400)
        ]
        truth[rows] = np.mean([test.argmin() == best for test in tests])

    settings = RanksRequest(test_rows=GRID, competitors=(N_MODELS,), tests=100, boards=0)
    metric = manager.metrics.resolve("brier")
    simulated = compare_ranks(
        world, metric, manager.rankers.resolve("simultaneous"), manager.analyses.resolve("ranks"),
        folder, settings,
    )  # fmt: skip
    for frequency in simulated.win_frequency:
        # Both are estimates: 0.05 is three standard errors of a share of 400 tests and more.
        assert frequency.low - 0.05 <= truth[frequency.test_rows] <= frequency.high + 0.05

    held = []
    for pilot in range(PILOTS):
        rng = np.random.default_rng(pilot)
        own = brier_rows(models, chance, rng.integers(0, len(chance), PILOT_ROWS), rng)
        weights = rng.multinomial(PILOT_ROWS, np.full(PILOT_ROWS, 1 / PILOT_ROWS), size=200).T
        plan = plan_rows(
            own.mean(axis=1),
            own @ weights / PILOT_ROWS,
            PILOT_ROWS,
            greater_is_better=False,
            test_rows=GRID,
            prizes=1,
            top=1,
            rng=rng,
        )
        for row in plan.rows:
            low, high = row.intervals["best_wins"]
            held.append(low - 0.05 <= truth[row.test_rows] <= high + 0.05)
    assert np.mean(held) >= 0.85


def skewed_losses(gaps, n, rng):
    """Return ``(m, n)`` losses: lognormal difficulty of a row, of skewness 6, times a model's."""
    difficulty = np.exp(rng.normal(size=n) - 0.5)
    own = np.exp(0.5 * rng.normal(size=(len(gaps), n)) - 0.125)
    return difficulty * own * (1 + gaps[:, None])


def test_plan_holds_under_skewed_losses():
    gaps, rng = 0.03 * np.arange(8), np.random.default_rng(99)
    truth = {
        rows: np.mean([skewed_losses(gaps, rows, rng).mean(axis=1).argmin() == 0
                       for _ in range(250)])
        for rows in (1_000, 4_000)
    }  # fmt: skip
    held = []
    for pilot in range(PILOTS):
        rng = np.random.default_rng(pilot)
        own = skewed_losses(gaps, PILOT_ROWS, rng)
        weights = rng.multinomial(PILOT_ROWS, np.full(PILOT_ROWS, 1 / PILOT_ROWS), size=200).T
        plan = plan_rows(
            own.mean(axis=1),
            own @ weights / PILOT_ROWS,
            PILOT_ROWS,
            greater_is_better=False,
            test_rows=tuple(truth),
            prizes=1,
            top=1,
            degrees_of_freedom=pair_degrees_of_freedom(own),
            rng=rng,
        )
        for row in plan.rows:
            low, high = row.intervals["best_wins"]
            held.append(low - 0.04 <= truth[row.test_rows] <= high + 0.04)
    assert np.mean(held) >= 0.85
