"""List the plugins, what each provides and what failed."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any

import typer

from arena.cli import commands
from arena.cli.console import console, print_document, say_error, say_failures
from arena.errors import DuplicateNameError
from arena.plugin_manager import PluginManager
from arena.text import printable, printable_lines

app = typer.Typer(add_completion=False)

_KINDS = ("metrics", "mechanisms", "analyses", "competitors")


@app.command()
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the installed plugins, what each provides, and what failed."""
    manager = PluginManager()
    document = _document(manager)
    if as_json:
        print_document(document)
        return
    _print_table(document)
    say_failures(manager)


def _document(manager: PluginManager) -> dict[str, Any]:
    provides = _provided(manager)
    failures = defaultdict(list)
    for failure in manager.failures:
        failures[failure.plugin].append(str(failure))
    return {
        "schema": "arena/plugins/1",
        "plugins": [
            {
                "name": info.name,
                "version": info.version,
                "origin": info.origin,
                "load_seconds": round(info.load_seconds, 4),
                "provides": provides[info.name],
                "failures": failures[info.name],
            }
            for info in manager.plugins
        ],
        "commands": [
            {"name": command.name, "origin": command.distribution}
            for command in commands.installed()
        ],
    }


def _provided(manager: PluginManager) -> defaultdict[str, dict[str, list[str]]]:
    provides: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for kind in _KINDS:
        try:
            registry = getattr(manager, kind)
        except DuplicateNameError as error:
            say_error(str(error))
            continue
        for entry in registry:
            provides[entry.plugin].setdefault(kind, []).append(entry.name)
        for family in registry.families:
            provides[family.plugin].setdefault(kind, []).append(f"{family.name}:NAME")
    return provides


def _print_table(document: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table()
    for column in ("plugin", "version", "origin", "loaded in", "provides", "failures"):
        table.add_column(column, overflow="fold")
    for plugin in document["plugins"]:
        provides = "\n".join(
            f"{kind}: {', '.join(names)}" for kind, names in plugin["provides"].items()
        )
        cells = (plugin["name"], plugin["version"], plugin["origin"])
        seconds = f"{plugin['load_seconds'] * 1000:.0f} ms"
        failed = str(len(plugin["failures"]) or "")
        table.add_row(*map(printable, cells), seconds, printable_lines(provides), failed)
    console().print(table)
