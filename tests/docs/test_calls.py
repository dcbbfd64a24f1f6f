"""Calls that a reader can follow without the definition: many values are passed by name."""

from __future__ import annotations

import ast
from collections.abc import Collection
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
Tree = tuple[Path, ast.Module]


def trees(*folders: str) -> list[Tree]:
    return [
        (path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8")))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "kernels" not in path.parts  # compiled functions take no keywords
    ]


def long_calls(searched: Collection[Tree], names: Collection[str], most: int) -> list[str]:
    return [
        f"{path}:{node.lineno} {node.func.id}"
        for path, tree in searched
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in names
        and len(node.args) > most
    ]


def test_long_calls_pass_values_by_name() -> None:
    program, tests = trees("arena", "plugins"), trees("tests", "examples")
    nodes = [node for _, tree in program for node in ast.walk(tree)]
    records = {node.name for node in nodes if isinstance(node, ast.ClassDef)} - TABLES
    functions = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.args.vararg
    }
    assert not long_calls(program, records | (functions - TABLES), 4)
    assert not long_calls(tests, records, 6)
