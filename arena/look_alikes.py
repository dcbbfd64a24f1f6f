"""Names of teams that are taken for each other: by letter case, look-alike letters, hidden marks.

The whole of Unicode's table of confusable characters (UTS 39) is in no kept library for Python
but ICU's; the letters here are those of the two alphabets that share most with Latin.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from arena.text import printable

__all__ = ["LookAlikes", "skeleton"]

_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһӏԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρκυγχI1|0",  # noqa: RUF001
    "ABESlJKMHOPCTYXaeopcyxijshldqwABEZHlKMNOPTYXovaipkuyxlllO",
)
"""Cyrillic and Greek letters, and signs, that look like a Latin letter."""
_HIDDEN = {"Cf", "Cc"}
_VARIANTS = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}
"""Marks that show as nothing or choose how the character before them is drawn."""


def skeleton(name: str) -> str:
    r"""Return what a name looks like: the same for names that are easily taken for each other.

    >>> skeleton("Paul") == skeleton("p\u0430ul") == skeleton("paul\u200b") != skeleton("paula")
    True
    """
    seen = "".join(
        one
        for one in unicodedata.normalize("NFKC", name)
        if unicodedata.category(one) not in _HIDDEN and one not in _VARIANTS
    )
    return " ".join(seen.translate(_LETTERS).casefold().split())


class LookAlikes:
    """The names of the teams so far, by what they look like."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, list[str]] = {}
        for name in names:
            self._names.setdefault(skeleton(name), []).append(name)

    def add(self, name: str) -> str | None:
        """Add a name; return a sentence on the others that it looks like if it is new.

        >>> LookAlikes(["owls"]).add("Owls")
        "The new team 'Owls' looks like 'owls'. They are two teams here: is that meant?"
        """
        alike = self._names.setdefault(skeleton(name), [])
        if name in alike:
            return None
        others = " and ".join(map(_shown, alike))
        alike.append(name)
        if not others:
            return None
        return (
            f"The new team {_shown(name)} looks like {others}. They are two teams here: is that "
            f"meant?"
        )


def _shown(name: str) -> str:
    """Return a name, and its characters one by one where they are not plain."""
    return f"'{printable(name)}'" + ("" if name.isascii() else f", written {name!a},")
