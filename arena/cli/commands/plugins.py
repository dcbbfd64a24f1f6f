"""List the plugins, their items and failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from arena.cli import discovery as commands
from arena.cli.console import console, print_document, say_error
from arena.errors import DuplicateNameError
from arena.plugin.manager import KINDS, PluginManager
from arena.report.terminal import print_table
from arena.types import Table
from arena.utils.text import plural

app = typer.Typer(add_completion=False)


@app.command()
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the installed plugins, their items, and failures."""
    manager = PluginManager()
    document = _document(manager)
    if as_json:
        print_document(document)
        return
    _print_table(document)


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
    for kind in KINDS:
        try:
            registry = manager.registry(kind)
        except DuplicateNameError as error:
            say_error(str(error))
            continue
        for entry in registry:
            provides[entry.plugin].setdefault(kind, []).append(entry.name)
        for family in registry.families:
            provides[family.plugin].setdefault(kind, []).append(f"{family.name}:NAME")
    return provides


def _print_table(document: dict[str, Any]) -> None:
    rows = [
        (plugin["name"], plugin["origin"], _counts(plugin), len(plugin["failures"]) or "")
        for plugin in document["plugins"]
    ]
    table = Table("", ("plugin", "from", "provides", "failures"), tuple(rows))
    print_table(table, console(), most=None)
    console().print(
        f"{plural(len(document['commands']), 'command')}. --json names everything that a plugin "
        "provides, its origin and how long it took to load."
    )


def _counts(plugin: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{len(names):,} {KINDS[kind][0] if len(names) == 1 else kind.replace('_', ' ')}"
        for kind, names in plugin["provides"].items()
    )
