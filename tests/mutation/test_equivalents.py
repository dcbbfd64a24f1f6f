"""The list of changes that no test can notice follows the modules."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_listed_lines_are_in_their_modules():
    listed = tomllib.loads(Path(__file__).with_name("equivalents.toml").read_text(encoding="utf-8"))
    lines: dict[str, set[str]] = {}
    for change in listed["equivalent"]:
        module = change["module"]
        if module not in lines:
            text = (ROOT / module).read_text(encoding="utf-8")
            lines[module] = {line.strip() for line in text.splitlines()}
        assert set(change["before"].split("\n")) <= lines[module], change
        assert change["after"] != change["before"]
