"""Modules that are imported when they are used first, because importing them takes long."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
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


def lazy_attributes(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports its modules on first use.

    ``modules`` has the module of each public name, relative to the package.

    >>> lazy_attributes("concurrent", {"Future": "futures"})("Future").__name__
    'Future'
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return get


pa = LazyModule("pyarrow")
"""``pyarrow``, for modules that a command imports which reads no table: 20 ms."""
pc = LazyModule("pyarrow.compute")
"""``pyarrow.compute``, which writes its functions when it is imported: a tenth of the start-up
time of a short command."""
