"""Pyarrow does not import pandas when it is loaded."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

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

    finder = lazy.WithoutPandas()
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
    lazy.leave_pandas_out()
    assert sys.meta_path == before
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setitem(sys.modules, "pyarrow.lib", SimpleNamespace(array=converted.append))  # type: ignore[arg-type]
    for _ in range(2):
        lazy.leave_pandas_out()
        assert sys.meta_path[1:] == before
    assert converted == [[0]]
    monkeypatch.setattr(sys, "meta_path", [*before])
    monkeypatch.delitem(sys.modules, "pyarrow.lib")
    lazy.leave_pandas_out()
    assert sys.meta_path[1:] == before
    assert converted == [[0]]
