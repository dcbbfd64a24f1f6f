"""Draw the pictures of the README and of the explanations in the documentation.

Run it as ``python examples/documentation_pictures.py examples/images``. The board is that of
``arena demo``; the other pictures come from the commands in :data:`COMMANDS`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

WIDTH = 152

CHARTS = ("rank-intervals", "reading-stability", "score-intervals")
COMMANDS = {
    "public-board": "attack --mechanism kaggle,ladder-free --rows 1000 --submissions 200",
    "sample-maximum": "sota max --rows 3000 --classifiers 1000 --theta 0.9",
    "bayes-error": "bayes-error labels.csv --kind counts --positive dog",
}
"""The picture and the command that draws it."""


def main(images: Path) -> None:
    images = images.absolute()
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        board = run(folder, "demo", "--out", "demo", "--charts", "charts").partition("\nOpen ")[0]
        write_labels(folder / "labels.csv")
        plan = "plan demo/solution.csv demo/submissions --metric accuracy --charts ."
        run(folder, *plan.split())
        for picture, command in COMMANDS.items():
            run(folder, *command.split(), "--chart", str(images / f"{picture}.svg"))
        for chart in CHARTS:
            shutil.copyfile(folder / "charts" / f"{chart}.svg", images / f"{chart}.svg")
        shutil.copyfile(folder / "plan.svg", images / "planning.svg")
    draw_terminal(board, images / "demo.svg")


def run(folder: Path, *arguments: str) -> str:
    """Run arena, and return what it prints."""
    program = Path(sys.executable).parent / "arena"
    wide = {**os.environ, "COLUMNS": str(WIDTH)}
    done = subprocess.run(  # noqa: S603
        [program, *arguments], cwd=folder, env=wide, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def write_labels(path: Path) -> None:
    """Write how often five annotators of 500 images each said dog and cat."""
    rng = np.random.default_rng(0)
    dogs = rng.binomial(5, rng.beta(0.4, 0.4, 500))
    lines = [f"{n},{5 - n}" for n in dogs]
    path.write_text("\n".join(["dog,cat", *lines]) + "\n", encoding="utf-8")


def draw_terminal(printed: str, picture: Path) -> None:
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, highlight=False, markup=False)
        console.print("$ arena demo", style="bold")
        console.print(printed)
    drawn = console.export_svg(title="arena demo", theme=DEFAULT_TERMINAL_THEME)
    # Without the web fonts, which need the network, the viewer's monospace font is used.
    picture.write_text(re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "images"))
