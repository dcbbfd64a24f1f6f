"""What is handed to plugins: arrays that cannot be written to, and containers of their own."""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

_Value = TypeVar("_Value")


def read_only(value: _Value) -> _Value:
    """Return the same value for a plugin, which cannot change it for others.

    An array becomes a view that cannot be written to, also not after ``setflags(write=True)`` or
    through ``base``. A frame is copied. A dict and a list become new ones; what is in them, in a
    tuple and in the fields of a dataclass is converted too. Anything else is returned unchanged, a
    dataclass without such fields included.

    Examples
    --------
    >>> scores = np.array([0.25, 0.5])
    >>> handed = read_only({"scores": scores})
    >>> handed["scores"].sort()
    Traceback (most recent call last):
    ValueError: sort array is read-only
    >>> handed["scores"].setflags(write=True)
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    return cast("_Value", _read_only(value))


def make_fields_read_only(value: object, *names: str) -> None:
    """Convert fields of a frozen dataclass that is being made, for its ``__post_init__``."""
    for name in names:
        object.__setattr__(value, name, read_only(getattr(value, name)))


@functools.singledispatch
def _read_only(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series):
        return value.copy()
    return value


@_read_only.register
def _dict(value: dict) -> Any:  # type: ignore[type-arg]
    return type(value)((key, _read_only(item)) for key, item in value.items())


@_read_only.register
def _proxy(value: MappingProxyType) -> Any:  # type: ignore[type-arg]
    return MappingProxyType({key: _read_only(item) for key, item in value.items()})


@_read_only.register
def _list(value: list) -> Any:  # type: ignore[type-arg]
    return [_read_only(item) for item in value]


@_read_only.register
def _tuple(value: tuple) -> Any:  # type: ignore[type-arg]
    items = [_read_only(item) for item in value]
    if _same(items, value):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


@_read_only.register
def _array(array: np.ndarray) -> Any:
    if not array.flags.writeable and isinstance(array.base, memoryview):
        return array
    try:
        # The buffer itself refuses writing: a view whose flag is cleared can set it again.
        return np.asarray(memoryview(cast("Any", array)).toreadonly())
    except ValueError:  # times have no buffer
        frozen = array.copy()
        frozen.setflags(write=False)
        return frozen.view()


def _fields(value: Any) -> Any:
    names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
    before = [getattr(value, name) for name in names]
    after = [read_only(item) for item in before]
    if _same(after, before):
        return value
    converted = copy.copy(value)
    for name, item in zip(names, after, strict=True):
        object.__setattr__(converted, name, item)
    return converted


def _same(items: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(item is other for item, other in zip(items, others, strict=True))
