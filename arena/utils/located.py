"""An error of code that sees labels, in words that quote none of them."""

from __future__ import annotations

import traceback
from pathlib import Path


def located(error: BaseException) -> str:
    """Return the type of an error with the file and line that raised it, but not its text.

    >>> located(ValueError("the label is 7"))
    'ValueError. The error message may contain labels; --verbose shows it.'
    """
    last = [*traceback.walk_tb(error.__traceback__)][-1:]
    places = [f" at {Path(frame.f_code.co_filename).name}, line {line}" for frame, line in last]
    what = "".join([type(error).__name__, *places])
    return f"{what}. The error message may contain labels; --verbose shows it."
