"""List the mechanisms of the public board, or describe one."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.completion import complete_mechanism
from arena.cli.console import console, print_document
from arena.interfaces import Mechanism
from arena.plugin.manager import PluginManager
from arena.utils.text import printable

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
    as_json: options.AsJson = False,
) -> None:
    """List the mechanisms that can release public scores, or show one with its parameters."""
    manager = PluginManager()
    registry = manager.mechanisms
    if name is not None:
        found = [_document(name, registry.resolve(name), registry.plugin_of(name))]
    else:
        found = [_document(entry.name, entry.item, entry.plugin) for entry in registry]
    if as_json:
        print_document({"schema": "arena/mechanisms/1", "mechanisms": found})
    elif name is not None:
        _print_one(found[0])
    else:
        _print_all(found)


def _document(name: str, mechanism: Mechanism, plugin: str) -> dict[str, Any]:
    fields: tuple[dataclasses.Field[Any], ...] = ()
    if dataclasses.is_dataclass(mechanism):
        fields = dataclasses.fields(mechanism)
    return {
        "name": name,
        "plugin": plugin,
        "parameters": {
            one.name: getattr(mechanism, one.name)
            for one in fields
            if one.init and one.name != "name"
        },
        "description": " ".join((type(mechanism).__doc__ or "").split("\n\n")[0].split()),
    }


def _print_all(found: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in ("mechanism", "released scores", "parameters", "plugin"):
        table.add_column(column, no_wrap=column == "mechanism")
    for one in found:
        parameters = ", ".join(f"{key}={value}" for key, value in one["parameters"].items())
        cells = (one["name"], one["description"], parameters, one["plugin"])
        table.add_row(*map(printable, cells))
    console().print(table)


def _print_one(one: dict[str, Any]) -> None:
    out = console()
    out.print(printable(one["name"]), style="bold")
    out.print(printable(one["description"]), soft_wrap=True)
    for key, value in one["parameters"].items():
        out.print(f"Parameter {key} = {value!r}.", soft_wrap=True)
    out.print(f"From the plugin {printable(one['plugin'])}.")
