"""Take a submission out of every board, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition
from arena.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def disqualify(
    submission: Annotated[int, typer.Argument(help="Its number.", metavar="ID")],
    reason: Annotated[str, typer.Option(help="Why; it stands on record.")],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Take a submission out of every board. It stays on record, with the reason."""
    with open_competition(directory, wait) as competition:
        before = competition.disqualify(submission, reason)
    if before is None:
        console().print(f"Submission {submission} does not count any more.")
    else:
        said = f"Submission {submission} did not count already, for the reason: {before}"
        console().print(
            f"{printable(said)}\nThe new reason stands in its place; both stay on record."
        )
