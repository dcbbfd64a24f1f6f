"""What a docstring says of parameters."""

from __future__ import annotations

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]*)`")
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)


def summary_of(item: Any) -> str:
    """Return the first paragraph of the docstring of an object's class, in one line."""
    return " ".join((type(item).__doc__ or "").strip().split("\n\n")[0].split())


def parameter_meanings(item: Any) -> dict[str, str]:
    """Return what the section "Parameters" of a class's docstring (numpydoc) says of each.

    >>> class Tail:
    ...     '''A tail.
    ...
    ...     Parameters
    ...     ----------
    ...     side, other
    ...         ``left`` or
    ...         ``right``.
    ...
    ...     Notes
    ...     -----
    ...     None.
    ...     '''
    >>> parameter_meanings(Tail())
    {'side': 'left or right.', 'other': 'left or right.'}
    """
    section = _SECTION.search(inspect.cleandoc(type(item).__doc__ or ""))
    entries = _ENTRY.findall(section.group(1)) if section else ()
    return {
        name.strip(): " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())
        for names, text in entries
        for name in names.partition(" :")[0].split(",")
    }
