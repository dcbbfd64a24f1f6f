"""``arena export --site``: every page of a finished competition, without a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import UsageError
from arena.server.archive import write_site
from browser import axe_faults, new_context, overflow
from program import write_csv

pytestmark = pytest.mark.slow  # a finalized competition with both reports takes seconds


@pytest.fixture
def finished(tmp_path: Path) -> Competition:
    rows = [(f"r{i}", i % 2, "Public" if i < 20 else "Private") for i in range(60)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    folder = tmp_path / "race"
    server = {"files": "anyone", "colour": "#ffcc00", "organisers": ["Ada, L."]}
    settings = {
        "metric": {"name": "roc_auc"},
        "competition": {"title": "A <b>race</b>"},
        "server": server,
    }
    made = Competition.create(folder, tmp_path / "solution.csv", Settings.model_validate(settings))
    for name, text in {
        "pages/overview.md": "See [data](data.md), [prizes](prizes.md), [rules](rules.md).",
        "pages/prizes.md": "![logo](l.png) and [train](files/a/train.csv)", "pages/l.png": "png",
        "pages/_footer.md": "By us", "files/a/train.csv": "id\n", "rules.md": "# Rules\n",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return made


def test_the_archive_is_whole_and_needs_no_network(
    finished: Competition, tmp_path: Path, browser: Any
) -> None:
    site = tmp_path / "site"
    with finished as competition:
        with pytest.raises(UsageError, match="finalize"):
            write_site(competition, "race", site)
        assert not site.exists()
        for team in ("red", "blue"):
            rows = [(f"r{i}", (i * len(team)) % 7) for i in range(60)]
            write_csv(tmp_path / "s.csv", ["id", "y"], rows)
            competition.submit(tmp_path / "s.csv", team=team)
        competition.finalize()
        assert write_site(competition, "race", site) == 11
    assert (site / "files/a/train.csv").read_text() == "id\n"
    assert '  - name: "Ada, L."' in (site / "CITATION.cff").read_text()
    context = new_context(browser, viewport={"width": 360, "height": 800}, offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in sorted(site.glob("*.html")):
        page.goto(path.as_uri())
        text = path.read_text()
        if path.stem not in {"board", "result"}:  # these are the reports, tested elsewhere
            links = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
            assert [link for link in links if not (site / link).exists()] == [], path
            assert "<b>race" not in text
            assert overflow(page) == 0, path
            assert axe_faults(context, page) == [], path
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
