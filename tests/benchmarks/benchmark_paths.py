"""Imported for its effect: what tests and benchmarks share can be imported by a script as well."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))
