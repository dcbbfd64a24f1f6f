"""See how stable the ranks of a competition would be."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress, console, print_document, say_failures, say_note
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, write_outputs
from arena.cli.simulate import whole_numbers
from arena.errors import ArenaError, UsageError
from arena.text import printable

if TYPE_CHECKING:
    from arena.cli.simulate_ranks_run import Request

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130


@app.command()
def ranks(
    data: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet of your own.  [default: synthetic rows]"),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of --data to predict.")] = None,
    positive: options.Positive = None,
    metric: options.Metric = "roc_auc",
    lower_is_better: options.LowerIsBetter = None,
    test_rows: Annotated[str, typer.Option(help="Rows of a test, split at commas.")] = "1000,10000",
    competitors: Annotated[str, typer.Option(help="Competitors, split at commas.")] = "10,40",
    tests: Annotated[int, typer.Option(help="Tests of each size.")] = 50,
    boards: Annotated[
        int, typer.Option(help="Tests that are judged as boards, for the coverage.")
    ] = 10,
    resamples: Annotated[int, typer.Option(help="Resamples of the rows of each board.")] = 500,
    level: Annotated[float, typer.Option(help="The level of the rank intervals.")] = 0.95,
    train_rows: Annotated[int, typer.Option(help="Rows to train on.")] = 4_000,
    validation_rows: Annotated[int, typer.Option(help="Rows to stop early on.")] = 2_000,
    population: Annotated[
        int | None,
        typer.Option(help="Rows that tests are drawn from.  [default: 5 times the largest test]"),
    ] = None,
    search: Annotated[
        str, typer.Option("--search", help="Who trains: a competitor that searches.")
    ] = "lightgbm",
    grid: Annotated[
        Path | None, typer.Option(help="The grid that settings are drawn from, TOML.")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep the models here, and use those that are here."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all chance.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="0: one per processor.")] = 0,
    engine: Annotated[str, typer.Option(help="Where models train: local, dask or ray.")] = "local",
    scheduler: Annotated[str | None, typer.Option(help="Of Dask: tcp://host:8786.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Of Ray.  [default: one is started here]")
    ] = None,
    report: ReportFile = None,
    charts: ChartFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Train many competitors, and compare their ranks on tests with their true ranks.

    Tests of every size are drawn from a large population; on synthetic data the true scores are
    exact. Nothing is trained twice in a folder of --models.
    """
    from arena.cli.simulate_ranks_run import Request
    from arena.simulation.data import Sizes
    from arena.simulation.ranks import RankSettings
    from arena.specification import with_parameters

    check_outputs(report, charts)
    if (data is None) != (target is None):
        raise UsageError("--data and --target go together.")
    sizes_of_tests = whole_numbers(test_rows, "--test-rows")
    settings = RankSettings(
        sizes_of_tests,
        whole_numbers(competitors, "--competitors"),
        tests,
        boards,
        resamples,
        level,
        seed,
    )
    request = Request(
        data=data,
        target=target or "",
        positive=positive,
        metric=with_parameters(metric, lower_is_better=lower_is_better),
        search=with_parameters(search, grid=None if grid is None else str(grid)),
        sizes=Sizes(train_rows, validation_rows, population or 5 * max(sizes_of_tests)),
        settings=settings,
        workers=workers,
        engine=engine,
        address=scheduler if engine == "dask" else address,
    )
    _run(request, models, report, charts, as_json=as_json)


def _run(
    request: Request,
    models: Path | None,
    report: Path | None,
    charts: Path | None,
    *,
    as_json: bool,
) -> None:
    from arena.cli import simulate_ranks_run as run
    from arena.cli.simulate_ranks_shown import print_simulation

    prepared = run.prepare(request)
    folder = models or Path(tempfile.mkdtemp(prefix="arena-models-"))
    try:
        with TerminalProgress() as progress:
            result = run.carry_out(prepared, folder, progress)
    except KeyboardInterrupt:
        say_note(
            f"Interrupted. {run.count_models(prepared, folder):,} of "
            f"{request.settings.n_models:,} models are in {printable(str(folder))}: the same "
            f"command with --models {printable(str(folder))} goes on from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    except ArenaError:
        if models is None and not run.count_models(prepared, folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if models is None:
        shutil.rmtree(folder, ignore_errors=True)
    say_failures(prepared.manager)
    if as_json:
        print_document({"schema": "arena/simulate-ranks/1", **result.to_dict()})
    else:
        print_simulation(result, console())
    if report is not None or charts is not None:
        from arena.report.of_rank_simulation import rank_simulation_report

        write_outputs(rank_simulation_report(result), report, charts)
