"""Run a demo competition of 32 models."""

from __future__ import annotations

import shlex
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.commands.demo_teams import DEMO_METRIC, N_TEAMS, write_competition
from arena.cli.console import console, say_note
from arena.cli.reporting import Output, board_report_if, output_options, show_result
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.utils.progress import ProgressDisplay

app = typer.Typer(add_completion=False)

_DATABASE = "arena-demo.duckdb"
_REPORT = "report.html"
_TITLE = "Thirty-two models read digits"


@app.command()
@output_options()
def demo(
    output: Output,
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for the files of the competition.")
    ] = Path("arena-demo"),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    programs: Annotated[
        bool,
        typer.Option(
            "--programs", help="A code competition of four programs instead; needs bubblewrap."
        ),
    ] = False,
) -> None:
    """Run a demo competition of 32 models and print the board with the uncertainty of every rank.

    The models and the data (handwritten digits) come with scikit-learn. The files are read, stored
    and scored like those of any competition.
    """
    if programs:
        if output.as_json or output.report or output.charts or show:
            raise UsageError("--programs shows its board only: leave the other options out.")
        _show_programs(folder, seed)
        return
    _prepare(folder)
    file = output.report or folder / _REPORT
    title = output.heading.title or _TITLE
    output = replace(output, report=file, heading=replace(output.heading, title=title))
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
        report = board_report_if(True, result, manager, progress=progress)
    show_result(result, output, report)
    if not output.as_json:
        _say_what_next(folder, seed, file)
    if show and not webbrowser.open(file.resolve().as_uri()):
        say_note(f"No browser could be started: open {file} yourself.")


def _show_programs(folder: Path, seed: int) -> None:
    """Run a code competition and print what each team, and then everybody, sees."""
    from arena.cli.commands.demo_programs import run_demo
    from arena.cli.console import Lines
    from arena.cli.submission_output import print_answer, print_trial
    from arena.utils.formatting import BoardDisplay

    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"The folder {folder} is not empty: choose another one with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    out = console()
    for team, submitted in run_demo(folder, seed=seed):
        out.print(f"{team} sends a program.", soft_wrap=True)
        if submitted.trial is not None:
            print_trial(submitted.trial, Lines())
        if submitted.submitted is not None:
            print_answer(submitted.submitted, Lines(), BoardDisplay())
    where = shlex.quote(str(folder / "race"))
    lines = (
        f"The hidden images are in {folder / 'hidden'}, the programs in {folder / 'programs'}.",
        "To see the board with running times, and to run a program again:",
        f"    arena leaderboard -C {where}",
        f"    arena programs rerun 1 -C {where}",
    )
    for line in lines:
        out.print(line, soft_wrap=True)


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
