"""Let 32 models compete, and print their board."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress, console
from arena.cli.demo_teams import DEMO_METRIC, N_TEAMS, write_competition
from arena.cli.reporting import (
    ChartFolder,
    ReportFile,
    board_report_if,
    check_outputs,
    show_result,
)
from arena.errors import UsageError
from arena.plugin_manager import PluginManager
from arena.private_board import BoardSettings
from arena.score_settings import ScoreSettings
from arena.scoring import score

app = typer.Typer(add_completion=False)

_DATABASE = "arena-demo.duckdb"
_REPORT = "report.html"


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Option("--out", help="Where the files of the competition are written.")
    ] = Path("arena-demo"),
    seed: Annotated[int, typer.Option(help="The seed of all chance.")] = 0,
    as_json: options.AsJson = False,
    report: ReportFile = None,
    charts: ChartFolder = None,
) -> None:
    """Let 32 models compete, and print their board with the uncertainty of every rank.

    The models are scikit-learn's, the data handwritten digits that it ships, and the files are
    taken in, stored and judged as anyone's are.
    """
    _prepare(folder)
    report = report or folder / _REPORT
    check_outputs(report, charts)
    manager = PluginManager()
    settings = ScoreSettings(
        metric=DEMO_METRIC, database=folder / _DATABASE, board=BoardSettings(seed=seed)
    )
    with TerminalProgress() as progress:
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
    show_result(result, manager, as_json=as_json, made=made, report=report, charts=charts)
    if not as_json:
        _say_what_next(folder, seed, report)


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder with --out.")
    if folder.exists() and any(folder.iterdir()) and not (folder / _DATABASE).exists():
        raise UsageError(
            f"The folder {folder} holds something else than a demo; choose another with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)


def _say_what_next(folder: Path, seed: int, report: Path) -> None:
    solution, submissions = folder / "solution.csv", folder / "submissions"
    files = f"{shlex.quote(str(solution))} {shlex.quote(str(submissions))}"
    out = console()
    out.print()
    lines = (
        f"Open {report} in a browser: this board with its pictures. The solution is",
        f"{solution}, the submissions lie in {submissions}, and the database",
        f"is {folder / _DATABASE}. To score them yourself, or your own files like them:",
        f"    arena score {files} --metric {DEMO_METRIC} --seed {seed}",
        f"    arena score {files} --metric {DEMO_METRIC} --json",
        f"    arena validate {files} --metric {DEMO_METRIC}",
        "    arena metrics",
    )
    for line in lines:
        out.print(line, soft_wrap=True)
