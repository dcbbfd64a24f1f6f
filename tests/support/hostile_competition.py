"""A small competition whose teams have hostile names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from program import write_csv

SCRIPT = "</script><b>x"
RIGHT_TO_LEFT = "فريق البيانات"
HOSTILE = (SCRIPT, RIGHT_TO_LEFT, "🦊" * 100, '" onload="alert(1)', "=1+1", "{{ 7*7 }}", "a" * 100)
BASELINE = "organiser's baseline"
TITLE = "Digits & <i>letters</i>"
N_ROWS = 120


def write_files(folder: Path) -> list[Path]:
    """Write a solution, a file for each hostile team and the baseline, and one that is refused."""
    rng = np.random.default_rng(5)
    ids = [f"r{row:03d}" for row in range(N_ROWS)]
    truth = (rng.random(N_ROWS) < 0.4).astype(int)
    usage = np.where(np.arange(N_ROWS) % 3 == 0, "Public", "Private")
    write_csv(
        folder / "solution.csv", ["id", "y", "Usage"], list(zip(ids, truth, usage, strict=True))
    )
    files = []
    for number in range(len(HOSTILE) + 1):
        values = rng.normal(size=N_ROWS) + 0.4 * number * truth
        rows = [(i, repr(float(v))) for i, v in zip(ids, values, strict=True)]
        write_csv(folder / f"{number}.csv", ["id", "y"], rows)
        files.append(folder / f"{number}.csv")
    write_csv(folder / "refused.csv", ["id", "y"], [(i, "<u>much</u>") for i in ids])
    return files
