"""Modules that are imported when they are used first, because importing them takes long."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
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


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    The names are those that its file imports under ``if TYPE_CHECKING:``, where type checkers and
    import-linter see them. The file is parsed when the first of them is used: 1 ms.

    >>> import arena.interfaces
    >>> get, names = lazy_exports("arena.interfaces", arena.interfaces.__file__)
    >>> get("Deferred").__name__, "Metric" in names()
    ('Deferred', True)
    """

    @functools.cache
    def places() -> dict[str, str]:
        import ast

        guarded = (
            statement
            for node in ast.parse(Path(file).read_text(encoding="utf-8")).body
            if isinstance(node, ast.If)
            for statement in node.body
        )
        return {
            alias.name: node.module or ""
            for node in guarded
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def get(name: str) -> Any:
        # Python asks for names such as __path__, which no package exports.
        if name.startswith("__") or name not in places():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(places()[name]), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return get, lambda: sorted(places())


pa = LazyModule("pyarrow")
"""``pyarrow``, for modules that a command imports which reads no table: 20 ms."""
pc = LazyModule("pyarrow.compute")
"""``pyarrow.compute``, which writes its functions when it is imported: a tenth of the start-up
time of a short command."""


def leave_unused_out() -> None:
    """Let libraries import neither pandas nor a compiler of Fortran that nothing uses.

    pyarrow asks for pandas before it first converts an object of Python, and the import takes
    0.2 s. What needs pandas, such as ``to_pandas``, still imports it. This is for processes of
    arena only: in them no other library passes a series to ``pyarrow.array``, which then takes it
    for a sequence.

    scipy copies every name of numpy, of which ``numpy.f2py`` is imported when it is asked for, in
    0.08 s. Here it copies a module that is imported when it is used.
    """
    if "pandas" in sys.modules or any(isinstance(each, WithoutUnused) for each in sys.meta_path):
        return
    finder = WithoutUnused()
    sys.meta_path.insert(0, finder)
    if "pyarrow.lib" in sys.modules:
        finder.let_ask(sys.modules["pyarrow.lib"])


class WithoutUnused:
    """Lets pyarrow ask for pandas as soon as it is imported, and answers that there is none.

    It is asked for every module that is imported, and so learns when scipy is.
    """

    _is_asked = False

    def find_spec(self, name: str, path: Any, _: Any = None) -> ModuleSpec | None:
        """Answer the import system: a module's loader; None: look elsewhere."""
        if name == "pandas" and self._is_asked:
            raise ModuleNotFoundError(name)
        if name == "scipy":
            import numpy

            vars(numpy).setdefault("f2py", LazyModule("numpy.f2py"))
        spec = PathFinder.find_spec(name, path) if name == "pyarrow.lib" else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_let_ask(module: ModuleType) -> None:
                execute(module)
                if "pandas" not in sys.modules:  # otherwise it is pandas that imports pyarrow
                    self.let_ask(module)

            spec.loader.exec_module = execute_and_let_ask  # type: ignore[method-assign]
        return spec

    def let_ask(self, module: ModuleType) -> None:
        """Convert an object of Python with ``pyarrow.lib``, while there is no pandas."""
        self._is_asked = True
        try:
            module.array([0])
        finally:
            self._is_asked = False
