"""A server of several competitions: its first page, and the list of the kaggle client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.server.web.rendering import left
from page_text import lines_of
from web_site import NAME, URL, WebSite

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
LIST = "/api/v1/competitions"
OTHERS: dict[str, dict[str, Any]] = {
    "endless": {"title": "Zoo", "per_day": None, "deadline": None},
    "ends": {"title": "Ends", "deadline": NOW.isoformat(), "start": NOW.isoformat()},
    "soon": {
        "title": "Soon",
        "start": (NOW + timedelta(minutes=1)).isoformat(),
        "deadline": (NOW + timedelta(days=2)).isoformat(),
    },
    "ended": {"title": "Ended", "deadline": "2026-05-06T11:59:59.250+00:00"},
    "former": {"title": "", "deadline": "2026-05-01T00:00:00+02:00", "board": "members"},
}


@pytest.fixture
def several(tmp_path: Path) -> Iterator[WebSite]:
    """Serve six competitions: three are open, one has not begun, two are over."""
    deadline = (NOW + timedelta(days=1)).isoformat()
    site = WebSite(tmp_path / "root", also=OTHERS, title="Churn", deadline=deadline)
    site.site.clock = lambda: NOW
    site.scorer.publish(board=[{"rank": 1, "team": "Ants", "score": 0.5, "submission": 1}])
    yield site
    site.close()


def test_the_first_page_lists_what_is_open_before_what_is_over(several: WebSite) -> None:
    page = lines_of(several.browser().get("/").text)
    lines = page.partition("\nCompetitions\nOpen\n")[2].splitlines()
    assert lines[: lines.index("ROC AUC", 27) + 1] == [
        *("Ends", "Deadline", "2026-05-06 12:00 UTC", "ROC AUC"),
        *("Churn", "Deadline", "2026-05-07 12:00 UTC", "· 24 hours left", "ROC AUC · 1 team"),
        *("Zoo", "Without a deadline", "ROC AUC"),
        "Upcoming",
        *("Soon", "Start", "2026-05-06 12:01 UTC", "· Deadline", "2026-05-08 12:00 UTC"),
        *("· 2 days left", "ROC AUC"),
        "Over",  # the last one first
        *("Ended", "Deadline", "2026-05-06 11:59 UTC", "ROC AUC"),
        *("former", "Deadline", "2026-04-30 22:00 UTC", "ROC AUC"),
    ]  # fmt: skip


def test_with_one_competition_the_first_page_is_its_own(web: WebSite) -> None:
    answer = web.browser().get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/{NAME}/")


def test_the_time_left_is_said_in_its_largest_whole_unit() -> None:
    for time_left, text in (
        (timedelta(), ""),
        (timedelta(seconds=59), "0 minutes left"),
        (timedelta(seconds=60), "1 minute left"),
        (timedelta(seconds=3_599), "59 minutes left"),
        (timedelta(hours=1), "1 hour left"),
        (timedelta(days=1, hours=23, seconds=3_599), "47 hours left"),
        (timedelta(days=2), "2 days left"),
        (timedelta(days=10, hours=23), "10 days left"),
    ):
        assert left((NOW + time_left).isoformat(), NOW) == text


def test_the_kaggle_client_lists_the_competitions(several: WebSite) -> None:
    token = several.token(several.person("Ada", "Ants"))
    listed = several.program(token).get(f"{LIST}/list").json()
    always = {"category": "Community", "reward": "", "userRank": None, "tags": []}
    assert listed[:2] == [
        {
            "id": 1, "ref": NAME, "title": "Churn", "url": f"{URL}/{NAME}/",
            "deadline": "2026-05-07T12:00:00.000Z", "teamCount": 1, "userHasEntered": True,
            "maxDailySubmissions": 5, "maxTeamSize": 5, "evaluationMetric": "ROC AUC", **always,
        },
        {
            "id": 2, "ref": "endless", "title": "Zoo", "url": f"{URL}/endless/",
            "deadline": "9999-12-31T00:00:00.000Z", "teamCount": 0, "userHasEntered": False,
            "maxDailySubmissions": 0, "maxTeamSize": 5, "evaluationMetric": "ROC AUC", **always,
        },
    ]  # fmt: skip
    assert [(entry["title"], entry["deadline"][11:]) for entry in listed[4:]] == [
        ("Ended", "11:59:59.250Z"), ("former", "22:00:00.000Z"),
    ]  # fmt: skip
    assert not any(
        entry["userHasEntered"] for entry in several.program().get(f"{LIST}/list").json()
    )
    service = f"{LIST}.CompetitionApiService/ListCompetitions"
    for search, count in (("", 6), ("CHURN", 1), ("zO", 1), ("en", 3), ("no such", 0)):
        entries = several.program().get(f"{LIST}/list", params={"search": search}).json()
        entries_of_service = (
            several.program().post(service, json={"search": search}).json()["competitions"]
        )
        assert (len(entries), entries_of_service) == (count, entries)
    for page, count in (("", 6), ("0", 6), ("1", 6), ("-1", 6), ("2", 0)):
        answer = several.program().get(f"{LIST}/list", params={"page": page})
        assert len(answer.json()) == count
