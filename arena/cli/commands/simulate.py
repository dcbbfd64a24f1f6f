"""Simulate a competition before it starts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from arena.cli.discovery import refuse_repeated_options

COMMANDS: Mapping[str, str] = {
    "competition": "Run a whole competition with simulated teams.",
    "likeness": "Compare simulated leaderboards with past ones.",
    "ranks": "Estimate how stable the ranks of a competition would be.",
}
"""Each is ``app`` of ``arena.cli.commands.simulate_NAME``, imported when it is called."""


class _Lazy(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, line in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command by its name, then import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module = importlib.import_module(f"arena.cli.commands.simulate_{name}")
            command = typer.main.get_command(module.app)
            command.name = name
            refuse_repeated_options(command)
        return name, command, rest


app = typer.Typer(cls=_Lazy, no_args_is_help=True, help=__doc__, add_completion=False)


@app.callback()
def _root() -> None:
    """Simulate a competition before it starts."""
