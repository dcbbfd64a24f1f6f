"""What a plan takes from the classes of a pilot's rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.plugin.manager import PluginManager
from arena.simulation.plan.pilot import (
    FEW_IN_CLASS,
    _units_of_the_rarest_class,
    _with_full_variance,
)

METRICS = PluginManager().metrics


def test_a_mean_of_few_rows_of_a_class_gets_the_variance_that_it_lacks() -> None:
    resampled = np.array([[0.1, 0.3], [0.5, 0.5]])
    # Of 2 rows the variance is too small by 1/2: deviations of 0.1 become 0.1 * sqrt(2).
    wider = [[0.2 - 0.1 * 2**0.5, 0.2 + 0.1 * 2**0.5], [0.5, 0.5]]
    np.testing.assert_allclose(_with_full_variance(resampled, 2), wider)
    of_three = [0.2 - 0.1 * 1.5**0.5, 0.2 + 0.1 * 1.5**0.5]
    np.testing.assert_allclose(_with_full_variance(resampled, 3)[0], of_three)
    for rarest in (None, FEW_IN_CLASS, FEW_IN_CLASS + 1):
        assert _with_full_variance(resampled, rarest) is resampled
    assert _with_full_variance(resampled, FEW_IN_CLASS - 1)[0, 0] < 0.1


@pytest.mark.parametrize(
    ("metric", "changes", "by_class", "units"),
    [
        ("roc_auc", {}, False, 2),  # it needs every class: two rows are of class 1
        ("accuracy", {}, False, None),
        ("accuracy", {}, True, 2),
        ("roc_auc", {"classes": None}, True, None),
        ("roc_auc", {"truth": np.zeros((5, 2), dtype=int)}, True, None),
        ("roc_auc", {"clusters": np.array([0, 1, 2, 3, 3])}, False, 1),  # in one group
    ],
)
def test_the_units_of_the_rarest_class(
    metric: str, changes: dict[str, Any], by_class: bool, units: int | None
) -> None:
    plain = {"truth": np.array([0, 0, 0, 1, 1]), "classes": ("a", "b"), "clusters": None}
    study: Any = SimpleNamespace(metric=METRICS.resolve(metric), **{**plain, **changes})
    assert _units_of_the_rarest_class(study, by_class=by_class) == units
