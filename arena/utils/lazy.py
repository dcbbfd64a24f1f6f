"""Modules that are imported when they are used first, because importing them takes long."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module, and imports it when an attribute is read.

    The standard library's ``LazyLoader`` is not safe in threads before Python 3.12.

    >>> LazyModule("math").sqrt(4.0)
    2.0
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


pa = LazyModule("pyarrow")
"""``pyarrow``, for modules that a command imports which reads no table: 20 ms."""
pc = LazyModule("pyarrow.compute")
"""``pyarrow.compute``, which writes its functions when it is imported: a tenth of the start-up
time of a short command."""
