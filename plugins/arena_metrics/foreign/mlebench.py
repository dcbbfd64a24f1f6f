"""``mlebench:module:function``: MLE-bench's ``grade(submission, answers)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy.typing as npt

from arena.types import RowContext
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import Asked, Call, Kind

__all__ = ["MLEBENCH"]


@dataclass(frozen=True, slots=True, eq=False)
class _Grade:
    frames: Frames
    parameters: Mapping[str, Any]

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        answers, submission = self.frames.draw(weight)
        return function(submission, answers, **self.parameters)


def _prepare(
    asked: Asked, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    return _Grade(Frames.of(context, truth, prediction), asked.parameters)


class InvalidSubmissionError(Exception):
    """A submission cannot be graded; the text says why."""


def _grade_helpers() -> ModuleType:
    made = ModuleType("mlebench.grade_helpers")
    made.InvalidSubmissionError = InvalidSubmissionError  # type: ignore[attr-defined]
    return made


MLEBENCH = Kind(
    prefix="mlebench",
    form="mlebench:module:function",
    description="MLE-bench's grade(submission, answers), of a module or FILE.py",
    function="",
    given=2,
    prepare=_prepare,
    shown_error="InvalidSubmissionError",
    own={"folder": ""},
    stand_ins={"mlebench.grade_helpers": _grade_helpers},
)
