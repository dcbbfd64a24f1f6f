"""Detects confusable team names: letter case, look-alike letters, invisible characters.

For Python, only ICU has a maintained copy of Unicode's table of confusable characters (UTS 39);
the letters here are those of the two alphabets that share most with Latin.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from arena.utils.text import printable

_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһӏԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρκυγχI1|0",  # noqa: RUF001
    "ABESlJKMHOPCTYXaeopcyxijshldqwABEZHlKMNOPTYXovaipkuyxlllO",
)
"""Cyrillic and Greek letters and symbols that look like a Latin letter."""
_HIDDEN = {"Cf", "Cc"}
_VARIANTS = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}
"""Invisible characters, and characters that select a variant of the one before."""


def skeleton(name: str) -> str:
    r"""Return the skeleton of a name (UTS 39): the same for names that look alike.

    >>> skeleton("Paul") == skeleton("p\u0430ul") == skeleton("paul\u200b") != skeleton("paula")
    True
    """
    seen = "".join(
        one
        for one in unicodedata.normalize("NFKC", name)
        if unicodedata.category(one) not in _HIDDEN and one not in _VARIANTS
    )
    return " ".join(seen.translate(_LETTERS).casefold().split())


class ConfusableNames:
    """The team names so far, by skeleton."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, list[str]] = {}
        for name in names:
            self._names.setdefault(skeleton(name), []).append(name)

    def add(self, name: str) -> str | None:
        """Add a name; if it is new and looks like others, return a sentence that names them.

        >>> ConfusableNames(["owls"]).add("Owls")
        "The new team 'Owls' looks like 'owls'. They are two teams here: is that intended?"
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
            f"intended?"
        )


def _shown(name: str) -> str:
    """Return a name, and its escaped form if it is not ASCII."""
    return f"'{printable(name)}'" + ("" if name.isascii() else f", written {name!a},")
