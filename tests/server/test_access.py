"""Who may do what: every route as each of seven senders; forgery, refusals and secrets."""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from arena import responses
from arena.requests import Answer
from arena.server.web import api
from arena.server.web.api import ENDPOINTS
from arena.server.web.body import receive
from arena.server.web.endpoint import Endpoint
from arena.server.web.openapi import document
from arena.server.web.pages import PAGES
from arena.server.web.people import refuse_other_sites
from arena.server.web.problems import Problem
from kept import check_kept
from refusals import refusal_of
from web_site import FACTS, NAME, URL, WebSite

API = f"/api/v1/{NAME}"
PLACES = {
    "request": "0" * 32, "what": "teams", "file": "a.csv", "version": "1", "page": "p", "team": "0",
    "run": "0",
}  # fmt: skip
"""The parts of addresses, which name nothing that there is."""
SENDERS = ("anonymous", "blocked", "teamless", "reader", "member", "organiser", "organiser's page")
ALLOWED = {
    "anyone": SENDERS,
    "reader": SENDERS,
    "signed-in": SENDERS[2:],
    "member": ("reader", "member"),
    "downloader": ("reader", "member", "organiser", "organiser's page"),
    "organiser": ("organiser", "organiser's page"),
}
SENT: dict[str, Any] = {
    "/join": {},
    "/runs/lease": {},
    "/runs/{run}/beat": {},
    "/selection": {"submissions": []},
    "/withdrawals": {"submission": 1},
    "/team": {"name": "New name"},
    "/tokens": {"name": "x"},
    "POST /admin/announcements": {"text": "x"},
    "POST /admin/mails": {"mail": "x"},
    "POST /admin/messages": {"answers": 99, "text": "x"},
    "/messages": {"text": "x"},
    "/admin/settings": {"settings": {"competition.title": "x"}},
    "/admin/settings/preview": {"settings": {"competition.title": "x"}},
    "/admin/teams/{team}": {"note": "x"},
    "/admin/verifications": {"submission": 1, "state": "verified"},
    "/result-mail": {"wanted": True},
    "DELETE /admin/announcements": {"announcement": 2},
    "DELETE /admin/accounts": {"account": "x"},
    "/team/members": {},
    "POST /team/requests": {"team": "x"},
    "PUT /team/requests": {"account": "x", "accept": False},
    "/account": {"name": "x"},
    "/admin/invitations": {"invite": "x"},
    "/admin/approve": {"account": "x"},
    "/admin/block": {"account": "x"},
    "/admin/brackets": {"team": "a", "bracket": "b"},
    "/admin/merge": {"team": "a", "into": "b"},
    "/admin/disqualify": {"team": "a", "reason": "b"},
    "/admin/undo": {"team": "a", "reason": "b"},
    "/admin/rescore": {},
    "/admin/retract": {"reason": "b"},
    "/admin/pause": {"reason": "b"},
    "/admin/exempt": {"team": "a", "extra": 1, "reason": "b"},
    "/admin/finalize": {"seen": "x"},
    "/admin/publish": {"seen": "x"},
}


@pytest.fixture
def senders(web: WebSite) -> dict[str, TestClient]:
    blocked = web.token(web.person("Bad", "Bad"))
    web.site.accounts.set_state(web.site.accounts.accounts()[0].account, "blocked")
    member = web.person("Ada", "Ants")
    organiser = web.person("Org", organiser=True)
    return {
        "anonymous": web.program(),
        "blocked": web.program(blocked),
        "teamless": web.program(web.token(web.person("Eve"))),
        "reader": web.program(web.token(member, "read")),
        "member": web.program(web.token(member)),
        "organiser": web.program(web.token(organiser, "admin")),
        "organiser's page": web.browser(organiser),
    }


def _sent(endpoint: Endpoint) -> Any:
    return SENT[endpoint.path if endpoint.path in SENT else f"{endpoint.method} {endpoint.path}"]


def expected(endpoint: Endpoint, sender: str) -> set[int]:
    """Return the statuses with which access is refused; an empty set: it is granted."""
    if sender == "blocked" or endpoint.who == "runner":
        return {401}
    if sender not in ALLOWED[endpoint.who]:
        if sender == "anonymous":
            return {401}
        return {404} if endpoint.who == "organiser" else {403}
    if endpoint.scope == "account" and sender in {"teamless", "reader", "member", "organiser"}:
        return {403}
    if sender == "reader" and endpoint.who != "anyone" and endpoint.scope != "read":
        return {403}
    return set()


@pytest.mark.few(2)
@pytest.mark.parametrize("sender", SENDERS)
def test_every_endpoint_as_every_sender(senders: dict[str, TestClient], sender: str) -> None:
    client = senders[sender]
    for endpoint in ENDPOINTS:
        if endpoint.path == "/events":
            continue  # it never ends
        path = API + endpoint.path.format(**PLACES)
        body = {"content": b""} if endpoint.body in {bytes, None} else {"json": _sent(endpoint)}
        if endpoint.method == "GET":
            body = {}
        answer = client.request(endpoint.method, path, **body)
        refused, case = expected(endpoint, sender), (endpoint.method, endpoint.path, sender)
        if refused:
            assert answer.status_code in refused, case
            assert answer.headers["content-type"] == "application/problem+json", case
            assert answer.json()["detail"].endswith("."), case
        else:
            # 404: the request, account or team that is named does not exist.
            named = {"/private", "/admin/result", "/admin/approve", "/admin/block",
                     "/admin/merge", "/tokens", "/admin/invitations", "/team/requests",
                     "/admin/announcements", "/admin/messages", "/admin/mails",
                     "/admin/accounts"}  # fmt: skip
            missing = {404} if endpoint.path in named or "{" in endpoint.path else set()
            fine = {200, 201, 202, 409, 422} | missing
            assert answer.status_code in fine, (case, answer.text)


@pytest.mark.slow
def test_every_page_as_every_sender(web: WebSite) -> None:
    member, organiser = web.person("Ada", "Ants"), web.person("Org", organiser=True)
    browsers = {
        "anonymous": web.browser(),
        "teamless": web.browser(web.person("Eve")),
        "member": web.browser(member),
        "organiser's page": web.browser(organiser),
    }
    for method, path, who, _scope, _handler in PAGES:
        full = f"/{NAME}{path.format(**PLACES)}"
        for sender, browser in browsers.items():
            answer = browser.request(method, full)
            case = (method, path, sender)
            if sender in ALLOWED[who]:
                missing = (
                    {404}
                    if "{" in path
                    or path
                    in {
                        "/pages/{page}",
                        "/files/{file}",
                        "/admin/teams/withdraw",
                        "/admin/teams/again",
                        "/private",
                        "/admin/result",
                        "/sample_submission.csv",
                        "/team/ask",
                        "/team/unask",
                        "/team/answer",
                        "/admin/withdraw",
                        "/admin/mails",
                        "/embed",
                    }
                    else set()
                )
                assert answer.status_code in {200, 303, 409, 415, 422, 400} | missing | (
                    {403} if path in {"/join", "/rules"} else set()
                ), case
            else:
                status = 401 if sender == "anonymous" else 404 if who == "organiser" else 403
                assert answer.status_code == status, case
                assert "<h1>" in answer.text, case
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            _before, _title, title = answer.text.partition("<title>")
            assert "<" not in title.partition("</title>")[0], case


def test_another_teams_request_does_not_exist(web: WebSite) -> None:
    ada, bo = (web.program(web.token(web.person(name, name))) for name in ("Ada", "Bo"))
    submission = ada.post(f"{API}/submissions", content=b"id,y\n")
    assert submission.status_code == 202
    request = submission.json()["request"]
    missing = bo.get(f"{API}/requests/{'0' * 32}")
    for _judged in range(2):
        other = bo.get(f"{API}/requests/{request}")
        assert (other.status_code, other.text) == (404, missing.text)
        assert ada.get(f"{API}/requests/{request}").status_code == 200
        web.scorer.judge(web.site)
    assert bo.get(f"{API}/submissions").json()["requests"] == []
    # A submission that another command than the server stored.
    answer = Answer(
        request="submission-9",
        seq=-1,
        team="Ada",
        kind="submit",
        status="accepted",
        received="2026-01-01",
        judged="",
        released=0.5,
    )
    web.scorer.publisher.publish(answers=[answer])
    assert ada.get(f"/{NAME}/submissions/submission-9").status_code == 200
    assert bo.get(f"/{NAME}/submissions/submission-9").status_code == 404


def test_a_request_of_another_competition_does_not_exist(web: WebSite) -> None:
    """Also if a team of the same name sent it."""
    ada = web.program(web.token(web.person("Ada", "Ants")))
    request = ada.post(f"{API}/submissions", content=b"id,y\n").json()["request"]
    other, _new = web.site.intake.append(
        competition="other", team="Ants", member="1", kind="submit", payload={"file": "a.csv"}
    )
    assert ada.get(f"{API}/requests/{request}").status_code == 200
    assert ada.get(f"{API}/requests/{other.request}").status_code == 404
    assert ada.get(f"/{NAME}/submissions/{other.request}").status_code == 404


GET_BY_READERS = ("GET", "reader")


def test_a_board_for_members_only(tmp_path: Any) -> None:
    web = WebSite(tmp_path, board="members", approve=True)
    waiting, member = web.person("Bo", "Bees"), web.person("Ada", "Ants")
    web.site.accounts.enter(NAME, waiting, "waiting")
    organiser = web.person("Org", organiser=True)
    readers = {None: 401, web.person("Eve"): 403, waiting: 403, member: 200, organiser: 200}
    places = [
        *(f"/{NAME}{path}" for method, path, who, *_ in PAGES if (method, who) == GET_BY_READERS),
        *(
            f"/api/v1/{NAME}{endpoint.path}"
            for endpoint in ENDPOINTS
            if (endpoint.method, endpoint.who) == GET_BY_READERS and endpoint.path != "/events"
        ),
    ]
    assert len(places) > 12
    for account, status in readers.items():
        browser = web.browser(account)
        for place in places if account == waiting else places[:2]:
            answer = browser.get(place.format(version=1))
            assert answer.status_code in ({200, 404} if status == 200 else {status}), place
    assert web.program().get(f"/api/v1/competitions/{NAME}/leaderboard/view").status_code == 401
    web.close()


def test_a_form_of_another_site_is_refused(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.example.org"},
    ):
        for path in ("/team/invite", "/submit", "/tokens"):
            assert client.post(f"/{NAME}{path}", headers=headers).status_code == 403
    del client.headers["origin"], client.headers["sec-fetch-site"]
    assert client.post(f"/{NAME}/team/invite").status_code == 403
    client.headers["authorization"] = "Bearer arena_wrong"
    assert client.get(f"/{NAME}/team").status_code == 401  # a cookie does not help a wrong token


CROSS, SAME = {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-origin"}
SENDINGS: tuple[tuple[str, dict[str, str], bool], ...] = (
    ("POST", CROSS, True),
    ("PATCH", CROSS, True),
    ("DELETE", {"sec-fetch-site": "same-site"}, True),
    ("POST", SAME, False),
    ("POST", {"sec-fetch-site": "none"}, False),  # typed in the line of addresses
    *((method, CROSS, False) for method in ("GET", "HEAD", "OPTIONS")),
    ("POST", {**CROSS, "authorization": "Bearer x"}, False),
    ("POST", {"origin": "https://evil.example.org"}, True),
    ("POST", {"origin": URL}, False),
    ("POST", {"origin": "http://localhost:8000"}, False),  # the address of this request
    ("POST", {"cookie": "arena=x"}, True),  # an old browser, or one that hides where it was
    ("POST", {}, False),
)
"""The method of a request to http://localhost:8000, its headers, and whether it is refused."""


def test_a_change_that_another_site_asks_for_is_refused() -> None:
    for method, headers, is_refused in SENDINGS:
        raw = [(b"host", b"localhost:8000")]
        raw += [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "method": method, "scheme": "http", "path": "/", "query_string": b"",
            "headers": raw,
        }  # fmt: skip
        refusal = refusal_of(Problem, refuse_other_sites, Request(scope), URL)
        sentence = "This form was sent from another site. Open the page here and send it again."
        assert refusal == (sentence if is_refused else None), (method, headers)


def merge_during(
    monkeypatch: pytest.MonkeyPatch, merge: Callable[[], Any], client: TestClient
) -> int:
    """Return the status of an upload during which a merge is asked for."""

    async def received(*arguments: Any) -> Any:
        upload = await receive(*arguments)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(merge).result().status_code == 202
        return upload

    with monkeypatch.context() as patch:
        patch.setattr(api, "receive", received)
        return client.post(f"{API}/submissions", content=b"id,y\n").status_code


def merge_before_append(
    web: WebSite, monkeypatch: pytest.MonkeyPatch, merge: Callable[[], Any], client: TestClient
) -> int:
    """Return the status of an upload if a merge is asked for between its check and its storing."""
    append = web.site.intake.append

    def late(**request: Any) -> Any:
        if request["kind"] == "submit":
            assert merge().status_code == 202
        return append(**request)

    with monkeypatch.context() as patch:
        patch.setattr(web.site.intake, "append", late)
        return client.post(f"{API}/submissions", content=b"id,y\n").status_code


def test_teams_are_merged_after_the_record_merged_them(
    web: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = {name: web.person(name, name) for name in ("Ada", "Bo", "Cy")}
    clients = {name: web.program(web.token(person)) for name, person in people.items()}
    admin = web.program(web.token(web.person("Org", organiser=True), "admin"))
    clients["Ada"].post(f"{API}/submissions", content=b"id,y\n")
    web.scorer.judge(web.site)

    def merge(team: str, into: str) -> Any:
        return admin.post(f"{API}/admin/merge", json={"team": team, "into": into})

    def team_of(name: str) -> str:
        return str(clients[name].get(f"{API}/team").json()["name"])

    assert merge("Ada", "Bo").status_code == 202
    assert merge("Bo", "Cy").status_code == 409
    assert team_of("Ada") == "Ada"
    waiting = clients["Ada"].post(f"{API}/submissions", content=b"id,y\n")
    assert (waiting.status_code, "is being merged" in waiting.text) == (409, True)
    web.scorer.refuses = "The team 'Bo' is disqualified."
    web.scorer.judge(web.site)
    assert merge_during(monkeypatch, lambda: merge("Ada", "Bo"), clients["Ada"]) == 409
    web.scorer.judge(web.site)
    assert merge_before_append(web, monkeypatch, lambda: merge("Ada", "Bo"), clients["Ada"]) == 409
    assert len(list(web.site.uploads.folder.iterdir())) == 1  # of the first submission
    web.scorer.judge(web.site)
    assert [team_of(name) for name in people] == ["Ada", "Bo", "Cy"]
    web.scorer.refuses = ""
    assert merge("Ada", "Bo").status_code == 202
    web.scorer.judge(web.site)
    # A web process that ended before it moved the members finds the request at its next start.
    web.site.competitions[NAME].changes = None
    assert [team_of(name) for name in people] == ["Bo", "Bo", "Cy"]
    assert merge("Ada", "Bo").status_code == 404


def test_publishing_waits_for_the_deadline_and_the_private_board(tmp_path: Any) -> None:
    web = WebSite(tmp_path, deadline="2030-01-01T00:00:00+00:00")
    admin = web.program(web.token(web.person("Org", organiser=True), "admin"))

    def publish() -> str:
        version = admin.get(f"{API}/admin/health").json()["seen"]
        answer = admin.post(f"{API}/admin/publish", json={"seen": version})
        return f"{answer.status_code} {answer.json().get('detail', '')}"

    assert publish().startswith("409 Files are received until 2030-01-01 00:00 UTC")
    web.offset = datetime(2030, 1, 2, tzinfo=UTC) - datetime.now(UTC)
    assert "finalize first" in publish()
    web.scorer.state(phase="finalized")
    assert publish() == "202 "
    web.close()


def test_addresses_of_one_ipv6_network_share_a_limit(tmp_path: Any) -> None:
    web = WebSite(tmp_path, reads_per_minute=3)

    def read(host: str) -> int:
        client = TestClient(web.app, base_url=URL, client=(host, 1))
        return client.get(f"{API}/board").status_code

    answers = [read(f"2001:db8:0:7:{number}::1") for number in range(8)]
    assert answers == [200] * 3 + [429] * 5
    assert {read(f"2001:db8:0:{number}::1") for number in range(8, 16)} == {200}
    web.close()


@pytest.mark.slow
def test_keys_and_twenty_equal_uploads(web: WebSite) -> None:
    client = web.program(web.token(web.person("Ada", "Ants")))
    key = {"Idempotency-Key": "k1"}
    requests = {client.post(f"{API}/submissions", content=b"id\n", headers=key).json()["request"]
            for _ in range(20)}  # fmt: skip
    assert len(requests) == 1
    assert len(list(web.site.uploads.folder.iterdir())) == 1
    other = client.post(f"{API}/submissions", content=b"di\n", headers=key)
    assert other.status_code == 422
    assert "idempotency key" in other.json()["detail"]
    assert len(list(web.site.uploads.folder.iterdir())) == 1


@pytest.mark.slow
def test_a_key_is_that_of_the_team_after_it_was_renamed_or_merged(web: WebSite) -> None:
    files = {"Ants": b"id,y\n1,1\n", "Bees": b"id,y\n1,0\n"}
    members = {team: web.program(web.token(web.person(team, team))) for team in files}

    def send(team: str, content: bytes) -> Any:
        key = {"Idempotency-Key": "k1"}
        return members[team].post(f"{API}/submissions", content=content, headers=key)

    first = {team: send(team, content).json()["request"] for team, content in files.items()}
    accounts = web.site.accounts
    (ants, _), (bees, _) = accounts.teams(NAME)
    accounts.rename_team(ants.team, "Wasps")
    web.scorer.publisher.publish(names={"Ants": "Wasps"})
    assert send("Ants", files["Ants"]).json()["request"] == first["Ants"]
    assert send("Ants", files["Bees"]).status_code == 422
    accounts.merge_teams(ants.team, bees.team)
    web.scorer.publisher.publish(names={"Ants": "Bees", "Wasps": "Bees"})
    for team, content in files.items():  # both used it
        assert send(team, content).json()["request"] == first[team]
    assert send("Ants", b"id,y\n").status_code == 422


def test_a_request_that_says_its_length_twice_is_refused(web: WebSite) -> None:
    """A proxy in front may take the other length, and the rest for the next request."""
    browser = web.browser()
    both = {"Content-Length": "4", "Transfer-Encoding": "chunked"}
    answer = browser.post(f"{API}/validate", content=b"0\r\n\r\n", headers=both)
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")
    assert "in two ways" in answer.json()["detail"]


@pytest.mark.slow
def test_places_for_uploads_lose_nothing_and_do_not_fill_the_disk(tmp_path: Any) -> None:
    web = WebSite(tmp_path, max_waiting_per_team=1)
    client, service = web.program(web.token(web.person("Ada", "Ants"))), "/api/v1/competitions."
    service += "CompetitionApiService/"

    def place(content: bytes = b"id,y\n") -> str:
        upload = {"competitionName": NAME, "fileName": "../mine.csv", "contentLength": 5}
        place_answer = client.post(f"{service}StartSubmissionUpload", json=upload).json()
        path = place_answer["createUrl"].removeprefix(URL)
        assert web.program().put(path, content=content).status_code == 200
        return str(place_answer["token"])

    def submit(token: str) -> Any:
        submission = {"competitionName": NAME, "blobFileTokens": token}
        return client.post(f"{service}CreateSubmission", json=submission)

    first, second = place(), place()
    submission, again = submit(first), submit(first)
    assert (submission.status_code, again.json()["ref"]) == (200, submission.json()["ref"])
    (request,) = web.site.intake.after(NAME, 0)
    assert request.payload["file"] == "mine.csv"
    assert web.site.uploads.path(request.payload["upload"]).exists()
    assert web.program().put(f"/api/v1/uploads/{first}", content=b"x").status_code == 404
    # One waits already. What is refused has no file, so it cannot be acknowledged later.
    assert submit(second).status_code == 429
    web.scorer.judge(web.site)
    assert submit(second).status_code == 404
    for _ in range(20):
        place()
    assert len(list(web.site.uploads.folder.iterdir())) <= 6
    web.close()


def test_limits(tmp_path: Any) -> None:
    web = WebSite(
        tmp_path, max_bytes=100, max_waiting_per_team=2, deadline="2030-01-01T00:00:00+00:00"
    )
    client = web.program(web.token(web.person("Ada", "Ants")))

    def post(content: bytes = b"id\n") -> Any:
        return client.post(f"{API}/submissions", content=content)

    assert post(b"x" * 101).status_code == 413
    assert client.post(f"{API}/submissions", content=iter([b"x" * 60] * 2)).status_code == 413
    assert post(b"").status_code == 422
    assert [post(b"%d" % i).status_code for i in range(3)] == [202, 202, 429]
    web.scorer.judge(web.site)
    assert client.get(f"{API}/submissions").json()["left_today"] == FACTS.per_day - 2
    web.offset = datetime(2030, 1, 1, tzinfo=UTC) - datetime.now(UTC) + timedelta(seconds=5)
    client = web.program(web.token(web.person("Bo", "Bees")))
    late = post()
    assert late.status_code == 409
    assert "2030-01-01 00:00 UTC" in late.json()["detail"]
    assert sorted(path.suffix for path in web.site.uploads.folder.iterdir()) == ["", ""]
    web.close()


@pytest.mark.slow
def test_rates(tmp_path: Any) -> None:
    web = WebSite(tmp_path, uploads_per_minute=2, reads_per_minute=30)
    client = web.program(web.token(web.person("Ada", "Ants")))
    answers = [client.post(f"{API}/submissions", content=b"%d" % i) for i in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert {client.get(f"{API}/board").status_code for _ in range(40)} == {200, 429}
    # Whoever reads much from an address does not keep others there from submitting.
    other = web.program(web.token(web.person("Ben", "Bees")))
    assert other.post(f"{API}/submissions", content=b"1").status_code == 202
    assert {other.post(f"{API}/submissions", content=b"1").status_code for _ in range(40)} == {
        202,
        429,
    }
    web.close()


@pytest.mark.slow
def test_openapi_describes_the_routes(web: WebSite) -> None:
    document = web.program().get("/api/v1/openapi.json").json()
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert described == {
        (endpoint.method, "/api/v1/{competition}" + endpoint.path) for endpoint in ENDPOINTS
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path.endswith("/events"):
                continue  # it never ends
            answer = web.program().request(method, path.format(competition=NAME, **PLACES))
            case = (method, path, answer.status_code)
            assert str(answer.status_code) in operation["responses"], case
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in operation["responses"][str(answer.status_code)]["content"], case
    names = [
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names)
    assert {"get_info", "get_board", "post_team_invites"} <= {*names}
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert used <= set(document["components"]["schemas"])
    status = document["components"]["schemas"]["RequestState"]["properties"]["status"]
    assert status["description"].split()[-3:] == ["trial_failed", "or", "done."]


def described(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an operation of the OpenAPI document, without what all of them have."""
    yield f"{method.upper()} {path.removeprefix('/api/v1/{competition}') or '/'}"
    (competition, *parameters), answers = operation.pop("parameters"), operation.pop("responses")
    assert competition["name"] == "competition"
    for parameter in parameters:
        yield f"  parameter {json.dumps(parameter)}"
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status, answer in answers.items():
        is_refusal = answer.get("content") == {"application/problem+json": problem}
        yield f"  {status} {'refused' if is_refusal else json.dumps(answer)}"
    yield from (f"  {name} {json.dumps(value)}" for name, value in operation.items())


def test_the_openapi_document_is_the_kept_one() -> None:
    openapi_document = copy.deepcopy(document("1.0"))
    lines = [
        line
        for path, operations in openapi_document.pop("paths").items()
        for method, operation in operations.items()
        for line in described(path, method, operation)
    ]
    # Other versions of pydantic describe the other schemas in other words.
    schemas = openapi_document["components"].pop("schemas")
    lines.append(json.dumps({**openapi_document, "Problem": schemas["Problem"]}, indent=1))
    check_kept("openapi.txt", "\n".join(lines) + "\n")


def test_secrets_are_not_in_logs(web: WebSite, caplog: pytest.LogCaptureFixture) -> None:
    token = web.token(web.person("Ada", "Ants"))
    link = web.site.accounts.organiser_link(URL).removeprefix(URL)
    with caplog.at_level(logging.INFO):
        web.browser().get(link)
        web.browser().get(link + "x")
        web.program(token).get(f"{API}/team")
        web.program().get(f"{API}/team?token={token}")
    logged = " ".join(
        str(vars(record)) for record in caplog.records if record.name.startswith("arena")
    )
    assert "/invite/{secret}" in logged
    assert token not in logged
    assert link.split("/")[-1] not in logged
    stored = web.site.settings.layout.intake.read_bytes()
    assert token.encode() not in stored


def test_health_and_metrics_are_for_this_machine(web: WebSite) -> None:
    client = web.program()
    assert client.get("/health").json()["competitions"][NAME]["phase"] == "open"
    assert "arena_requests_total" in client.get("/metrics").text
    for path in ("/health", "/metrics"):
        assert client.get(path, headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 404
    web.scorer.state(beat=0.0)
    assert client.get("/health").status_code == 503
    assert "not scored at the moment" in web.browser().get(f"/{NAME}/").text


def test_pages_are_not_stored_and_cannot_be_framed(web: WebSite) -> None:
    answer = web.browser().get(f"/{NAME}/")
    headers = {
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "strict-transport-security": "max-age=31536000",
        "content-type": "text/html; charset=utf-8",
        "content-length": str(len(answer.content)),
    }
    assert dict(answer.headers) == headers
    board = web.program().get(f"{API}/board")
    same = {"If-None-Match": board.headers["etag"]}
    assert web.program().get(f"{API}/board", headers=same).status_code == 304


def test_a_page_of_the_board_is_made_once(web: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[int] = []
    model = responses.BoardPage

    def page(**values: Any) -> responses.BoardPage:
        pages.append(values["after"])
        return model(**values)

    monkeypatch.setattr(responses, "BoardPage", page)
    monkeypatch.setattr(api, "share", lambda _call: None)
    for after in (0, 0, 1, 1, 0):
        assert web.program().get(f"{API}/board?after={after}").json()["after"] == after
    assert pages == [0, 1]
