"""List the analyses of a finished board, or describe one."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.items import show_items

app = typer.Typer(add_completion=False)


@app.command()
def analyses(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An analysis, as listed.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Test it, and report what does not conform.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """List the analyses that a finished board gets, or show one with its parameters.

    With --check, the exit code is 1 if it does not meet arena's requirements.
    """
    from arena.testing import check_analysis

    suite = check_analysis if check else None
    show_items("analyses", name, suite, column="what it finds", as_json=as_json)
