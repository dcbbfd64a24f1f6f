"""The rows of a solution that a board is computed on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from arena.types import Solution, Usage

SPLITS: Mapping[str, tuple[Usage, ...]] = {
    "private": (Usage.PRIVATE,),
    "public": (Usage.PUBLIC,),
    "all": (Usage.PRIVATE, Usage.PUBLIC),
}


def rows_of(solution: Solution, split: str) -> npt.NDArray[np.bool_]:
    """Return the mask ``(n,)`` of the rows of a split: ``private``, ``public`` or ``all``."""
    return np.isin(solution.usage, SPLITS[split])
