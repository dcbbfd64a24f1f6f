"""What the server refuses, and the sentence with which it does so; what it then did not do."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from arena.server.web import actions
from web_site import NAME, RULES, URL, WebSite

API = f"/api/v1/{NAME}"


NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def phase(name: str, start: datetime | None, end: datetime | None, **fields: Any) -> dict[str, Any]:
    """Return the published fields of a phase that refusals depend on."""
    dates = {"start": start and start.isoformat(), "end": end and end.isoformat()}
    return {"phase": name, **dates, **fields}


OPEN = (
    phase("a", NOW, None),
    phase("b", None, NOW),
    phase("c", NOW + MINUTE, None),
    phase("d", None, NOW - MINUTE),
)
"""Two phases that are open at one moment only, one that has not begun, and one that has ended."""
SUBMIT: tuple[str, str, dict[str, Any]] = ("POST", "/submissions", {"content": b"id,y\n"})
RUNS = {"sandbox": "bwrap", "trials_per_day": 1, "packed_bytes": 100, "runs": {}}
STATES: list[tuple[dict[str, Any], tuple[str, str, dict[str, Any]], int, str]] = [
    (
        {"paused": {"time": "", "reason": "New rows."}},
        SUBMIT,
        409,
        "The competition is paused: New rows.",
    ),
    (
        {"start": (NOW + MINUTE).isoformat()},
        SUBMIT,
        409,
        "The competition starts at 2026-05-06 12:01 UTC.",
    ),
    ({"start": NOW.isoformat(), "deadline": NOW.isoformat()}, SUBMIT, 202, ""),
    (
        {"deadline": (NOW - MINUTE).isoformat()},
        SUBMIT,
        409,
        "The competition ended at 2026-05-06 11:59 UTC.",
    ),
    ({"deadline": (NOW - MINUTE).isoformat(), "late_until": NOW.isoformat()}, SUBMIT, 202, ""),
    (
        {"phases": OPEN, "current_phase": "a"},
        SUBMIT,
        422,
        "Several phases are open. Name one of them: a, b.",
    ),
    ({"phases": OPEN[1:], "current_phase": "b"}, SUBMIT, 202, ""),
    (
        {"phases": tuple({**section, "series": "s"} for section in OPEN), "current_phase": "a"},
        SUBMIT,
        202,
        "",
    ),
    (
        {"phases": OPEN, "current_phase": "a"},
        ("POST", "/submissions?phase=x", {"content": b"id,y\n"}),
        422,
        "There is no such phase. Choose one of these: a, b, c, d.",
    ),
    (
        {},
        ("POST", "/submissions?phase=x", {"content": b"id,y\n"}),
        422,
        "There is no such phase. This competition has no phases.",
    ),
    (
        {},
        ("GET", "/board?bracket=x", {}),
        404,
        "There is no such bracket. This competition has no brackets.",
    ),
    (
        {"brackets": ("students", "firms")},
        ("GET", "/board?bracket=x", {}),
        404,
        "There is no such bracket. Choose one of these: students, firms.",
    ),
    (
        {},
        ("GET", "/board.csv?board=x", {}),
        404,
        "There is no such board. This competition has no combined boards.",
    ),
    (
        {"programs": RUNS},
        ("POST", "/validate", {"content": b"x"}),
        409,
        "This competition takes programs: their trial checks them.",
    ),
    (
        {"programs": RUNS, "phases": OPEN[2:], "current_phase": "c"},
        ("POST", "/submissions?file=a.py", {"content": b"x"}),
        409,
        "This phase is not open.",
    ),
]
"""Published facts, a request at noon, and the status and detail of the answer."""


def requests_of(web: WebSite) -> list[str]:
    return [request.kind for request in web.site.intake.after(NAME, 0)]


MEMBER: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/submissions?before=x", {}, 422, "before is 'x', but must be a whole number"),
    ("GET", "/board?limit=501", {}, 422, "must be a whole number up to 500"),
    ("POST", "/submissions", {"content": b"id,y\n", "headers": {"Idempotency-Key": "k" * 201}},
     422, "must have 1 to 200 printable characters"),
    ("POST", "/submissions", {"content": b""}, 422, "The file is empty"),
    ("POST", "/submissions", {"data": {"description": "x"}, "files": {"other": ("a", b"x")}},
     422, "No file was sent"),
    ("PUT", "/selection", {"content": b"{}"}, 415, "Send the body as JSON"),
    ("PUT", "/selection", {"json": {"submissions": "all"}}, 422, "submissions: Input should be"),
    ("PUT", "/selection", {"json": {"submissions": [1, 2, 3]}}, 422, "Choose at most 2"),
    ("PUT", "/selection", {"json": {"submissions": [9]}}, 422, "9 is not an accepted submission"),
    ("DELETE", "/tokens", {"json": {"token": "x"}}, 404, "You have no such token"),
    ("POST", "/team/invites", {}, 403, "A token cannot do this"),
    ("GET", "/private", {}, 404, "The private board is not published yet"),
    ("GET", "/requests/0", {}, 404, "Your team has no such request."),
    ("DELETE", "/team/requests", {}, 404, "There is no such request any more."),
    ("GET", "/nothing", {}, 404, "There is no"),
    ("POST", "/join", {"json": {"team": "Bees"}}, 422,
     "You are in the team Ants already. To join another one, leave it or ask for a merge"),
]  # fmt: skip

ORGANISER: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("POST", "/admin/teams", {"content": b"\xff\xfe"}, 422, "The CSV is not UTF-8"),
    ("POST", "/admin/teams", {"content": b"team,name,contact\n"}, 422, "The list is empty"),
    ("POST", "/admin/teams", {"content": b"a@b.org\nAnts;Ada"}, 422, "Line 1: The name of"),
    ("POST", "/admin/teams", {"content": b"x" * 2**20}, 422, "Line 1: "),
    ("POST", "/admin/teams", {"content": b"x" * (2**20 + 1)}, 413, "larger than 1 MB"),
    ("POST", "/admin/teams", {"content": iter([b"x" * 2**20, b"x"])}, 413, "larger than 1 MB"),
    ("POST", "/admin/block", {"json": {"account": "0"}}, 404, "There is no such account"),
    ("POST", "/admin/merge", {"json": {"team": "Ants", "into": "ANTS"}}, 422,
     "cannot be merged into itself"),
    ("POST", "/admin/merge", {"json": {"team": "Ants", "into": "Bees"}}, 404, "no team Bees"),
    ("POST", "/admin/merge", {"json": {"team": "Bees", "into": "Ants"}}, 404, "no team Bees"),
    ("POST", "/admin/disqualify", {"json": {"reason": "x"}}, 422, "and not both"),
    ("POST", "/admin/undo", {"json": {"reason": "x", "team": "Ants", "submission": 1}}, 422,
     "and not both"),
    ("POST", "/admin/publish", {"json": {"seen": "x"}}, 409, "finalize first"),
    ("POST", "/admin/finalize", {"json": {"seen": "x"}}, 409, "changed since this page"),
    ("GET", "/admin/export/labels", {}, 404, "There are: accounts, acceptances, answers"),
]  # fmt: skip

FORMS: list[tuple[str, dict[str, str], int, str]] = [
    ("/admin/decide", {"kind": "delete", "reason": "x", "what": "1"}, 422, "Fill in all fields"),
    ("/admin/decide", {"kind": "undo", "reason": " ", "what": "1"}, 422, "Fill in all fields"),
    ("/admin/rescore", {"kind": "apply"}, 422, "Enter the code of the preview"),
    ("/admin/step", {"kind": "delete", "sure": "yes"}, 422, "Fill in all fields"),
    ("/admin/step", {"kind": "finalize"}, 422, "Confirm the step by its check box"),
    ("/admin/announce", {"text": " "}, 422, "An announcement has 1 to"),
    ("/admin/teams/state", {"account": "1", "state": "gone"}, 422, "Fill in all fields"),
    ("/admin/teams/merge", {"team": "Ants"}, 422, "Fill in all fields"),
    ("/admin/teams/link", {"account": "0"}, 404, "There is no such account"),
    ("/admin/teams/organiser", {"role": "host", "name": "X"}, 422, "Fill in all fields"),
    ("/admin/pause", {"reason": ""}, 422, "Fill in all fields"),
    ("/admin/pause", {"reason": "x" * 501}, 422, "Fill in all fields"),
    ("/admin/exempt", {"team": "Ants"}, 422, "Fill in all fields"),
    ("/admin/exempt", {"reason": "x"}, 422, "Fill in all fields"),
    ("/admin/retract", {"reason": "x"}, 422, "Confirm the step by its check box"),
    ("/admin/retract", {"reason": "x", "sure": "yes"}, 409, "so there is nothing to retract."),
    ("/admin/winners", {"submission": "1", "state": "gone"}, 422, "Fill in all fields"),
    ("/admin/winners", {"submission": "x", "state": "open"}, 422, "Fill in all fields"),
    ("/admin/winners", {"submission": "1", "state": "failed", "note": " "}, 422,
     "Say in the note why the verification failed."),
    ("/admin/messages", {"text": " ", "team": "Ants"}, 422, "A message has 1 to"),
    ("/admin/messages", {"text": "x"}, 422, "Name the message that is answered, or a team."),
    ("/admin/messages", {"text": "x", "kind": "publish", "answers": "1", "published": " "}, 422,
     "Write the question as everybody may read it."),
    ("/admin/messages", {"text": "x", "answers": "7"}, 404, "There is no such message."),
    ("/admin/messages", {"text": "x", "team": "Owls"}, 404, "There is no team Owls."),
]  # fmt: skip

DECISIONS: list[tuple[str, dict[str, str], str, dict[str, Any]]] = [
    ("/admin/pause", {"reason": " " + "x" * 500}, "pause", {"reason": "x" * 500}),
    ("/admin/pause", {"kind": "resume"}, "resume", {}),
    ("/admin/exempt", {"team": "Ants", "reason": "ill"}, "exempt",
     {"team": "Ants", "reason": "ill", "extra": 0}),
    ("/admin/exempt", {"team": "Ants", "reason": "ill", "extra": "2", "until": "9" * 41},
     "exempt", {"team": "Ants", "reason": "ill", "extra": 2, "until": "9" * 40}),
    ("/admin/winners", {"submission": "3", "state": "failed", "note": "x" * 501},
     "verification", {"submission": 3, "state": "failed", "note": "x" * 500}),
    ("/admin/winners", {"submission": "3", "state": "open"},
     "verification", {"submission": 3, "state": "open", "note": ""}),
]  # fmt: skip
"""The form of an organiser, its fields, and the request that it makes."""

PER_MINUTE: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("DELETE", "/team/members", {"json": {"account": "0"}}, "leave", 5),
    ("PATCH", "/team", {"json": {"name": "Ants"}}, "rename", 5),
    ("POST", "/team/requests", {"json": {"team": "Owls"}}, "ask", 5),
    ("POST", "/messages", {"json": {"text": "Why?"}}, "message", 5),
    ("PUT", "/team/requests", {"json": {"account": "0", "accept": False}}, "answer", 10),
    ("PATCH", "/account", {"json": {"name": "Ada", "contact": ""}}, "account", 10),
    ("POST", "/join", {"json": {"team": "Ants"}}, "join", 10),
    ("POST", "/team/invites", {}, "invite", 10),
    ("POST", "/tokens", {"json": {"name": "x", "scope": "admin"}}, "token", 10),
    ("POST", "/submissions", {"content": b""}, "upload", 7),
    ("POST", "/validate", {"content": b""}, "upload", 14),
]
"""Requests, what they are counted as, and how often a person may send them in a minute."""


def test_what_is_refused_says_why_and_asks_for_nothing(web: WebSite) -> None:
    ada = web.program(web.token(web.person("Ada", "Ants")))
    organiser = web.person("Org", organiser=True)
    for client, table in (
        (ada, MEMBER),
        (web.program(web.token(organiser, "admin")), ORGANISER),
    ):
        for method, path, content, status, said in table:
            answer = client.request(method, API + path, **content)
            case = (method, path, answer.text)
            assert answer.status_code == status, case
            assert said in answer.json()["detail"], case
    page = web.browser(organiser)
    for path, fields, status, said in FORMS:
        answer = page.post(f"/{NAME}{path}", data=fields)
        assert (answer.status_code, said in answer.text) == (status, True), (path, answer.text)
    for kind, status, said in (
        ("text/plain", 415, "Send a form: multipart/form-data or application/x-www-form-urlen"),
        ("text/plain; charset=latin1", 415, "Send the form in UTF-8, as browsers do: remove the"),
        ("multipart/form-data", 400, "The form cannot be read: "),
        ("application/x-www-form-urlencoded", 400, "The form cannot be read: it is not UTF-8."),
    ):
        headers = {"content-type": kind}
        answer = page.post(f"/{NAME}/admin/pause", content=b"reason=\xff", headers=headers)
        assert (answer.status_code, said in answer.text) == (status, True), (kind, answer.text)
    assert requests_of(web) == []
    web.scorer.publish_result([])
    retracted = [{"retracted": {"reason": reason}} for reason in ("Old.", "New.")]
    web.scorer.publish(results=retracted, private=None)
    assert ada.get(f"{API}/private").json()["detail"] == "The result was retracted: New."


def test_a_judge_previews_a_rescore_and_does_not_apply_it(web: WebSite) -> None:
    judge = web.person("Jo")
    web.site.accounts.enter(NAME, judge, organiser="judge")
    program = web.program(web.token(judge, "admin"))
    assert program.post(f"{API}/admin/rescore", json={}).status_code == 202
    applied = program.post(f"{API}/admin/rescore", json={"preview": "abc"})
    assert (applied.status_code, applied.json()["detail"]) == (
        403, "With your role you can preview a rescore, and not apply it.",
    )  # fmt: skip


def test_a_request_and_an_announcement_are_ended_once(web: WebSite) -> None:
    web.person("Ada", "Ants")
    ants = web.site.accounts.team_named(NAME, "Ants")
    assert ants is not None
    eve = web.person("Eve")
    web.site.accounts.ask_team(ants.team, eve)
    client = web.program(web.token(eve))
    ends = [client.delete(f"{API}/team/requests") for _ in range(2)]
    assert [answer.status_code for answer in ends] == [200, 404]
    posted = web.site.announcements.post(NAME, "News.", "organiser")
    withdrawn = [web.site.announcements.withdraw(NAME, posted.announcement) for _ in range(2)]
    assert withdrawn == [True, False]


def test_a_team_is_not_merged_while_its_programs_wait(
    web: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, team in (("Ada", "Ants"), ("Bea", "Bees")):
        web.person(name, team)
    monkeypatch.setattr(actions, "has_unfinished_programs", lambda call, team: True)
    host = web.program(web.token(web.person("Org", organiser=True), "admin"))
    answer = host.post(f"{API}/admin/merge", json={"team": "Ants", "into": "Bees"})
    assert (answer.status_code, answer.json()["detail"]) == (
        409, "Programs of the team Ants wait or run. Merge it after that.",
    )  # fmt: skip
    assert requests_of(web) == []


def test_a_failure_of_the_server_is_logged_and_quotes_nothing(
    web: WebSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    token = web.token(web.person("Ada", "Ants"))
    monkeypatch.setattr(actions, "sent_request", fail)
    client = TestClient(web.app, base_url=URL, raise_server_exceptions=False)
    answer = client.get(f"{API}/requests/1", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 500
    assert answer.json()["detail"] == (
        "The server failed. Nothing was lost: send the request again, with the same "
        "Idempotency-Key, and tell the organiser if it fails again."
    )
    assert "secret" not in answer.text
    assert "A request failed." in caplog.messages


def test_a_form_of_an_organiser_makes_its_request(web: WebSite) -> None:
    page = web.browser(web.person("Org", organiser=True))
    for path, fields, kind, payload in DECISIONS:
        assert page.post(f"/{NAME}{path}", data=fields).status_code == 303
        *_, request = web.site.intake.after(NAME, 0)
        assert (request.kind, request.payload) == (kind, payload)


def test_a_person_can_send_so_many_requests_a_minute(tmp_path: Path) -> None:
    web = WebSite(tmp_path, uploads_per_minute=7)
    account = web.person("Ada", "Ants")
    page, counted = web.browser(account), list[Any]()
    buckets: Any = SimpleNamespace(take=lambda *counts: counted.append(counts) or 0)
    web.site.buckets = buckets
    for method, path, content, purpose, most in PER_MINUTE:
        counted.clear()
        page.request(method, API + path, **content)
        assert ((purpose, account), most) in counted, path
    for path, sender, purpose, most in (
        ("/device", account, "device", 5), ("/submit", account, "upload", 7),
        ("/join", "testclient", "register", 10),
    ):  # fmt: skip
        counted.clear()
        (web.browser() if path == "/join" else page).post(f"/{NAME}{path}", data={"name": "x"})
        assert ((purpose, sender), most) in counted, path
    buckets.take = lambda *counts: 60
    assert page.post(f"{API}/team/invites").status_code == 429
    assert page.post(f"/{NAME}/device").status_code == 429
    web.close()


def test_who_takes_no_part_is_in_no_team(web: WebSite) -> None:
    web.person("Ada", "Ants")
    eve = web.site.accounts.register("Eve").account
    refused = web.program(web.token(eve)).post(f"{API}/team/requests", json={"team": "Ants"})
    assert refused.json()["detail"] == "Take part in the competition first."
    assert web.site.accounts.team_requests(NAME) == []


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"phase": "finalized"}, "The competition is over"),
        ({"phase": "published"}, "The competition is over"),
    ],
    ids=str,
)
def test_after_the_end_no_file_is_taken(web: WebSite, state: dict[str, str], said: str) -> None:
    ada = web.program(web.token(web.person("Ada", "Ants")))
    web.scorer.state(**state)
    for method, path, content in (
        ("POST", "/submissions", {"content": b"id,y\n"}),
        ("POST", "/validate", {"content": b"id,y\n"}),
        ("PUT", "/selection", {"json": {"submissions": []}}),
        ("PATCH", "/team", {"json": {"name": "Bees"}}),
    ):
        answer = ada.request(method, API + path, **content)
        assert (answer.status_code, said in answer.text) == (409, True), (path, answer.text)
    assert requests_of(web) == []
    assert list(web.site.uploads.folder.iterdir()) == []


def test_what_a_competition_allows_depends_on_its_state(tmp_path: Path) -> None:
    web = WebSite(tmp_path, max_waiting_per_team=100)
    ada = web.program(web.token(web.person("Ada", "Ants")))
    web.site.clock = lambda: NOW
    for changes, (method, path, content), status, detail in STATES:
        web.scorer.publish(facts=replace(web.facts, **changes))
        answer = ada.request(method, API + path, **content)
        case = (changes, path, answer.text)
        assert answer.status_code == status, case
        assert answer.json().get("detail", "") == detail, case
    assert requests_of(web) == ["submit"] * 4
    web.close()


def test_who_may_not_submit_yet(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    ada = web.program(web.token(account))

    def submitted() -> TestClient:
        return ada.post(f"{API}/submissions", content=b"id,y\n")

    web.site.accounts.set_state(account, "waiting", NAME)
    assert "has not approved your account" in submitted().text
    web.site.accounts.set_state(account, "active", NAME)
    web.scorer.publish(rules=RULES)
    assert "Accept the rules first" in submitted().text
    _text, version = web.site.competitions[NAME].rules()
    web.site.accounts.accept_rules(NAME, account, version)
    assert submitted().status_code == 202
    assert requests_of(web) == ["submit"]


def test_teams_that_do_not_choose_are_told_so(web: WebSite) -> None:
    ada = web.program(web.token(web.person("Ada", "Ants")))
    web.scorer.publish(facts=replace(web.facts, final_rule="best_public"))
    answer = ada.put(f"{API}/selection", json={"submissions": []})
    assert answer.status_code == 409
    assert "the final submission is not chosen by the team" in answer.text


def test_an_account_joins_by_what_the_competition_asks_for(tmp_path: Path) -> None:
    web = WebSite(tmp_path, join="code", approve=True)
    web.scorer.publish(rules=RULES)
    accounts = web.site.accounts
    _text, version = web.site.competitions[NAME].rules()
    ants = accounts.create_team(NAME, "Ants", accounts.register("Ada").account)
    code = accounts.invite("register", competition=NAME, uses=None)
    link = accounts.invite("team", competition=NAME, team=ants.team)
    gone = accounts.invite("team", competition=NAME, team="no-such-team")
    other = accounts.invite("register", competition="other", uses=None)

    def joined(account: str, **sent: str) -> Any:
        client = web.program(web.token(account))
        return client.post(f"{API}/join", json={"rules": version, **sent})

    bo, cy = (accounts.register(name).account for name in ("Bo", "Cy"))
    for fields, status, reason in (
        ({"team": "Bees", "rules": "old"}, 422, "Read the rules and accept them"),
        ({"team": "Bees"}, 403, "you need a code or an invitation"),
        ({"team": "Bees", "code": "mistyped"}, 403, "This link or code is not valid"),
        ({"team": "Bees", "code": other}, 403, "This link or code is not valid"),
        ({"team": "ants", "code": code}, 409, "Another team is called"),
        ({"code": gone}, 409, "Ask for a new link"),
    ):
        refused = joined(bo, **fields)
        assert (refused.status_code, reason in refused.text) == (status, True), (
            fields,
            refused.text,
        )
        assert accounts.team_of(NAME, bo) is None
    joining = joined(bo, team="Bees", code=code)
    assert (joining.status_code, joining.json()["name"]) == (201, "Bees")
    assert accounts.account(bo, NAME).state == "waiting"
    assert accounts.accepted(NAME, bo, version)
    assert joined(cy, code=link).json()["name"] == "Ants"
    assert accounts.account(cy, NAME).state == "active"
    assert joined(accounts.register("Di").account, code=link).status_code == 403  # it was used
    web.close()


def test_what_an_organiser_does_is_done(web: WebSite) -> None:
    account = web.person("Org", organiser=True)
    page, program = web.browser(account), web.program(web.token(account, "admin"))
    ada = web.person("Ada", "Ants")
    web.person("Bo", "Bees")
    for state, path in (("blocked", "block"), ("active", "approve")):
        done = program.post(f"{API}/admin/{path}", json={"account": ada})
        assert done.json() == {"message": f"The account is {state}."}
        assert web.site.accounts.account(ada, NAME).state == state
    unsure = {"account": ada, "state": "blocked"}
    assert page.post(f"/{NAME}/admin/teams/state", data=unsure).status_code == 422
    for state in ("blocked", "active"):
        form = {"account": ada, "state": state, "sure": "yes"}
        assert page.post(f"/{NAME}/admin/teams/state", data=form).status_code == 303
        assert web.site.accounts.account(ada, NAME).state == state
    own = program.post(f"{API}/admin/block", json={"account": account})
    assert (own.status_code, "cannot be changed here" in own.text) == (409, True)
    for what, payload in (("7", {"submission": 7}), ("Ants", {"team": "Ants"})):
        form = {"kind": "disqualify", "what": what, "reason": "two accounts"}
        assert page.post(f"/{NAME}/admin/decide", data=form).status_code == 303
        *_, request = web.site.intake.after(NAME, 0)
        assert (request.kind, request.payload) == (
            "disqualify", {**payload, "reason": "two accounts"},
        )  # fmt: skip
    for fields, payload in (
        ({"preview": "ignored"}, {}),
        ({"kind": "apply", "preview": " abc "}, {"preview": "abc"}),
    ):
        assert page.post(f"/{NAME}/admin/rescore", data=fields).status_code == 303
        *_, request = web.site.intake.after(NAME, 0)
        assert (request.kind, request.payload) == ("rescore", payload)
    both = {"team": "Ants", "into": "Bees"}
    assert page.post(f"/{NAME}/admin/teams/merge", data=both).status_code == 422
    merged = page.post(f"/{NAME}/admin/teams/merge", data={**both, "sure": "yes"})
    assert merged.status_code == 303
    again = program.post(f"{API}/admin/merge", json={"team": "Bees", "into": "Ants"})
    assert (again.status_code, "being merged already" in again.text) == (409, True)
    link = page.post(f"/{NAME}/admin/teams/link", data={"account": ada})
    assert (link.status_code, "/invite/" in link.text) == (200, True)
    host = page.post(f"/{NAME}/admin/teams/organiser", data={"name": "Second"})
    assert (host.status_code, "/invite/" in host.text) == (200, True)


def test_a_board_that_did_not_change_is_not_sent_again(web: WebSite) -> None:
    program = web.program(web.token(web.person("Ada", "Ants")))
    program.post(f"{API}/submissions", content=b"id,y\n")
    web.scorer.judge(web.site)
    board = program.get(f"{API}/board")
    assert [row["team"] for row in board.json()["rows"]] == ["Ants"]
    same = program.get(f"{API}/board", headers={"If-None-Match": board.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    web.scorer.publish(board=[])
    changed = program.get(f"{API}/board", headers={"If-None-Match": board.headers["etag"]})
    assert (changed.status_code, changed.json()["rows"]) == (200, [])


def test_at_most_fifty_tokens(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    client = web.browser(account)
    for _ in range(50 - len(web.site.accounts.tokens(account))):
        web.token(account)
    refused = client.post(f"{API}/tokens", json={"name": "one more"})
    assert (refused.status_code, "Revoke one that" in refused.text) == (409, True)
    first, *_rest = web.site.accounts.tokens(account)
    revoked = client.request("DELETE", f"{API}/tokens", json={"token": first.token})
    assert revoked.json() == {"message": "The token was revoked."}
    answer = client.post(f"{API}/tokens", json={"name": "one more"})
    assert answer.status_code == 201


def test_a_token_ends_after_one_day_to_ten_years(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    statuses = {"0": 422, "1": 200, "3650": 200, "3651": 422, "x": 422, "": 200}
    for days, status in statuses.items():
        answer = client.post(f"/{NAME}/tokens", data={"name": "mine", "days": days})
        assert answer.status_code == status, days


def test_a_page_that_is_sent_twice_is_known_by_a_key_of_at_most_a_hundred_characters(
    web: WebSite,
) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    for key in ("k" * 99, "k" * 100, "k" * 101):
        client.post(f"/{NAME}/submit", data={"key": key}, files={"file": ("a.csv", b"id,y\n1,0\n")})
    assert len(web.site.intake.of_kind(NAME, "submit")) == 2


def test_answers_for_the_organisers_are_kept_apart_from_those_of_the_board(web: WebSite) -> None:
    question = {"of": "file", "text": "?", "choices": [], "required": False, "brackets": False}
    audiences = {"method": "board", "school": "organisers"}
    questions = {key: {**question, "shown": where} for key, where in audiences.items()}
    web.scorer.publish(replace(web.facts, questions=questions))
    client = web.program(web.token(web.person("Ada", "Ants")))
    query = "file=a.csv&answer.method=trees&answer.school=ours"
    assert client.post(f"{API}/submissions?{query}", content=b"id,y\n").status_code == 202
    (request,) = web.site.intake.of_kind(NAME, "submit")
    stored_answers = {kind: request.payload[kind] for kind in ("answers", "private")}
    assert stored_answers == {"answers": {"method": "trees"}, "private": {"school": "ours"}}


def test_the_answers_of_files_are_exported_by_question(web: WebSite) -> None:
    web.person("Ada", "Ants")
    payload = {"answers": {"a": "x"}, "private": {"b": "=y", "c": "z"}}
    request, _ = web.site.intake.append(
        competition=NAME, team="Ants", member="7", kind="submit", payload=payload, received=NOW
    )
    web.site.intake.append(competition=NAME, team="Ants", member="7", kind="submit", payload={})
    organiser = web.program(web.token(web.person("Org", organiser=True), "admin"))
    text = organiser.get(f"{API}/admin/export/answers").text
    start = f"{request.request},Ants,2026-05-06T12:00:00+00:00"
    assert text.splitlines() == [
        "request,team,received,question,answer,public",
        f"{start},a,x,True", f"{start},b,'=y,False", f"{start},c,z,False",
    ]  # fmt: skip


def test_a_file_that_is_replaced_is_asked_for_again(web: WebSite) -> None:
    digest = hashlib.sha256(b"id\n").hexdigest()
    files = [{"name": "a/train.csv", "bytes": 3, "sha256": digest}]
    web.scorer.publish(folder={"pages": [], "images": [], "files": files})
    client = web.program(web.token(web.person("Ada", "Ants")))
    missing = client.get(f"{API}/files/a/train.csv")
    assert (missing.status_code, missing.headers["retry-after"]) == (503, "10")
    assert missing.json()["detail"] == "This file is being replaced. Try again in a minute."
    copies = web.site.settings.layout.shared(NAME)
    copies.mkdir()
    (copies / digest).write_bytes(b"id\n")
    answer = client.get(f"{API}/files/a/train.csv")
    assert (answer.content, answer.headers["etag"]) == (b"id\n", f'"{digest}"')
    same = client.get(f"{API}/files/a/train.csv", headers={"If-None-Match": f'"{digest}"'})
    assert (same.status_code, same.content) == (304, b"")
    assert client.get(f"{API}/files/b.csv").json()["detail"] == "There is no such file."


def test_an_organiser_of_one_competition_deletes_no_account_of_another(tmp_path: Path) -> None:
    web = WebSite(tmp_path, also={"other": {}})
    accounts = web.site.accounts
    ada, bo = web.person("Ada", "Ants"), web.person("Bo", "Ants")
    accounts.enter("other", bo)
    host = accounts.register("Host").account
    accounts.enter(NAME, host, organiser="organiser")
    organiser = web.person("Org", organiser=True)
    of_one, of_all = web.browser(host), web.browser(organiser)

    def deleted(client: Any, account: str) -> tuple[int, str]:
        answer = client.request("DELETE", f"{API}/admin/accounts", json={"account": account})
        return answer.status_code, answer.json().get("detail") or answer.json()["message"]

    assert deleted(of_one, bo) == (
        403, "This person also takes part in another competition: only an organiser of the whole "
        "server can delete the account.",
    )  # fmt: skip
    assert deleted(of_one, "0") == (404, "There is no such account.")
    assert deleted(of_one, ada) == (200, "The account was deleted.")
    assert deleted(of_one, ada) == (404, "There is no such account.")
    assert deleted(of_all, bo) == (200, "The account was deleted.")
    for client, account, status, detail in (
        (of_one, organiser, 404, "There is no such account."),
        (of_all, host, 409, "An organiser's account cannot be changed here."),
    ):
        refused = client.post(f"{API}/admin/block", json={"account": account})
        assert (refused.status_code, refused.json()["detail"]) == (status, detail)
    web.close()


def test_a_member_leaves_or_is_removed_by_the_captain(web: WebSite) -> None:
    ada, bo, cy = (web.person(name, "Ants") for name in ("Ada", "Bo", "Cy"))
    members = f"{API}/team/members"

    def removed(sender: str, **sent: str) -> tuple[int, str]:
        answer = web.browser(sender).request("DELETE", members, json=sent)
        return answer.status_code, answer.json().get("detail", "")

    assert removed(bo, account=cy) == (403, "Only the captain of a team can remove others.")
    assert removed(bo) == (200, "")
    assert removed(ada, account=cy) == (200, "")
    team = web.site.accounts.team_named(NAME, "Ants")
    assert team is not None
    assert [member.account for member in web.site.accounts.members(team.team)] == [ada]
    web.scorer.state(phase="closed")
    assert removed(ada) == (409, "The competition is over, so teams can no longer change.")
