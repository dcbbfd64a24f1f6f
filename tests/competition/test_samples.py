"""The sample submission: a valid one, whose values are the same on every row and tell no label."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.competition.record.samples import sample_values
from arena.types import MetricTraits, PredictionKind, Target, Usage


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("metric", "labels", "columns", "values"),
    [
        ("accuracy", ["yes", "no", "yes"], ["y"], ["no"]),
        ("log_loss", ["b", "c", "a"], ["a", "b", "c"], [1 / 3, 1 / 3, 1 / 3]),
        ("brier", ["no", "yes", "no"], ["y"], [0.5]),
        ("roc_auc", ["no", "yes", "no"], ["y"], [0.0]),
        ("mae", [3.5, 7.5, 1.0], ["y"], [0.0]),
        ("dice", ["1 2", "-1", "3 4"], ["y"], [""]),
    ],
)
def test_a_sample_has_a_valid_value_for_each_kind_of_prediction(
    tmp_path: Path, metric: str, labels: list[Any], columns: list[str], values: list[Any]
) -> None:
    solution = {"id": list("rst"), "y": labels, "Usage": ["Private"] * 3}
    with Competition.create(tmp_path / "c", solution, metric, seed=1) as competition:
        sample = tmp_path / "c" / "sample_submission.csv"
        header, *rows = csv.reader(sample.read_text().splitlines())
        assert header == ["id", *columns]
        assert rows == [[id, *map(str, values)] for id in "rst"]
        assert competition.submit(sample, "ant").status == "accepted"


YES_NO, ABC = ("no", "yes"), ("a", "b", "c")
MODALITY = SimpleNamespace(sample_cell=lambda column, cells: f"{column}: {'/'.join(cells)}")


@pytest.mark.parametrize(
    ("kind", "targets", "columns", "bounds", "truth", "values"),
    [
        # The label is the first class among the public rows, which are the second and the third.
        (PredictionKind.LABEL, (ABC,), ("y",), (0, 1), [0, 2, 1, 0], ["b"]),
        (
            PredictionKind.LABEL, (ABC, YES_NO), ("y", "z"), (0, 1),
            [[0, 0], [2, 1], [2, 0], [0, 0]], ["c", "no"],
        ),
        (PredictionKind.CLASS_PROBABILITIES, (ABC,), ABC, (0, 1), [0] * 4, [1 / 3] * 3),
        (PredictionKind.CLASS_PROBABILITIES, (None,), ("y",), (0, 1), [0] * 4, [0.5]),
        (PredictionKind.CLASS_PROBABILITIES, (None, None), ("y", "z"), (1, 2), [0] * 4, [1, 1]),
        (PredictionKind.TEXT, (None,), ("y", "other"), (0, 1), [*"pqrs"], ["y: q/r", "other: "]),
        (PredictionKind.PROBABILITY, (YES_NO,), ("y",), (-np.inf, np.inf), [0] * 4, [0.5]),
        (PredictionKind.PROBABILITY, (YES_NO,), ("y",), (0, 0.25), [0] * 4, [0.25]),
        (PredictionKind.VALUE, (None,), ("y",), (-np.inf, np.inf), [0] * 4, [0.0]),
        (PredictionKind.VALUE, (None,), ("y",), (2, 3), [0] * 4, [2.0]),
    ],
)  # fmt: skip
def test_a_sample_has_the_middle_of_the_range_or_the_first_public_class(
    kind: PredictionKind, targets: Any, columns: Any, bounds: Any, truth: Any, values: list[Any]
) -> None:
    metric: Any = SimpleNamespace(traits=MetricTraits(prediction_range=bounds), modality=MODALITY)
    cells = np.array(truth, object if kind is PredictionKind.TEXT else int)
    public, private, ignored = Usage.PUBLIC, Usage.PRIVATE, Usage.IGNORED
    # Without public rows, the private rows are used.
    for usage in ((private, public, public, ignored), (ignored, private, private, ignored)):
        solution: Any = SimpleNamespace(
            kind=kind, columns=columns, truth=cells,
            targets=[Target(name, classes) for name, classes in zip("yz", targets, strict=False)],
            usage=np.array(usage, np.uint8),
        )  # fmt: skip
        assert sample_values(solution, metric) == values
