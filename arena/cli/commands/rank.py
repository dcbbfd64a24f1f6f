"""Rank algorithms or language models by a value per case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from arena.cli import options
from arena.cli.console import say_error
from arena.cli.reporting import Output, board_report_if, output_options, show_result
from arena.errors import UsageError
from arena.intake import CaseColumns
from arena.plugin.manager import PluginManager
from arena.scoring.rank import (
    AGGREGATES,
    MISSING,
    TIES,
    CaseSettings,
    rank_table,
    read_cases,
)
from arena.scoring.settings import BoardSettings, combination_of
from arena.types import DEFAULT_LEVEL, DEFAULT_RANKER, DEFAULT_RESAMPLES
from arena.utils.formatting import BoardDisplay
from arena.utils.progress import ProgressDisplay
from arena.utils.text import numbers_by_name

app = typer.Typer(add_completion=False)


@app.command()
@output_options(of_board=True)
def rank(
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or Parquet tables, long (algorithm, case, value) or wide (one column per "
            "algorithm); or files and folders of an evaluation tool.",
            metavar="TABLES",
            readable=False,
        ),
    ],
    output: Output,
    lower_is_better: Annotated[
        bool | None,
        typer.Option(
            "--lower-is-better/--greater-is-better",
            help="The direction of the values.  [default: as the files state, else greater]",
        ),
    ] = None,
    aggregate: Annotated[
        str, typer.Option(help=f"How values become a score: {', '.join(AGGREGATES)}, or pass@5.")
    ] = AGGREGATES[0],
    ties: Annotated[
        str,
        typer.Option(
            help="The rank of equal values on a case: average (of their places) or min (the first)."
        ),
    ] = TIES[0],
    missing: Annotated[
        str,
        typer.Option(
            help="A missing value: fault (the algorithm is not ranked), worst, baseline (that of "
            "--baseline), a number, or pairwise (algorithms are compared on what both have)."
        ),
    ] = "fault",
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The algorithm whose values fill missing ones, and whose score divides geometric "
            "means."
        ),
    ] = None,
    combine: options.Combine = None,
    weights: options.Weights = None,
    opposite: Annotated[
        list[str] | None,
        typer.Option(
            "--opposite",
            metavar="TASK, …",
            help="Tasks in which the other direction is the better one, separated by commas, for "
            "ranks: log losses beside AUCs.",
        ),
    ] = None,
    value_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help=(
                "The range of a value; an end may be inf.  [default: 0 1 if all values lie there "
                "and larger is better; 0 inf for losses]"
            ),
        ),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="The column of algorithms of a long table.")
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(
            help="The column of cases, or several separated by commas; auto numbers the rows of a "
            "wide table, columns takes each column as a case.  [default: case; in a wide table the "
            "first]"
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="The column of values of a long table, or the metric of a log."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The column of tasks: reports also rank each separately.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The column of groups of dependent cases.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="The column of times of cases that depend on the cases before."),
    ] = None,
    repeat: Annotated[
        str | None,
        typer.Option(
            help="The column that numbers repeated answers to a case; auto: in the order of the "
            "rows."
        ),
    ] = None,
    algorithm_from: Annotated[
        str | None,
        typer.Option(
            "--algorithm-from",
            metavar="name|folder",
            help="Each file holds the values of one algorithm: named after the file or its folder.",
        ),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(help="The key of a JSON document that holds the rows, such as results.rows."),
    ] = None,
    no_header: Annotated[
        list[str] | None,
        typer.Option(
            "--no-header",
            metavar="NAMES",
            help="The names of the columns of tables without a header line, separated by commas.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="table, or that of an evaluation tool.  [default: recognised from the files]"
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(help="How often the cases are resampled.")
    ] = DEFAULT_RESAMPLES,
    level: Annotated[
        float, typer.Option(help="The confidence level of every interval.")
    ] = DEFAULT_LEVEL,
    ranker: options.Ranker = DEFAULT_RANKER,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    decimals: options.Decimals = None,
    unit: options.Unit = "",
    workers: Annotated[
        int, typer.Option(help="Worker threads or processes; 0: one per processor.")
    ] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if any algorithm is not ranked.")
    ] = False,
) -> None:
    """Rank algorithms by their values on the same cases, with the uncertainty of every rank."""
    settings = CaseSettings(
        greater_is_better=None if lower_is_better is None else not lower_is_better,
        aggregate=aggregate,
        ties=cast(Any, ties),  # checked there
        missing=_missing(missing),
        baseline=baseline,
        combination=combination_of(combine, numbers_by_name(weights, "--weights")),
        opposite=options.target_names(opposite),
        value_range=value_range,
        columns=CaseColumns(
            algorithm,
            case,
            value=value,
            task=task,
            cluster=cluster,
            repeat=repeat,
            algorithm_from=algorithm_from,
            records=records,
            no_header=options.target_names(no_header),
            time=time,
        ),
        format=format,
        board=BoardSettings(
            resamples, level, seed=seed, stratify=None, workers=workers, ranker=ranker
        ),
    )
    manager = PluginManager()
    with ProgressDisplay() as progress:
        read = read_cases(tables, settings, manager)
        result = rank_table(read, settings, manager, progress)
        result = replace(result, display=BoardDisplay(decimals, unit))
        report = board_report_if(output.needs_report, result, manager, progress=progress)
    show_result(result, output, report)
    if not result.standings:
        say_error("No algorithm could be ranked: each lacks values. See --missing.")
    if not result.standings or (strict and result.rejected):
        raise typer.Exit(1)


def _missing(text: str) -> str | float:
    if text in MISSING:
        return text
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(
            f"--missing takes {', '.join(MISSING)} or a number, not {text!r}."
        ) from error
