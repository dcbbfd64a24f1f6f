"""Lets a script import what tests and benchmarks share, and names an extra that it lacks."""

import importlib.util
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))


def need(module: str, extra: str) -> None:
    """End the script with one sentence if a module of an extra is not installed.

    Raises
    ------
    SystemExit
        If the module is missing.
    """
    if importlib.util.find_spec(module) is None:
        script = Path(sys.argv[0]).name
        sys.exit(f'{script} needs the extra {extra}: pip install ".[{extra}]".')
