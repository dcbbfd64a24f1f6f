"""The examples run as they stand there."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def _run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(folder)],
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _public_modules() -> set[str]:
    reference = (EXAMPLES.parent / "docs" / "reference" / "python.md").read_text()
    listed = reference.partition("autosummary::")[2]
    return {"arena", *re.findall(r"^   (arena[\w.]*)$", listed, flags=re.MULTILINE)}


def test_only_packages_and_public_modules_name_what_is_public() -> None:
    gathered = {"arena_metrics.kernels.compiled", "arena_metrics.kernels.interpreted"}
    gathered |= {"arena.report.views", "arena.hookspecs"}  # entry points and hooks
    for root in (EXAMPLES.parent, EXAMPLES.parent / "plugins"):
        for path in root.glob("arena*/**/*.py"):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            lists = "\n__all__" in path.read_text(encoding="utf-8")
            expected = path.stem == "__init__" or name in _public_modules() | gathered
            assert expected or not lists, name


def test_examples_import_only_public_modules_and_names() -> None:
    public = _public_modules()
    assert len(public) > 10
    for path in EXAMPLES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("arena"):
                module = importlib.import_module(node.module or "")
                assert node.module in public, path.name
                assert {name.name for name in node.names} <= set(module.__all__), path.name
            if isinstance(node, ast.Import):
                ours = {name.name for name in node.names if name.name.startswith("arena")}
                assert ours <= public, path.name


@pytest.mark.slow
def test_a_competition_runs_cell_by_cell(tmp_path: Path) -> None:
    output = _run("a_competition.py", tmp_path)
    assert "week 3: owls is shown" in output
    assert "None host 0.5 1 sent" in output
    assert "16 events, unbroken" in output
    assert "rank_low" in output
    assert (tmp_path / "export" / "result.json").exists()
    report, public = ((tmp_path / name).read_text() for name in ("report.html", "public.html"))
    assert "Who is ill?" in report
    assert "rank interval" in report
    assert "rank interval" not in public


@pytest.mark.campaign
def test_the_pictures_of_the_documentation_are_drawn(tmp_path: Path) -> None:
    _run("documentation_pictures.py", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {path.name for path in (EXAMPLES / "images").iterdir()}
