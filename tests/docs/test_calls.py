"""Calls that a reader can follow without the definition: many values are passed by name."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TABLES = {
    "Bars",
    "Endpoint",
    "LabelKind",
    "Reproduced",
    "Rule",
    "StandingColumn",
    "_call",
    "_line",
    "rounded",
    "within",
}
"""Names that stand in the rows of a table, with the same values in each line."""


@dataclass(frozen=True)
class Modules:
    """The definitions and calls in modules. Keeping their syntax trees would take much longer."""

    classes: set[str]
    functions: set[str]
    calls: list[tuple[str, str, int]]
    """Line, name and number of positional arguments."""

    def long_calls(self, names: Collection[str], most: int) -> list[str]:
        """Return the calls of these names with more than ``most`` positional arguments."""
        return [f"{line} {name}" for line, name, n in self.calls if n > most and name in names]


def read_modules(*folders: str) -> Modules:
    modules = Modules(set(), set(), [])
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "kernels" in path.parts:  # compiled functions take no keywords
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                line = f"{path.relative_to(ROOT)}:{node.lineno}"
                modules.calls.append((line, node.func.id, len(node.args)))
            elif isinstance(node, ast.ClassDef):
                modules.classes.add(node.name)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.args.vararg:
                modules.functions.add(node.name)
    return modules


def test_long_calls_pass_values_by_name() -> None:
    program = read_modules("arena", "plugins")
    classes = program.classes - TABLES
    assert not program.long_calls(classes | (program.functions - TABLES), 4)
    assert not read_modules("tests", "examples").long_calls(classes, 6)
