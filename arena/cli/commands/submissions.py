"""List the submissions, of every status."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.completion import complete_team
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Wait, look_at_competition
from arena.intake.folder import team_name
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.formatting import released_format
from arena.utils.text import shorten

app = typer.Typer(add_completion=False)
_COLUMNS = ("submission", "team", "file", "received (UTC)", "status", "released", "selected")


@app.command()
def submissions(
    team: Annotated[
        str | None,
        typer.Option("--team", "-t", help="This team only.", autocompletion=complete_team),
    ] = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """List every submission in the order of arrival: its team, status and released score."""
    with look_at_competition(directory, wait) as competition:
        display = competition.settings.display(public=True)
        rows = competition.submissions(None if team is None else team_name(team))
    if as_json:
        print_document({"schema": "arena/submissions/1", "submissions": rows})
    elif rows:
        score = released_format([row["released"] for row in rows], display)
        columns = (*_COLUMNS, *(["phase"] if any(row["phase"] for row in rows) else []))
        table = Table(
            "",
            columns,
            tuple(
                (
                    row["submission"],
                    shorten(row["team"], 32),
                    shorten(row["file"], 40),
                    _minute(row["received"]),
                    row["status"],
                    score(row["released"]),
                    "yes" if row["selected"] else "",
                    row["phase"],
                )[: len(columns)]
                for row in rows
            ),
            importance=(1, 2, 6, 5, 3, 4, 7, 8)[: len(columns)],
        )
        print_table(table, console(), most=None)
    if not rows:
        say_note("There is no submission yet." if team is None else "This team has no submissions.")


def _minute(time: str) -> str:
    """Return an ISO 8601 time as people read it, to the second."""
    return time[:19].replace("T", " ")
