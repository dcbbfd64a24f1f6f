"""``evalai:FILE.py``: EvalAI's ``evaluate(annotation_file, submission_file, phase_codename)``.

The contract is that of Cloud-CV/EvalAI-Starters: ``evaluate`` reads two files and returns
``{"result": [{split: {name: value}}, …]}``. Both files are CSV here, with the ids in the first
column, and hold the rows of one split of the competition.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from arena.errors import MetricError
from arena.types import RowContext
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import Asked, Call, Kind
from arena_metrics.foreign.scratch import chosen, scratch_folder

__all__ = ["EVALAI"]


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluate:
    asked: Asked
    frames: Frames
    folder: Path

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        own, name = self.asked.own, self.asked.name
        frames = self.frames.draw(weight)
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as folder:
            paths = [Path(folder) / file for file in ("annotations.csv", "submission.csv")]
            for path, frame in zip(paths, frames, strict=True):
                frame.to_csv(path, index=False)
            result = function(
                *map(str, paths), own["phase"], submission_metadata={}, **self.asked.parameters
            )
        splits = _splits(name, result)
        return chosen(name, "value", chosen(name, "split", splits, own["split"]), own["value"])


def _splits(metric: str, result: Any) -> Mapping[str, Any]:
    listed = result.get("result") if isinstance(result, Mapping) else result
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise MetricError(f"{metric} returned no dict with a list of splits under 'result'.")
    return {split: values for one in listed for split, values in one.items()}


def _prepare(
    asked: Asked, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    return _Evaluate(asked, Frames.of(context, truth, prediction), scratch_folder())


EVALAI = Kind(
    prefix="evalai",
    form="evalai:FILE.py",
    description="a file with EvalAI's evaluate(…); phase=, split= and value= choose",
    function="evaluate",
    given=3,
    prepare=_prepare,
    own={"phase": "test", "split": "", "value": ""},
)
