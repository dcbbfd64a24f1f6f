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
from arena.competition.boards.outdated_board import FINAL_CAUSES
from arena.competition.record.rebuild import CAUSES
from arena.interfaces import ExplainsScores
from arena.plugin.manager import PluginManager
from arena.server.web import language
from arena.server.web.board_pages import FINAL_COLUMNS
from arena.server.web.language import LANGUAGES, LOCALE
from arena.server.web.problems import TITLES
from arena.server.web.settings_pages import GROUPS
from arena_mechanisms.ladder import LadderFree
from web_site import NAME, WebSite

COMPLETE = {"de"}
"""Languages with every text; the others have those of participants' pages, and English else."""
MOST_OF_PARTICIPANTS = 300
OF_PROGRAMS = (
    "records/runs.py",
    "web/programs.py",
    "web/templates/submit.html",
    "web/templates/board.html",
)
"""Files whose texts are in every language."""
ROOT = Path(arena.server.__file__).parent
KEYWORDS = dict.fromkeys(("_", "gettext", "RefusedError", "NameTakenError", "TrialLimitError")) | {
    "ngettext": (1, 2)
}
PLACES = re.compile(r"%\(\w+\)s|\{\w+\}")


def marked_in(path: Path) -> Iterator[Any]:
    method = "python" if path.suffix == ".py" else "jinja2.ext.babel_extract"
    with path.open("rb") as file:
        for _line, text, _comments, _context in extract(method, file, KEYWORDS):
            yield text


def marked() -> Iterator[Any]:
    """Yield each text of the pages that is marked for translation."""
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".html"}:
            yield from marked_in(path)
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
    of_programs = {text for name in OF_PROGRAMS for text in marked_in(ROOT / name)}
    assert len(texts) > 250
    assert {path.stem for path in LOCALE.glob("*.po")} == set(LANGUAGES) - {"en"}
    for code in set(LANGUAGES) - {"en"}:
        with (LOCALE / f"{code}.po").open("rb") as file:
            catalogue = read_po(file, locale=code)
        translations = {message.id: message.string for message in catalogue if message.id}
        if code in COMPLETE:
            assert set(translations) == texts
        else:
            assert len(translations.keys() & texts) > MOST_OF_PARTICIPANTS
            assert of_programs <= translations.keys()
        for source, translation in translations.items():
            both = [
                text if isinstance(text, str) else " ".join(text) for text in (source, translation)
            ]
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


ITALIAN = """msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\nContent-Type: text/plain; charset=utf-8\\n"

msgid "Public board"
msgstr "Classifica pubblica"
"""


def test_a_host_adds_languages_and_replaces_texts(
    web: WebSite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in (
        ("it", ITALIAN), ("de", ITALIAN.replace("Classifica pubblica", "Tabelle")),
        ("README", ITALIAN), ("xx", "\0"),
    ):  # fmt: skip
        (tmp_path / f"{name}.po").write_text(text, encoding="utf-8")
    try:
        language.add_catalogues(tmp_path)
        assert sorted(re.findall(r"(\w+)\.po is left out", caplog.text)) == ["README", "xx"]
        guest = web.browser()
        page = guest.get(f"/{NAME}/", headers={"Accept-Language": "it"}).text
        assert ("Classifica pubblica" in page, "Sign in" in page) == (True, True)
        assert ">Italiano</button>" in page
        page = guest.get(f"/{NAME}/", headers={"Accept-Language": "de"}).text
        assert ("Tabelle" in page, "Anmelden" in page) == (True, True)
    finally:
        language.added_catalogues.clear()
        language.LANGUAGES.pop("it", None)
