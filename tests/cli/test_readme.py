"""Every command of the README runs as it stands there, and its examples are what they claim."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from arena import hookspecs
from arena.cli import commands
from arena.interfaces import Metric
from arena.plugin_manager import PluginManager

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def shell_commands() -> list[str]:
    return [line for block in blocks("bash") for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the README's first command, but for the installation; return its folder and output."""
    folder = tmp_path_factory.mktemp("newcomer")
    done = _shell("arena demo", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def folder(demo: tuple[Path, str]) -> Path:
    """Provide the folder in which the demo has run."""
    return demo[0]


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_two_commands_stand_in_the_readme() -> None:
    assert shell_commands()[:2] == [
        "pip install . && arena demo",
        'pip install ".[test]" && pytest',
    ]


@pytest.mark.slow
def test_every_command_runs(folder: Path, tmp_path: Path) -> None:
    """In the order of the README, in one folder: later commands build on earlier ones."""
    own = shutil.copytree(folder, tmp_path / "own")
    for command in shell_commands():
        if command.startswith("pip"):
            continue
        done = _shell(command, own)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        said = (done.stdout + done.stderr).strip()
        assert said or not command.startswith("arena"), command


@pytest.mark.slow
def test_what_the_demo_says_next_runs(demo: tuple[Path, str]) -> None:
    folder, shown = demo
    suggested = re.findall(r"^ {4}(arena .*)$", shown, flags=re.MULTILINE)
    assert len(suggested) >= 4
    for command in suggested:
        done = _shell(command, folder)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_python_examples_run(folder: Path) -> None:
    scoring, plugin = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", scoring],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "rank_low" in done.stdout
    module = ModuleType("my_plugin")
    exec(compile(plugin, "my_plugin", "exec"), module.__dict__)  # noqa: S102
    manager = PluginManager(entry_points=False)
    manager.register(module, "my_plugin")
    metric: Any = manager.metrics.resolve("within_ten_percent")
    assert isinstance(metric, Metric)
    assert metric.score(np.array([1.0, 2.0]), np.array([1.05, 3.0])) == 0.5
    assert not manager.failures


def test_every_hook_is_documented() -> None:
    hooks = {name for name, value in vars(hookspecs).items() if hasattr(value, "arena_spec")}
    table = README[README.index("| hook |") :]
    named = set(re.findall(r"`([a-z_]+)`", table[: table.index("\n\n")]))
    assert named == hooks


def test_every_command_is_in_the_readme() -> None:
    own = {
        command.name
        for command in commands.installed()
        if command.distribution.split()[0] == "arena"
    }
    named = set(re.findall(r"\barena ([a-z-]+)", " ".join(shell_commands())))
    assert own <= named


def test_every_column_of_the_board_is_explained() -> None:
    from arena.score_result import STANDING_COLUMNS

    table = README[README.index("## What the columns mean") :]
    explained = set(re.findall(r"`([a-z_]+)`", table[: table.index("\n## ")]))
    assert set(STANDING_COLUMNS) - {"rank", "team", "submission", "file"} <= explained


def test_every_file_that_is_linked_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
