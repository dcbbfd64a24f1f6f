"""The second language is complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.extract import extract
from babel.messages.pofile import read_po

import arena.server
from arena.competition.finalize import FINAL_CAUSES
from arena.competition.rebuild import CAUSES
from arena.interfaces import ExplainsScores
from arena.plugin.manager import PluginManager
from arena.server.web.language import LANGUAGES, LOCALE
from arena.server.web.pages import FINAL_COLUMNS
from arena.server.web.problems import TITLES
from arena.server.web.settings_pages import GROUPS
from arena_mechanisms.ladder import LadderFree
from web_site import NAME, WebSite

ROOT = Path(arena.server.__file__).parent
KEYWORDS = dict.fromkeys(("_", "gettext", "RefusedError", "NameTakenError")) | {"ngettext": (1, 2)}
PLACES = re.compile(r"%\(\w+\)s|\{\w+\}")


def marked() -> Iterator[Any]:
    """Yield each text of the pages that is marked for translation."""
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".html"}:
            method = "python" if path.suffix == ".py" else "jinja2.ext.babel_extract"
            with path.open("rb") as file:
                for _line, text, _comments, _context in extract(method, file, KEYWORDS):
                    yield text
    for table in (TITLES, CAUSES, FINAL_CAUSES):
        yield from table.values()
    yield from (title for _kind, title in FINAL_COLUMNS.values())
    for group, keys in GROUPS:
        yield group
        yield from (label for _key, label in keys)
    mechanisms = [entry.item for entry in PluginManager().mechanisms]
    for mechanism in (*mechanisms, LadderFree(noise=1.0)):  # noise changes its text
        if isinstance(mechanism, ExplainsScores):
            yield mechanism.for_participants


@pytest.mark.slow
def test_every_text_is_translated() -> None:
    texts = {text if isinstance(text, str) else tuple(text) for text in marked()}
    assert len(texts) > 250
    for language in set(LANGUAGES) - {"en"}:
        with (LOCALE / f"{language}.po").open("rb") as file:
            catalogue = read_po(file, locale=language)
        known = {message.id: message.string for message in catalogue if message.id}
        assert set(known) == texts
        for source, translation in known.items():
            both = [one if isinstance(one, str) else " ".join(one) for one in (source, translation)]
            assert both[1].strip(), source
            assert set(PLACES.findall(both[0])) == set(PLACES.findall(both[1])), source


def test_a_page_in_german(web: WebSite) -> None:
    browser = web.browser()
    page = browser.get(f"/{NAME}/", headers={"Accept-Language": "de-AT,en;q=0.5"}).text
    assert '<html lang="de">' in page
    assert "Öffentliche Rangliste" in page
    chosen = browser.post("/language", data={"language": "en", "then": "//evil.example.org"})
    assert chosen.headers["location"] == "/"
    page = browser.get(f"/{NAME}/", headers={"Accept-Language": "de"}).text
    assert "Public board" in page
    web.site.accounts.create_team(NAME, "Ants")
    german = web.browser()
    german.headers["accept-language"] = "de"
    refused = german.post(f"/{NAME}/join", data={"name": "Bo", "team": "ants"})
    assert "Ein anderes Team heißt ants oder ähnlich" in refused.text
