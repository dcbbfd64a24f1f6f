"""Boards whose ranks have no meaning, and the log-odds of drawn rows, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.plugin.manager import PluginManager
from arena.simulation.data import true_log_odds
from arena.simulation.degenerate import best_constant_score, degenerate_board
from arena.types import PredictionKind
from arena_metrics.pointwise import Accuracy
from arena_metrics.regression import MeanAbsoluteError, MeanSquaredError
from toy_metrics import BlackBoxRmse

LABELS = np.array([0, 1, 1, 1])


@pytest.mark.parametrize(
    ("scores", "constant", "greater", "why"),
    [
        ([0.5, 0.5, 0.25, 0.125], None, True, "2 of 4 submissions share the best score, 0.5."),
        ([0.5, 0.5, 0.25, 0.125, 0.0], None, True, None),
        ([0.5, 0.125, 0.125], None, False, "2 of 3 submissions share the best score, 0.125."),
        ([0.5], None, True, None),
        ([0.5, 0.5], None, True, "2 of 2 submissions share the best score, 0.5."),
        (
            [0.5, 0.5], 0.5, True,
            "No submission scores better than a constant prediction (0.5 against 0.5).",
        ),
        (
            [0.5, 0.75], 0.33333333, False,
            "No submission scores better than a constant prediction (0.5 against 0.3333).",
        ),
        ([0.5, 0.25], 0.3, False, None),
        ([0.5, 0.25], 0.49, True, None),
    ],
)  # fmt: skip
def test_half_of_the_submissions_share_the_best_score_or_none_beats_a_constant(
    scores: list[float], constant: float | None, greater: bool, why: str | None
) -> None:
    assert degenerate_board(np.array(scores), constant, greater_is_better=greater) == why


@pytest.mark.parametrize(
    ("metric", "truth", "n_classes", "best"),
    [
        (MeanSquaredError(), np.array([0.0, 0.0, 3.0]), None, 2.0),  # by the mean, 1
        (MeanAbsoluteError(), np.array([0.0, 0.0, 3.0]), None, 1.0),  # by the median, 0
        (Accuracy(), np.arange(20), 20, 0.05),
        (Accuracy(), np.arange(21), 21, None),
        (Accuracy(), LABELS, None, None),
        (Accuracy(), np.stack([LABELS, LABELS]), 2, None),
        (BlackBoxRmse(), np.array([0.0, 0.0, 3.0]), None, None),
    ],
)
def test_the_best_constant(
    metric: Any, truth: Any, n_classes: int | None, best: float | None
) -> None:
    assert best_constant_score(metric, truth, n_classes) == (
        None if best is None else pytest.approx(best)
    )


@pytest.mark.parametrize(
    ("name", "truth", "n_classes", "best"),
    [
        # The constant is the share of each class: 1/4 and 3/4, or 1/4, 1/4 and 1/2.
        ("brier", LABELS, 2, 1 / 4 * (3 / 4) ** 2 + 3 / 4 * (1 / 4) ** 2),
        ("log_loss", LABELS, 2, -np.log(0.25) / 4 - 3 * np.log(0.75) / 4),
        ("log_loss", np.array([0, 1, 2, 2]), 3, 1.5 * np.log(2)),
        ("average_precision", LABELS, 2, 0.75),
    ],
)
def test_the_best_constant_probability_is_that_of_the_rows(
    name: str, truth: Any, n_classes: int, best: float
) -> None:
    metric: Any = PluginManager().metrics.resolve(name)
    assert best_constant_score(metric, truth, n_classes) == pytest.approx(best)


def test_a_weight_counts_a_row_as_often() -> None:
    weights = np.array([[4], [1], [1], [1]], dtype=np.uint8)
    assert best_constant_score(Accuracy(), LABELS, 2, weights=weights) == pytest.approx(4 / 7)
    assert best_constant_score(Accuracy(), LABELS, 2, kind=PredictionKind.VALUE) is None


@pytest.mark.parametrize(
    ("changes", "log_odds"),
    [
        ({}, 2 / 3 - 1.2),
        ({0: 0.25}, 1.3 + 2 / 3 - 1.2),
        ({0: 0.75}, -1.3 + 2 / 3 - 1.2),
        ({1: 1.0}, 1.3 + 2 / 3 - 1.2),
        ({1: 1.0, 2: 0.4}, 2 / 3 - 1.2),
        ({3: 0.75}, 1 - 1.2),
        ({3: 0.2}, -1.2),
        ({4: 0.0}, 2 / 3 - 1 - 1.2),
        ({4: 0.75}, 2 / 3 - 0.5 - 1.2),
        ({5: 1.0}, 2 / 3 - 1.2),
        ({5: 1.0, 6: 1.0}, 2 / 3 + 0.75 - 1.2),
        ({7: 0.0, 8: 1.0, 9: 0.25}, 2 / 3 - 1.2),
    ],
)
def test_the_log_odds_of_a_row(changes: dict[int, float], log_odds: float) -> None:
    row = np.full(10, 0.5)
    for feature, value in changes.items():
        row[feature] = value
    assert true_log_odds(row[np.newaxis])[0] == pytest.approx(log_odds)
