"""What is under test: the modules of this checkout, in this process and in every child."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT, ROOT / "plugins")


def python_path(*folders: Path | str) -> str:
    """Return ``PYTHONPATH`` for a child process: these folders, then what is under test."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*map(str, (*folders, *SOURCES)), *filter(None, inherited)]
    return os.pathsep.join(dict.fromkeys(paths))
