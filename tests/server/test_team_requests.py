"""Asking a team to join it or to merge with it: who may, and what its captain answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.server.records.published import TeamFacts
from arena.server.web.membership import allowed_until_now
from web_site import NAME, WebSite

API = f"/api/v1/{NAME}"
YES = {"kind": "accept", "sure": "yes"}


def post(client: Any, path: str, **fields: str) -> int:
    return int(client.post(f"/{NAME}{path}", data=fields).status_code)


def teams(web: WebSite) -> dict[str, list[str]]:
    teams_and_members = web.site.accounts.teams(NAME)
    return {team.name: [member.name for member in members] for team, members in teams_and_members}


@pytest.fixture
def people(web: WebSite) -> dict[str, str]:
    """Return accounts: ada (captain) and bo are the Ants, cy the Bees, and eve has no team."""
    people_by_name = {name: web.person(name, team) for name, team in
             (("ada", "Ants"), ("bo", "Ants"), ("cy", "Bees"), ("eve", None))}  # fmt: skip
    web.site.accounts.enter(NAME, people_by_name["eve"])
    return people_by_name


def test_a_newcomer_asks_and_the_captain_answers(web: WebSite, people: dict[str, str]) -> None:
    guest, ada, bo = web.browser(), web.browser(people["ada"]), web.browser(people["bo"])
    form = {"name": "Dan <b>", "team": "ants", "ask": "yes"}
    assert guest.post(f"/{NAME}/join", data={**form, "team": "Wasps"}).status_code == 404
    assert "declines your request" in guest.post(f"/{NAME}/join", data=form).text
    assert "You asked the team Ants" in guest.get(f"/{NAME}/team").text
    dan = web.site.accounts.team_requests(NAME)[0].account
    for browser, may in ((ada, True), (bo, False)):
        page = browser.get(f"/{NAME}/team").text
        assert ("Dan &lt;b&gt;" in page, f'value="{dan}"' in page) == (True, may)
    assert post(bo, "/team/answer", account=dan, **YES) == 403
    assert post(ada, "/team/answer", account=dan, kind="accept") == 422  # not confirmed
    assert post(ada, "/team/answer", account=dan, kind="decline") == 303
    assert post(ada, "/team/answer", account=dan, **YES) == 404
    assert post(guest, "/team/ask", **{"asked-team": "Bees"}) == 303
    assert post(guest, "/team/ask", **{"asked-team": "Ants"}) == 303  # instead of the Bees
    assert post(ada, "/team/answer", account=dan, **YES) == 303
    assert teams(web) == {"Ants": ["ada", "bo", "Dan <b>"], "Bees": ["cy"]}
    assert web.site.accounts.team_requests(NAME) == []


def test_teams_are_merged_by_their_captains(web: WebSite, people: dict[str, str]) -> None:
    programs = {name: web.program(web.token(account)) for name, account in people.items()}
    response = programs["cy"].post(f"{API}/team/requests", json={"team": "Ants"})
    assert (response.status_code, response.json()["sent"]["own_team"]) == (201, "Bees")
    assert [
        team_request["name"]
        for team_request in programs["bo"].get(f"{API}/team/requests").json()["received"]
    ]
    answer = {"account": people["cy"], "accept": True}
    # A stolen token cannot accept a request to join the team.
    assert programs["ada"].put(f"{API}/team/requests", json=answer).status_code == 403
    ada = web.browser(people["ada"])
    assert ada.put(f"{API}/team/requests", json=answer).json() == {"sent": None, "received": []}
    assert programs["cy"].post(f"{API}/submissions", content=b"id,y\n").status_code == 409
    organiser = web.browser(web.person("Org", organiser=True))
    assert "with another one is being recorded" in ada.get(f"/{NAME}/team").text
    assert (
        "The merge of your team with another one: waiting" in ada.get(f"/{NAME}/submissions").text
    )
    web.scorer.judge(web.site)
    (merge,) = organiser.get(f"{API}/admin/merges").json()["rows"]
    merge_values = [merge[key] for key in ("team", "into", "by", "by_organiser", "status")]
    assert merge_values == ["Bees", "Ants", "ada", False, "done"]
    assert 'id="merges"' in organiser.get(f"/{NAME}/admin/teams").text
    assert teams(web) == {"Ants": ["ada", "bo", "cy"]}


def _block(web: WebSite, account: str) -> None:
    web.site.accounts.set_state(account, "blocked", NAME)


def _facts(web: WebSite, **facts: Any) -> None:
    web.scorer.publish(replace(web.facts, **facts))


def _used(web: WebSite, **used: int) -> None:
    facts = [TeamFacts(name, number) for name, number in used.items()]
    web.scorer.publisher.publish(teams=facts)


def _sent_in_another_phase(web: WebSite, _people: dict[str, str]) -> None:
    limits = {"start": None, "end": None, "per_day": 5, "per_week": None, "total": None}
    same = {"metric": web.facts.metric, "mechanism": web.facts.mechanism}
    phases = tuple({"phase": name, **limits, **same} for name in ("dev", "test"))
    _facts(web, phases=phases, current_phase="dev")
    facts = [TeamFacts(name, 1, used_in_phases={"dev": 1, "test": 3}) for name in ("Ants", "Bees")]
    web.scorer.publisher.publish(teams=facts)


YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).isoformat()
REFUSALS: dict[str, tuple[str, str, Callable[[WebSite, dict[str, str]], Any], int, str]] = {
    "no captain": ("bo", "Bees", lambda *_: None, 403, "Only the captain of a team can ask"),
    "own team": ("ada", "Ants", lambda *_: None, 409, "in the team Ants already"),
    "no team": ("eve", "Wasps", lambda *_: None, 404, "There is no team Wasps."),
    "blocked": ("eve", "Ants", lambda web, of: _block(web, of["eve"]), 401, "blocked"),
    "full": ("eve", "Ants", lambda web, _: _facts(
        web, server=web.facts.server.model_copy(update={"team_size": 2})), 422, "is full"),
    "too large together": ("cy", "Ants", lambda web, _: _facts(
        web, server=web.facts.server.model_copy(update={"team_size": 2})), 409,
        "Together the teams have 3 members"),
    "deadline": ("eve", "Ants", lambda web, _: _facts(web, deadline=YESTERDAY), 409, "is over"),
    "closed": ("cy", "Ants", lambda web, _: web.scorer.state(phase="closed"), 409, "is over"),
    "more files than a day": ("cy", "Ants", lambda web, _: _used(web, Ants=3, Bees=3), 409,
                              "Together the teams have sent 6 files. One team could have sent 5"),
    "more files in another phase": ("cy", "Ants", _sent_in_another_phase, 409,
                                    "Together the teams have sent 6 files. One team could have"),
    "disqualified": ("cy", "Ants", lambda web, _: web.scorer.publisher.publish(
        teams=[TeamFacts("Ants", disqualified="x")]), 409, "A disqualified team"),
}  # fmt: skip
"""Case -> who asks, which team, what happens before, and the refusal."""


@pytest.mark.few(3)
@pytest.mark.parametrize("case", REFUSALS)
def test_what_must_not_be_is_refused_also_after_it_was_asked(
    web: WebSite, people: dict[str, str], case: str
) -> None:
    asker, team, happen, status, text = REFUSALS[case]
    program = web.program(web.token(people[asker]))
    may_ask_before = asker in {"cy", "eve"} and team == "Ants"
    if may_ask_before:
        assert program.post(f"{API}/team/requests", json={"team": team}).status_code == 201
    happen(web, people)
    if may_ask_before:
        ada = web.browser(people["ada"])
        before = teams(web)
        late = ada.put(f"{API}/team/requests", json={"account": people[asker], "accept": True})
        gone = case == "blocked"
        assert late.status_code == (404 if gone else status), late.text
        assert gone or text in late.text
        assert (teams(web), list(web.site.intake.of_kind(NAME, "merge"))) == (before, [])
    refused = program.post(f"{API}/team/requests", json={"team": team})
    assert (refused.status_code, text in refused.text) == (status, True), refused.text


@pytest.mark.slow
def test_two_members_at_once_do_not_exceed_the_size(web: WebSite, people: dict[str, str]) -> None:
    _facts(web, server=web.facts.server.model_copy(update={"team_size": 3}))
    dan = web.person("dan")
    web.site.accounts.enter(NAME, dan)
    ada = web.browser(people["ada"])
    for account in (people["eve"], dan):
        program = web.program(web.token(account))
        assert program.post(f"{API}/team/requests", json={"team": "Ants"}).status_code == 201
    statuses = [post(ada, "/team/answer", account=person, **YES) for person in (people["eve"], dan)]
    assert statuses == [303, 422]


def test_a_request_ends_with_what_it_rests_on(web: WebSite, people: dict[str, str]) -> None:
    accounts = web.site.accounts
    ants, bees = (accounts.team_named(NAME, name) for name in ("Ants", "Bees"))
    assert ants is not None
    assert bees is not None

    def ask(name: str, team: str) -> None:
        accounts.ask_team(team, people[name])

    ask("eve", bees.team)
    accounts.join_team(ants.team, people["eve"], 9)  # by an invitation
    assert accounts.team_requests(NAME) == []
    ask("cy", ants.team)
    accounts.leave_team(bees.team, people["cy"], counts=False)
    assert accounts.team_requests(NAME) == []
    ask("cy", ants.team)
    accounts.forget_person(people["cy"])
    assert accounts.team_requests(NAME) == []
    dan, fay = web.person("dan", "Wasps"), web.person("fay")
    wasps = accounts.team_of(NAME, dan)
    assert wasps is not None
    accounts.ask_team(wasps.team, fay)
    ask("ada", bees.team)
    accounts.merge_teams(wasps.team, ants.team)
    assert [
        (team_request.name, team_request.team) for team_request in accounts.team_requests(NAME)
    ] == [("fay", ants.team)]


def test_the_captain_is_told_once_by_mail_and_no_name_is_in_it(tmp_path: Path) -> None:
    web = WebSite(tmp_path, smtp_host="mail.example.org", smtp_from="a@example.org")
    web.person("ada", "Ants", contact="ada@example.org")
    form = {"name": "eve evil.example.org", "contact": "eve@example.org", "team": "Ants"}
    guest = web.browser()
    guest.post(f"/{NAME}/join", data={**form, "ask": "yes"})
    eve = web.site.accounts.team_requests(NAME)[0].account
    assert post(guest, "/team/ask", **{"asked-team": "Ants"}) == 303
    ada = web.browser(web.site.accounts.accounts()[0].account)
    assert post(ada, "/team/answer", account=eve, **YES) == 303
    mails = list(iter(web.site.mails.claim, None))
    assert [mail.recipient for mail in mails] == ["ada@example.org", "eve@example.org"]
    assert not any("evil" in mail.body + mail.subject for mail in mails)
    web.close()


@pytest.mark.slow
def test_a_captain_accepts_people_and_approves_no_registration(tmp_path: Path) -> None:
    web = WebSite(tmp_path, approve=True)
    ada, guest = web.browser(web.person("ada", "Ants")), web.browser()
    guest.post(f"/{NAME}/join", data={"name": "eve", "team": "Ants", "ask": "yes"})
    eve = web.site.accounts.team_requests(NAME)[0].account
    assert post(ada, "/team/answer", account=eve, **YES) == 303
    assert teams(web) == {"Ants": ["ada", "eve"]}
    assert web.site.accounts.account(eve, NAME).state == "waiting"
    refused = web.program(web.token(eve)).post(f"{API}/submissions", content=b"id,y\n")
    assert (refused.status_code, "not approved" in refused.text) == (403, True)
    web.close()


def test_days_before_a_phase_allow_no_files_in_it(web: WebSite) -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    phases = [
        {"phase": "dev", "start": None},
        {"phase": "final", "start": "2026-03-09T00:00+00:00"},
    ]
    facts = replace(web.facts, per_day=5, per_week=None, total=None, phases=phases)

    def allowed(phase: str) -> int | None:
        competition = SimpleNamespace(facts=replace(facts, current_phase=phase))
        call: Any = SimpleNamespace(
            competition=competition, site=SimpleNamespace(clock=lambda: now)
        )
        return allowed_until_now(call, now - timedelta(days=9), phase)

    assert (allowed("dev"), allowed("final")) == (50, 10)
