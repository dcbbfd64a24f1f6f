"""Errors of foreign metrics: messages for the team, and for the organiser."""

from __future__ import annotations

import contextlib
import traceback
import unicodedata
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from arena.errors import ScoringError

LONGEST_SHOWN = 280
_FAILED = "The metric failed on this submission, which is for the organiser to look into."


def submission_error(
    metric: str, error: BaseException, shown_classes: Sequence[str], path: str
) -> ScoringError:
    """Convert an exception that a metric raised into the error of the submission.

    Parameters
    ----------
    metric
        The name of the metric.
    error
        What it raised.
    shown_classes
        The names of the exception classes meant for participants: their text is shown to the team.
        The text of any other exception may contain labels, so the message gives only its type and
        location; the full traceback is added as a note, which only ``--verbose`` prints.
    path
        The metric's own file. The location is the last line reached in this file.
    """
    text = "The metric refuses this submission."
    if not {kind.__name__ for kind in type(error).__mro__}.isdisjoint(shown_classes):
        with contextlib.suppress(Exception):
            text = safe_line(str(error)) or text
        return ScoringError(f"{metric} refuses a submission: {text}", "refused by the metric", text)
    message = (
        f"{metric} failed with {type(error).__name__} at {_place(error, path)}; "
        "--verbose shows the traceback."
    )
    scoring_error = ScoringError(message, "metric failed", _FAILED)
    scoring_error.add_note("".join(traceback.format_exception(error)))
    return scoring_error


def failed(message: str) -> ScoringError:
    """Return the error of a submission that is not to blame; only the organiser sees the message.

    What a metric returns may depend on the submission, such as a value for each predicted label.
    So a result that cannot be used is a fault of one submission, and the others are still scored.
    """
    return ScoringError(message, "metric failed", _FAILED)


def safe_line(text: str) -> str:
    r"""Return a text on one line, without control characters, truncated to 280 characters.

    >>> safe_line("row\t1:\n bad\x1b[31m")
    'row 1: bad[31m'
    """
    line = " ".join(text.split())
    line = "".join(
        character for character in line if unicodedata.category(character) not in {"Cc", "Cf", "Cs"}
    )
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"


def _place(error: BaseException, path: str) -> str:
    """Return file and line, in the metric's own code if it was reached."""
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if frame.filename == path]
    reached = (own_frames or list(frames))[-1:]
    return f"{reached[0].filename}, line {reached[0].lineno}" if reached else "an unknown line"


def as_number(metric: str, value: Any) -> float:
    """Convert what a metric returned to a float.

    Raises
    ------
    ScoringError
        If it is not a real number.

    Examples
    --------
    >>> as_number("mine", np.float32(0.5)), as_number("mine", np.True_)
    (0.5, 1.0)
    >>> as_number("mine", None)
    Traceback (most recent call last):
    arena.errors.ScoringError: mine returned a NoneType, not a number in float64 range.
    """
    with contextlib.suppress(BaseException):  # a class defined by the metric may raise anything
        if isinstance(value, np.ndarray) and value.ndim == 0 and not np.ma.is_masked(value):
            value = value.item()  # of a masked value it would be 0
        if isinstance(value, Real | np.bool_):
            return float(value)
    raise failed(f"{metric} returned a {type(value).__name__}, not a number in float64 range.")
