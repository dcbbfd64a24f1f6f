"""People who leave: a team, a key that is lost, and the server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.server.records.published import TeamFacts
from web_site import NAME, URL, WebSite

API = f"/api/v1/{NAME}"
SURE = {"sure": "yes"}


def post(client: Any, path: str, **fields: str) -> int:
    return int(client.post(f"/{NAME}{path}", data=fields).status_code)


@pytest.fixture
def people(web: WebSite) -> dict[str, str]:
    return {name: web.person(name, "Ants", contact=f"{name}@example.org") for name in ("ada", "bo")}


def members(web: WebSite) -> list[str]:
    return [
        member.name
        for _team, team_members in web.site.accounts.teams(NAME)
        for member in team_members
    ]


def test_a_member_leaves_and_the_first_one_removes_others(
    web: WebSite, people: dict[str, str]
) -> None:
    ada, bo = (web.browser(person) for person in people.values())
    assert post(bo, "/team/leave") == 422  # not confirmed
    assert post(bo, "/team/leave", member=people["ada"], **SURE) == 403
    assert post(ada, "/team/leave", member=people["bo"], **SURE) == 303
    assert members(web) == ["ada"]
    assert post(bo, "/team/leave", **SURE) == 403  # no member any more
    # Nothing was submitted: a team of one's own is as good as before.
    assert post(bo, "/join", team="Bees") == 303
    assert members(web) == ["ada", "bo"]


def test_who_leaves_a_team_that_has_submitted_founds_no_other(
    web: WebSite, people: dict[str, str]
) -> None:
    """Else each person could bring the limits of another team."""
    program = web.program(web.token(people["bo"]))
    assert program.post(f"{API}/submissions", content=b"id,y\n").status_code == 202
    bo = web.browser(people["bo"])
    assert post(bo, "/team/leave", **SURE) == 303
    refused = bo.post(f"/{NAME}/join", data={"team": "Bees"})
    cannot = "cannot create another one"
    assert (refused.status_code, cannot in refused.text) == (409, True)
    for path in ("team", "submit", "join"):
        page = bo.get(f"/{NAME}/{path}").text
        assert (cannot in page, "Create a team" in page) == (True, False), path
    assert cannot in program.get(f"{API}/team").json()["detail"]
    other = web.browser(web.person("cy", "Wasps"))
    page = other.post(f"/{NAME}/team/invite").text
    code = page.partition(f"{URL}/invite/")[2].partition("<")[0]
    assert post(bo, "/join", code=code) == 303
    assert members(web) == ["ada", "cy", "bo"]
    web.scorer.state(phase="closed")
    assert post(bo, "/team/leave", **SURE) == 409


def test_who_leaves_a_team_of_an_earlier_phase_founds_no_other(
    web: WebSite, people: dict[str, str]
) -> None:
    web.scorer.publisher.publish(teams=[TeamFacts("Ants", used_in_phases={"dev": 1})])
    bo = web.browser(people["bo"])
    assert post(bo, "/team/leave", **SURE) == 303
    assert post(bo, "/join", team="Bees") == 409


def test_a_team_is_not_left_by_a_token(web: WebSite, people: dict[str, str]) -> None:
    program = web.program(web.token(people["bo"]))
    assert program.request("DELETE", f"{API}/team/members", json={}).status_code == 403
    assert program.patch(f"{API}/account", json={"name": "x"}).status_code == 403


def test_a_name_and_an_address_are_changed(web: WebSite, people: dict[str, str]) -> None:
    ada = web.browser(people["ada"])
    changed = {"account-name": "Ada  L.", "contact": "new@example.org"}
    assert post(ada, "/account", **changed) == 303
    account = web.site.accounts.account(people["ada"])
    assert (account.name, account.contact) == ("Ada L.", "new@example.org")
    assert post(ada, "/account", **{"account-name": " ", "contact": "x"}) == 422
    assert web.site.accounts.account(people["ada"]).contact == "new@example.org"


def test_nothing_says_who_a_deleted_account_was(web: WebSite, people: dict[str, str]) -> None:
    ada = web.browser(people["ada"])
    token = web.program(web.token(people["ada"]))
    for text in ("Is ada allowed?", "What is y?"):
        token.post(f"{API}/messages", json={"text": text})
    question = web.site.messages.unanswered(NAME)[0]
    web.site.messages.reply(
        NAME, people["ada"], "A label.", answers=question.message, published="y?"
    )
    ada.post(f"/{NAME}/team/invite")
    assert post(ada, "/account/delete") == 422
    assert post(ada, "/account/delete", **SURE) == 303
    assert members(web) == ["bo"]
    assert ada.get(f"/{NAME}/team").status_code == 401
    assert token.get(f"{API}/team").status_code == 401
    with closing(sqlite3.connect(web.site.settings.layout.intake)) as database:
        dump = "\n".join(database.iterdump())
    assert "ada" not in dump.replace("Canada", "")
    assert [message.text for message in web.site.messages.all_of(NAME)] == ["A label."]
    organiser = web.browser(web.person("Org", organiser=True))
    assert post(organiser, "/account/delete", **SURE) == 409


def test_a_lost_key_is_recovered_by_mail_and_says_nothing_to_others(tmp_path: Path) -> None:
    web = WebSite(tmp_path, smtp_host="mail.example.org", smtp_from="a@example.org")
    web.person("ada", "Ants", contact="Ada@example.org")
    web.person("Org", "Bees", contact="org@example.org", organiser=True)
    answers = {}
    for contact in ("ada@example.org", "nobody@example.org", "org@example.org"):
        answer = web.browser().post("/sign-in/lost", data={"contact": contact})
        answers[contact] = answer.status_code, len(answer.text)
    assert set(answers.values()) == {answers["ada@example.org"]}
    mail = web.site.mails.claim()
    assert mail is not None
    assert (mail.recipient, web.site.mails.claim()) == ("ada@example.org", None)
    link = mail.body.partition(URL)[2].split()[0]
    guest = web.browser()
    assert guest.post(link).status_code == 303
    assert guest.get(f"/{NAME}/team").status_code == 200
    assert web.browser().post("/sign-in/lost", data={"contact": "no address"}).status_code == 422
    for _again in range(3):
        last = web.browser().post("/sign-in/lost", data={"contact": "ada@example.org"})
    assert last.status_code == 429
    web.close()


def test_an_organiser_of_another_competition_gets_no_key_by_mail(tmp_path: Path) -> None:
    mail = {"smtp_host": "mail.example.org", "smtp_from": "a@example.org"}
    web = WebSite(tmp_path, also={"other": mail}, **mail)
    ada = web.person("ada", "Ants", contact="ada@example.org")
    web.site.accounts.enter("other", ada, organiser="organiser")
    web.browser().post("/sign-in/lost", data={"contact": "ada@example.org"})
    assert web.site.mails.claim() is None
    web.close()


@pytest.mark.parametrize("way", ["unlinked", "deleted", "replaced"])
def test_an_identity_at_a_provider_founds_one_team(web: WebSite, way: str) -> None:
    """Else approval or sign-in through an institution would not keep a person to one team."""
    accounts = web.site.accounts
    subject = "https://id.example.org ada"
    first = accounts.register("Ada", subject=subject).account
    accounts.create_team(NAME, "Ants", first)
    if way == "deleted":
        accounts.forget_person(first)
    elif way == "replaced":
        accounts.link_subject(first, "https://other.example.org ada")
    else:
        accounts.make_token(first, "key", "signin")
        accounts.unlink_subject(first)
    again = accounts.register("Ada", subject=subject).account
    assert accounts.has_departed(NAME, again)
    assert not accounts.has_departed("another", again)
    assert not accounts.has_departed(NAME, accounts.register("Bo", subject="x bo").account)
    refused = web.browser(again).post(f"/{NAME}/join", data={"team": "Bees"})
    assert (refused.status_code, "cannot create another one" in refused.text) == (409, True)
