"""The suite of commands finds each mistake, and arena's own commands make none."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer

from arena.cli import discovery
from arena.errors import InputError
from arena.testing import check_command

MISTAKES = {
    "no help": ("its help", "has no help: give"),
    "an option without help": ("its help", "The option --rows of arena count has no help"),
    "an underscore": ("its options", "--n_rows of arena count is no usual option"),
    "an error of Python": ("what it refuses", "ZeroDivisionError: division by zero"),
    "two documents": ("its example", "does not print one JSON document"),
    "not a number": ("its example", "NaN is no number of JSON"),
    "an exit": ("its example", "The example exits with 3: It stopped."),
}
Rows = Annotated[int, typer.Option("--rows", help="The number of rows.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def command(mistake: str | None) -> typer.Typer:
    app = typer.Typer()

    def count(rows: Rows = 1, as_json: AsJson = False) -> None:
        if rows == 0 and mistake == "an error of Python":
            typer.echo(1 / rows)
        if rows < 1:
            raise InputError("--rows must be at least 1.")
        if mistake == "an exit":
            typer.echo("It stopped.")
            raise typer.Exit(3)
        value = "NaN" if mistake == "not a number" else str(rows)
        typer.echo(value if as_json else f"{rows} rows")
        if mistake == "two documents":
            typer.echo("{}")

    def without_help(rows: int = 1) -> None:
        """Count the rows."""

    def with_underscore(n_rows: Annotated[int, typer.Option("--n_rows", help="Rows.")] = 1) -> None:
        """Count the rows."""

    if mistake != "no help":
        count.__doc__ = "Count the rows."
    special = {"an option without help": without_help, "an underscore": with_underscore}
    app.command()(special.get(str(mistake), count))
    return app


def test_a_command_without_a_mistake_conforms():
    conformance = check_command(command(None), "count", ["--json"], refused=[["--rows", "0"]])
    conformance.require()
    assert {check.outcome for check in conformance.checks} == {"ok"}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_found(mistake):
    conformance = check_command(command(mistake), "count", ["--json"], refused=[["--rows", "0"]])
    check, message = MISTAKES[mistake]
    assert message in {failed.name: failed.message for failed in conformance.failed}[check]


@pytest.mark.slow
@pytest.mark.parametrize("installed", discovery.installed(), ids=lambda command: command.name)
def test_the_commands_of_arena_conform(installed):
    check_command(installed.entry_point.load(), installed.name).require()
