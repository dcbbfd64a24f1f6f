"""Libraries do not import what nothing uses when they are loaded."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.utils import lazy


def test_pandas_is_hidden_only_while_pyarrow_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[Any] = []

    def array(values: list[int]) -> None:
        converted.append(values)
        with pytest.raises(ModuleNotFoundError, match="^pandas$"):
            finder.find_spec("pandas", None)
        assert finder.find_spec("numpy", None) is None
        raise ValueError

    finder = lazy.WithoutUnused()
    library: Any = ModuleType("pyarrow.lib")
    library.array = array
    assert finder.find_spec("pandas", None) is None
    with pytest.raises(ValueError):  # noqa: PT011 - that of the conversion
        finder.let_ask(library)
    assert finder.find_spec("pandas", None) is None
    library.array = converted.append
    executed: list[Any] = []
    loader = SimpleNamespace(exec_module=executed.append)
    specs = iter([SimpleNamespace(loader=loader), SimpleNamespace(loader=None), None])
    monkeypatch.setattr(lazy, "PathFinder", SimpleNamespace(find_spec=lambda *_: next(specs)))
    spec: Any = finder.find_spec("pyarrow.lib", None)
    with monkeypatch.context() as imported:
        imported.setitem(sys.modules, "pandas", library)
        spec.loader.exec_module(library)
        assert (executed, converted) == ([library], [[0]])
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    spec.loader.exec_module(library)
    assert (executed, converted) == ([library] * 2, [[0]] * 2)
    spec_without_loader: Any = finder.find_spec("pyarrow.lib", None)
    assert spec_without_loader.loader is None
    assert finder.find_spec("pyarrow.lib", None) is None


def test_pandas_is_left_out_once_and_not_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [*sys.meta_path]
    converted: list[Any] = []
    monkeypatch.setattr(sys, "meta_path", [*before])
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    lazy.leave_unused_out()
    assert sys.meta_path == before
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setitem(sys.modules, "pyarrow.lib", SimpleNamespace(array=converted.append))  # type: ignore[arg-type]
    for _ in range(2):
        lazy.leave_unused_out()
        assert sys.meta_path[1:] == before
    assert converted == [[0]]
    monkeypatch.setattr(sys, "meta_path", [*before])
    monkeypatch.delitem(sys.modules, "pyarrow.lib")
    lazy.leave_unused_out()
    assert sys.meta_path[1:] == before
    assert converted == [[0]]


def test_numpy_has_its_compiler_of_fortran_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy.f2py", raising=False)
    monkeypatch.delattr(np, "f2py", raising=False)
    imported_names: list[str] = []
    real = importlib.import_module

    def import_module(name: str) -> Any:
        imported_names.append(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    for name, is_there in (("numpy", False), ("scipy.special", False), ("scipy", True)):
        assert lazy.WithoutUnused().find_spec(name, None) is None
        assert ("f2py" in vars(np)) is is_there
    assert not imported_names
    assert hasattr(np.f2py, "run_main")
    assert imported_names == ["numpy.f2py"]
    kept = vars(np)["f2py"] = sys.modules["numpy.f2py"]
    lazy.WithoutUnused().find_spec("scipy", None)
    assert vars(np)["f2py"] is kept
