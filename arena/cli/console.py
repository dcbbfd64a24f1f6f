"""Output that all commands share.

Results go to stdout; progress, warnings and errors to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

from arena.utils.text import printable_lines

if TYPE_CHECKING:
    from arena.utils.plain_console import PlainConsole


_LONG_LIST = 1_000


def console(*, wide: bool = False) -> PlainConsole:
    """Return a console that interprets no markup: text of participants is shown as it is.

    ``wide``: do not wrap or cut columns at the width of the terminal.
    """
    from arena.utils.plain_console import PlainConsole

    return PlainConsole(wide=wide)


class Lines:
    """Prints lines as :func:`console` does that are not wrapped, without importing rich: 20 ms."""

    def print(self, line: str, *, soft_wrap: Literal[True]) -> None:  # noqa: ARG002
        """Print a line of text without line breaks."""
        sys.stdout.write(f"{line}\n")


def print_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout.

    A list of more than 1,000 entries has one line per entry: json takes three times as long to
    indent it. A number that JSON cannot represent is an error, after which nothing was printed.
    An iterator, as the last value, is printed as a list without holding all of its entries.
    """
    rest: Iterator[Any] = iter(())
    for name, value in document.items():
        if isinstance(value, Iterator):
            document, rest = {**document, name: list(islice(value, _LONG_LIST + 1))}, value
    parts = [f"  {json.dumps(name)}: {_written(value)}" for name, value in document.items()]
    # As one text: json.dump writes every comma by itself and takes 15 times as long.
    text = "{\n" + ",\n".join(parts) + "\n}\n" if parts else "{}\n"
    end = "\n  ]\n}\n"
    if not (following := list(islice(rest, 1))):
        sys.stdout.write(text)
        return
    sys.stdout.write(text.removesuffix(end))
    for part in chain(following, rest):
        sys.stdout.write(f",\n    {json.dumps(part, allow_nan=False)}")
    sys.stdout.write(end)


def _written(value: Any) -> str:
    if isinstance(value, list) and len(value) > _LONG_LIST:
        lines = (json.dumps(element, allow_nan=False) for element in value)
        return "[\n    " + ",\n    ".join(lines) + "\n  ]"
    # A line break within a string is escaped: these are all of the layout.
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


def say_error(message: str) -> None:
    """Print an error on stderr."""
    sys.stderr.write(f"arena: {printable_lines(message)}\n")


def say_note(message: str) -> None:
    """Print a note for the user on stderr."""
    sys.stderr.write(f"{printable_lines(message)}\n")
