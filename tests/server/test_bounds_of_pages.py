"""Bounds of pages and forms: how long a text may be, and how many rows of a list are shown."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arena.requests import Answer
from arena.server.web import actions
from arena.server.web.paging import number_of_pages, page_number, search_of
from arena.server.web.people import redirect_target
from web_site import NAME, WebSite

FILE = "0" * 32


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    """Return a site that these tests share, with a file of the team Ants."""
    made = WebSite(tmp_path_factory.mktemp("bounds"), embed=True)
    ants = made.person("Ada", "Ants")
    answer = Answer(FILE, 1, "Ants", "submit", "accepted", "", "", submission=7, member=ants)
    made.scorer.publisher.publish(answers=[answer])
    yield made
    made.close()


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Return what organisers decide in a test: it is not sent to the scorer."""
    decisions: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(actions, "admin", lambda _call, *decision: decisions.append(decision))
    return decisions


def x(length: int) -> str:
    return "x" * length


DECISIONS: list[tuple[str, dict[str, str], tuple[str, dict[str, Any]]]] = [
    ("pause", {"reason": x(500)}, ("pause", {"reason": x(500)})),
    (
        "exempt",
        {"team": x(500), "reason": x(500), "extra": "", "until": x(41)},
        ("exempt", {"team": x(500), "reason": x(500), "extra": 0, "until": x(40)}),
    ),
    (
        "exempt",
        {"team": "Ants", "reason": "r", "extra": "1", "until": " "},
        ("exempt", {"team": "Ants", "reason": "r", "extra": 1}),
    ),
    (
        "winners",
        {"submission": "7", "state": "failed", "note": x(501)},
        ("verification", {"submission": 7, "state": "failed", "note": x(500)}),
    ),
    ("rescore", {"kind": "apply", "preview": x(41)}, ("rescore", {"preview": x(40)})),
    ("rescore", {"kind": "preview", "preview": "x"}, ("rescore", {})),
    (
        "decide",
        {"kind": "undo", "what": "9" * 15, "reason": x(500)},
        ("undo", {"reason": x(500), "submission": 10**15 - 1}),
    ),
    (
        "decide",
        {"kind": "disqualify", "what": "9" * 16, "reason": "r"},
        ("disqualify", {"reason": "r", "team": "9" * 16}),
    ),
    (
        f"submissions/{FILE}/disqualify",
        {"reason": x(501)},
        ("disqualify", {"submission": 7, "reason": x(500)}),
    ),
    (
        "teams/TEAM/bracket",
        {"bracket": x(201), "member": "no"},
        ("bracket", {"team": "Ants", "bracket": x(200), "member": False}),
    ),
]
"""The form of an organiser, what is sent with it, and what is decided."""


def test_texts_of_an_organiser_have_a_longest_length(
    site: WebSite, decided: list[tuple[str, dict[str, Any]]]
) -> None:
    browser = site.browser(site.person("Org", organiser=True))
    ((team, _members),) = site.site.accounts.teams(NAME)

    def status(form: str, fields: dict[str, str]) -> int:
        path = f"/{NAME}/admin/{form.replace('TEAM', team.team)}"
        return browser.post(path, data=fields).status_code

    assert [status(form, fields) for form, fields, _ in DECISIONS] == [303] * len(DECISIONS)
    assert decided == [decision for _form, _fields, decision in DECISIONS]
    for form, fields in (
        ("pause", {"reason": x(501)}),
        ("exempt", {"team": x(501), "reason": "r"}),
        ("exempt", {"team": "Ants", "reason": x(501)}),
        ("retract", {"reason": x(501), "sure": "yes"}),
        ("decide", {"kind": "undo", "what": x(501), "reason": "r"}),
    ):
        assert status(form, fields) == 422, form
    assert len(decided) == len(DECISIONS)
    status("teams/TEAM/note", {"note": f"{x(1_998)}\r\nyz"})
    assert site.site.accounts.notes()[team.team] == f"{x(1_998)}\ny"


def test_a_frame_has_the_first_fifty_teams_and_twenty_are_found_without_a_search(
    site: WebSite,
) -> None:
    def page(n_teams: int, path: str) -> str:
        rows = [
            {"rank": n, "team": f"team {n}", "score": 1 / n, "n_submissions": 1, "baseline": False}
            for n in range(1, n_teams + 1)
        ]
        site.scorer.publish(board=rows)
        return site.browser().get(f"/{NAME}/{path}").text

    framed = page(51, "embed")
    assert ("51 teams" in framed, framed.count('<th scope="row">')) == (True, 50)
    assert ['role="search"' in page(n_teams, "") for n_teams in (20, 21)] == [False, True]
    assert [number_of_pages(n_rows) for n_rows in (0, 100, 101, 200, 201)] == [1, 1, 2, 2, 3]


def test_the_three_newest_announcements_are_above_the_board(site: WebSite) -> None:
    for number in range(4):
        site.site.announcements.post(NAME, f"News of day {number}.", "x")
    page = site.browser().get(f"/{NAME}/").text
    assert [f"News of day {number}." in page for number in range(4)] == [False, True, True, True]


def test_what_an_address_asks_for_has_a_longest_length() -> None:
    def asking(**query: str) -> Any:
        return SimpleNamespace(request=SimpleNamespace(query_params=query))

    numbers = ("0", "7", "9" * 8, "1" + "0" * 8, "-1", "x")
    assert [page_number(asking(page=text)) for text in numbers] == [1, 7, 10**8 - 1, 1, 1, 1]
    assert page_number(asking()) == 1
    assert [search_of(asking(search=text)) for text in (f" {x(100)}", " a ")] == [x(99), "a"]
    assert search_of(asking()) == ""
    targets = (f"/{x(298)}", f"/{x(299)}", "/\\a", "//a", "a", "/a\n", "/")
    assert list(map(redirect_target, targets)) == [f"/{x(298)}", "/", "/", "/", "/", "/", "/"]


def test_steps_without_an_account_are_counted_and_a_language_is_kept_for_a_year(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(site.site.buckets, "take", lambda *asked: counted.append(asked) or 0)
    guest = site.browser()
    guest.post("/sign-in", data={"key": "x"})
    guest.post("/sign-in/lost", data={"contact": "Ada@Example.org"})
    assert [asked for asked in counted if asked[0][0] in {"sign in", "lost"}] == [
        (("sign in", "testclient"), 10),
        (("lost", "testclient"), 10),
        (("lost", "ada@example.org"), 3),
    ]
    answer = guest.post("/language", data={"language": "de", "then": "/churn/"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/churn/")
    assert answer.headers["set-cookie"] == (
        "language=de; HttpOnly; Max-Age=31536000; Path=/; SameSite=lax"
    )
    assert "set-cookie" not in guest.post("/language", data={"language": "xx"}).headers
