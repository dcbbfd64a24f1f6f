"""The installed program, and files to feed it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

ARENA = str(Path(sys.executable).with_name("arena"))


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
