"""``arena export --site``: every page of a finished competition, without a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import UsageError
from arena.server import archive
from arena.server.archive import write_site
from browser import axe_faults, new_context, overflow
from kept import check_kept, masked
from page_text import lines_of
from program import write_csv
from scenario import Clock

START = datetime(2026, 3, 1, 23, tzinfo=UTC)
TEXTS = {
    "pages/overview.md": "See [data](data.md), [prizes](prizes.md), [rules](rules.md).",
    "pages/prizes.md": "![logo](_logo.png) and [train](files/a/train.csv)",
    "pages/_logo.png": "png",
    "pages/_footer.md": "# By us",
    "files/a/test.csv": "x\n",
    "files/a/train.csv": "id\n",
    "rules.md": "# Rules\n",
}


def finished(folder: Path, texts: dict[str, str], **settings: Any) -> Competition:
    """Create a competition, send two files and finalize it at its deadline, 2026-03-02."""
    rows = [(f"r{i}", i % 2, "Public" if i < 20 else "Private") for i in range(60)]
    folder.mkdir(exist_ok=True)
    write_csv(folder / "solution.csv", ["id", "y", "Usage"], rows)
    clock = Clock(START)
    sections = {"metric": {"name": "accuracy"}, "analysis": {"intervals": False}, **settings}
    made = Competition.create(
        folder / "race",
        folder / "solution.csv",
        Settings.model_validate(sections),
        seed=1,
        clock=clock,
    )
    for name, text in texts.items():
        (folder / "race" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "race" / name).write_text(text)
    with pytest.raises(UsageError, match="finalize"):
        write_site(made, "race", folder / "site")
    assert not (folder / "site").exists()
    for team in ("red", "blue"):
        rows = [(f"r{i}", (i * len(team)) % 7 % 2) for i in range(60)]
        write_csv(folder / "s.csv", ["id", "y"], rows)
        made.submit(folder / "s.csv", team=team)
    clock.now += timedelta(hours=2)
    made.finalize()
    return made


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Competition]:
    made = finished(
        tmp_path,
        TEXTS,
        competition={"title": "A <b>race</b> é", "deadline": datetime(2026, 3, 2, tzinfo=UTC)},
        server={
            "files": "anyone", "colour": "#ffcc00", "organisers": ["Ada, Ł.", "Bo"],
            "url": "https://race.example.org",
        },
    )  # fmt: skip
    with made:
        yield made


def test_every_page_of_the_archive_is_kept(
    whole: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two reports are tested elsewhere."""
    other = finished(tmp_path / "b", {"pages/1-first.md": "x", "pages/data.md": "y"})
    monkeypatch.setattr(archive, "report_page", lambda report: f"<p>{report}</p>")
    monkeypatch.setattr(archive, "final_page", lambda _competition, progress: "result")
    monkeypatch.setattr(archive, "public_competition_report", lambda _competition: "board")
    site, bare = tmp_path / "site", tmp_path / "bare"
    assert write_site(whole, "race", site) == 12
    with other:
        assert write_site(other, "bare", bare) == 7
    kept = []
    for path in sorted([*site.rglob("*"), *bare.rglob("*")]):
        name = f"== {path.relative_to(tmp_path).as_posix()}\n"
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            links = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
            headings = re.findall(r"<(h\d)", text)
            kept.append(f"{name}{lines_of(text)}{' '.join(links + headings)}\n")
        elif path.is_file():
            is_style = path.name == "style.css"
            kept.append(name if is_style else f"{name}{path.read_text(encoding='utf-8').strip()}\n")
    check_kept("archive.txt", masked("".join(kept)))


@pytest.mark.slow  # the two reports and a browser take seconds
def test_the_archive_is_whole_and_needs_no_network(
    whole: Competition, tmp_path: Path, browser: Any
) -> None:
    site = tmp_path / "site"
    assert write_site(whole, "race", site) == 12
    context = new_context(browser, viewport={"width": 360, "height": 800}, offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
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
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
