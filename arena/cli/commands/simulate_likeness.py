"""Compare simulated leaderboards with the past ones that they imitate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.progress import ProgressDisplay
from arena.utils.text import plural

app = typer.Typer(add_completion=False, rich_markup_mode=None)


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
        compared = compare_with_past(
            past, simulated=simulated, metric=metric, rows=rows, seed=seed, progress=progress
        )
    document = compared.to_dict()
    if as_json:
        print_document(document)
        return
    if len(past) == 1:
        table = Table(
            "Real and simulated",
            ("board", "statistic", "real", "simulated 5%", "simulated 95%", "held"),
            tuple(
                (
                    comparison.board,
                    comparison.statistic,
                    *(
                        f"{value:.3f}"
                        for value in (comparison.real, comparison.low, comparison.high)
                    ),
                    comparison.held,
                )
                for comparison in compared.compared
            ),
        )
    else:
        table = Table(
            f"{plural(len(past), 'past board')}, {simulated:,} simulated ones like each",
            ("statistic", "boards", "range holds the real value"),
            tuple((row["statistic"], row["boards"], row["held"]) for row in document["summary"]),
            importance=(1, 3, 2),
        )
    print_table(table, console())
