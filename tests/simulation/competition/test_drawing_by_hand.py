"""Predictions that are drawn, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import special

from arena.simulation.competition.drawing import Drawing, SplitScores, signal_of_rows
from arena.types import PredictionKind

SIGNAL, SHARED = np.array([1.0, -1.0, 0.0]), np.array([0.5, 0.0, -2.0])
NOISE = np.sqrt(1 - 0.002) * SHARED
"""The noise that all share: 0.2% of the variance is of a submission alone."""


def drawing_of(kind: PredictionKind, *, scale: Any = (0.0, 1.0), **changes: Any) -> Drawing:
    shape: Any = SimpleNamespace(kind=kind, submission=lambda submission: submission)
    arguments: Any = {"signal": SIGNAL, "shared": SHARED, "parts": (), "reach": 1.0, **changes}
    return Drawing(shape, scale=scale, **arguments)


def test_a_prediction_is_between_the_signal_and_the_noise() -> None:
    values = drawing_of(PredictionKind.VALUE, scale=(10.0, 2.0))
    for w, expected in (
        (0.0, [12.0, 8.0, 10.0]),
        (1.0, 10 + 2 * NOISE),
        (0.25, 10 + 2 * (0.75 * SIGNAL + 0.25 * NOISE)),
    ):
        assert values._one(np.full(3, w), None) == pytest.approx(expected)
    labels = drawing_of(PredictionKind.LABEL)._one(np.zeros(3), None)
    assert labels.tolist() == [1, 0, 1]  # 0 is the second of two labels
    chances = drawing_of(PredictionKind.PROBABILITY)._one(np.zeros(3), None)
    assert chances == pytest.approx(special.expit(SIGNAL))
    several = drawing_of(
        PredictionKind.CLASS_PROBABILITIES,
        signal=np.array([[0.0, np.log(3)], [0.0, 0.0]]), shared=np.array([[0.0, 0.0], [5.0, 0.0]]),
    )  # fmt: skip
    # The first row is its signal, of odds 1 to 3; the second pure noise.
    noisy = special.expit(5 * np.sqrt(1 - 0.002))
    assert several._one(np.array([0.0, 1.0]), None) == pytest.approx(
        np.array([[0.25, 0.75], [noisy, 1 - noisy]])
    )


def test_the_noise_of_a_submission_is_that_of_its_seed() -> None:
    values = drawing_of(PredictionKind.VALUE)
    own_noise = np.random.default_rng((3, 4)).standard_normal(3, dtype=np.float32)
    expected = NOISE + np.sqrt(0.002) * own_noise
    assert values._one(np.ones(3), (3, 4)) == pytest.approx(expected, rel=1e-6)


def test_each_part_of_the_rows_has_the_noise_of_its_gap() -> None:
    """The noise of a gap g is g / 2; the last row is ignored, so that it is pure noise."""
    losses = np.linspace(0, 1, 401)
    parts = [
        SplitScores(np.array(rows), losses, w=losses / 2)
        for rows in ([True, False, False], [False, True, False])
    ]
    drawing = drawing_of(PredictionKind.VALUE, parts=tuple(parts), reach=2.0)
    seeds = [(1,), (2,)]
    # Gaps are relative to the reach of 2: public ones of 2 and 0, private ones of 1 and 2.
    predictions = drawing.predictions(np.array([2.0, 0.0]), np.array([1.0, 2.0]), seeds=seeds)
    for row, seed, w in zip(predictions, seeds, ([0.25, 0.5, 1.0], [0.5, 0.0, 1.0]), strict=True):
        assert row == pytest.approx(drawing._one(np.array(w), seed))
    # Without public rows all rows have the noise of the private gap.
    single = drawing_of(PredictionKind.VALUE, parts=tuple(parts[:1]), reach=2.0)
    (row,) = single.predictions(np.array([2.0]), np.array([1.0]), seeds=seeds[:1])
    assert row == pytest.approx(single._one(np.full(3, 0.25), seeds[0]))


def solution_of(truth: Any, soft_labels: Any = None) -> Any:
    return SimpleNamespace(truth=np.array(truth), soft_labels=soft_labels)


def test_the_signal_is_the_truth_with_mean_0_and_deviation_1() -> None:
    rng = np.random.default_rng(0)
    signal, scale = signal_of_rows(solution_of([1.0, 3.0]), None, rng=rng)
    assert (signal.tolist(), scale) == ([-1.0, 1.0], (2.0, 1.0))
    signal, scale = signal_of_rows(solution_of([2.0, 2.0]), None, rng=rng)
    assert (signal.tolist(), scale) == ([0.0, 0.0], (2.0, 1.0))
    # Chances are at least 0.5% and at most 99.5%, whose log-odds are -5.293 and 5.293.
    ends = np.array([0.0, 1.0, 0.0, 1.0])
    signal, scale = signal_of_rows(solution_of([0, 1, 0, 1], ends), 2, rng=rng)
    assert signal == pytest.approx([-1, 1, -1, 1])
    assert scale == pytest.approx((0.0, np.log(0.995 / 0.005)))
    chances = np.array([[1.0, 0.0], [0.0, 1.0]])
    signal, scale = signal_of_rows(solution_of([0, 1], chances), 2, rng=rng)
    assert signal == pytest.approx(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert scale == pytest.approx((np.log(0.995 * 0.005) / 2, np.log(0.995 / 0.005) / 2))


def test_the_signal_of_labels_has_chance_in_it() -> None:
    """The log-odds of two labels are 2.6 * (1.3 * the sign of the label + a standard normal)."""
    chance = np.random.default_rng(4).standard_normal(4)
    odds = 2.6 * (1.3 * np.array([-1, 1, 1, -1]) + chance)
    signal, scale = signal_of_rows(solution_of([0, 1, 1, 0]), 2, rng=np.random.default_rng(4))
    assert scale == pytest.approx((odds.mean(), odds.std()))
    assert signal == pytest.approx((odds - odds.mean()) / odds.std())
    # Of three labels they are 2 * (2.6 for the label of the row + a standard normal).
    chance = np.random.default_rng(4).standard_normal((2, 3))
    odds = 2 * (np.array([[0, 0, 2.6], [2.6, 0, 0]]) + chance)
    signal, scale = signal_of_rows(solution_of([2, 0]), 3, rng=np.random.default_rng(4))
    assert scale == pytest.approx((odds.mean(), odds.std()))
    assert signal == pytest.approx((odds - odds.mean()) / odds.std())


def test_the_noise_of_a_gap_is_that_of_the_nearest_loss() -> None:
    losses = np.concatenate([[0.0, 0.5, 2.0], np.linspace(3, 4, 398)])
    part = SplitScores(np.ones(1, dtype=bool), losses, w=np.arange(401.0))
    # Half-way between two losses it is the smaller one; beyond the ends the last one.
    gaps = np.array([-1.0, 0.2, 0.25, 0.3, 1.25, 1.26, 4.0, 9.0])
    assert part.w_of(gaps).tolist() == [0, 0, 0, 1, 1, 2, 400, 400]
