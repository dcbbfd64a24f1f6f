"""Simulate a whole competition, and see what was true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress, console, print_document, say_failures, say_note
from arena.cli.folder import Wait
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, write_outputs
from arena.text import printable

if TYPE_CHECKING:
    from arena.cli.simulate_competition_run import Prepared
    from arena.simulation.competition.run import Held

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130


@app.command()
def competition(
    directory: Annotated[
        Path,
        typer.Argument(
            help="A new folder, that of a simulation, or a competition that nobody submitted to.",
            metavar="DIR",
        ),
    ],
    mechanisms: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Mechanisms, split at commas; the same seeds under each.  "
            "[default: ladder-free(minimum_step=0.002), or kaggle for a metric without bounds; "
            "with a competition in DIR its own]",
        ),
    ] = None,
    teams: Annotated[int, typer.Option(min=1, help="How many people take part.")] = 50,
    days: Annotated[int, typer.Option(min=1, help="How long it lasts.")] = 30,
    kinds: Annotated[
        str | None,
        typer.Option(
            help="Competitors and their shares, such as 'lightgbm-climber=3, copycat=1'.  "
            "[default: mostly lightgbm-climber, some copycat and lightgbm-seeds, few attackers]"
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Who makes the public baseline; none: the sample submission.  "
            "[default: lightgbm-climber]"
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="A metric.  [default: accuracy]")
    ] = None,
    per_day: Annotated[
        int | None, typer.Option(min=1, help="Submissions per team and day.  [default: 2]")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet of your own.  [default: synthetic rows]"),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of --data to predict.")] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="With a competition in DIR: the features of its rows, by id; --data is to train."
        ),
    ] = None,
    positive: options.Positive = None,
    rows: Annotated[int, typer.Option(help="Rows to predict.")] = 6_000,
    public_share: Annotated[
        float | None, typer.Option(help="The share of the rows that is public.  [default: 0.3]")
    ] = None,
    train_rows: Annotated[int, typer.Option(help="Rows to train on.")] = 3_000,
    validation_rows: Annotated[int, typer.Option(help="Rows to stop early on.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="Of all chance.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="0: one per processor.")] = 0,
    wait: Wait = 0.0,
    report: ReportFile = None,
    charts: ChartFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Let simulated teams compete under the same code as real ones, and say what was true.

    Teams send files over simulated days, hear what is released, and react. Then the competition
    is finalized. The same command goes on where it was interrupted; several mechanisms have a
    folder each below DIR.
    """
    from arena.cli import simulate_competition_run as run
    from arena.simulation.data import Sizes

    check_outputs(report, charts)
    prepared = run.prepare(
        run.Asked(
            directory,
            mechanisms,
            teams,
            days,
            seed,
            kinds,
            baseline,
            metric,
            per_day,
            data,
            target,
            test,
            positive,
            Sizes(train_rows, validation_rows, rows),
            public_share,
            workers,
            wait,
        )
    )
    for note in prepared.notes:
        say_note(note)
    held = _carry_out(prepared)
    _tell(prepared, held, report, charts, as_json=as_json)


def _carry_out(prepared: Prepared) -> list[Held]:
    from arena.cli.simulate_competition_run import carry_out
    from arena.simulation.competition.run import stored_submissions

    try:
        with TerminalProgress() as progress:
            return carry_out(prepared, progress)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not _is_interruption(error):
            raise
        request = prepared.request
        say_note(
            f"Interrupted. {stored_submissions(request):,} submissions are stored in "
            f"{printable(str(request.root))}: the same command goes on from there."
        )
        raise typer.Exit(_INTERRUPTED) from None


def _is_interruption(error: BaseException) -> bool:
    """Tell whether somebody pressed Ctrl-C: DuckDB makes a RuntimeError of it."""
    return isinstance(error, KeyboardInterrupt) or "interrupted" in str(error).lower()


def _tell(
    prepared: Prepared, held: list[Held], report: Path | None, charts: Path | None, *, as_json: bool
) -> None:
    from arena.cli.simulate_competition_shown import document_of, print_outcomes

    say_failures(prepared.manager)
    if as_json:
        print_document(document_of(prepared.request, held))
    else:
        print_outcomes(prepared.request, [one.outcome for one in held], console())
    if report is not None or charts is not None:
        from arena.report.of_competition_simulation import competition_simulation_report

        made = competition_simulation_report(prepared.request, held, prepared.manager)
        write_outputs(made, report, charts)
