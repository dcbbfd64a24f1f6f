"""The notebooks of the tutorials run from top to bottom, and their results show themselves."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def _cells(notebook: Path) -> list[str]:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", identifier) for identifier in ids)
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    return ["".join(cell["source"]) for cell in code]


def test_every_tutorial_has_a_notebook() -> None:
    tutorials = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert tutorials <= {path.stem for path in NOTEBOOKS}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    values: list[Any] = []
    with contextlib.chdir(tmp_path):
        for text in _cells(notebook):
            tree = ast.parse(text)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, notebook.name, "exec"), names)  # noqa: S102
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)  # noqa: S307
                if value is not None:
                    values.append(value)
    for value in values:
        html = getattr(value, "_repr_html_", None)
        assert html is None or "<t" in html()
