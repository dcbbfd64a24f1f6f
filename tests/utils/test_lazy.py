"""When pyarrow is told that there is no pandas."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from arena.utils import lazy


def test_pyarrow_finds_no_pandas_only_while_it_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def array(values: list[int]) -> None:
        asked.append(values)
        with pytest.raises(ModuleNotFoundError, match="^pandas$"):
            finder.find_spec("pandas", None)
        assert finder.find_spec("numpy", None) is None
        raise ValueError

    finder = lazy._NoPandas()
    library: Any = ModuleType("pyarrow.lib")
    library.array = array
    assert finder.find_spec("pandas", None) is None
    with pytest.raises(ValueError):  # noqa: PT011 - that of the conversion
        finder.let_ask(library)
    assert finder.find_spec("pandas", None) is None
    library.array = asked.append
    executed: list[Any] = []
    loader = SimpleNamespace(exec_module=executed.append)
    specs = iter([SimpleNamespace(loader=loader), SimpleNamespace(loader=None), None])
    monkeypatch.setattr(lazy, "PathFinder", SimpleNamespace(find_spec=lambda *_: next(specs)))
    spec: Any = finder.find_spec("pyarrow.lib", None)
    with monkeypatch.context() as imported:
        imported.setitem(sys.modules, "pandas", library)
        spec.loader.exec_module(library)
        assert (executed, asked) == ([library], [[0]])
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    spec.loader.exec_module(library)
    assert (executed, asked) == ([library] * 2, [[0]] * 2)
    without: Any = finder.find_spec("pyarrow.lib", None)
    assert without.loader is None
    assert finder.find_spec("pyarrow.lib", None) is None


def test_pandas_is_left_out_once_and_not_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [*sys.meta_path]
    asked: list[Any] = []
    monkeypatch.setattr(sys, "meta_path", [*before])
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    lazy.leave_pandas_out()
    assert sys.meta_path == before
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setitem(sys.modules, "pyarrow.lib", SimpleNamespace(array=asked.append))  # type: ignore[arg-type]
    for _ in range(2):
        lazy.leave_pandas_out()
        assert sys.meta_path[1:] == before
    assert asked == [[0]]
    monkeypatch.setattr(sys, "meta_path", [*before])
    monkeypatch.delitem(sys.modules, "pyarrow.lib")
    lazy.leave_pandas_out()
    assert sys.meta_path[1:] == before
    assert asked == [[0]]
