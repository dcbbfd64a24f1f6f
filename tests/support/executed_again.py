"""Modules executed again, so that their lines count as run by the test that asks."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType


def executed_again(name: str) -> ModuleType:
    """Return a module of its own, which is not the imported one.

    Not of a package with lazy exports: what the copy imports, it would put into the imported one.
    """
    spec = importlib.import_module(name).__spec__
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
