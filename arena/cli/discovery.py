"""Finds the installed commands: entry points of group ``arena.commands``, name -> module:app.

arena's own commands are entry points like any plugin's. For the help a module is read, not
imported: its docstring's first line describes the command.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import typer

from arena.errors import ArenaError, PluginError
from arena.plugin.info import distribution_of, unique_entry_points
from arena.utils.text import type_and_text

COMMAND_GROUP = "arena.commands"


@dataclass(frozen=True, slots=True)
class InstalledCommand:
    """A command that some distribution provides."""

    name: str
    entry_point: metadata.EntryPoint

    @property
    def distribution(self) -> str:
        """The distribution that provides it, with its version."""
        return distribution_of(self.entry_point)

    def help_line(self) -> str:
        """Return the first line of the module's docstring, without importing the module."""
        path = _module_file(self.entry_point.module)
        try:
            tree = ast.parse(path.read_text(encoding="utf-8")) if path else None
        except (OSError, SyntaxError, ValueError):
            tree = None
        docstring = ast.get_docstring(tree) if tree else None
        return docstring.splitlines()[0] if docstring else f"(from {self.distribution})"

    def load(self) -> Any:
        """Import the command.

        Raises
        ------
        PluginError
            If the module cannot be imported, or is not a ``typer.Typer``.
        """
        where = f"The command {self.name!r} of {self.distribution} cannot be loaded"
        try:
            app = self.entry_point.load()
        except ArenaError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(f"{where}: {type_and_text(error)}") from error
        if not isinstance(app, typer.Typer):
            raise PluginError(f"{where}: {self.entry_point.value} is not a typer.Typer.")
        app.rich_markup_mode = None  # otherwise "[default: …]" would be read as markup and dropped
        command = typer.main.get_command(app)
        command.name = self.name
        refuse_repeated_options(command)
        return command


def refuse_repeated_options(command: Any) -> None:
    """Let a command refuse an option that is given twice and takes one value: not the last."""
    for subcommand in getattr(command, "commands", {}).values():
        refuse_repeated_options(subcommand)
    parse = command.parse_args

    def parse_args(context: Any, arguments: list[str]) -> list[str]:
        *_, order = command.make_parser(context).parse_args(args=list(arguments))
        single = [
            parameter
            for parameter in order
            if parameter.param_type_name == "option" and not parameter.multiple
        ]
        for option in single:
            is_switch = option.is_flag and not option.secondary_opts
            if single.count(option) > 1 and not is_switch and not context.resilient_parsing:
                raise typer.BadParameter(
                    f"{option.opts[0]} is given {single.count(option)} times, and takes one value.",
                    ctx=context,
                )
        parsed: list[str] = parse(context, arguments)
        return parsed

    command.parse_args = parse_args


def _module_file(module: str) -> Path | None:
    """Find a module's file without importing the packages above it."""
    search: list[str] | None = None
    spec = None
    parts = module.split(".")
    for depth in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: depth + 1]), search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or [])
    return Path(spec.origin) if spec and spec.origin else None


def installed() -> tuple[InstalledCommand, ...]:
    """Return every installed command, by name.

    Raises
    ------
    DuplicateNameError
        If two distributions provide a command with the same name.
    """
    points = unique_entry_points(COMMAND_GROUP)
    return tuple(InstalledCommand(point.name, point) for point in points)
