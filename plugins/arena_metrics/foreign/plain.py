"""``module:function``: any function of a truth and a prediction, such as scikit-learn has them.

The arrays are ``(n,)``; with ``prediction=class_probabilities``, or ``score``, and more than two
classes the prediction is ``(n, n_classes)``. Labels are given as they stand in the solution (as
numbers, if they are), where they are predicted; otherwise the truth is the codes of the classes.
Several targets are scored one by one, and the mean is taken; their labels are given as codes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import PredictionKind, RowContext
from arena_metrics.foreign.frames import as_frame
from arena_metrics.foreign.kinds import Asked, Call, Kind

__all__ = ["PLAIN"]


@dataclass(frozen=True, slots=True, eq=False)
class _Function:
    truth: npt.NDArray[Any]
    prediction: npt.NDArray[Any]
    parameters: Mapping[str, Any]

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        if np.issubdtype(weight.dtype, np.integer):
            rows = np.repeat(np.arange(len(weight)), weight)
            return function(self.truth[rows], self.prediction[rows], **self.parameters)
        given = {**self.parameters, "sample_weight": weight}
        return function(self.truth.copy(), self.prediction.copy(), **given)


def _prepare(
    asked: Asked, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    wanted = asked.own["prediction"]
    if wanted in ("", PredictionKind.LABEL) and context.classes is not None:
        labels = as_frame(["label"], [context.classes])["label"].to_numpy(dtype=None)
        truth, prediction = (labels[codes.astype(np.intp)] for codes in (truth, prediction))
    return _Function(truth, prediction, asked.parameters)


PLAIN = Kind(
    prefix="",
    form="module:function",
    description="any function(y_true, y_pred), of a module or FILE.py; prediction=probability, …",
    function="",
    given=2,
    prepare=_prepare,
    own={"folder": "", "prediction": ""},
    prediction=PredictionKind.VALUE,
)
