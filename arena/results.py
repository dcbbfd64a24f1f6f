"""What the results of statistics have in common: a frame, and plain JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tabular", "as_json"]


class Tabular:
    """A frozen dataclass of arrays, that of one value per submission and that of scalars.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, slots=True, eq=False)
    ... class Ranked(Tabular):
    ...     rank: np.ndarray
    ...     level: float
    >>> ranked = Ranked(np.array([2, 1]), 0.95)
    >>> ranked.to_dict()
    {'rank': [2, 1], 'level': 0.95}
    >>> ranked.to_frame()["rank"].tolist()
    [2, 1]
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return scalars and ``(m,)`` arrays as JSON; matrices are left out."""
        kept = {name: value for name, value in self._values().items() if np.ndim(value) < 2}
        document: dict[str, Any] = as_json(kept)
        return document

    def to_frame(self) -> pd.DataFrame:
        """Return the ``(m,)`` arrays as columns, one row per submission; the scalars as attrs."""
        import pandas as pd

        values = self._values()
        frame = pd.DataFrame({name: one for name, one in values.items() if np.ndim(one) == 1})
        frame.attrs = {name: one for name, one in values.items() if np.ndim(one) == 0}
        return frame

    def _values(self) -> dict[str, Any]:
        fields = dataclasses.fields(cast("Any", self))
        return {field.name: getattr(self, field.name) for field in fields}


def as_json(value: Any) -> Any:
    """Return plain JSON: numpy's numbers as Python's, and null for what is not finite.

    >>> as_json({"n": np.int64(3), "x": [float("nan"), np.float64(0.5)]})
    {'n': 3, 'x': [None, 0.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
