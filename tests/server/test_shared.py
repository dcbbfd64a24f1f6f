"""Answers that are kept for everybody: who gets them, and when they are made again."""

from __future__ import annotations

import re
import sqlite3
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.server.web.site import Buckets, CompetitionSite
from web_site import NAME, URL, WebSite

BOARD, PAGE = f"/api/v1/{NAME}/board?limit=5", f"/{NAME}/"


def rows(*teams: str) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "team": team,
            "score": 1 / rank,
            "submission": rank,
            "n_submissions": 1,
            "baseline": False,
        }
        for rank, team in enumerate(teams, 1)
    ]


@pytest.fixture
def made(web: WebSite, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by one entry for each board that is made, not kept.

    Boards are kept for a second: the clock stands still but for ``web.offset``.
    """
    now = web.site.clock()
    monkeypatch.setattr(web.site, "clock", lambda: now + web.offset)
    calls: list[str] = []
    real = CompetitionSite.board

    def board(self: CompetitionSite, *asked: str) -> Any:
        calls.append(self.name)
        return real(self, *asked)

    monkeypatch.setattr(CompetitionSite, "board", board)
    return calls


@pytest.mark.parametrize("path", [BOARD, PAGE])
def test_a_board_is_made_once_until_something_is_published(
    path: str, web: WebSite, made: list[str]
) -> None:
    web.scorer.publish(board=rows("Ants"))
    guest = web.browser()
    first, second = guest.get(path), guest.get(path)
    assert len(made) == 1
    assert (second.status_code, second.content) == (200, first.content)
    assert second.headers == first.headers
    assert "default-src 'none'" in second.headers["content-security-policy"]
    web.scorer.publish(board=rows("Bees", "Ants"))
    assert "Bees" in guest.get(path).text
    assert len(made) == 2
    web.offset += timedelta(seconds=1.5)
    guest.get(path)
    assert len(made) == 3
    web.offset -= timedelta(seconds=3)  # the clock was set back
    guest.get(path)
    assert len(made) == 4


def test_an_announcement_is_on_the_page_at_once(web: WebSite) -> None:
    guest = web.browser()
    guest.get(PAGE)
    posted = web.site.announcements.post(NAME, "The sample was wrong.", "x")
    assert "The sample was wrong." in guest.get(PAGE).text
    web.site.announcements.withdraw(NAME, posted.announcement)
    assert "The sample was wrong." not in guest.get(PAGE).text


def test_an_etag_gets_304(web: WebSite, made: list[str]) -> None:
    web.scorer.publish(board=rows("Ants"))
    program = web.program()
    etag = program.get(BOARD).headers["etag"]
    same = program.get(BOARD, headers={"If-None-Match": etag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert "content-length" not in same.headers
    assert program.get(BOARD, headers={"If-None-Match": '"other"'}).status_code == 200
    assert len(made) == 1


def test_nobody_gets_the_page_of_another_person(web: WebSite, made: list[str]) -> None:
    web.scorer.publish(board=rows("Ants", "Bees"))
    guest, ada = web.browser(), web.browser(web.person("Ada", "Ants"))
    for _ in range(2):
        assert "Ada" not in guest.get(PAGE).text
        assert "Ada" in ada.get(PAGE).text
    assert len(made) == 3
    # A language that was chosen, and one that the browser asks for.
    german = web.browser()
    german.post("/language", data={"language": "de"})
    austrian = web.browser()
    austrian.headers["accept-language"] = "de-AT"
    for browser, language in ((german, "de"), (guest, "en"), (austrian, "de")) * 2:
        assert f'<html lang="{language}">' in browser.get(PAGE).text
    assert len(made) == 4
    # A token that is not valid is told.
    assert web.program("arena_wrong").get(BOARD).status_code == 401
    # Without TLS there is no header that demands it.
    assert "strict-transport-security" in guest.get(PAGE).headers
    plain = web.browser()
    plain.base_url = URL.replace("https", "http")
    assert "strict-transport-security" not in plain.get(PAGE).headers


def test_a_board_of_members_is_not_kept(tmp_path: Path) -> None:
    web = WebSite(tmp_path, board="members")
    member = web.browser(web.person("Ada", "Ants"))
    for path in (BOARD, PAGE):
        assert member.get(path).status_code == 200
        assert web.browser().get(path).status_code == 401
    web.close()


def test_kept_answers_count_as_reads(tmp_path: Path) -> None:
    begun = time.perf_counter()
    web = WebSite(tmp_path, reads_per_minute=5)
    guest = web.program()
    assert [guest.get(BOARD).status_code for _ in range(7)] == [200] * 5 + [429] * 2
    web.site.buckets = Buckets(clock=lambda: 0.0)
    metrics = web.program().get("/metrics").text
    assert 'arena_requests_total{kind="api",status="2xx"} 5.0' in metrics
    assert 'arena_request_seconds_count{kind="api"} 5.0' in metrics
    (seconds,) = re.findall(r'arena_request_seconds_sum\{kind="api"\} (\S+)', metrics)
    assert 0 < float(seconds) < time.perf_counter() - begun
    web.close()


def test_without_the_published_file_nothing_is_kept(
    web: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = web.program()
    assert guest.get(BOARD).status_code == 200

    def gone() -> int:
        raise sqlite3.OperationalError

    monkeypatch.setattr(web.site.competitions[NAME].published, "version", gone)
    monkeypatch.setattr(web.site.competitions[NAME].published, "etag", lambda _name: gone())
    assert guest.get(BOARD).status_code == 503


def test_a_request_with_two_hosts_is_refused(web: WebSite) -> None:
    answer = web.program().get("/", headers=[("Host", "a"), ("Host", "b")])
    assert (answer.status_code, "several Host headers" in answer.text) == (400, True)
