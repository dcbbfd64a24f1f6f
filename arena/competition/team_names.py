"""Detects confusable team names: letter case, look-alike letters, invisible characters.

Unicode's table of confusable characters (UTS 39) is that of the package confusable_homoglyphs,
which every server has. It is data and plain Python; PyICU, which has a newer copy, must be compiled
beside the libraries of ICU, so that most servers would go without. Where the package is missing,
the table has the two alphabets that share most letters with Latin.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from arena.utils.text import printable

_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһӏԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρκυγχI1|0",  # noqa: RUF001
    "ABESlJKMHOPCTYXaeopcyxijshldqwABEZHlKMNOPTYXovaipkuyxlllO",
)
"""Cyrillic and Greek letters and symbols that look like a Latin letter."""
_HIDDEN = {"Cf", "Cc"}
_VARIANTS = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}
"""Invisible characters, and characters that select a variant of the one before."""


@cache
def _prototypes() -> Mapping[int, str | int]:
    """Return for each confusable character what stands for all that look like it."""
    try:
        from confusable_homoglyphs.confusables import confusables_data
    except ModuleNotFoundError:
        return _LETTERS
    # The package lists for each text those that it is confused with: the same in both directions.
    representative: dict[str, str] = {}
    for text in confusables_data:
        if text in representative:
            continue
        alike, left = {text}, [text]
        while left:
            new = {one["c"] for one in confusables_data.get(left.pop(), ())} - alike
            alike |= new
            left += new
        # Letters before digits, which have no case; "rn" before "m", which is one letter.
        best = min(
            alike,
            key=lambda one: (not one.isascii(), not one.isalpha(), -len(one), one.swapcase()),
        )
        representative |= dict.fromkeys(alike, best)
    return {ord(text): one for text, one in representative.items() if len(text) == 1}


def look_alike(name: str, other: str) -> bool:
    """Return whether two names, in any letter case, look alike.

    >>> look_alike("Paul", "\u0420aul"), look_alike("IRIS", "\u0456ris"), look_alike("Ann", "Anna")
    (True, True, False)
    """
    return bool(looks(name) & looks(other))


@lru_cache(maxsize=16_384)
def looks(name: str) -> frozenset[str]:
    """Return the skeletons of a name as it is and in small letters."""
    return frozenset({skeleton(name), skeleton(name.casefold())})


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
    return " ".join(seen.translate(_prototypes()).casefold().split())


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
