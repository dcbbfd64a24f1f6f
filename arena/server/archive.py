"""A finished competition as static pages: an archive that needs no server."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.competition.view import CompetitionView
from arena.report import page as report_page
from arena.report.competition import public_competition_report
from arena.report.final_page import final_page
from arena.server.records.published import CompetitionFacts
from arena.server.records.shared_files import SharedFolder
from arena.server.scorer.facts import facts as facts_of
from arena.server.scorer.facts import rules_of
from arena.server.scorer.shared_folder import FolderReader
from arena.server.web.colours import style_sheet
from arena.server.web.folder_pages import share_of_rows
from arena.server.web.prose import Addresses, markdown
from arena.server.web.rendering import LOGOS, STYLE, environment
from arena.utils.atomic_write import atomic_folder
from arena.utils.parallel import Progress

_ADDRESSES = Addresses(
    image="images/{}",
    page="{}.html",
    overview="index.html",
    rules="rules.html",
    file="files/{}",
)
_FIXED_PAGES = {"index", "result", "board", "data", "rules"}


def write_site(
    competition: CompetitionView, name: str, folder: Path, *, progress: Progress | None = None
) -> int:
    """Write the pages, the boards, the rules and a citation file; return the number of files.

    Files for download are copied if anyone may download them, and otherwise listed with digests.

    Raises
    ------
    UsageError
        If the competition was not finalized, or its board would differ by now.
    OSError
        If a file cannot be written.
    """
    result = report_page(final_page(competition, progress=progress))
    server = competition.settings.server
    facts = facts_of(competition, name, server)
    with atomic_folder(folder) as partial:
        copies = partial / ".copies"
        shared = FolderReader(competition.folder, copies, competition.solution.sha256).changed()
        shared = shared or SharedFolder()
        for part, files in (
            ("images", shared.images),
            ("files", shared.files if server.files == "anyone" else ()),
        ):
            for shared_file in files:
                target = partial / part / shared_file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(shared_file.path(copies), target)
        shutil.rmtree(copies, ignore_errors=True)
        texts = _pages(competition, facts, shared)
        texts |= {
            "result.html": result,
            "board.html": report_page(public_competition_report(competition)),
            "style.css": STYLE.read_text(encoding="utf-8"),
            "CITATION.cff": _citation(facts),
        }
        if server.colour:
            texts["colours.css"] = style_sheet(server.colour)
        for file, text in texts.items():
            (partial / file).write_text(text, encoding="utf-8")
    return sum(path.is_file() for path in folder.rglob("*"))


def _pages(
    competition: CompetitionView, facts: CompetitionFacts, shared: SharedFolder
) -> dict[str, str]:
    rules, footer = rules_of(competition, competition.settings.server), shared.page("_footer")
    pages = [("index", "Overview", shared.page("overview"))]
    for name, title in shared.tabs():
        if name not in {"overview", *_FIXED_PAGES}:
            pages.append((name, title, shared.page(name)))
    if shared.files or shared.page("data") is not None:
        pages.append(("data", "Data", shared.page("data")))
    if rules is not None:
        pages.append(("rules", "Rules", rules))
    tabs = [(name, title) for name, title, _text in pages]
    tabs[1:1] = [("result", "Final result"), ("board", "Public board")]
    names = {image.name for image in shared.images}
    common: dict[str, Any] = {
        "facts": facts,
        "limits": facts.server,
        "tabs": tabs,
        "logo": next((logo for logo in LOGOS if logo in names), None),
        "footer": None if footer is None else markdown(footer, below=1, addresses=_ADDRESSES),
        "share": share_of_rows(facts.public_rows, facts.rows),
        "files": shared.files,
        "copied": facts.server.files == "anyone",
        "now": datetime.fromisoformat(competition.events("finalized")[-1].time),
        "url": facts.server.url,
    }
    template = environment().get_template("archive.html")
    return {
        f"{name}.html": template.render(
            common,
            page=name,
            title=title,
            prose=None if text is None else markdown(text, addresses=_ADDRESSES),
        )
        for name, title, text in pages
    }


def _citation(facts: CompetitionFacts) -> str:
    """Return a file in the Citation File Format; JSON texts are YAML texts too."""
    lines = [
        "cff-version: 1.2.0",
        "message: Please cite this competition as below.",
        "type: dataset",
        f"title: {json.dumps(facts.title or facts.name, ensure_ascii=False)}",
        "authors:",
        *(
            f"  - name: {json.dumps(organiser, ensure_ascii=False)}"
            for organiser in facts.server.organisers or ("The organisers",)
        ),
    ]
    if facts.server.url:
        lines.append(f"url: {json.dumps(facts.server.url)}")
    if facts.deadline:
        lines.append(f"date-released: {facts.deadline[:10]}")
    return "\n".join(lines) + "\n"
