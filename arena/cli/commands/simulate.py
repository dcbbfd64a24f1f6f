"""Simulate a competition before it starts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from arena.errors import UsageError

if TYPE_CHECKING:
    from arena.plugin.manager import PluginManager

_COMMANDS: Mapping[str, str] = {
    "competition": "Run a whole competition with simulated teams.",
    "likeness": "Compare simulated leaderboards with past ones.",
    "ranks": "Estimate how stable the ranks of a competition would be.",
}
"""Each is ``app`` of ``arena.cli.commands.simulate_NAME``, imported when it is called."""


class _Lazy(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, line in _COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command by its name, then import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module = importlib.import_module(f"arena.cli.commands.simulate_{name}")
            command = typer.main.get_command(module.app)
            command.name = name
        return name, command, rest


app = typer.Typer(cls=_Lazy, no_args_is_help=True, help=__doc__, add_completion=False)


@app.callback()
def _root() -> None:
    """Simulate a competition before it starts."""


PredictionOption = Annotated[
    str | None,
    typer.Option(
        "--prediction",
        help="Content of a submission, for a metric that does not state it: label, probability, "
        "class_probabilities, score or value.",
    ),
]


def with_kind(metric: str, lower_is_better: bool | None, prediction: str | None) -> str:
    """Return the metric with its direction and the kind of its predictions, if they are given."""
    from arena.plugin.specification import with_parameters

    return with_parameters(metric, lower_is_better=lower_is_better, prediction=prediction)


def prediction_kind(manager: PluginManager, metric: str) -> str:
    """Return the kind of prediction that a metric takes, for a message."""
    from arena.interfaces import kinds_of

    return " or ".join(kinds_of(manager.metrics.resolve(metric)))


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Read a list of whole numbers, separated by commas.

    Raises
    ------
    UsageError
        If a part is not a whole number.

    Examples
    --------
    >>> whole_numbers("1000, 10000", "--test-rows")
    (1000, 10000)
    """
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError as error:
        raise UsageError(
            f"{option} takes whole numbers separated by commas, such as 10,100; not {text!r}."
        ) from error
