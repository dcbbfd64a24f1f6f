"""The submission that a model's predictions make under a metric."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import MetricError
from arena.plugin.manager import PluginManager
from arena.simulation.ranks.submission import Shape, bound_to, shape_for
from arena.types import PredictionKind
from refusals import refusal_of

METRICS = PluginManager().metrics


@pytest.mark.parametrize(
    ("kind", "raw", "submission"),
    [
        (PredictionKind.LABEL, [0.25, 0.5, 0.75], [0, 1, 1]),
        (PredictionKind.LABEL, [[0.2, 0.7, 0.1], [0.5, 0.3, 0.2]], [1, 0]),
        (
            PredictionKind.CLASS_PROBABILITIES,
            [[1, 1, 2], [0, 0, 4]],
            [[0.25, 0.25, 0.5], [0, 0, 1]],
        ),
        (PredictionKind.VALUE, [-3, 0.5, 7], [-1, 0.5, 2]),
    ],
)
def test_predictions_take_the_form_of_the_metric(kind: Any, raw: Any, submission: Any) -> None:
    shape = Shape(kind, -1.0, 2.0)
    assert shape.submission(np.array(raw, dtype=np.float32)).tolist() == submission


@pytest.mark.parametrize(
    ("name", "n_classes", "kind"),
    [
        ("mse", None, PredictionKind.VALUE),
        ("mse", 2, None),
        ("accuracy", None, None),
        ("accuracy", 3, PredictionKind.LABEL),
        ("log_loss", 2, PredictionKind.CLASS_PROBABILITIES),
        ("log_loss", 3, PredictionKind.CLASS_PROBABILITIES),
        ("average_precision", 2, PredictionKind.SCORE),
        ("average_precision", 3, None),
    ],
)
def test_a_target_has_predictions_of_a_kind_or_none(name: str, n_classes: Any, kind: Any) -> None:
    metric = METRICS.resolve(name)
    if kind is not None:
        assert shape_for(metric, n_classes).kind is kind
        return
    what = "numbers" if n_classes is None else f"{n_classes} labels"
    assert refusal_of(MetricError, shape_for, metric, n_classes) == (
        f"{name} cannot score models of a target of {what}. Choose another metric: arena metrics "
        "lists them."
    )


@pytest.mark.parametrize(
    ("classes", "columns"),
    [(None, ("target",)), (("a", "b"), ("target",)), (("a", "b", "c"), ("a", "b", "c"))],
)
def test_a_metric_that_knows_its_rows_has_numbers_for_ids(classes: Any, columns: Any) -> None:
    metric: Any = SimpleNamespace(for_rows=lambda context: context)
    context: Any = bound_to(metric, 3, classes)
    assert (context.ids.to_pylist(), context.columns) == (["0", "1", "2"], columns)
    assert (context.id_column, context.targets, context.classes) == ("id", ("target",), classes)
