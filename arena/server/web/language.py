"""The languages of the pages: English in the source, others as catalogues.

The catalogues of arena are in ``locale``; a host adds others in ``locale/`` of the server's data
(:func:`add_catalogues`). A text that a catalogue lacks is English. Texts are marked with ``_`` in
Python and in the templates. The answers of the HTTP API are English, because programs and logs read
them.
"""

from __future__ import annotations

import gettext
import io
import logging
import re
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path

_LOGGER = logging.getLogger("arena.server.web")
LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch", "es": "Español", "fr": "Français"}
"""The code of each language, which is the name of its catalogue -> its name in itself."""
added_catalogues: dict[str, gettext.NullTranslations] = {}
"""The host's own catalogues, by their language."""

current: ContextVar[str] = ContextVar("language", default="en")


def add_catalogues(folder: Path) -> None:
    """Add the host's catalogues, such as ``it.po``; that of a known language replaces its texts.

    One that cannot be read is left out, and the log says why.
    """
    for path in sorted(folder.glob("*.po")):
        try:
            if not re.fullmatch("[a-z]{2,3}", path.stem):
                raise ValueError("its name is no code of a language, such as it.po")
            from babel import Locale

            name = Locale.parse(path.stem).get_display_name() or path.stem
            catalogue = _compiled(path)
            catalogue.add_fallback(_catalogue(path.stem))
        except Exception as error:  # noqa: BLE001 - of a library that reads a host's file
            _LOGGER.warning("The catalogue %s is left out: %s.", path, error)
            continue
        added_catalogues[path.stem] = catalogue
        LANGUAGES.setdefault(path.stem, name[0].upper() + name[1:])


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    """Return arena's own catalogue of a language."""
    path = LOCALE / f"{language}.po"
    return _compiled(path) if path.exists() else gettext.NullTranslations()


def _compiled(path: Path) -> gettext.NullTranslations:
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=path.stem))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _current() -> gettext.NullTranslations:
    language = current.get()
    return added_catalogues.get(language) or _catalogue(language)


def _(text: str) -> str:
    """Return a text in the language of the request under way."""
    return _current().gettext(text) if text else ""


def ngettext(one: str, many: str, number: int) -> str:
    """Return the form of a text for this number in the language of the request under way."""
    return _current().ngettext(one, many, number)


def speak(language: str) -> None:
    """Set the language of the request under way."""
    current.set(language if language in LANGUAGES else "en")


_LONGEST = 200
"""Characters of Accept-Language that are read."""


def choose(cookie: str | None, accepted: str) -> str:
    """Return the language of a browser: the chosen one, else the first known one it accepts.

    >>> choose(None, "it;q=0.9, de-AT, en;q=0.3"), choose("en", "de"), choose(None, "zz")
    ('de', 'en', 'en')
    >>> choose(None, "fr;q=1, de"), choose(None, "fr;q=0.9, de"), choose(None, "fr;q=x, de;q=0.1")
    ('fr', 'de', 'de')
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
