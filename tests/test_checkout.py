"""The tests run the modules of this checkout, wherever else arena is installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from checkout import ROOT, SOURCES

NAMES = sorted(path.parent.name for source in SOURCES for path in source.glob("arena*/__init__.py"))


def test_every_module_that_this_process_has_imported_is_of_the_checkout() -> None:
    for name in NAMES:
        importlib.import_module(name)
    files = [
        Path(module.__file__)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in NAMES and getattr(module, "__file__", None)
    ]
    assert len(files) >= len(NAMES)
    assert [file for file in files if not file.is_relative_to(ROOT)] == []


@pytest.mark.slow
def test_so_is_what_a_child_imports(tmp_path: Path) -> None:
    code = f"for name in {NAMES}: print(__import__(name).__file__)"
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True)
    files = [Path(line) for line in printed.splitlines()]
    assert len(files) == len(NAMES)
    assert [file for file in files if not file.is_relative_to(ROOT)] == []


def test_no_test_gives_a_child_another_path() -> None:
    """A ``PYTHONPATH`` without the checkout's folders would let a child import another copy."""
    lines = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
        for line in path.read_text(encoding="utf-8").splitlines()
        if "PYTHONPATH" in line
        and "python_path(" not in line
        and "$PLACE/arena:" not in line  # a copy of the checkout
        and '"/packages"' not in line  # in a sandbox
    ]
    assert lines == []


def test_the_plugins_of_the_checkout_are_installed() -> None:
    assert {entry_point.name for entry_point in entry_points(group="arena")} >= set(NAMES)


def test_the_source_distribution_has_every_document_that_tests_read() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert {path.name for path in ROOT.glob("[A-Z]*")} - {"PKG-INFO"} <= set(included)
