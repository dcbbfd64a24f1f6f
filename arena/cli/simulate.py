"""Simulate a competition before anyone is invited."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from arena.errors import UsageError

_COMMANDS: Mapping[str, str] = {
    "competition": "Let simulated teams hold a whole competition.",
    "ranks": "See how stable the ranks of a competition would be.",
}
"""Each stands in ``arena.cli.simulate_NAME`` as ``app``, imported when it is called."""


class _Lazy(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, line in _COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command by its name, then import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module = importlib.import_module(f"arena.cli.simulate_{name}")
            command = typer.main.get_command(module.app)
            command.name = name
        return name, command, rest


app = typer.Typer(cls=_Lazy, no_args_is_help=True, help=__doc__, add_completion=False)


@app.callback()
def _root() -> None:
    """Simulate a competition before anyone is invited."""


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Read a list of whole numbers, split at commas.

    Raises
    ------
    UsageError
        If one is none.

    Examples
    --------
    >>> whole_numbers("1000, 10000", "--test-rows")
    (1000, 10000)
    """
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError as error:
        raise UsageError(
            f"{option} takes whole numbers, split at commas, such as 10,100; not {text!r}."
        ) from error
