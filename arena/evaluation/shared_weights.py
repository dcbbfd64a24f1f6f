"""Keeps what metrics derive from arrays that they are given many times.

These are the weights of resamples while all submissions are scored, and the predictions in memory
of submissions that are scored under several parts of the resamples.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arena.types import IntArray, WeightArray

_Derived = TypeVar("_Derived")
_Place = tuple[int, tuple[int, ...], tuple[int, ...]]
_lock = threading.Lock()


@dataclass(slots=True)
class _SharedArray:
    """The values that were derived from an array; one thread derives at a time."""

    values: dict[Hashable, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_shared: dict[_Place, _SharedArray] = {}


def _place(array: npt.NDArray[Any]) -> _Place:
    """Return where the cells are in memory: equal for all views of the same cells."""
    return array.__array_interface__["data"][0], array.shape, array.strides


@contextmanager
def shared_weights(weights: WeightArray) -> Iterator[None]:
    """Let :func:`derived_once` keep what is derived from these weights, which do not change.

    >>> import numpy as np
    >>> weights = np.ones((3, 2), dtype=np.uint8)
    >>> with shared_weights(weights):
    ...     derived_once(weights, np.sum) is derived_once(weights, np.sum)
    True
    """
    place = _place(weights)
    with _lock:
        entered = place not in _shared
        if entered:
            _shared[place] = _SharedArray()
    try:
        yield
    finally:
        if entered:
            _forget([place])


def share_each_row(array: npt.NDArray[Any]) -> None:
    """Let :func:`derived_once` keep what is derived from a row of an array, while this exists.

    >>> import numpy as np
    >>> array = np.eye(3)
    >>> share_each_row(array)
    >>> derived_once(array[1], np.negative) is derived_once(array[1], np.negative)
    True
    """
    places = [_place(row) for row in array]
    _shared.update((place, _SharedArray()) for place in places)
    weakref.finalize(array, _forget, places)


def _forget(places: Sequence[_Place]) -> None:
    for place in places:
        del _shared[place]


def derived_once(
    array: npt.NDArray[Any],
    derive: Callable[[npt.NDArray[Any]], _Derived],
    key: Hashable | None = None,
) -> _Derived:
    """Return ``derive(array)``, which several threads share if the array is shared.

    From weights of many rows it takes as much time and memory as the weights themselves, for every
    block of submissions that is scored under them. ``key`` is equal for functions that derive the
    same; None: the function itself.
    """
    shared_array = _shared.get(_place(array))
    if shared_array is None:
        return derive(array)
    key = derive if key is None else key
    with shared_array.lock:
        if key not in shared_array.values:
            shared_array.values[key] = derive(array)
        derived_value: _Derived = shared_array.values[key]
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
