"""``mlebench:module:function``: MLE-bench's ``grade(submission, answers)``.

arena aligns the rows of both frames by id first. Some graders of MLE-bench compare the rows in the
order of the files and ignore the ids; they grade a reordered submission differently there.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt

from arena.types import RowContext
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import Call, Kind, Request, module_of
from arena_metrics.foreign.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class _Grade:
    frames: Frames
    parameters: Mapping[str, Any]

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        answers, submission = self.frames.draw(weight)
        return function(submission, answers, **self.parameters)


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    return _Grade(
        Frames.of(context, truth, prediction, request.options["rows"]), request.parameters
    )


def _direction(source: Source, _: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether larger is better, as mle-bench infers it from the first and last score."""
    path = None if source.path is None else source.path.parent / _LEADERBOARD
    if path is None or not path.is_file():
        return None, ""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            scores = [float(row["score"]) for row in csv.DictReader(file) if row["score"]]
        first, last = scores[0], scores[-1]
    except (OSError, ValueError, KeyError, IndexError):
        return None, f"its {_LEADERBOARD} cannot be read; is it a Git LFS pointer?"
    return not first < last, f"its {_LEADERBOARD}"


_LEADERBOARD = "leaderboard.csv"


class InvalidSubmissionError(Exception):
    """The submission cannot be graded; the text says why."""


# What graders use of these modules, of which ``utils`` needs packages for downloads.
_STAND_INS = {
    "mlebench.utils": partial(module_of, "mlebench.utils", get_logger=logging.getLogger),
    "mlebench.grade_helpers": partial(
        module_of, "mlebench.grade_helpers", InvalidSubmissionError=InvalidSubmissionError
    ),
}

MLEBENCH = Kind(
    prefix="mlebench",
    form="mlebench:module:function",
    description="MLE-bench's grade(submission, answers) in a module or FILE.py",
    function="",
    n_given=2,
    prepare=_prepare,
    row_sets=True,
    shown_errors=("InvalidSubmissionError", "ParticipantVisibleError"),
    stand_ins=_STAND_INS,
    direction=_direction,
)
