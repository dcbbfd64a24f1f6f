"""Rank submissions, with the uncertainty of every rank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress, say_error
from arena.cli.reporting import (
    ChartFolder,
    ReportFile,
    board_report_if,
    check_outputs,
    show_result,
)
from arena.plugin_manager import PluginManager
from arena.private_board import BoardSettings
from arena.score_settings import ScoreSettings, SolutionColumns
from arena.scoring import score as score_files
from arena.specification import with_parameters

app = typer.Typer(add_completion=False)


@app.command()
def score(
    solution: options.SolutionFile,
    submissions: options.SubmissionFiles,
    metric: options.Metric,
    lower_is_better: options.LowerIsBetter = None,
    id_column: options.IdColumn = None,
    target: options.Target = None,
    usage: options.UsageColumn = "Usage",
    split: Annotated[
        str, typer.Option(help="The rows to rank on: private, public or all.")
    ] = "private",
    positive: options.Positive = None,
    db: Annotated[
        Path | None, typer.Option(help="Keep the submissions in this DuckDB file.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="How often the rows are resampled.")] = 1_000,
    level: Annotated[float, typer.Option(help="The confidence level of every interval.")] = 0.95,
    stratify: Annotated[
        bool | None,
        typer.Option(
            "--stratify/--no-stratify",
            help="Resample within classes.  [default: as the metric has it]",
        ),
    ] = None,
    cluster: options.Cluster = None,
    tasks: options.Tasks = None,
    soft_labels: options.SoftLabels = None,
    columns: options.SubmissionColumns = None,
    seed: Annotated[int, typer.Option(help="The seed of all chance.")] = 0,
    as_json: options.AsJson = False,
    workers: Annotated[
        int, typer.Option(help="Worker threads or processes; 0: one per processor.")
    ] = 0,
    strict: options.Strict = False,
    report: ReportFile = None,
    charts: ChartFolder = None,
) -> None:
    """Score submissions against a solution and rank them, with the uncertainty of every rank."""
    check_outputs(report, charts)
    settings = ScoreSettings(
        metric=with_parameters(metric, lower_is_better=lower_is_better),
        columns=SolutionColumns(
            id_column,
            options.target_names(target),
            usage,
            positive,
            cluster,
            options.target_names(columns),
            tasks,
            options.target_names(soft_labels),
        ),
        split=split,
        database=db,
        board=BoardSettings(resamples, level, seed, stratify, workers),
    )
    manager = PluginManager()
    with TerminalProgress() as progress:
        result = score_files(solution, submissions, settings, manager=manager, progress=progress)
        made = board_report_if(bool(report or charts), result, manager, progress)
    show_result(result, manager, as_json=as_json, made=made, report=report, charts=charts)
    if not result.standings:
        say_error("No submission could be ranked: every file was rejected.")
    if not result.standings or (strict and result.rejected):
        raise typer.Exit(1)
