"""List the mechanisms of the public board, or describe one."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.completion import complete_mechanism
from arena.cli.items import show_items

app = typer.Typer(add_completion=False)


@app.command()
def mechanisms(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A mechanism, such as ladder-free or ladder(eta=0.01).",
            autocompletion=complete_mechanism,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Test it, and report what does not conform.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """List the mechanisms that can release public scores, or show one with its parameters.

    With --check, the exit code is 1 if it does not meet arena's requirements.
    """
    from arena.testing import check_mechanism

    suite = check_mechanism if check else None
    show_items("mechanisms", name, suite, column="released scores", as_json=as_json)
