"""Attack a public board and measure its bias."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.completion import complete_mechanism, complete_metric
from arena.cli.console import console, print_document, say_error, say_note
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.finished_tasks import resumable
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice
from arena.utils.text import plural, printable, shorten

if TYPE_CHECKING:
    from arena_competitors.cli.request import AttackOutcome

app = typer.Typer(add_completion=False)

_NAME_WIDTH = 48
_DIRECTORY_HELP = "Attack this competition's own solution and mechanism.  [default: random labels]"


@app.command()
@options.engine()
def attack(
    attacks: Annotated[
        str, typer.Option("--attack", "-a", help="Attacks, separated by commas.")
    ] = "boosting",
    mechanisms: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Mechanisms, separated by commas.  "
            "[default: kaggle and, for bounded metrics, ladder-free; with -C its own]",
            autocompletion=complete_mechanism,
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Public rows.  [default: 4000]")] = None,
    total_rows: Annotated[
        int | None, typer.Option(help="Rows of a submission.  [default: three times the public]")
    ] = None,
    submissions: Annotated[
        int, typer.Option(min=1, help="Submissions before the attacker's last one.")
    ] = 400,
    repeats: Annotated[int, typer.Option(min=1, help="Number of repetitions to average.")] = 5,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", "-m", help="Metric.  [default: accuracy]", autocompletion=complete_metric
        ),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="Classes of the random labels.  [default: 2]")
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(help="One instance per team, rank or competition.  [default: team]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 if a mechanism's bias exceeds this at any number of submissions."
        ),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Write a chart of the curves: .svg, .png or .json.")
    ] = None,
    feedback_chart: Annotated[
        Path | None,
        typer.Option(
            help="Write a chart of the bias of each mechanism against the smallest honest gain "
            "that it shows: .svg, .png or .json."
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help=_DIRECTORY_HELP)
    ] = None,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for another process that holds the competition.")
    ] = 0.0,
    where: EngineChoice = HERE,
    resume: options.Resume = None,
    as_json: options.AsJson = False,
) -> None:
    """Run attackers against mechanisms, and measure the bias of the public board.

    The bias is the best released score minus the score of the same submission on hidden rows. By
    default the labels are random, so any score beyond chance is bias. Attackers see only what a
    participant sees. An attack that does not suit the metric is left out. With --budget the exit
    code says whether every bias stayed within it. On this machine one process runs all attacks,
    unless --workers asks for more.
    """
    from arena.charts import check_chart_path, write_chart
    from arena_competitors.cli import request

    attack_request = request.AttackRequest(
        attacks=attacks,
        mechanisms=mechanisms,
        rows=rows,
        total_rows=total_rows,
        submissions=submissions,
        repeats=repeats,
        metric=metric,
        classes=classes,
        scope=scope,
        seed=seed,
        budget=budget,
    )
    study = request.prepare(attack_request, directory, wait)
    for path in (chart, feedback_chart):
        check_chart_path(path)
    for note in study.notes:
        say_note(note)
    with ProgressDisplay() as progress, where.open() as engine, resumable(resume, progress):
        # Repetitions on this machine are too short to be worth a process, unless asked for.
        alone = where.engine == "local" and where.workers == 0
        outcome = request.run(study, progress, None if alone else engine)
    if chart is not None or feedback_chart is not None:
        from arena_competitors import chart as charts

        if chart is not None:
            drawn = charts.attack_chart(outcome.curves, outcome.study.metric)
            write_chart(drawn.specification, chart)
        if feedback_chart is not None:
            drawn = charts.feedback_chart(outcome.verdicts, outcome.study.metric)
            write_chart(drawn.specification, feedback_chart)
    if as_json:
        print_document(outcome.to_dict())
    else:
        _print(outcome)
    if outcome.within_budget is False:
        say_error(f"A bias exceeds the budget of {budget:g}.")
        raise typer.Exit(1)


def _print(outcome: AttackOutcome) -> None:
    """Print the results of the attacks, the cost of each mechanism, and the advice."""
    study, request = outcome.study, outcome.study.request
    out = console()
    better = "larger" if study.example.metric.greater_is_better else "smaller"
    labels = "random labels" if study.synthetic else "the competition's own labels"
    title = (
        f"{study.metric} ({better} is better), {len(study.example.public):,} public "
        f"of {plural(study.example.n_rows, 'row')}, {labels}, "
        f"{plural(request.submissions, 'submission')}, mean "
        f"of {request.repeats:,}, seed {request.seed}"
    )
    curves = tuple(_curve(curve.to_rows()[-1]) for curve in outcome.curves)
    verdicts = tuple(_verdict(verdict.to_dict()) for verdict in outcome.verdicts)
    cost = "Bias and cost of each mechanism"
    for table in (
        Table(title, CURVE_COLUMNS, curves, CURVE_IMPORTANCE),
        Table(cost, VERDICT_COLUMNS, verdicts, VERDICT_IMPORTANCE),
    ):
        print_table(table, out, most=None)
    out.print(printable(outcome.advice), soft_wrap=True)


def _curve(row: Mapping[str, Any]) -> tuple[str, ...]:
    error = row["bias_se"]
    return (
        shorten(row["setting"], _NAME_WIDTH),
        shorten(row["mechanism"], _NAME_WIDTH),
        f"{row['released']:.4f}",
        f"{row['released_fresh']:.4f}",
        f"{row['bias']:+.4f}" + ("" if error is None else f" ±{error:.4f}"),
        f"{row['final_public']:.4f}",
        f"{row['fresh']:.4f}",
        f"{row['leaderboard_error']:.4f}",
        f"{row['labels_recovered']:,.1f}" if row["labels_recovered"] else "",
    )


CURVE_COLUMNS = (
    "attack", "mechanism", "released", "same, hidden rows", "bias at the end ±s.e.",
    "last, public", "last, hidden", "board error", "labels known",
)  # fmt: skip
CURVE_IMPORTANCE = (1, 2, 3, 5, 4, 7, 8, 9, 6)


def _verdict(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        shorten(row["mechanism"], _NAME_WIDTH),
        f"{row['bias']:.4f}",
        "" if row["bias_high"] is None else f"{row['bias_high']:.4f}",
        shorten(row["worst_attack"], _NAME_WIDTH),
        "not shown" if row["smallest_gain"] is None else f"{row['smallest_gain']:.2g}",
        "" if row["revealed_rows"] is None else f"{row['revealed_rows']:g}",
        row["within_budget"],
    )


VERDICT_COLUMNS = (
    "mechanism", "largest bias", "95% bound", "by", "smallest honest gain shown",
    "labels in one submission", "within budget",
)  # fmt: skip
VERDICT_IMPORTANCE = (1, 2, 7, 5, 3, 4, 6)
