"""Estimate how stable the ranks of a competition would be."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import typer

from arena.cli import options
from arena.cli.console import say_note
from arena.cli.reporting import Output, output_options, show_report
from arena.errors import ArenaError
from arena.simulation.requests import RanksRequest
from arena.utils.progress import ProgressDisplay
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130


@app.command()
@options.request(
    RanksRequest,
    arguments={},
    of_metric={"lower_is_better": options.LowerIsBetter, "prediction": options.Prediction},
)
@output_options()
def ranks(request: RanksRequest, output: Output) -> None:
    """Train many models and compare their ranks on tests with their true ranks.

    Tests of every size are drawn from a large population. On synthetic data the true scores are
    exact. With --models, nothing is trained twice.
    """
    from arena.report.rank_simulation import rank_simulation_report
    from arena.simulation.ranks.prepare import count_models, prepare, run

    prepared = prepare(request)
    folder = request.models or Path(tempfile.mkdtemp(prefix="arena-models-"))
    try:
        with ProgressDisplay() as progress:
            result = run(prepared, folder, progress)
    except KeyboardInterrupt:
        say_note(
            f"Interrupted. {count_models(prepared, folder):,} of "
            f"{plural(request.n_models, 'model', 'are')} in {printable(str(folder))}: the same "
            f"command with --models {printable(str(folder))} continues from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    except ArenaError:
        if request.models is None and not count_models(prepared, folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if request.models is None:
        shutil.rmtree(folder, ignore_errors=True)
    show_report(
        output,
        lambda: {"schema": "arena/simulate-ranks/2", **result.to_dict()},
        lambda: rank_simulation_report(result),
    )
