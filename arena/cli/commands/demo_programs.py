"""The demo of a code competition: programs that read digits which they have not seen."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena.cli import options
from arena.competition.competition import Competition
from arena.competition.programs.local_runs import SubmittedProgram
from arena.config import Settings
from arena.utils.atomic_write import atomic_write

_TRAINING_ROWS, _SAMPLE_ROWS = 500, 20
_READ = '''\
"""Reads digits: each image gets the digit whose average image is the nearest."""
import csv

def rows(path):
    with open(path) as file:
        return list(csv.reader(file))[1:]

images = {}
for _, digit, *pixels in rows("/program/train.csv"):
    images.setdefault(digit, []).append([float(one) for one in pixels][::STEP])
averages = {digit: [sum(column) / len(own) for column in zip(*own)]
            for digit, own in images.items()}

with open("/output/predictions.csv", "w") as output:
    print("id,digit", file=output)
    for name, *pixels in rows("/input/images.csv"):
        pixels = [float(one) for one in pixels][::STEP]
        distances = {digit: sum((a - b) ** 2 for a, b in zip(pixels, average))
                     for digit, average in averages.items()}
        print(f"{name},{min(distances, key=distances.get)}", file=output)
'''
_LEAKS = '''\
"""Tries to show its team the hidden images: by its log, and by the message about a bad cell."""
text = open("/input/images.csv").read()
print(text)
with open("/output/predictions.csv", "w") as output:
    print("id,digit", file=output)
    print(text.split()[1].replace(",", ";"), 0, sep=",", file=output)
'''
_PROGRAMS = {
    "averages": _READ.replace("STEP", "1"),
    "every-fourth-pixel": _READ.replace("STEP", "4"),
    "no-such-file": 'print(open("/input/labels.csv").read())\n',
    "leaks": _LEAKS,
}
"""A team -> the main.py that it sends."""


def run_demo(folder: Path, *, seed: int) -> Iterator[tuple[str, SubmittedProgram]]:
    """Create a code competition in a folder, and yield each team and the answer to its program.

    Raises
    ------
    SandboxError
        If this machine cannot run programs; the message says what to install.
    """
    _write_files(folder, seed=seed)
    settings = Settings.model_validate(
        {
            "competition": {"title": "Programs read digits"},
            "metric": {"name": "accuracy"},
            "programs": {
                "sandbox": options.SANDBOX,
                "inputs": "../hidden",
                "sample": "../sample",
                "seconds": 60,
                "trial_seconds": 60,
                "memory_mb": 512,
            },
        }
    )
    solution = folder / "solution.csv"
    with Competition.create(folder / "race", solution, settings, seed=seed) as competition:
        for team in _PROGRAMS:
            yield team, competition.submit_program(folder / "programs" / f"{team}.zip", team)


def _write_files(folder: Path, *, seed: int) -> None:
    """Write the solution, both folders of inputs, and the programs."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        images.astype(int), digits, train_size=_TRAINING_ROWS, stratify=digits, random_state=seed
    )
    pixels = [f"p{number}" for number in range(train_x.shape[1])]
    usage = np.where(np.random.default_rng(seed).random(len(test_y)) < 0.3, "Public", "Private")
    ids = [f"image-{row:04d}" for row in range(len(test_y))]
    training = [
        [f"train-{row:04d}", *rest]
        for row, rest in enumerate(np.column_stack([train_y, train_x]).tolist())
    ]
    sample = [[name, *rest] for name, _, *rest in training[:_SAMPLE_ROWS]]
    hidden = [[name, *rest] for name, rest in zip(ids, test_x.tolist(), strict=True)]
    for name in ("hidden", "sample", "programs"):
        (folder / name).mkdir(exist_ok=True)
    solution = [list(row) for row in zip(ids, test_y.tolist(), usage.tolist(), strict=True)]
    texts = {
        "solution.csv": _table(["id", "digit", "Usage"], solution),
        "hidden/images.csv": _table(["id", *pixels], hidden),
        "sample/images.csv": _table(["id", *pixels], sample),
    }
    for name, text in texts.items():
        atomic_write(folder / name, text.encode())
    train = _table(["id", "digit", *pixels], training)
    for team, program in _PROGRAMS.items():
        with zipfile.ZipFile(folder / "programs" / f"{team}.zip", "w") as archive:
            archive.writestr("main.py", program)
            archive.writestr("train.csv", train)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return file.getvalue()
