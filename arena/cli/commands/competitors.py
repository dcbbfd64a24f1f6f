"""List the simulated teams and attackers, or describe one."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.items import show_items

app = typer.Typer(add_completion=False)


@app.command()
def competitors(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A competitor, such as lightgbm-climber or block-flip(rows=16).",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Test it, and report what does not conform.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """List the simulated teams and attackers, or show one with its parameters.

    With --check, the exit code is 1 if it does not meet arena's requirements.
    """
    from arena.testing import check_competitor

    suite = check_competitor if check else None
    show_items("competitors", name, suite, column="what it does", as_json=as_json)
