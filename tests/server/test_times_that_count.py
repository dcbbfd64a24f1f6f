"""Which time counts for the deadline and the limits of a day: when a request was complete.

Each way to submit and to select is here, with a clock that moves while it is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.server.records.published import TeamFacts
from arena.server.web import actions
from arena.server.web.api import ENDPOINTS
from arena.server.web.pages import PAGES
from asgi import respond
from web_site import NAME, ORIGIN, WebSite

API = f"/api/v1/{NAME}"
KAGGLE = "/api/v1/competitions"
FILE = b"id,y\na,1\n"
OWN = [(name.lower().encode(), value.encode()) for name, value in ORIGIN.items()]
JSON = (b"content-type", b"application/json")
FORM = (b"content-type", b"application/x-www-form-urlencoded")
PARTS = (b"content-type", b"multipart/form-data; boundary=b")
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
LATER = timedelta(hours=20)
"""A place for an upload lasts for a day."""

Way = tuple[str, str, list[tuple[bytes, bytes]], list[bytes]]


def of_api(_web: WebSite, token: bytes) -> Way:
    return "POST", f"{API}/submissions", [token], [FILE[:4], FILE[4:]]


def of_api_form(_web: WebSite, token: bytes) -> Way:
    return "POST", f"{API}/submissions", [token, PARTS], [PART, FILE + b"\r\n--b--\r\n"]


def of_page(web: WebSite, _token: bytes) -> Way:
    account = web.site.accounts.accounts()[0].account
    cookie = (b"cookie", f"__Host-arena={web.site.accounts.open_session(account)}".encode())
    return "POST", f"/{NAME}/submit", [cookie, *OWN, PARTS], [PART, FILE + b"\r\n--b--\r\n"]


def place(web: WebSite) -> str:
    account = web.site.accounts.accounts()[0].account
    secret, _gone = web.site.slots.open_slot(account, NAME, "a.csv", len(FILE))
    assert respond(web.app, "PUT", f"/api/v1/uploads/{secret}", body=[FILE])[0] == 200
    return secret


def of_kaggle_1(web: WebSite, token: bytes) -> Way:
    fields = f"blobFileTokens={place(web)}".encode()
    return "POST", f"{KAGGLE}/submissions/submit/{NAME}", [token, FORM], [fields[:9], fields[9:]]


def of_kaggle_2(web: WebSite, token: bytes) -> Way:
    path = f"{KAGGLE}.CompetitionApiService/CreateSubmission"
    body = f'{{"competitionName": "{NAME}", "blobFileTokens": "{place(web)}"}}'.encode()
    return "POST", path, [token, JSON], [body[:9], body[9:]]


SUBMISSIONS = {
    "the body of the API": of_api,
    "a form of the API": of_api_form,
    "the page": of_page,
    "the kaggle client, versions 1": of_kaggle_1,
    "the kaggle client, versions 2": of_kaggle_2,
}


def selection_of_api(_web: WebSite, token: bytes) -> Way:
    return "PUT", f"{API}/selection", [token, JSON], [b'{"submissions"', b": [1]}"]


def selection_of_page(web: WebSite, token: bytes) -> Way:
    headers = of_page(web, token)[2][:-1]
    return "POST", f"/{NAME}/selection", [*headers, FORM], [b"submission", b"=1"]


SELECTIONS = {"of the API": selection_of_api, "of the page": selection_of_page}


@contextmanager
def site(root: Path, deadline: datetime | None, **facts: Any) -> Iterator[tuple[WebSite, bytes]]:
    web = WebSite(root, deadline=None if deadline is None else deadline.isoformat(), **facts)
    token = f"Bearer {web.token(web.person('Ada', 'Ants'))}".encode()
    yield web, (b"authorization", token)  # type: ignore[misc]
    web.close()


def sent_at(web: WebSite, way: Way, moves: Mapping[int, timedelta]) -> int:
    """Send a request; the clock moves before some of its parts. Return the status."""
    method, path, headers, parts = way
    body: list[bytes | Callable[[], None]] = []
    for number, part in enumerate([*parts, None]):
        if number in moves:
            body.append(lambda move=moves[number]: setattr(web, "offset", web.offset + move))
        if part is not None:
            body.append(part)
    return respond(web.app, method, path, headers=headers, body=body)[0]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_file_that_is_complete_after_the_deadline_is_late(tmp_path: Path, name: str) -> None:
    over = datetime.now(UTC) + timedelta(hours=1)
    with site(tmp_path, over) as (web, token):
        way = SUBMISSIONS[name](web, token)
        assert sent_at(web, way, {1: timedelta(hours=2)}) == 409
        assert web.site.intake.after(NAME, 0) == []


@pytest.mark.slow
@pytest.mark.parametrize("exempted", [False, True])
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_late_files_and_those_of_an_exempted_team_come_by_every_way(
    tmp_path: Path, name: str, exempted: bool
) -> None:
    over, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (-1, 1))
    late_until = None if exempted else later.isoformat()
    with site(tmp_path, over, late_until=late_until) as (web, token):
        until = later.isoformat() if exempted else None
        web.scorer.publisher.publish(teams=[TeamFacts("Ants", until=until)])
        web.scorer.state(phase="closed")
        account = web.site.accounts.accounts()[0].account
        for path in ("submit", "submissions"):
            page = web.browser(account).get(f"/{NAME}/{path}").text
            assert "files are no longer accepted" not in page
        assert sent_at(web, SUBMISSIONS[name](web, token), {}) in {200, 202, 303}
        web.offset = timedelta(hours=2)
        for path in ("submit", "submissions"):
            page = web.browser(account).get(f"/{NAME}/{path}").text
            assert "files are no longer accepted" in page
            assert "left today" not in page
        assert sent_at(web, SUBMISSIONS[name](web, token), {}) == 409


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_the_day_of_a_submission_is_that_of_its_last_byte(tmp_path: Path, name: str) -> None:
    with site(tmp_path, None) as (web, token):
        way = SUBMISSIONS[name](web, token)
        before = datetime.now(UTC)
        assert sent_at(web, way, {1: LATER}) in {200, 202, 303}
        (request,) = web.site.intake.after(NAME, 0)
        assert before + LATER <= request.received <= datetime.now(UTC) + LATER


def test_a_place_that_was_filled_before_does_not_hold_its_time(tmp_path: Path) -> None:
    """Files that wait in places have no time: it is that of the request to submit."""
    with site(tmp_path, None) as (web, token):
        ways = [of_kaggle_2(web, token) for _ in range(3)]
        web.offset = timedelta(hours=20)
        for way in ways:
            assert sent_at(web, way, {}) == 200
        days = {request.received - datetime.now(UTC) > timedelta(hours=19)
                for request in web.site.intake.after(NAME, 0)}  # fmt: skip
        assert days == {True}


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_that_is_complete_after_the_deadline_is_late(tmp_path: Path, name: str) -> None:
    with site(tmp_path, datetime.now(UTC) + timedelta(hours=1)) as (web, token):
        assert sent_at(web, of_api(web, token), {}) == 202
        web.scorer.judge(web.site)
        before = len(web.site.intake.after(NAME, 0))
        assert sent_at(web, SELECTIONS[name](web, token), {1: timedelta(hours=2)}) == 409
        assert len(web.site.intake.after(NAME, 0)) == before


def test_every_way_to_submit_or_select_is_here() -> None:
    """A new one must state which time counts."""
    ways = {
        ("POST", "/submissions"), ("PUT", "/selection"), ("POST", "/validate"),
        ("POST", "/submit"), ("POST", "/selection"), ("POST", "/check"),
        ("POST", "/withdrawals"),
    }  # fmt: skip
    calls = {endpoint.handler: (endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    calls |= {handler: (method, path) for method, path, *_, handler in PAGES}
    timed = {
        where
        for handler, where in calls.items()
        if {
            "receive",
            "submit",
            "select",
            "select_in_phases",
            "select_by_number",
            "withdraw_submission",
            "validate_file",
        }
        & set(_names_in(handler))
    }
    assert timed == ways
    assert actions.submit.__name__ == "submit"


def _names_in(handler: Callable[..., object]) -> set[str]:
    """Return the names that a handler uses, those of what it wraps included."""
    code = getattr(handler, "__wrapped__", handler).__code__
    names = set(code.co_names)
    for cell in getattr(handler, "__closure__", None) or ():
        if callable(cell.cell_contents) and hasattr(cell.cell_contents, "__code__"):
            names |= set(cell.cell_contents.__code__.co_names)
    return names
