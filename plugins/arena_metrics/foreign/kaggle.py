"""``kaggle:FILE.py``: Kaggle's ``score(solution, submission, row_id_column_name, **kwargs)``.

The contract is that of the metrics on kaggle.com/metric: two data frames with the same ids in the
same order, without the column Usage, with the rows of one split at a time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy.typing as npt

from arena.types import RowContext
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import Call, Kind, Request


@dataclass(frozen=True, slots=True, eq=False)
class _Score:
    frames: Frames
    row_id: str
    """What the function gets as ``row_id_column_name``."""
    parameters: Mapping[str, Any]

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        solution, submission = self.frames.draw(weight)
        return function(solution, submission, self.row_id, **self.parameters)


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    frames = Frames.of(context, truth, prediction, request.options["rows"])
    return _Score(frames, request.options["row_id"] or context.id_column, request.parameters)


def _utilities() -> ModuleType:
    return importlib.import_module("arena_metrics.foreign.kaggle_metric_utilities")


KAGGLE = Kind(
    prefix="kaggle",
    form="kaggle:FILE.py",
    description="a file with Kaggle's score(solution, submission, row_id_column_name)",
    function="score",
    n_given=3,
    prepare=_prepare,
    row_sets=True,
    options={"row_id": ""},
    stand_ins={"kaggle_metric_utilities": _utilities},
)
