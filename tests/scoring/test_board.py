"""Parts of a board that are no ranks: which submissions other metrics take."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.evaluation.predictions import ArrayPredictions
from arena.scoring.board import within_range
from arena.types import MetricTraits, PredictionKind
from few_rows import FIVE_ROWS

ENDS = np.array([[0.0, 1.0], [0.0, 1.5], [-0.5, 1.0], [0.5, 0.5]])
"""Four submissions of two rows: on both ends of 0 to 1, beyond one of them, and between them."""
UNBOUNDED = (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("checked", "taken"),
    [
        (UNBOUNDED, [True, False, False, True]),
        ((0.0, 2.0), [True, False, False, True]),
        ((-1.0, 1.0), [True, False, False, True]),
        ((0.0, 1.0), [True] * 4),  # nothing is looked at twice
    ],
)
@pytest.mark.parametrize("n_columns", [1, 2])
def test_another_metric_takes_submissions_within_its_range(
    checked: tuple[float, float], taken: list[bool], n_columns: int
) -> None:
    other: Any = SimpleNamespace(traits=MetricTraits(prediction_range=(0.0, 1.0)))
    metric: Any = SimpleNamespace(traits=MetricTraits(prediction_range=checked))
    values = ENDS if n_columns == 1 else np.stack([np.full_like(ENDS, 0.5), ENDS], axis=2)
    solution = replace(FIVE_ROWS, kind=PredictionKind.VALUE)
    valid = within_range(other, ArrayPredictions(values), solution, metric)
    assert valid.tolist() == taken
