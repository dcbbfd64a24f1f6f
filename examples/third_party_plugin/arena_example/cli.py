"""Print the lead of the first team of a board."""

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def margin(
    document: Annotated[Path, typer.Argument(help="The output of arena score --json.")],
) -> None:
    """Print how far the first of a board is ahead of the second."""
    standings = json.loads(document.read_text())["standings"]
    first, second = standings[:2]
    lead = abs(first["score"] - second["score"])
    typer.echo(f"{first['team']} is {lead:.4g} ahead of {second['team']}.")
