"""Calls that a reader can follow without the definition: many values are passed by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOST = 6
TABLES = {"Endpoint"}
"""Records in the rows of a table, under its header, each with the same values in a line."""


def test_records_of_many_fields_are_made_by_keywords() -> None:
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for folder in ("arena", "plugins", "tests", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    records = {node.name for _, node in nodes if isinstance(node, ast.ClassDef)} - TABLES
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.func.id}"
        for path, node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in records
        and len(node.args) > MOST
    ]
    assert not found, found
