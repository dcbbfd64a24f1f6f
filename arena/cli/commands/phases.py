"""List the phases of the competition."""

from __future__ import annotations

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Wait, look_at_competition
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.formatting import minute
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def phases(directory: Directory = None, wait: Wait = 0.0, as_json: options.AsJson = False) -> None:
    """List the phases: which one is open, their dates, their rows and their submissions."""
    with look_at_competition(directory, wait) as competition:
        rows = competition.phases()
        changed = [row["phase"] for row in rows if not competition.qualified_follow(row["phase"])]
    if as_json:
        print_document({"schema": "arena/phases/1", "phases": rows})
        return
    if not rows:
        say_note("This competition has no phases: it is one from its start to its deadline.")
        return
    table = Table(
        "",
        (
            "phase",
            "state",
            "metric",
            "start (UTC)",
            "end (UTC)",
            "public rows",
            "private rows",
            "submissions",
        ),
        tuple(
            (
                row["phase"],
                row["state"],
                row["metric"],
                minute(row["start"] or ""),
                minute(row["end"] or ""),
                row["public_rows"],
                row["private_rows"],
                row["submissions"],
            )
            for row in rows
        ),
        importance=(1, 2, 8, 4, 3, 6, 7, 5),
    )
    print_table(table, console(), most=None)
    for phase in changed:
        say_note(
            f"The teams named for the phase {phase} no longer follow from the board before it."
        )
    for row in rows:
        if row["qualified"] is not None:
            names = ", ".join(row["qualified"])
            console().print(printable(f"Teams of the phase {row['phase']}: {names}"), markup=False)
        if row["shares"]:
            console().print(
                f"The phase {row['phase']} shares its public rows with {', '.join(row['shares'])}."
            )
