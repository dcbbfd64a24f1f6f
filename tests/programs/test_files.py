"""Inputs are any files, and the output is what the competition's submissions are: here masks."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from program import run_here, write_csv

PROGRAM = """\
import os, shutil
os.mkdir("/output/predictions")
for name in os.listdir("/input"):
    shutil.copy(f"/input/{name}", f"/output/predictions/{name}")
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")
def test_a_folder_of_images_becomes_a_folder_of_masks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    rng = np.random.default_rng(0)
    for folder, cases in (("hidden", 8), ("sample", 2)):
        (tmp_path / folder).mkdir()
        for case in range(cases):
            np.save(tmp_path / folder / f"c{case}.npy", rng.random((8, 8)) < 0.4)
    (tmp_path / "main.py").write_text(PROGRAM)

    def arena(*arguments: str) -> str:
        done = run_here(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    arena("masks", "hidden", "-o", "masks.csv")
    head, *rows = (tmp_path / "masks.csv").read_text().splitlines()
    usage = [[*row.split(","), "Public" if n % 2 else "Private"] for n, row in enumerate(rows)]
    write_csv(tmp_path / "solution.csv", [*head.split(","), "Usage"], usage)
    options = ("--programs", "hidden", "--sample-inputs", "sample", "--mechanism", "full")
    arena("init", "race", "--solution", "solution.csv", "-m", "dice", *options)
    answer = arena("submit", "main.py", "--team", "ants", "-C", "race")
    assert "accepted. Its public score is 1." in answer
