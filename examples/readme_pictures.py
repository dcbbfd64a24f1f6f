"""Draw the pictures of the README from `arena demo`: the terminal's board, and two of its charts.

Run it as ``python examples/readme_pictures.py examples/images``.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from arena import ScoreSettings, score
from arena.cli.board import print_result
from arena.cli.demo_teams import DEMO_METRIC, write_competition
from arena.plugin_manager import PluginManager
from arena.report import board_report, write_charts
from arena.score_result import ScoreResult

WIDTH = 142


CHARTS = ("rank-intervals", "reading-stability")


def main(images: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in write_competition(folder, seed=0):
            pass
        result = score(
            folder / "solution.csv", [folder / "submissions"], ScoreSettings(metric=DEMO_METRIC)
        )
        write_charts(board_report(result, PluginManager()), folder / "charts")
        images.mkdir(parents=True, exist_ok=True)
        for chart in CHARTS:
            shutil.copyfile(folder / "charts" / f"{chart}.svg", images / f"{chart}.svg")
    draw_terminal(result, images / "demo.svg")


def draw_terminal(result: ScoreResult, picture: Path) -> None:
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, highlight=False, markup=False)
        console.print("$ arena demo", style="bold")
        print_result(result, console)
    drawn = console.export_svg(title="arena demo", theme=DEFAULT_TERMINAL_THEME)
    # The fonts would be fetched from the network; the viewer's own monospace font does.
    picture.write_text(re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "images"))
