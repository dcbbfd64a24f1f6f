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
class Found:
    """What stands in the modules of some folders; to keep their trees would take much longer."""

    records: set[str]
    functions: set[str]
    calls: list[tuple[str, str, int]]
    """Place, name and how many values are passed by position."""

    def long_calls(self, names: Collection[str], most: int) -> list[str]:
        """Return the calls of these names with more values by position than the most."""
        return [f"{place} {name}" for place, name, n in self.calls if n > most and name in names]


def find(*folders: str) -> Found:
    found = Found(set(), set(), [])
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "kernels" in path.parts:  # compiled functions take no keywords
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                found.calls.append((place, node.func.id, len(node.args)))
            elif isinstance(node, ast.ClassDef):
                found.records.add(node.name)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.args.vararg:
                found.functions.add(node.name)
    return found


def test_long_calls_pass_values_by_name() -> None:
    program = find("arena", "plugins")
    records = program.records - TABLES
    assert not program.long_calls(records | (program.functions - TABLES), 4)
    assert not find("tests", "examples").long_calls(records, 6)
