"""Show what other mechanisms would have released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.completion import complete_mechanism
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Phase, Wait, look_at_competition
from arena.competition.replay import CAUTION, Replay, ReplayedBoard
from arena.interfaces import Scope
from arena.plugin.specification import split_specifications
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.formatting import BoardDisplay, released_format
from arena.utils.progress import ProgressDisplay
from arena.utils.text import plural, printable, shorten

app = typer.Typer(add_completion=False)


@app.command()
def replay(
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism",
            help="One or several, separated by commas: ladder(eta=0.01),kaggle.",
            autocompletion=complete_mechanism,
        ),
    ],
    scope: Annotated[
        Scope | None,
        typer.Option(help="What has an instance of the mechanism.  [default: as now]"),
    ] = None,
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Show the scores that other mechanisms would have released for the same submissions.

    The record is not changed, and participants do not see these scores.
    """
    with look_at_competition(directory, wait) as opened, ProgressDisplay() as progress:
        competition = opened.in_phase(phase)
        display = competition.settings.display(public=True)
        replayed = competition.replay(split_specifications(mechanism), scope, progress=progress)
    for note in replayed.notes:
        say_note(note)
    if as_json:
        print_document({"schema": "arena/replay/1", **replayed.to_dict()})
    else:
        _print_boards(replayed, display)


def _print_boards(replayed: Replay, display: BoardDisplay) -> None:
    out = console()
    boards = (replayed.released, *replayed.replayed)
    if not replayed.history:
        say_note("No score was released yet, so that there is nothing to replay.")
        return
    teams = [row["team"] for row in replayed.released.standings]
    cells = [_cells(board, display) for board in boards]
    names = [_named(board) for board in boards]
    table = Table(
        "rank and score of each team's best release",
        ("team", f"released: {names[0]}", *names[1:]),
        tuple(
            (shorten(team, 32), *(cells_of_board.get(team, "") for cells_of_board in cells))
            for team in teams
        ),
    )
    print_table(table, out)
    for board in boards:
        out.print(
            f"{_named(board)}: {board.improvements:,} of "
            f"{plural(len(replayed.history), 'submission')} shown as better than before."
        )
    out.print(CAUTION)


def _named(board: ReplayedBoard) -> str:
    scope = "" if board.scope == "team" else f" by {board.scope}"
    return shorten(printable(board.mechanism), 40) + scope


def _cells(board: ReplayedBoard, display: BoardDisplay) -> Mapping[str, str]:
    """Return the displayed rank and score of every team on a board."""
    score = released_format([row["score"] for row in board.standings], display)
    return {row["team"]: _cell(row, score(row["score"])) for row in board.standings}


def _cell(row: Mapping[str, Any], score: str) -> str:
    return f"{score} (baseline)" if row["rank"] is None else f"{row['rank']}. {score}"
