"""Find how many private rows make the top ranks stable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import (
    TerminalProgress,
    console,
    print_document,
    say_failures,
    say_note,
)
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.reporting import ChartFolder, check_outputs, write_outputs
from arena.cli.simulate import whole_numbers
from arena.cli.tables import Column, print_table
from arena.errors import InputError, UsageError
from arena.execution import Progress
from arena.formats import percent

if TYPE_CHECKING:
    from arena.score_result import ScoreResult
    from arena.simulation.planning import Plan

app = typer.Typer(add_completion=False)


@app.command()
def plan(
    solution: Annotated[
        Path | None,
        typer.Argument(help="A pilot's solution.  [default: the competition]", readable=False),
    ] = None,
    submissions: Annotated[
        list[Path] | None,
        typer.Argument(help="A handful of baseline predictions.", readable=False),
    ] = None,
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="Of the pilot.")] = None,
    id_column: options.IdColumn = None,
    target: options.Target = None,
    usage: options.UsageColumn = "Usage",
    positive: options.Positive = None,
    difference: Annotated[
        float | None,
        typer.Option(help="That is to be shown, in the metric's units.  [default: the lead]"),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Private rows, split at commas.  [default: multiples of what is there]"),
    ] = None,
    resamples: Annotated[int, typer.Option(help="How often the rows are resampled.")] = 1_000,
    level: Annotated[float, typer.Option(help="Of the test and the rank intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of all chance.")] = 0,
    charts: ChartFolder = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Say what other numbers of private rows would give: power, rank intervals, the best winning.

    From the private rows of a stored competition, or from a pilot's solution and predictions.
    """
    import numpy as np

    from arena.score_settings import ScoreSettings, SolutionColumns
    from arena.simulation.planning import plan_rows

    check_outputs(None, charts)
    grid = None if rows is None else whole_numbers(rows, "--rows")
    with TerminalProgress() as progress:
        if solution is None:
            result = _stored(directory, wait, progress)
        else:
            if not submissions or metric is None:
                raise UsageError("A pilot needs its predictions and --metric beside SOLUTION.")
            columns = SolutionColumns(
                id_column, options.target_names(target), usage, positive, None, (), None
            )
            settings = ScoreSettings(
                metric=metric, columns=columns, board=_board(resamples, level, seed)
            )
            result = _pilot(solution, submissions, settings, progress)
    study = result.study
    if study is None:
        raise InputError("No submission could be scored, so there is nothing to plan with.")
    made = plan_rows(
        study.scores,
        study.resampled,
        len(study.truth),
        greater_is_better=study.metric.greater_is_better,
        difference=difference,
        test_rows=grid,
        level=level,
        rng=np.random.default_rng(seed),
    )
    if as_json:
        print_document({"schema": "arena/plan/1", "metric": result.metric, **made.to_dict()})
    else:
        _print(made, result.metric)
    if charts is not None:
        from arena.report.of_plan import plan_report

        write_outputs(plan_report(made, result.metric), None, charts)


def _board(resamples: int, level: float, seed: int) -> Any:
    from arena.private_board import BoardSettings

    return BoardSettings(resamples, level, seed)


def _stored(directory: Path | None, wait: float, progress: Progress) -> ScoreResult:
    with open_competition(directory, wait) as competition:
        result = competition.judge(progress=progress)
        say_failures(competition.manager)
    return result


def _pilot(
    solution: Path, submissions: list[Path], settings: Any, progress: Progress
) -> ScoreResult:
    from arena.plugin_manager import PluginManager
    from arena.scoring import score

    manager = PluginManager()
    result = score(solution, submissions, settings, manager=manager, progress=progress)
    say_failures(manager)
    for note in result.notes:
        say_note(note)
    return result


def _about(made: Plan, metric: str) -> str:
    said = f"{made.submissions:,} submissions on {made.pilot_rows:,} private rows; two of them "
    said += f"differ by chance by {made.standard_error:.3g} in {metric} (one standard error)."
    if made.copies:
        said += f" Copies of others, left out: {made.copies:,}."
    return said


def _print(made: Plan, metric: str) -> None:
    out = console()
    out.print(_about(made, metric), soft_wrap=True)
    columns = (
        Column("private rows", 1, lambda row: f"{row['test_rows']:,}"),
        Column("best wins", 2, lambda row: percent(row["best_wins"])),
        Column("rank interval", 3, lambda row: f"{row['interval_width']:.1f} ranks"),
        Column("winner shown", 4, lambda row: percent(row["winner_shown"])),
        Column(f"power for {made.difference:.3g}", 5, lambda row: percent(row["power"])),
        Column("all pairs", 6, lambda row: percent(row["power_corrected"])),
    )
    document = made.to_dict()
    print_table(document["rows"], columns, out, title="What other numbers of rows would give")
    out.print(
        "Power is for two submissions that are named beforehand; the winner is shown only if it "
        "proves better than every other one, which asks for more.",
        soft_wrap=True,
    )
    needed = [
        f"{pair['probability']:.0%} with {pair['test_rows']:,.0f}"
        for pair in document["best_wins_rows"]
        if pair["test_rows"] is not None
    ]
    said = ", ".join(needed) if needed else "no number of rows that this pilot could tell"
    out.print(f"Private rows for the truly best to win: {said}.", soft_wrap=True)
