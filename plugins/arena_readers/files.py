"""Finding and parsing the JSON files of evaluation tools, with sentences for what is wrong."""

from __future__ import annotations

import functools
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from arena.errors import ArenaError, InputError
from arena.interfaces.faults import show_all
from arena.utils.file_errors import unreadable
from arena.utils.text import type_and_text

_START = 2**12
_OTHER_FORM = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What a function that expects the form of a tool raises on a file of another form."""
_Rest = ParamSpec("_Rest")
_Read = TypeVar("_Read")


def refusing(
    function: Callable[Concatenate[Path, _Rest], _Read],
) -> Callable[Concatenate[Path, _Rest], _Read]:
    """Let a function that reads a file refuse a file of another form in a sentence.

    The tools document no schema, so that a value of any type can stand anywhere.
    """

    @functools.wraps(function)
    def read(file: Path, /, *rest: _Rest.args, **named: _Rest.kwargs) -> _Read:
        try:
            return function(file, *rest, **named)
        except ArenaError:
            raise
        except _OTHER_FORM as error:
            why = f"a part of it has another form than expected ({type_and_text(error)})"
            raise unreadable(file, why) from error

    return read


def find(path: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a folder that fit a pattern, or the file itself if it does, sorted."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob(pattern) if file.is_file())
    elif path.match(pattern):
        yield path


def skipped(files: Sequence[Path], why: str) -> tuple[str, ...]:
    """Return a note that names each file that a reader left out; none without such a file.

    >>> skipped([Path("m/a.json"), Path("b.json")], "older runs")
    ('Not read, because they are older runs: m/a.json, b.json.',)
    """
    names = ", ".join(str(Path(*file.parts[-2:])) for file in files)
    return (f"Not read, because they are {why}: {names}.",) if names else ()


def file_start(path: Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_START)
    except OSError:
        return b""


def read_json(path: Path) -> Any:
    """Return the document in a file; raises InputError."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, error) from error


def json_lines(path: Path) -> Iterator[Any]:
    """Yield the documents of the lines of a file; raises InputError."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise unreadable(f"{path}, line {number},", error) from error
    except OSError as error:
        raise unreadable(path, error) from error


def as_number(value: Any) -> float | None:
    """Return a JSON number or boolean; None for anything else.

    >>> as_number(True), as_number("1")
    (1.0, None)
    """
    return float(value) if isinstance(value, bool | int | float) else None


def chosen(value: str | None, names: Sequence[str], what: Path | str) -> str:
    """Return the value that is wanted, or the first; raises InputError if there is none."""
    if value is None and names:
        return names[0]
    if value in names:
        return str(value)
    absence = "no value" if value is None else f"no value {value!r}"
    raise InputError(f"{what} has {absence}; it has {show_all(names)}. Choose with --value.")
