"""Conformance checks of commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.testing import CliRunner, Result

from arena.errors import ArenaError
from arena.testing.conformance import Conformance, Outcome, Verdict, run_checks

_OK: Verdict = (Outcome.OK, "")
_OPTION = re.compile(r"-[A-Za-z]|--[a-z0-9]+(-[a-z0-9]+)*")
_UNKNOWN = "--an-option-that-no-command-has"
_DONE, _USAGE_ERROR = 0, 2


@dataclass(frozen=True, slots=True)
class _Command:
    app: typer.Typer
    name: str
    example: Sequence[str] | None
    refused: Sequence[Sequence[str]]

    def run(self, arguments: Sequence[str]) -> Result:
        """Run the command in this process; what it raises is kept in the result."""
        return CliRunner().invoke(self.app, list(arguments), prog_name=f"arena {self.name}")


def check_command(
    app: typer.Typer,
    name: str,
    example: Sequence[str] | None = None,
    *,
    refused: Sequence[Sequence[str]] = (),
) -> Conformance:
    """Check a command: its help, its options, an example, and what it refuses.

    Parameters
    ----------
    app
        The application that the entry point in group ``arena.commands`` names.
    name
        The name of the entry point.
    example
        Arguments with which the command must succeed; None: this is not tried. With ``--json``
        among them it must print one JSON document.
    refused
        Arguments that it must refuse: with a usage error, or an
        :class:`~arena.errors.ArenaError`, which arena shows as one sentence.

    Examples
    --------
    >>> app = typer.Typer()
    >>> @app.command()
    ... def greet(name: str) -> None:
    ...     '''Greet a team.'''
    ...     typer.echo(f"Hello, {name}.")
    >>> [check.message for check in check_command(app, "greet", ["ada"]).failed]
    ['The argument NAME of arena greet has no help.']
    """
    checks: tuple[tuple[str, Callable[[_Command], Verdict]], ...] = (
        ("its help", _help),
        ("its options", _options),
        ("an unknown option", _unknown_option),
        ("its example", _example),
        ("what it refuses", _refused),
    )
    return run_checks(name, checks, _Command(app, name, example, refused))


def _commands_of(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the command and all below it, each with its path from ``arena``."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands_of(below, f"{path} {name}")


def _all(command: _Command) -> Iterator[tuple[str, Any]]:
    return _commands_of(typer.main.get_command(command.app), f"arena {command.name}")


def _help(command: _Command) -> Verdict:
    for path, below in _all(command):
        if not below.help:
            return Outcome.FAILED, f"{path} has no help: give its function a docstring."
        for parameter in below.params:
            if not getattr(parameter, "help", None):
                kind = parameter.param_type_name
                label = parameter.name.upper() if kind == "argument" else parameter.opts[0]
                return Outcome.FAILED, f"The {kind} {label} of {path} has no help."
    help_result = command.run(["--help"])
    return (
        _OK if help_result.exit_code == _DONE else (Outcome.FAILED, "--help does not exit with 0.")
    )


def _options(command: _Command) -> Verdict:
    for path, below in _all(command):
        taken: set[str] = set()
        for parameter in below.params:
            if parameter.param_type_name == "argument":
                continue
            for option in (*parameter.opts, *parameter.secondary_opts):
                if not _OPTION.fullmatch(option):
                    advice = "use lower-case words with hyphens"
                    return Outcome.FAILED, f"{option} of {path} is no usual option: {advice}."
                if option in taken:
                    return Outcome.FAILED, f"{path} has two options {option}."
                taken.add(option)
    return _OK


def _unknown_option(command: _Command) -> Verdict:
    result = command.run([_UNKNOWN])
    if result.exit_code != _USAGE_ERROR:
        return Outcome.FAILED, f"An unknown option exits with {result.exit_code}, not 2."
    return (Outcome.FAILED, "A usage error prints on stdout.") if result.stdout else _OK


def _example(command: _Command) -> Verdict:
    if command.example is None:
        return Outcome.NOT_TRIED, "Give arguments with which it must succeed."
    result = command.run(command.example)
    if result.exit_code != _DONE:
        return Outcome.FAILED, f"The example exits with {result.exit_code}: {_said(result)}"
    if "--json" in command.example:
        try:
            json.loads(result.stdout, parse_constant=_no_number)
        except ValueError as error:
            return Outcome.FAILED, f"--json does not print one JSON document: {error}"
    return _OK


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON.")


def _refused(command: _Command) -> Verdict:
    if not command.refused:
        return Outcome.NOT_TRIED, "Give arguments that it must refuse."
    for arguments in command.refused:
        result = command.run(arguments)
        if result.exit_code != _USAGE_ERROR and not isinstance(result.exception, ArenaError):
            return (
                Outcome.FAILED,
                f"{' '.join(arguments)} is not refused by an ArenaError or a usage error: "
                f"{_said(result)}",
            )
    return _OK


def _said(result: Result) -> str:
    """Return the exception of a run, or its last line."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {result.exception}"
    return (result.output.strip().splitlines() or ["it printed nothing"])[-1]
