"""Screenshots of the site for the documentation: ``python tests/support/tour.py docs/how-to/tour``.

The pages are those of a competition of seven teams whose names, scores and messages are made up:
while it runs, and after its result was published.

``python tests/support/tour.py --every FOLDER`` makes pictures of every page at three widths, light
and dark, and prints for each how many pixels it is too wide, and how many primary buttons it shows:
a page has one primary action at most.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import arena
from arena.requests import Answer
from arena.server.records.published import TeamFacts
from arena.server.web.pages import PAGES
from browser import chromium, new_context, overflow
from web_site import NAME, WebSite, listening

SHOTS = {
    "overview": ("/overview", "guest", 1000),
    "board": ("/", "Ants", 1000),
    "phone": ("/", "Ants", 360),
    "submissions": ("/submissions?first=2&second=3#compared", "Ants", 1000),
    "questions": ("/messages", "Ants", 1000),
    "organiser": ("/admin", "organiser", 1000),
    "settings": ("/admin/settings", "organiser", 1000),
}
"""The name of a picture -> the page, its reader, and the width of the window in pixels."""
SHOTS_OF_THE_END = {"result": ("/private", "guest", 1000)}
SCHEMES = {"": "light", "-dark": "dark"}
"""The end of a picture's name -> the colours of its page."""
REPORT_WIDTH = 1000
TEAMS = ("Ants", "Bees", "Beetles", "Crickets", "Moths", "Termites", "Wasps")
OVERVIEW = r"""Predict which customers leave in the next month, from a year of their calls.

The score of $n$ customers is the area under the ROC curve.

| file | rows | columns |
|---|---|---|
| `train.csv` | 40,000 | 21 |
| `test.csv` | 8,000 | 20 |
"""


@contextmanager
def example(root: Path, *, ended: bool, now: datetime | None = None) -> Iterator[WebSite]:
    """Serve the competition of the pictures, at a time; None: as time passes."""
    days, begin = -2 if ended else 9, now or datetime.now(UTC)
    facts = {
        "title": "Customer churn", "public_rows": 2_400, "rows": 8_000, "mechanism_text":
        "A score is shown if it improves by more than one step.",
        "deadline": (begin + timedelta(days=days)).isoformat(timespec="minutes"),
    }  # fmt: skip
    web = WebSite(root, organisers=("Ada Example",), contact="race@example.org", **facts)
    digest = "0" * 64
    if now is not None:
        web.offset = now - datetime.now(UTC)
    copies = web.site.settings.layout.shared(NAME)
    copies.mkdir()
    (copies / digest).write_bytes(b"")
    files = [{"name": name, "bytes": size, "sha256": digest}
             for name, size in (("train.csv", 9_400_000), ("test.csv", 1_900_000))]  # fmt: skip
    pages = [("overview", OVERVIEW), ("prizes", "# Prizes\n\nA talk at the workshop.")]
    web.scorer.publish(
        rules="# Rules\n\nOne account each.\n",
        folder={"pages": pages, "images": [], "files": files},
        chance={"difference": 0.012},
    )
    _submissions(web, begin)
    _people(web)
    if ended:
        _result(web)
    yield web
    web.close()


def _result(web: WebSite) -> None:
    rows = [
        {"rank": rank, "team": team, "score": 0.83 - rank / 100, "score_low": 0.81 - rank / 100,
         "score_high": 0.85 - rank / 100, "rank_low": max(rank - 1, 1),
         "rank_high": min(rank + 1, 7), "submission": rank, "possible_winner": rank < 3,
         "public_rank": rank, "tier": 1 + rank // 4, "rank_median": float(rank),
         "win_rate": max(0.7 - 0.3 * rank, 0.0),
         "verification": "verified" if rank == 1 else None,
         "verification_note": "Trained again: the same file." if rank == 1 else None}
        for rank, team in enumerate(TEAMS, 1)
    ]  # fmt: skip
    verdict = "2 of 7 submissions may truly be the best (95% confidence)."
    web.scorer.publish_result(rows, verdicts=[verdict])


def _submissions(web: WebSite, now: datetime) -> None:
    rng, answers = np.random.default_rng(39), []
    best: dict[str, tuple[float, int]] = {}
    for number in range(1, 36):
        team = TEAMS[number % 7] if number > 4 else "Ants"
        score = round(0.7 + 0.12 * number / 35 + 0.03 * float(rng.random()), 4)
        when = (now - timedelta(hours=4 * (36 - number))).isoformat()
        rejected = number % 11 == 0
        answers.append(
            Answer(
                request=f"{number:032x}",
                seq=number,
                team=team,
                kind="submit",
                received=when,
                judged=when,
                file=f"model-{number}.csv",
                sha256=f"{number:064x}",
                status="rejected" if rejected else "accepted",
                submission=None if rejected else number,
                released=None if rejected else score,
                faults=({"kind": "missing ids", "message": "Row 3 has no id."},) * rejected,
                description="gradient boosting" if number % 2 else "",
            )
        )
        if not rejected:
            best[team] = max(best.get(team, (0.0, 0)), (score, number))
    order = sorted(best, key=best.__getitem__, reverse=True)
    board = [
        {"rank": rank, "team": team, "score": best[team][0], "submission": best[team][1],
         "n_submissions": 5, "baseline": False}
        for rank, team in enumerate(order, 1)
    ]  # fmt: skip
    since = now.strftime("%Y-%m-%dT00:00:00+00:00")
    before = dict(zip((order[1], order[0], *order[2:]), range(1, 8), strict=True))
    last = {answer.team: answer.received for answer in answers}
    web.scorer.cursor = 35
    web.scorer.publisher.publish(
        answers=answers,
        teams=[TeamFacts(team, 5, last=last[team]) for team in TEAMS],
    )
    web.scorer.publish(board=board, **{"ranks before": {"since": since, "ranks": before}})


def _people(web: WebSite) -> None:
    for team in TEAMS:
        web.person(f"Member of {team}", team, contact=f"{team.lower()}@example.org")
    member = account_of(web, "Ants")
    web.site.announcements.post(
        NAME, "`train.csv` was *replaced*: 14 of its rows stood twice.", "host"
    )
    question = web.site.messages.ask(NAME, member, "May we use public data about towns?")
    web.site.messages.reply(
        NAME, member, "Yes, if everybody can **download** them.", answers=question.message,
        published="Are other data allowed?",
    )  # fmt: skip
    web.site.messages.ask(NAME, member, "Does the test set have the same months?")


def account_of(web: WebSite, reader: str) -> str:
    if reader == "organiser":
        return web.person("Host", organiser=True)
    team = web.site.accounts.team_named(NAME, reader)
    assert team is not None
    return web.site.accounts.members(team.team)[0].account


def take(browser: Any, folder: Path, root: Path) -> None:
    """Write the pictures of the documentation into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for ended, shots in ((False, SHOTS), (True, SHOTS_OF_THE_END)):
        with example(root / f"{ended}", ended=ended) as web, listening(web.app) as port:
            for name, (path, reader, width) in shots.items():
                with opened(browser, web, port, reader=reader, width=width) as page:
                    for end, scheme in SCHEMES.items():
                        page.emulate_media(color_scheme=scheme)
                        page.goto(f"http://127.0.0.1:{port}/{NAME}{path}")
                        page.screenshot(path=folder / f"{name}{end}.png")
    _take_report(browser, folder, root / "report.html")


def _take_report(browser: Any, folder: Path, report: Path) -> None:
    rng = np.random.default_rng(39)
    leaves = rng.random(2_000) < 0.3
    predictions = {team: leaves + (1 + place / 20) * rng.normal(size=2_000)
            for place, team in enumerate(TEAMS)}  # fmt: skip
    arena.score(leaves.astype(int), predictions, metric="roc_auc").report(
        report, title="Customer churn"
    )
    context = new_context(browser, viewport={"width": REPORT_WIDTH, "height": 760})
    page = context.new_page()
    for end, scheme in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        page.goto(report.as_uri())
        page.screenshot(path=folder / f"report{end}.png")
    context.close()


@contextmanager
def opened(
    browser: Any, web: WebSite, port: int, *, reader: str, width: int, scheme: str = "light"
) -> Iterator[Any]:
    """Open a window of this width, signed in as a reader; as ``guest``: not signed in."""
    context = new_context(browser, viewport={"width": width, "height": 760}, color_scheme=scheme)
    if reader != "guest":
        web.sign_in(context, account_of(web, reader), f"http://127.0.0.1:{port}")
    yield context.new_page()
    context.close()


def pages_of(web: WebSite) -> list[tuple[str, str]]:
    """Return each page of the site: its path, and a reader who may see it."""
    team = web.site.accounts.team_named(NAME, "Ants")
    assert team is not None
    parts = {"page": "prizes", "team": team.team, "request": f"{2:032x}", "version": "1"}
    readers = {"organiser": "organiser", "anyone": "guest"}
    return [
        (path.format(**parts), readers.get(who, "Ants"))
        for method, path, who, _scope, _handler in PAGES
        if method == "GET" and "." not in path and not path.endswith(("{file}", "/file", "/embed"))
    ]


def take_every(browser: Any, folder: Path, root: Path) -> None:
    """Write pictures of every page into a folder, and print what is measured of each."""
    folder.mkdir(parents=True, exist_ok=True)
    with example(root, ended=False) as web, listening(web.app) as port:
        for reader in ("guest", "Ants", "organiser"):
            for width, scheme in ((360, "dark"), (800, "light"), (1_400, "dark")):
                with opened(browser, web, port, reader=reader, width=width, scheme=scheme) as page:
                    for path, who in pages_of(web):
                        if who != reader:
                            continue
                        page.goto(f"http://127.0.0.1:{port}/{NAME}{path}")
                        name = path.strip("/").replace("/", "-") or "board"
                        page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
                        primary = page.locator(".button:visible").count()
                        print(f"{path:40} {width:5} {overflow(page):4} {primary:3}")


if __name__ == "__main__":
    with chromium() as started, tempfile.TemporaryDirectory() as scratch:
        make = take_every if sys.argv[1] == "--every" else take
        make(started, Path(sys.argv[-1]), Path(scratch))
