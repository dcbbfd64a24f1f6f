"""``module:function``: any function of truth and prediction with scikit-learn's signature.

The arrays are ``(n,)``; with ``prediction=class_probabilities`` or ``score`` and more than two
classes the prediction is ``(n, n_classes)``. Predicted labels are passed as in the solution (as
numbers if they are numeric); for other kinds of predictions the truth is class codes. With several
targets the score is the mean over the targets, and labels are passed as codes. With ``format=raw``
the function gets the paths of the two files instead.

A function named ``case_statistics`` returns the ``(n_cases, s)`` counts of the cases, such as true
positives, and ``combine(sums)`` of the same file makes ``(…)`` scores of ``(…, s)`` sums.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import PredictionKind, RowContext
from arena.utils.counts import repeated
from arena_metrics.foreign.frames import as_frame
from arena_metrics.foreign.kinds import WHOLE_FILES, Call, Kind, Request
from arena_metrics.foreign.scratch import scratch_folder, written_whole


@dataclass(frozen=True, slots=True, eq=False)
class _FunctionCall:
    truth: npt.NDArray[Any]
    prediction: npt.NDArray[Any]
    parameters: Mapping[str, Any]

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        if np.issubdtype(weight.dtype, np.integer):
            rows = repeated(weight)
            return function(self.truth[rows], self.prediction[rows], **self.parameters)
        keywords = {**self.parameters, "sample_weight": weight}
        return function(self.truth.copy(), self.prediction.copy(), **keywords)


@dataclass(frozen=True, slots=True, eq=False)
class _FilesCall:
    cells: Mapping[str, str]
    parameters: Mapping[str, Any]
    folder: Path

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:  # noqa: ARG002 - one row
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as folder:
            return function(*written_whole(Path(folder), self.cells), **self.parameters)


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    if request.options["format"] == WHOLE_FILES:
        cells = {"gold": str(truth.item()), "submission": str(prediction.item())}
        return _FilesCall(cells, request.parameters, scratch_folder())
    prediction_kind = request.options["prediction"]
    if prediction_kind in ("", PredictionKind.LABEL) and context.classes is not None:
        labels = as_frame(["label"], [context.classes])["label"].to_numpy(dtype=None)
        truth, prediction = (labels[codes.astype(np.intp)] for codes in (truth, prediction))
    return _FunctionCall(truth, prediction, request.parameters)


PLAIN = Kind(
    prefix="",
    form="module:function",
    description="any function(y_true, y_pred) in a module or FILE.py; prediction=probability, …; "
    "case_statistics and combine",
    function="",
    n_given=2,
    prepare=_prepare,
    options={"prediction": "", "format": ""},
    formats=(WHOLE_FILES,),
    prediction=PredictionKind.VALUE,
)
