"""The languages of the pages: English in the source, others as catalogues in ``locale``.

Texts are marked with ``_`` in Python and in the templates. The answers of the HTTP API are English,
because programs and logs read them.
"""

from __future__ import annotations

import gettext
import io
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path

LANGUAGES = {"en": "English", "de": "Deutsch"}
LOCALE = Path(__file__).parent / "locale"

current: ContextVar[str] = ContextVar("language", default="en")


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    path = LOCALE / f"{language}.po"
    if not path.exists():
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _(text: str) -> str:
    """Return a text in the language of the request under way."""
    return _catalogue(current.get()).gettext(text) if text else ""


def ngettext(one: str, many: str, number: int) -> str:
    """Return the form of a text for this number in the language of the request under way."""
    return _catalogue(current.get()).ngettext(one, many, number)


def speak(language: str) -> None:
    """Set the language of the request under way."""
    current.set(language if language in LANGUAGES else "en")


_LONGEST = 200
"""Characters of Accept-Language that are read."""


def choose(cookie: str | None, accepted: str) -> str:
    """Return the language of a browser: the chosen one, else the first known one it accepts.

    >>> choose(None, "fr;q=0.9, de-AT, en;q=0.3"), choose("en", "de"), choose(None, "fr")
    ('de', 'en', 'en')
    """
    return cookie if cookie in LANGUAGES else _accepted(accepted[:_LONGEST])


@lru_cache(maxsize=1_024)
def _accepted(accepted: str) -> str:
    weighted = []
    for place, entry in enumerate(accepted.split(",")):
        name, _separator, quality = entry.partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            weight = 0.0
        weighted.append((-weight, place, name.strip().lower().partition("-")[0]))
    return next((name for _weight, _place, name in sorted(weighted) if name in LANGUAGES), "en")
