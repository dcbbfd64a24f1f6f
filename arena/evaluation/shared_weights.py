"""Keeps what metrics derive from the weights of resamples while all submissions are scored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from arena.types import IntArray, WeightArray

_Derived = TypeVar("_Derived")
_lock = threading.Lock()
_shared: dict[int, dict[Callable[..., Any], Any]] = {}


@contextmanager
def shared_weights(weights: WeightArray) -> Iterator[None]:
    """Let :func:`derived_once` keep what is derived from these weights, which do not change.

    >>> import numpy as np
    >>> weights = np.ones((3, 2), dtype=np.uint8)
    >>> with shared_weights(weights):
    ...     derived_once(weights, np.sum) is derived_once(weights, np.sum)
    True
    """
    key = id(weights)
    with _lock:
        entered = key not in _shared
        if entered:
            _shared[key] = {}
    try:
        yield
    finally:
        if entered:
            with _lock:
                del _shared[key]


def derived_once(weights: WeightArray, derive: Callable[[WeightArray], _Derived]) -> _Derived:
    """Return ``derive(weights)``, which several threads share if the weights are shared.

    With many rows it takes as much time and memory as the weights themselves, for every block of
    submissions that is scored under them.
    """
    derived = _shared.get(id(weights))
    if derived is None:
        return derive(weights)
    with _lock:
        if derive not in derived:
            derived[derive] = derive(weights)
        derived_value: _Derived = derived[derive]
        return derived_value


def weights_on(rows: IntArray | slice | None, weights: WeightArray) -> WeightArray:
    """Return the counts of rows; a copy of them serves all blocks of submissions."""
    if rows is None:
        return weights
    if isinstance(rows, slice):
        return weights[rows]
    return derived_once(weights, _Rows(rows.tobytes()))


def keep_sizes(strata: IntArray, weights: WeightArray) -> bool:
    """Return whether the counts of the rows of each stratum sum to its size in every resample.

    >>> import numpy as np
    >>> keep_sizes(np.array([0, 1, 1]), np.array([[1, 1], [2, 0], [0, 1]], dtype=np.uint8))
    False
    """
    return derived_once(weights, _KeepsSizes(strata.tobytes()))


@dataclass(frozen=True, slots=True)
class _KeepsSizes:
    """Tells whether weights keep the sizes of strata; equal to another one of the same strata."""

    strata: bytes

    def __call__(self, weights: WeightArray) -> bool:
        strata = np.frombuffer(self.strata, dtype=np.intp)
        each = (np.flatnonzero(strata == code) for code in np.unique(strata))
        return all((weights[rows].sum(axis=0) == len(rows)).all() for rows in each)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Takes rows of an array; equal to another one of the same rows."""

    positions: bytes

    def __call__(self, weights: WeightArray) -> WeightArray:
        return weights[np.frombuffer(self.positions, dtype=np.intp)]
