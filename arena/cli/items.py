"""Lists what plugins provide of one kind, describes one item, or runs its conformance checks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.plugin.registry import parameter_names
from arena.utils.docstrings import parameter_meanings, summary_of
from arena.utils.progress import stage
from arena.utils.text import plural, printable

if TYPE_CHECKING:
    from arena.testing import Conformance


def items_app(
    kind: str,
    *,
    says: str,
    name_help: str,
    column: str,
    suite: str,
    autocompletion: Callable[[str], list[str]] | None = None,
) -> typer.Typer:
    """Return the command that lists what plugins provide of a kind.

    Parameters
    ----------
    kind
        The attribute of the plugin manager, such as ``mechanisms``, and the name of the command.
    says
        What it does, in a sentence.
    name_help
        The help of its argument.
    column
        The heading of the descriptions.
    suite
        The function of :mod:`arena.testing` that checks an item.
    """
    app = typer.Typer(add_completion=False)
    name_argument = typer.Argument(metavar="NAME", help=name_help, autocompletion=autocompletion)
    check_option = typer.Option("--check", help="Test it, and report what does not conform.")

    def command(name: str | None = None, check: bool = False, as_json: bool = False) -> None:
        checker = getattr(importlib.import_module("arena.testing"), suite) if check else None
        show_items(kind, name, checker, column=column, as_json=as_json)

    command.__annotations__ |= {
        "name": Annotated[str | None, name_argument],
        "check": Annotated[bool, check_option],
        "as_json": options.AsJson,
    }
    command.__doc__ = (
        f"{says}\n\nWith --check, the exit code is 1 if it does not meet arena's requirements."
    )
    app.command(kind)(command)
    return app


def show_items(
    kind: str,
    name: str | None,
    check: Callable[[Any], Conformance] | None,
    *,
    column: str,
    as_json: bool,
) -> None:
    """Print the items of a kind, or one of them; exit with 1 if a check fails.

    Parameters
    ----------
    kind
        The attribute of the plugin manager, such as ``mechanisms``, and the name of the command.
    check
        The conformance suite, if the item is to be checked.
    column
        The heading of the descriptions.

    Raises
    ------
    UsageError
        If no item is named for the checks.
    """
    manager = PluginManager()
    registry = manager.registry(kind)
    refuse_check_without_name(registry.kind, name, check)
    if name is None:
        documents = [_document(entry.name, entry.item, entry.plugin) for entry in registry]
    else:
        documents = [_document(name, registry.resolve(name), registry.plugin_of(name))]
    conformance = checked_item(check, registry.resolve(name)) if check and name else None
    if as_json:
        document = {"schema": f"arena/{kind}/1", kind: documents}
        print_document(document | {"check": conformance.to_dict() if conformance else None})
    elif name is None:
        _print_all(documents, registry.kind, column)
    else:
        _print_one(documents[0])
    finish_checks(conformance, as_json=as_json)


def refuse_check_without_name(kind: str, name: str | None, check: object) -> None:
    """Raise UsageError if an item of a kind, such as ``metric``, is checked without a name."""
    if check and name is None:
        article = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(f"--check needs the name of {article} {kind}.")


def checked_item(check: Callable[[Any], Conformance], item: Any) -> Conformance:
    """Return the results of a conformance suite, with a note while it runs."""
    with stage(f"Checking {item.name}"):
        return check(item)


def finish_checks(conformance: Conformance | None, *, as_json: bool) -> None:
    """Print the results of the checks for people; exit with 1 if one failed."""
    if conformance is None:
        return
    if not as_json:
        out = console()
        for check in conformance.checks:
            line = f"{check.outcome:9} {check.name}" + (
                f": {check.message}" if check.message else ""
            )
            out.print(printable(line), soft_wrap=True)
        failed, of_all = len(conformance.failed), plural(len(conformance.checks), "check")
        out.print(f"{failed} of {of_all} failed." if failed else f"None of {of_all} failed.")
    if conformance.failed:
        raise typer.Exit(1)


def parameters_of(item: Any) -> dict[str, Any]:
    """Return the parameters of an item with their values.

    A function is no parameter: arena itself hands it to the item.
    """
    values = {name: getattr(item, name) for name in parameter_names(item)}
    return {name: value for name, value in values.items() if not callable(value)}


def _document(name: str, item: Any, plugin: str) -> dict[str, Any]:
    return {
        "name": name,
        "plugin": plugin,
        "parameters": parameters_of(item),
        "meanings": parameter_meanings(item),
        "description": summary_of(item),
    }


def _print_all(documents: list[dict[str, Any]], kind: str, column: str) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in (kind, column, "parameters", "plugin"):
        table.add_column(heading, no_wrap=heading == kind)
    for document in documents:
        parameters = ", ".join(f"{key}={value}" for key, value in document["parameters"].items())
        cells = (document["name"], document["description"], parameters, document["plugin"])
        table.add_row(*map(printable, cells))
    console().print(table)


def print_parameters(document: dict[str, Any]) -> None:
    """Print a line for each parameter of an item: its value and what its docstring says of it."""
    for key, value in document["parameters"].items():
        meaning = document["meanings"].get(key, "")
        line = f"Parameter {key} = {value!r}{': ' if meaning else '.'}{meaning}"
        console().print(printable(line), soft_wrap=True)


def _print_one(document: dict[str, Any]) -> None:
    out = console()
    out.print(printable(document["name"]), style="bold")
    out.print(printable(document["description"]), soft_wrap=True)
    print_parameters(document)
    out.print(f"From the plugin {printable(document['plugin'])}.")
