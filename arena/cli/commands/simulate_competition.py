"""Simulate a whole competition, and compare its outcome with the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.commands.simulate import PredictionOption, with_kind
from arena.cli.completion import complete_mechanism, complete_metric
from arena.cli.console import console, print_document, say_failures, say_note
from arena.cli.folder import Wait
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, write_outputs
from arena.cli.tables import Column, print_table
from arena.types import DEFAULT_LEVEL
from arena.utils.formatting import number
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.plugin.manager import PluginManager
    from arena.simulation.competition.outcome import Outcome
    from arena.simulation.competition.run import CompetitionRun, Request

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130
_TOP = 10


@app.command()
@options.engine()
def competition(
    directory: Annotated[
        Path,
        typer.Argument(
            help="A new folder, the folder of a simulation to continue, or a competition without "
            "submissions.",
            metavar="DIR",
        ),
    ],
    mechanisms: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Mechanisms, separated by commas; the same seeds under each.  "
            "[default: ladder-free(minimum_step=0.002), or kaggle for a metric without bounds; "
            "the competition's own if DIR holds one]",
            autocompletion=complete_mechanism,
        ),
    ] = None,
    teams: Annotated[int, typer.Option(min=1, help="Number of participants.")] = 50,
    days: Annotated[int, typer.Option(min=1, help="Length of the competition in days.")] = 30,
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
            help="Competitor that makes the public baseline; none: the sample submission.  "
            "[default: lightgbm-climber]"
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", "-m", help="Metric.  [default: accuracy]", autocompletion=complete_metric
        ),
    ] = None,
    lower_is_better: options.LowerIsBetter = None,
    prediction: PredictionOption = None,
    per_day: Annotated[
        int | None, typer.Option(min=1, help="Submissions per team and day.  [default: 2]")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Your own data, CSV or Parquet.  [default: synthetic rows]"),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target column of --data.")] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="If DIR holds a competition: the features of its rows, by id; --data then has "
            "the training rows."
        ),
    ] = None,
    positive: options.Positive = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows to predict.  [default: 6000, fewer if --data is small]")
    ] = None,
    public_share: Annotated[
        float | None, typer.Option(help="Share of the rows that is public.  [default: 0.3]")
    ] = None,
    train_rows: Annotated[
        int | None, typer.Option(help="Training rows.  [default: 3000, fewer if --data is small]")
    ] = None,
    validation_rows: Annotated[
        int | None,
        typer.Option(help="Rows for early stopping.  [default: 1000, fewer if --data is small]"),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="A past leaderboard in CSV, or a folder of them: the teams join, submit and score "
            "like its teams.",
            metavar="BOARD.csv|FOLDER",
        ),
    ] = None,
    drawn: Annotated[
        bool,
        typer.Option(
            "--drawn",
            help="Draw the teams' predictions instead of training models, and store no "
            "submissions: for thousands of teams.",
        ),
    ] = False,
    notebooks: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of the honest teams' submissions that become public, for others to blend "
            "and copy.",
        ),
    ] = 0.0,
    drift: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="How much the features of private and public rows differ: 0 (divided at random) "
            "to 1 (divided at a threshold).",
        ),
    ] = 0.0,
    training_drift: Annotated[
        float,
        typer.Option(min=0, max=1, help="The same for the rows to predict and the training rows."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the first with --seeds.")] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of simulations, each with its own seed, run side by side; mechanisms are "
            "compared by paired differences.",
        ),
    ] = 1,
    level: Annotated[
        float, typer.Option(help="Level of the intervals and tests with --seeds.")
    ] = DEFAULT_LEVEL,
    where: options.EngineChoice = options.HERE,
    wait: Wait = 0.0,
    report: ReportFile = None,
    charts: ChartFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a competition with simulated teams, and compare its outcome with the truth.

    The teams submit files over simulated days, receive the released scores and react to them.
    Then the competition is finalized. It is stored, limited, scored and released by the code that
    runs real competitions. If interrupted, the same command continues. Several mechanisms get one
    folder each below DIR, and so does each of several seeds. One seed is one possible outcome: use
    --seeds 20 or more before you decide anything.
    """
    from arena.plugin.manager import PluginManager
    from arena.simulation.competition.prepare import Options, prepare

    check_outputs(report, charts)
    manager = PluginManager()
    options_given = Options(
        directory=directory,
        mechanisms=mechanisms,
        teams=teams,
        days=days,
        seed=seed,
        kinds=kinds,
        baseline=baseline,
        metric=None if metric is None else with_kind(metric, lower_is_better, prediction),
        per_day=per_day,
        data=data,
        target=target,
        test=test,
        positive=positive,
        rows=rows,
        train_rows=train_rows,
        validation_rows=validation_rows,
        public_share=public_share,
        like=like,
        drawn=drawn,
        notebooks=notebooks,
        drift=drift,
        training_drift=training_drift,
        wait=wait,
    )
    if seeds > 1:
        from arena.cli.commands.simulate_seeds import simulate_seeds
        from arena.simulation.competition.seeds import options_of_seed

        first, notes = prepare(options_of_seed(options_given, seed), manager)
        for note in notes:
            say_note(note)
        simulate_seeds(
            options_given,
            first,
            range(seed, seed + seeds),
            level=level,
            where=where,
            report=report,
            charts=charts,
            as_json=as_json,
        )
        return
    request, notes = prepare(options_given, manager)
    for note in notes:
        say_note(note)
    runs = _run(request, manager, where)
    say_failures(manager)
    if as_json:
        print_document(_document(request, runs))
    else:
        _print(request, [one.outcome for one in runs], console())
    if report is not None or charts is not None:
        from arena.report.competition_simulation import competition_simulation_report

        write_outputs(competition_simulation_report(request, runs, manager), report, charts)


def _run(
    request: Request, manager: PluginManager, where: options.EngineChoice
) -> list[CompetitionRun]:
    """Run the competition under each mechanism, after a line that describes the run."""
    from arena.cli.commands.simulate import prediction_kind
    from arena.intake.faults import plural
    from arena.simulation.competition.run import run_competition, stored_submissions

    counts = zip(request.kinds, _teams_by_kind(request), strict=True)
    kinds = ", ".join(f"{count:,} {kind.specification}" for kind, count in counts if count)
    runs = []
    try:
        with ProgressDisplay() as progress, where.open() as engine:
            folder = request.open_folder()
            progress.say(
                f"{plural(request.teams, 'team')} ({kinds}) in {plural(request.days, 'day')} on "
                f"{request.data.name}, predictions of the kind "
                f"{prediction_kind(manager, request.settings.metric.specification)}, under "
                f"{' and '.join(request.mechanisms)}; "
                f"{plural(engine.workers, 'worker')} ({engine.name})."
            )
            for mechanism in request.mechanisms:
                started = time.monotonic()
                runs.append(
                    run_competition(
                        folder,
                        request,
                        mechanism,
                        manager,
                        workers=engine.workers,
                        progress=progress,
                    )
                )
                progress.say(f"{mechanism}: {time.monotonic() - started:.0f} s.")
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB turns Ctrl-C into a RuntimeError.
        if not isinstance(error, KeyboardInterrupt) and "interrupted" not in str(error).lower():
            raise
        say_note(
            f"Interrupted. {stored_submissions(request):,} submissions are stored in "
            f"{printable(str(request.root))}: the same command continues from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    return runs


def _teams_by_kind(request: Request) -> list[int]:
    from arena.simulation.competition.teams import assign_teams

    participants = assign_teams(request.kinds, request.teams)
    return [sum(one.kind is kind for one in participants) for kind in request.kinds]


def _document(request: Request, runs: Sequence[CompetitionRun]) -> dict[str, Any]:
    """Return the document ``arena/simulate-competition/1``."""
    return {
        "schema": "arena/simulate-competition/1",
        "folder": str(request.root),
        "data": request.data.name,
        "metric": request.settings.metric.specification,
        "greater_is_better": runs[0].outcome.greater_is_better,
        "seed": request.seed,
        "teams": request.teams,
        "days": request.days,
        "kinds": [
            {
                "competitor": kind.specification,
                "conduct": kind.conduct,
                "teams": count,
            }
            for kind, count in zip(request.kinds, _teams_by_kind(request), strict=True)
        ],
        "mechanisms": [one.outcome.to_dict() for one in runs],
    }


def _print(request: Request, outcomes: Sequence[Outcome], out: Console) -> None:
    """Print each mechanism's outcome with the truth, and a comparison of the mechanisms."""
    from arena.simulation.competition.summary import about_flags, about_intervals, summarize

    for outcome in outcomes:
        if len(outcomes) > 1:
            out.print(f"\n{printable(outcome.mechanism)}", style="bold")
        flags = None if request.drawn else about_flags(outcome)  # no analysis runs for them
        for text in (summarize(outcome), about_intervals(outcome), flags):
            if text:
                out.print(printable(text), soft_wrap=True)
        rows = outcome.to_dict()["standings"]
        title = "Private leaderboard and true scores (each team's final submission)"
        print_table(rows[:_TOP], _COLUMNS, out, title=title)
    if len(outcomes) > 1:
        print_table(
            [one.to_dict() for one in outcomes], _COMPARISON, out, title="The same seed under each"
        )
        out.print(
            "One seed cannot show a difference between mechanisms. Compare them with --seeds 20 in "
            "a new folder.",
            soft_wrap=True,
        )
    if request.drawn:
        out.print(
            f"The final leaderboard of each mechanism is board.csv in "
            f"{printable(str(request.root))}; the submissions are not stored.",
            soft_wrap=True,
        )
        return
    out.print(
        f"Everything is stored in {printable(str(request.root))} and marked as simulated. arena "
        f"leaderboard, report and audit work there as in any competition.",
        soft_wrap=True,
    )


def _count(name: str) -> Callable[[Any], str]:
    return lambda row: "" if row[name] is None else f"{row[name]:,}"


def _score(name: str) -> Callable[[Any], str]:
    show = number(4)
    return lambda row: show(row[name])


def _flags(row: Any) -> str:
    return f"{sum(flag['deserved'] for flag in row['flags']):,} of {len(row['flags']):,}"


_COLUMNS = (
    Column("rank", 1, _count("rank")),
    Column("team", 2, lambda row: printable(row["team"]), left=True),
    Column("score", 4, _score("score")),
    Column("true rank", 3, _count("true_rank")),
    Column("true score", 5, _score("true_score")),
    Column("public rank", 6, _count("public_rank")),
    Column("released", 7, _score("shown")),
    Column("submissions", 8, _count("submissions")),
)
_COMPARISON = (
    Column("mechanism", 1, lambda row: printable(row["mechanism"]), left=True),
    Column("best won", 2, lambda row: {None: "", True: "yes", False: "no"}[row["best_won"]]),
    Column("cost", 4, _score("loss")),
    Column("largest leaderboard error", 3, _score("leaderboard_error")),
    Column("mean over days", 7, _score("leaderboard_error_mean")),
    Column("submissions", 6, _count("submissions")),
    Column("correct flags", 5, _flags),
)
