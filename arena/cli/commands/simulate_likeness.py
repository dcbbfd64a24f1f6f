"""Compare simulated leaderboards with the past ones that they imitate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.cli.tables import Column, print_table
from arena.utils.formatting import number
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_SHOW = number(3)
_COLUMNS = (
    Column("statistic", 1, lambda row: row["statistic"], left=True),
    Column("boards", 3, lambda row: f"{row['boards']:,}"),
    Column("range holds the real value", 2, lambda row: f"{row['held']:,}"),
)
_OF_A_BOARD = (
    Column("board", 1, lambda row: printable(row["board"]), left=True),
    Column("statistic", 1, lambda row: row["statistic"], left=True),
    Column("real", 2, lambda row: _SHOW(row["real"])),
    Column("simulated 5%", 3, lambda row: _SHOW(row["low"])),
    Column("simulated 95%", 4, lambda row: _SHOW(row["high"])),
    Column("held", 5, lambda row: "yes" if row["held"] else "no"),
)


@app.command()
def likeness(
    boards: Annotated[
        Path,
        typer.Argument(
            help="A past leaderboard in CSV, or a folder of them.", metavar="BOARD.csv|FOLDER"
        ),
    ],
    simulated: Annotated[int, typer.Option(min=2, help="Simulated boards per past board.")] = 40,
    metric: options.Metric = "roc_auc",
    rows: Annotated[int, typer.Option(min=100, help="Rows to predict, 30% of them public.")] = (
        6_000
    ),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the first board.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Compare simulated leaderboards with the past ones that they imitate.

    For each past board, boards with as many teams are simulated as arena simulate competition
    --drawn --like does. Each statistic's range, from the 5% to the 95% quantile of the simulated
    boards, is compared with the real value.
    """
    from arena.simulation.competition.likeness import compare_with_past
    from arena.simulation.past.boards import read_boards

    past = read_boards(boards)
    with ProgressDisplay() as progress:
        found = compare_with_past(
            past, simulated=simulated, metric=metric, rows=rows, seed=seed, progress=progress
        )
    document = found.to_dict()
    if as_json:
        print_document(document)
        return
    if len(past) == 1:
        print_table(document["compared"], _OF_A_BOARD, console(), title="Real and simulated")
        return
    print_table(
        document["summary"],
        _COLUMNS,
        console(),
        title=f"{len(past):,} past boards, {simulated:,} simulated ones like each",
    )
