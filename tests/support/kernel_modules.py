"""The modules of the kernels: compiled, or as the Python that they are written in.

Compilation takes seconds, so the default run executes the source, on small arrays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from arena_metrics import kernels

_WRITTEN = ("sorting", "roc_auc", "rank_sums", "rows", "survival", "text", "thresholds", "compiled")
_COMPILATION = "compilation"


@dataclass(frozen=True)
class KernelModules:
    """The modules by their names, and whether they are compiled."""

    of_name: dict[str, ModuleType]
    compiled: bool

    def __getattr__(self, name: str) -> Any:
        """Return a kernel, as :mod:`arena_metrics.kernels.compiled` names it."""
        return getattr(self.of_name["compiled"], name)


def compiled_kernels() -> KernelModules:
    """Import the kernels, each of which compiles itself when it is called."""
    return KernelModules(_modules(), compiled=True)


def python_kernels() -> KernelModules:
    """Import the source of the kernels again, with decorators that leave it as it is."""
    uncompiled: Any = ModuleType(f"{kernels.__name__}.{_COMPILATION}")
    uncompiled.compiled = uncompiled.compiled_with_fma = _wrapping
    uncompiled.bits_of_float = lambda value: np.float64(value).view(np.uint64)
    uncompiled.float_of_bits = lambda bits: bits.view(np.float64)
    uncompiled.prefetch_cell = uncompiled.prefetch_row = lambda array, index: array[index]
    with mock.patch.dict(sys.modules), mock.patch.dict(vars(kernels)):
        for name in _WRITTEN:
            sys.modules.pop(f"{kernels.__name__}.{name}", None)
        sys.modules[uncompiled.__name__] = uncompiled
        return KernelModules(_modules(), compiled=False)


def _modules() -> dict[str, ModuleType]:
    return {name: importlib.import_module(f"{kernels.__name__}.{name}") for name in _WRITTEN}


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let unsigned integers wrap around without a warning, as in a compiled function."""
    return np.errstate(over="ignore")(function)
