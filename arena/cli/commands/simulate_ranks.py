"""Estimate how stable the ranks of a competition would be."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.commands.simulate import PredictionOption, whole_numbers, with_kind
from arena.cli.console import console, print_document, say_failures, say_note
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, write_outputs
from arena.cli.tables import Column, print_table
from arena.errors import ArenaError, UsageError
from arena.types import DEFAULT_LEVEL
from arena.utils.formatting import level_text, percent
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.simulation.ranks.study import RankSimulation

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130
_TOP = 10


@app.command()
@options.engine()
def ranks(
    data: Annotated[
        Path | None,
        typer.Option(help="Your own data, CSV or Parquet.  [default: synthetic rows]"),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target column of --data.")] = None,
    positive: options.Positive = None,
    metric: options.Metric = "roc_auc",
    lower_is_better: options.LowerIsBetter = None,
    prediction: PredictionOption = None,
    test_rows: Annotated[str, typer.Option(help="Sizes of tests, with commas.")] = "1000,10000",
    competitors: Annotated[str, typer.Option(help="Numbers of models, with commas.")] = "10,40",
    tests: Annotated[int, typer.Option(help="Number of tests of each size.")] = 50,
    boards: Annotated[
        int,
        typer.Option(help="Number of tests with rank intervals, to measure their coverage."),
    ] = 10,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of each board.")] = 500,
    level: Annotated[float, typer.Option(help="Level of the rank intervals.")] = DEFAULT_LEVEL,
    train_rows: Annotated[
        int | None, typer.Option(help="Training rows.  [default: 4000, fewer if --data is small]")
    ] = None,
    validation_rows: Annotated[
        int | None,
        typer.Option(help="Rows for early stopping.  [default: 2000, fewer if --data is small]"),
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(
            help="Rows that tests are drawn from.  [default: 5 times the largest test, fewer if "
            "--data is small]"
        ),
    ] = None,
    search: Annotated[
        str, typer.Option("--search", help="The competitor that trains the models.")
    ] = "lightgbm",
    grid: Annotated[
        Path | None, typer.Option(help="TOML file of the settings to draw from.")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Store models here, and reuse them."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    where: options.EngineChoice = options.HERE,
    report: ReportFile = None,
    charts: ChartFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Train many models and compare their ranks on tests with their true ranks.

    Tests of every size are drawn from a large population. On synthetic data the true scores are
    exact. With --models, nothing is trained twice.
    """
    from arena.plugin.specification import with_parameters
    from arena.simulation.ranks import prepare
    from arena.simulation.ranks.study import RankSettings

    check_outputs(report, charts)
    if (data is None) != (target is None):
        raise UsageError("--data and --target go together.")
    settings = RankSettings(
        whole_numbers(test_rows, "--test-rows"),
        whole_numbers(competitors, "--competitors"),
        tests,
        boards,
        resamples,
        level,
        seed,
    )
    request = prepare.Request(
        data=data,
        target=target or "",
        positive=positive,
        metric=with_kind(metric, lower_is_better, prediction),
        search=with_parameters(search, grid=None if grid is None else str(grid)),
        train_rows=train_rows,
        validation_rows=validation_rows,
        population=population,
        settings=settings,
        workers=where.workers,
        engine=where.engine,
        address=where.scheduler,
    )
    prepared = prepare.prepare(request)
    folder = models or Path(tempfile.mkdtemp(prefix="arena-models-"))
    try:
        with ProgressDisplay() as progress:
            result = prepare.run(prepared, folder, progress)
    except KeyboardInterrupt:
        say_note(
            f"Interrupted. {prepare.count_models(prepared, folder):,} of {settings.n_models:,} "
            f"models are in {printable(str(folder))}: the same command with --models "
            f"{printable(str(folder))} continues from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    except ArenaError:
        if models is None and not prepare.count_models(prepared, folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if models is None:
        shutil.rmtree(folder, ignore_errors=True)
    say_failures(prepared.manager)
    if as_json:
        print_document({"schema": "arena/simulate-ranks/2", **result.to_dict()})
    else:
        _print(result, console())
    if report is not None or charts is not None:
        from arena.report.rank_simulation import rank_simulation_report

        write_outputs(rank_simulation_report(result), report, charts)


def _print(result: RankSimulation, out: Console) -> None:
    """Print the win frequencies, the rows needed, the coverage and the ranks of the best."""
    from arena.simulation.ranks.study import simulation_verdict

    document = result.to_dict()
    out.print(simulation_verdict(result), soft_wrap=True)
    print_table(document["win_frequency"], _WINS, out, title="How often the truly best wins")
    largest, most = max(result.settings.test_rows), max(result.settings.competitors)
    title = "Test rows for the best to win this often"
    print_table(document["rows_needed"], (*_ROWS, _beyond(largest)), out, title=title)
    if document["coverage"]:
        level = level_text(result.settings.level)
        print_table(
            document["coverage"],
            _COVERAGE,
            out,
            title=f"How often ranges at {level} from a single test held the true ranks",
        )
    top = [
        row
        for row in document["ranks"]
        if (row["test_rows"], row["competitors"]) == (largest, most)
    ]
    shown = min(_TOP, most)
    title = f"Ranks of the truly best {shown} in tests of {largest:,} rows, {most:,} competitors"
    print_table(top[:_TOP], _RANKS, out, title=title)


def _count(name: str) -> Any:
    return lambda row: f"{row[name]:,.0f}"


def _beyond(largest: int) -> Column:
    """Return a column that marks rows extrapolated beyond the largest tests."""
    return Column("", 7, lambda row: "extrapolated" if row["rows"] > largest else "", left=True)


def _share(name: str) -> Any:
    return lambda row: percent(row[name])


_GRID = (
    Column("test rows", 1, _count("test_rows")),
    Column("competitors", 2, _count("competitors")),
)
_WINS = (
    *_GRID,
    Column("best wins", 3, _share("frequency")),
    Column("95% from", 4, _share("low")),
    Column("to", 5, _share("high")),
    Column("populations", 6, _count("populations")),
)
_ROWS = (
    _GRID[1],
    Column("probability", 3, _share("probability")),
    Column("test rows", 4, lambda row: f"{row['rows']:,.0f}" if row["rows"] else "any"),
    Column("95% from", 5, _count("low")),
    Column("to", 6, lambda row: "no limit" if row["high"] is None else f"{row['high']:,.0f}"),
)
_COVERAGE = (
    *_GRID,
    Column("ranges", 3, lambda row: str(row["kind"]), left=True),
    Column("all at once", 4, _share("all_ranks")),
    Column("the best's", 5, _share("best")),
    Column("each", 6, _share("each")),
    Column("boards", 7, _count("boards")),
)
_RANKS = (
    Column("true rank", 1, _count("true_rank")),
    Column("model", 6, _count("model")),
    Column("5%", 4, _count("q05")),
    Column("median", 2, _count("q50")),
    Column("90%", 5, _count("q90")),
    Column("95%", 3, _count("q95")),
)
