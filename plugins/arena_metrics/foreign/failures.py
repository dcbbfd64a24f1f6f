"""What a foreign metric raises: what its team may read of it, and what the organiser needs."""

from __future__ import annotations

import traceback
import unicodedata
from numbers import Real
from typing import Any

import numpy as np

from arena.errors import ScoringError

__all__ = ["as_number", "refusal"]

_LONGEST_SHOWN = 280
_FAILED = "The metric failed on this submission, which is for the organiser to look into."


def refusal(metric: str, error: BaseException, shown_class: str, path: str) -> ScoringError:
    """Return the error of a submission for whatever the metric raised on it.

    Parameters
    ----------
    metric
        Its name.
    shown_class
        The name of the class of exceptions that are meant for participants: their text is shown.
        The text of any other may hold labels; the organiser gets its type and place, and the
        whole of it as a note, which only ``--verbose`` prints.
    path
        The metric's own file: the place is the last line of it that was reached.
    """
    if shown_class in {kind.__name__ for kind in type(error).__mro__}:
        text = _safe(str(error)) or "The metric refuses this submission."
        return ScoringError(f"{metric} refuses a submission: {text}", "refused by the metric", text)
    message = f"{metric} failed with {type(error).__name__} at {_place(error, path)}."
    made = ScoringError(message, "metric failed", _FAILED)
    made.add_note("".join(traceback.format_exception(error)))
    return made


def _safe(text: str) -> str:
    r"""Return a text without control characters, on one line, cut to what is shown at most.

    >>> _safe("row\t1:\n bad\x1b[31m")
    'row 1: bad[31m'
    """
    line = " ".join(text.split())
    line = "".join(one for one in line if unicodedata.category(one) not in {"Cc", "Cf", "Cs"})
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"


def _place(error: BaseException, path: str) -> str:
    """Return file and line: of the metric's own code if it got there."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == path]
    reached = (own or list(frames))[-1:]
    return f"{reached[0].filename}, line {reached[0].lineno}" if reached else "an unknown place"


def as_number(metric: str, value: Any) -> float:
    """Return what a metric returned as a number.

    Raises
    ------
    ScoringError
        If it is none.

    Examples
    --------
    >>> as_number("mine", np.float32(0.5))
    0.5
    >>> as_number("mine", None)
    Traceback (most recent call last):
    arena.errors.ScoringError: mine returned a NoneType, not a number.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, Real):
        return float(value)
    message = f"{metric} returned a {type(value).__name__}, not a number."
    raise ScoringError(message, "metric failed", _FAILED)
