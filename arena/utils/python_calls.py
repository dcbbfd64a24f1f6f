"""Functions that are called from Python: their errors name arguments, where commands name options.

The modules below the command line write each remedy once, with the options of the commands.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar, get_args, get_type_hints

from arena.errors import ArenaError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_OPTION = re.compile(
    r"--([a-z][a-z-]*)"
    r"(?: (?!(?:and|does|has|in|names?|needs|or|selects|takes|whose)\b)([\w.,:@-]*\w))?"
)
"""An option, and its value unless the sentence goes on after the option."""


def naming_arguments(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return a function whose errors name its arguments.

    >>> @naming_arguments
    ... def rank(*, missing: str = "fault", intervals: bool = True) -> None:
    ...     raise ArenaError("Use --missing baseline and --no-intervals, or --verbose.")
    >>> rank()
    Traceback (most recent call last):
    arena.errors.ArenaError: Use missing="baseline" and intervals=False, or --verbose.
    """

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except ArenaError as error:
            message, *details = error.args
            error.args = (in_python(message, get_type_hints(function)), *details)
            raise

    return call


def in_python(message: str, parameters: dict[str, object]) -> str:
    """Return a message with arguments in the place of options that have one.

    Parameters
    ----------
    message
        Of an error, for the command line.
    parameters
        The names of the arguments, and their types. The fields of a type that is a dataclass are
        named as its arguments.
    """
    records = {
        field.name: f"{parameter}={record.__name__}({field.name}=%s)"
        for parameter, kind in parameters.items()
        for record in (kind, *get_args(kind))
        if isinstance(record, type) and dataclasses.is_dataclass(record)
        for field in dataclasses.fields(record)
    }
    forms = records | {parameter: f"{parameter}=%s" for parameter in parameters}

    def as_argument(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        words_after = f" {value}" if value else ""
        if name not in forms and f"{name}s" in parameters:
            name = f"{name}s"  # the values of a repeated option are one argument
        if name in forms:
            return forms[name] % ("…" if value is None else _literal(value))
        if name.removeprefix("no_") in parameters:
            return f"{name.removeprefix('no_')}=False{words_after}"
        if name == "lower_is_better" and "greater_is_better" in parameters:
            return f"greater_is_better=False{words_after}"
        return option[0]

    return _OPTION.sub(as_argument, message)


def _literal(value: str) -> str:
    if re.fullmatch(r"[\d.]+", value):
        return value
    names = ", ".join(f'"{name}"' for name in value.split(","))
    return f"[{names}]" if "," in value else names
