"""Show what corrected labels or another metric would change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.competition.rescore import RankChange, sentence_of
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice
from arena.utils.tabular import as_json as plain_json
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
@options.engine()
def rescore(
    solution: Annotated[
        Path | None, typer.Option(help="The corrected solution: the same rows, other labels.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Make the change, on record.")] = False,
    directory: Directory = None,
    wait: Wait = 0.0,
    where: EngineChoice = HERE,
    as_json: options.AsJson = False,
) -> None:
    """Score all submissions again with corrected labels or the metric in competition.toml.

    Without --apply nothing is changed. Released public scores stay on record as they were shown.
    """
    with open_competition(directory, wait) as competition:
        with where.open(), ProgressDisplay() as progress:
            changes = competition.rescore(
                solution, apply=apply, workers=where.workers, progress=progress
            )
        stale = apply and competition.outdated() is not None
    print_changes(changes, applied=apply, as_json=as_json)
    if not as_json:
        say_note("Applied." if apply else "Nothing was changed; --apply makes the change.")
    if stale:
        say_note("Run arena finalize to compute the private board again.")


def print_changes(changes: Sequence[RankChange], *, applied: bool, as_json: bool) -> None:
    """Print how the ranks and scores of the teams change, as a table or as JSON."""
    if as_json:
        rows = [
            {
                "phase": change.phase,
                "team": change.team,
                "rank_before": change.rank_before,
                "rank_after": change.rank_after,
                "score_before": change.score_before,
                "score_after": change.score_after,
            }
            for change in changes
        ]
        document = {"schema": "arena/rescore/1", "applied": applied, "changes": rows}
        print_document(plain_json(document))
        return
    from rich import box
    from rich.table import Table

    out = console()
    out.print(sentence_of(changes))
    printed_changes = [change for change in changes if change.changed or change.rescored]
    if not printed_changes:
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("team", "rank before", "rank after", "score before", "score after"):
        table.add_column(column, justify="left" if column == "team" else "right")
    for change in printed_changes:
        cells = [change.rank_before, change.rank_after, change.score_before, change.score_after]
        team = f"{change.team} (phase {change.phase})" if change.phase else change.team
        table.add_row(printable(team), *("" if c is None else f"{c:.8g}" for c in cells))
    out.print(table)
