"""The help of every command, and of the commands below it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from program import run_here

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
COMMANDS = sorted(PROJECT["project"]["entry-points"]["arena.commands"])
BELOW = ("simulate competition", "simulate ranks", "sota max", "sota estimate", "sota similarity")


@pytest.mark.few(8)
@pytest.mark.parametrize("name", [*COMMANDS, *BELOW])
def test_help_shows_options_of_the_command_only(name, tmp_path):
    called = run_here(*name.split(), "--help", cwd=tmp_path)
    assert called.returncode == 0
    assert called.stdout.startswith(f"Usage: arena {name}")
    assert "completion" not in called.stdout
    assert "╭" not in called.stdout


def test_help_keeps_what_stands_in_brackets(tmp_path):
    assert "[default: the lead]" in " ".join(
        run_here("plan", "--help", cwd=tmp_path).stdout.split()
    )
