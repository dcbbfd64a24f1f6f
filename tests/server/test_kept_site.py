"""Every page of the site and every answer of its API, whole, while files come in and at the end."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

from arena.server.web.api import ENDPOINTS
from kept import check_kept, masked, shortened
from page_text import lines_of
from tour import account_of, example, pages_of
from web_site import NAME, WebSite

NOW = datetime(2026, 5, 6, 12, 30, 15, tzinfo=UTC)
PLACES = {"request": f"{2:032x}", "version": "1", "file": "none.csv", "run": "0", "team": "0",
          "what": "board"}  # fmt: skip
READERS = {"organiser": "organiser", "anyone": "guest"}


def test_the_site_says_what_is_kept(tmp_path: Path) -> None:
    with example(tmp_path / "open", ended=False, now=NOW) as web:
        before = said(web)
    with example(tmp_path / "ended", ended=True, now=NOW) as web:
        after = {place: text for place, text in said(web).items() if text != before[place]}
    answers = (*before.items(), *after.items())
    check_kept("site.txt", "\n".join(f"== {place}: {text}" for place, text in answers))


def said(web: WebSite) -> dict[str, str]:
    """Return what each page and each answer says to one who may read it."""
    web.scorer.state(beat=time.time() + 1_000)  # seen 0 seconds ago, however long it takes
    browsers = {
        reader: web.browser(None if reader == "guest" else account_of(web, reader))
        for reader in ("guest", "Ants", "organiser")
    }
    texts = {}
    for path, reader in pages_of(web):
        page = browsers[reader].get(f"/{NAME}{path}")
        place = "page " + re.sub("(?<=/admin/teams/).+", "TEAM", path) + f" for {reader}"
        texts[place] = f"{page.status_code}\n{masked(lines_of(page.text))}"
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and endpoint.path != "/events":
            reader = READERS.get(endpoint.who, "Ants")
            path = f"/api/v1/{NAME}{endpoint.path.format(**PLACES)}"
            answer, text = browsers[reader].get(path), ""
            if "json" in answer.headers["content-type"]:
                text = json.dumps(shortened(answer.json()), indent=1, ensure_ascii=False)
                text = re.sub(r'("(account|id|disk_free_bytes)": )[^,\n]+', r"\1…", text)
            texts[f"{endpoint.path} for {reader}"] = (
                f"{answer.status_code}\n{masked(text or answer.text)}\n"
            )
    return texts
