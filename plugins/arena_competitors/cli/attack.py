"""Attack a public leaderboard, to see how far it can be driven."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress, print_document, say_error, say_note

app = typer.Typer(add_completion=False)

_DIRECTORY_HELP = "Attack this competition's own solution and mechanism.  [default: random labels]"


@app.command()
def attack(
    attacks: Annotated[
        str, typer.Option("--attack", "-a", help="Attacks, split at commas.")
    ] = "boosting",
    mechanisms: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Mechanisms, split at commas.  [default: kaggle, ladder-free; with -C its own]",
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Public rows.  [default: 4000]")] = None,
    total_rows: Annotated[
        int | None, typer.Option(help="Rows of a submission.  [default: three times the public]")
    ] = None,
    submissions: Annotated[
        int, typer.Option(min=1, help="Submissions before the attacker's last one.")
    ] = 400,
    repeats: Annotated[int, typer.Option(min=1, help="Repetitions that are averaged.")] = 5,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="A metric.  [default: accuracy]")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="Classes of the random labels.  [default: 2]")
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(help="An instance of the mechanism per team or rank.  [default: team]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all chance.")] = 0,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 if a mechanism's largest bias on the way, not just the one at the "
            "end, is larger than this."
        ),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the curves into this file: .svg, .png or .json.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help=_DIRECTORY_HELP)
    ] = None,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for another process that holds the competition.")
    ] = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Play attackers against mechanisms, and say how much better the board looks than the truth.

    The labels are pure chance, so that whatever the board shows beyond chance is bias: the best
    score that it shows, less what the same submission has on hidden rows. Attackers see what a
    participant sees. With --budget the exit code says whether every bias stayed under it.
    """
    from arena_competitors.cli import request, shown

    asked = request.Request(
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
    battle = request.prepare(asked, directory, wait)
    if chart is not None:
        shown.check_chart(chart)
    for note in battle.notes:
        say_note(note)
    with TerminalProgress() as progress:
        outcome = request.fight(battle, progress)
    if chart is not None:
        shown.draw(outcome, chart)
    if as_json:
        print_document(shown.document(outcome))
    else:
        shown.print_outcome(outcome)
    if outcome.within_budget is False:
        say_error(f"A bias is larger than the budget of {budget:g}.")
        raise typer.Exit(1)
