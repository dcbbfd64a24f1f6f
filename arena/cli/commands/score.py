"""Rank submissions, with the uncertainty of every rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import say_error, say_note
from arena.cli.program import prepare_readers
from arena.cli.reporting import Output, board_report_if, output_options, show_result
from arena.interfaces import traits_of
from arena.plugin.manager import PluginManager
from arena.plugin.specification import with_parameters
from arena.scoring.brackets import read_brackets
from arena.scoring.result import ScoreResult
from arena.scoring.score import score as score_files
from arena.scoring.settings import BoardSettings, ScoreSettings, combination_of
from arena.types import DEFAULT_LEVEL, DEFAULT_RANKER, DEFAULT_RESAMPLES, SolutionColumns
from arena.utils.finished_tasks import resumable
from arena.utils.formatting import BoardDisplay
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice
from arena.utils.text import numbers_by_name

app = typer.Typer(add_completion=False)


@app.command()
@options.solution_columns()
@options.engine()
@output_options(of_board=True)
def score(
    solution: options.SolutionFile,
    submissions: options.SubmissionFiles,
    metric: options.Metrics,
    columns: SolutionColumns,
    output: Output,
    combine: options.Combine = None,
    weights: options.Weights = None,
    brackets: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file with the columns team and bracket: each bracket is also ranked by "
            "itself. A team may be in several."
        ),
    ] = None,
    lower_is_better: options.LowerIsBetter = None,
    split: Annotated[
        str, typer.Option(help="The rows to rank on: private, public or all.")
    ] = "private",
    db: Annotated[
        Path | None, typer.Option(help="Keep the submissions in this DuckDB file.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(help="How often the rows are resampled.")
    ] = DEFAULT_RESAMPLES,
    level: Annotated[
        float, typer.Option(help="The confidence level of every interval.")
    ] = DEFAULT_LEVEL,
    intervals: options.Intervals = True,
    ranker: options.Ranker = DEFAULT_RANKER,
    full_bootstrap: options.FullBootstrap = False,
    stratify: options.Stratify = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    decimals: options.Decimals = None,
    unit: options.Unit = "",
    where: EngineChoice = HERE,
    resume: options.Resume = None,
    strict: options.Strict = False,
) -> None:
    """Score submissions against a solution and rank them, with the uncertainty of every rank."""
    options.check_intervals(intervals, output.report, output.charts)
    metrics = [with_parameters(name, lower_is_better=lower_is_better) for name in metric]
    settings = ScoreSettings(
        metric=metrics[0],
        others=tuple(metrics[1:]),
        brackets={} if brackets is None else read_brackets(brackets),
        combination=combination_of(combine, numbers_by_name(weights, "--weights")),
        columns=columns,
        split=split,
        database=db,
        board=BoardSettings(
            resamples,
            level,
            seed=seed,
            stratify=stratify,
            workers=where.workers,
            intervals=intervals,
            ranker=ranker,
            full_bootstrap=full_bootstrap,
        ),
    )
    prepare_readers(where.workers)
    manager = PluginManager()
    with where.open(), ProgressDisplay() as progress, resumable(resume, progress):
        result = score_files(solution, submissions, settings, manager=manager, progress=progress)
        result = replace(result, display=BoardDisplay(decimals, unit))
        report = board_report_if(output.needs_report, result, manager, progress=progress)
    show_result(result, output, report)
    if not result.standings:
        say_error("No submission could be ranked: every file was rejected.")
        _hint_at_columns(result, settings, manager)
    if not result.standings or (strict and result.rejected):
        raise typer.Exit(1)


def _hint_at_columns(result: ScoreResult, settings: ScoreSettings, manager: PluginManager) -> None:
    """Say how to name the columns of submissions, if every file was rejected for its columns."""
    of_columns = {"missing column", "extra column"}
    kinds_of_files = [{fault.kind for fault in file.faults} for file in result.rejected]
    joint = traits_of(manager.metrics.resolve(settings.metric)).joint_targets
    if (
        joint
        and not settings.columns.submission
        and all(of_columns & kinds for kinds in kinds_of_files)
    ):
        say_note(
            "If submissions have other columns than the solution, name them without the id: "
            "--columns prediction,… (submission_columns in competition.toml)."
        )
