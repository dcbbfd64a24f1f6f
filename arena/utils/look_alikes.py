"""Compares what names look like: letter case, look-alike letters, invisible characters.

Unicode's table of confusable characters (UTS 39) is that of the package confusable_homoglyphs,
which every server has. It is data and plain Python; PyICU, which has a newer copy, must be compiled
beside the libraries of ICU, so that most servers would go without. Where the package is missing,
the table has the two alphabets that share most letters with Latin.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources

_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһӏԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρκυγχI1|0",  # noqa: RUF001
    "ABESlJKMHOPCTYXaeopcyxijshldqwABEZHlKMNOPTYXovaipkuyxlllO",
)
"""Cyrillic and Greek letters and symbols that look like a Latin letter."""
_HIDDEN = {"Cf", "Cc"}
_VARIANTS = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}
"""Invisible characters, and characters that select a variant of the one before."""


@cache
def prototypes() -> Mapping[int, str | int]:
    """Return for each confusable character what stands for all that look like it."""
    try:
        folder = resources.files("confusable_homoglyphs")  # its modules load an HTTP client
    except ModuleNotFoundError:
        return _LETTERS
    text_of_table = (folder / "confusables.json").read_text(encoding="utf-8")
    confusables: Mapping[str, Sequence[Mapping[str, str]]] = json.loads(text_of_table)
    # The package lists for each text those that it is confused with: the same in both directions.
    representative: dict[str, str] = {}
    for text in confusables:
        if text in representative:
            continue
        alike, left = {text}, [text]
        while left:
            new = {prototype["c"] for prototype in confusables.get(left.pop(), ())} - alike
            alike |= new
            left += new
        # Letters before digits, which have no case; "rn" before "m", which is one letter.
        best = min(
            alike,
            key=lambda character: (
                not character.isascii(),
                not character.isalpha(),
                -len(character),
                character.swapcase(),
            ),
        )
        representative |= dict.fromkeys(alike, best)
    return {ord(text): prototype for text, prototype in representative.items() if len(text) == 1}


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
    visible = "".join(
        character
        for character in unicodedata.normalize("NFKC", name)
        if unicodedata.category(character) not in _HIDDEN and character not in _VARIANTS
    )
    return " ".join(visible.translate(prototypes()).casefold().split())
