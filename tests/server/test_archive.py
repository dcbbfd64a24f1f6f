"""``arena export --site``: every page of a finished competition, without a server."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import UsageError
from arena.server import archive
from arena.server.archive import write_site
from arena.server_section import ServerSection
from browser import axe_faults, new_context, overflow
from kept import check_kept, masked
from page_text import lines_of
from program import write_csv
from web_site import FACTS

SERVER = ServerSection(
    files="anyone",
    colour="#ffcc00",
    organisers=("Ada, Ł.", "Bo"),
    url="https://race.example.org",
)
TEXTS = {
    "pages/overview.md": "See [data](data.md), [prizes](prizes.md), [rules](rules.md).",
    "pages/prizes.md": "![logo](_logo.png) and [train](files/a/train.csv)",
    "pages/_logo.png": "png",
    "pages/_footer.md": "By us",
    "files/a/test.csv": "x\n",
    "files/a/train.csv": "id\n",
    "rules.md": "# Rules\n",
}


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def finished_competition(folder: Path, server: ServerSection, texts: dict[str, str]) -> Any:
    """Imitate a competition that was finalized, with these texts in its folder."""
    write_texts(folder, texts)
    (event,) = (SimpleNamespace(time="2026-03-05T00:00:00+00:00"),)
    return SimpleNamespace(
        folder=folder,
        solution=SimpleNamespace(sha256=""),
        settings=SimpleNamespace(server=server),
        events=lambda kind: [event] if kind == "finalized" else [],
    )


def test_every_page_of_the_archive_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two reports are tested elsewhere."""
    monkeypatch.setattr(archive, "report_page", lambda report: f"<p>{report}</p>")
    monkeypatch.setattr(archive, "final_page", lambda _competition, progress: "result")
    monkeypatch.setattr(archive, "public_competition_report", lambda _competition: "board")
    site, bare = tmp_path / "site", tmp_path / "bare"
    deadline_of_race = "2026-03-02T00:00:00+00:00"
    facts, titled = replace(FACTS, name="race", public_rows=20), "A <b>race</b> é"
    texts_of_race = {**TEXTS, "pages/_footer.md": "# By us"}
    for folder, server, texts, title, deadline, count in (
        (site, SERVER, texts_of_race, titled, deadline_of_race, 12),
        (bare, ServerSection(), {"pages/1-first.md": "x", "pages/data.md": "y"}, "", None, 7),
    ):
        own_facts = replace(facts, title=title, deadline=deadline, server=server)
        monkeypatch.setattr(archive, "facts_of", lambda *_, own_facts=own_facts: own_facts)
        race = finished_competition(tmp_path / f"{folder.name} race", server, texts)
        assert write_site(race, "race", folder) == count
    pages = []
    for path in sorted([*site.rglob("*"), *bare.rglob("*")]):
        name = f"== {path.relative_to(tmp_path).as_posix()}\n"
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            links = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
            headings = re.findall(r"<(h\d)", text)
            pages.append(f"{name}{lines_of(text)}{' '.join(links + headings)}\n")
        elif path.is_file():
            is_style = path.name == "style.css"
            pages.append(
                name if is_style else f"{name}{path.read_text(encoding='utf-8').strip()}\n"
            )
    check_kept("archive.txt", masked("".join(pages)))


@pytest.mark.slow  # a finalized competition, its reports and a browser take seconds
def test_the_archive_is_whole_and_needs_no_network(tmp_path: Path, browser: Any) -> None:
    rows = [(f"r{i}", i % 2, "Public" if i < 20 else "Private") for i in range(60)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    settings = Settings.model_validate(
        {
            "metric": {"name": "roc_auc"},
            "competition": {"title": "A <b>race</b>"},
            "server": SERVER.model_dump(exclude_unset=True),
        }
    )
    folder, site = tmp_path / "race", tmp_path / "site"
    with Competition.create(folder, tmp_path / "solution.csv", settings) as competition:
        write_texts(folder, TEXTS)
        with pytest.raises(UsageError, match="finalize"):
            write_site(competition, "race", site)
        assert not site.exists()
        for team in ("red", "blue"):
            predictions = [(f"r{i}", (i * len(team)) % 7) for i in range(60)]
            write_csv(tmp_path / "s.csv", ["id", "y"], predictions)
            competition.submit(tmp_path / "s.csv", team=team)
        competition.finalize()
        assert write_site(competition, "race", site) == 12
    context = new_context(browser, viewport={"width": 360, "height": 800}, offline=True)
    page = context.new_page()
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    for path in sorted(site.glob("*.html")):
        page.goto(path.as_uri())
        text = path.read_text()
        if path.stem not in {"board", "result"}:  # these are the reports, tested elsewhere
            links = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
            addresses = [link for link in links if not link.startswith("https:")]
            assert [link for link in addresses if not (site / link).exists()] == [], path
            assert "<b>race" not in text
            assert overflow(page) == 0, path
            assert axe_faults(context, page) == [], path
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
