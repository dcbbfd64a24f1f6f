"""Run a demo competition of 32 models."""

from __future__ import annotations

import shlex
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.commands.demo_teams import DEMO_METRIC, N_TEAMS, write_competition
from arena.cli.console import console, say_note
from arena.cli.reporting import (
    ChartFolder,
    ReportFile,
    board_report_if,
    check_outputs,
    show_result,
)
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.utils.progress import ProgressDisplay

app = typer.Typer(add_completion=False)

_DATABASE = "arena-demo.duckdb"
_REPORT = "report.html"


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for the files of the competition.")
    ] = Path("arena-demo"),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    as_json: options.AsJson = False,
    report: ReportFile = None,
    charts: ChartFolder = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Run a demo competition of 32 models and print the board with the uncertainty of every rank.

    The models and the data (handwritten digits) come with scikit-learn. The files are read, stored
    and scored like those of any competition.
    """
    _prepare(folder)
    report = report or folder / _REPORT
    check_outputs(report, charts)
    manager = PluginManager()
    settings = ScoreSettings(
        metric=DEMO_METRIC, database=folder / _DATABASE, board=BoardSettings(seed=seed)
    )
    with ProgressDisplay() as progress:
        progress.start("Training the teams' models", N_TEAMS)
        for _ in write_competition(folder, seed=seed):
            progress.advance()
        result = score(
            folder / "solution.csv",
            [folder / "submissions"],
            settings,
            manager=manager,
            progress=progress,
        )
        title = "Thirty-two models read digits"
        made = board_report_if(True, result, manager, progress, title)
    show_result(result, as_json=as_json, made=made, report=report, charts=charts)
    if not as_json:
        _say_what_next(folder, seed, report)
    if show and not webbrowser.open(report.resolve().as_uri()):
        say_note(f"No browser could be started: open {report} yourself.")


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder with --out.")
    if folder.exists() and any(folder.iterdir()) and not (folder / _DATABASE).exists():
        raise UsageError(
            f"The folder {folder} has files that are not of a demo; choose another with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)


def _say_what_next(folder: Path, seed: int, report: Path) -> None:
    solution, submissions = folder / "solution.csv", folder / "submissions"
    files = f"{shlex.quote(str(solution))} {shlex.quote(str(submissions))}"
    out = console()
    out.print()
    lines = (
        f"Open {report} in a browser to see this board with its charts.",
        f"The solution is {solution}, the submissions are in {submissions},",
        f"and the database is {folder / _DATABASE}. To score these files, or your own:",
        f"    arena score {files} --metric {DEMO_METRIC} --seed {seed}",
        f"    arena score {files} --metric {DEMO_METRIC} --json",
        f"    arena validate {files} --metric {DEMO_METRIC}",
        "    arena metrics",
    )
    for line in lines:
        out.print(line, soft_wrap=True)
