"""Draw the pictures of the README and of the explanations in the documentation.

Run it as ``python examples/documentation_pictures.py examples/images``. The boards are those of
twelve models of ``arena demo``; the other pictures come from the commands in :data:`COMMANDS`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import vl_convert

MODELS = (
    "svm-on-components",
    "svm-cubic",
    "1-nearest",
    "extra-trees",
    "neural-network",
    "11-nearest",
    "logistic",
    "linear-discriminant",
    "perceptron",
    "ridge",
    "gaussian-bayes",
    "tree",
)
CHARTS = ("rank-intervals", "reading-stability", "score-intervals")
COMMANDS = {
    "public-board": "attack --mechanism kaggle,ladder-free --rows 1000 --submissions 200",
    "sample-maximum": "sota max --rows 3000 --classifiers 1000 --theta 0.9",
    "bayes-error": "bayes-error labels.csv --kind counts --positive dog",
}
"""The picture and the command that draws it."""
PADDING = {"left": 30, "right": 10, "top": 5, "bottom": 5}
SMALL = {"width": 320, "height": {"step": 16}, "padding": PADDING, "title": None}
"""What makes a chart fit beside a picture of the site."""


def main(images: Path) -> None:
    images = images.absolute()
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "demo", "--out", "demo")
        files = [f"demo/submissions/{model}.csv" for model in MODELS]
        board = ["score", "demo/solution.csv", *files, "--metric", "accuracy"]
        run(folder, *board, "--charts", "charts")
        write_labels(folder / "labels.csv")
        plan = "plan demo/solution.csv demo/submissions --metric accuracy --charts ."
        run(folder, *plan.split())
        for picture, command in COMMANDS.items():
            run(folder, *command.split(), "--chart", str(images / f"{picture}.svg"))
        for chart in CHARTS:
            shutil.copyfile(folder / "charts" / f"{chart}.svg", images / f"{chart}.svg")
        shutil.copyfile(folder / "plan.svg", images / "planning.svg")
        draw_small(folder / "charts" / "rank-intervals.vl.json", images / "board.svg")


def run(folder: Path, *arguments: str) -> None:
    program = Path(sys.executable).parent / "arena"
    subprocess.run([program, *arguments], cwd=folder, check=True)  # noqa: S603


def write_labels(path: Path) -> None:
    """Write how often five annotators of 500 images each said dog and cat."""
    rng = np.random.default_rng(0)
    dogs = rng.binomial(5, rng.beta(0.4, 0.4, 500))
    lines = [f"{n},{5 - n}" for n in dogs]
    path.write_text("\n".join(["dog,cat", *lines]) + "\n", encoding="utf-8")


def draw_small(chart: Path, picture: Path) -> None:
    specification = json.loads(chart.read_text(encoding="utf-8")) | SMALL
    picture.write_text(vl_convert.vegalite_to_svg(specification), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "images"))
