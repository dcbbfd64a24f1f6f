"""Brackets on the pages: organisers assign them, teams see theirs."""

from __future__ import annotations

from dataclasses import replace

from arena.server.records.published import TeamFacts
from web_site import NAME, WebSite


def test_an_organiser_assigns_brackets_and_a_team_sees_its_own(web: WebSite) -> None:
    facts = replace(web.facts, brackets=("students", "<b>staff"))
    web.scorer.publish(facts, brackets={"students": ["Ants"], "<b>staff": []})
    ada, organiser = (web.browser(web.person("Ada", "Ants")),
                      web.browser(web.person("Org", organiser=True)))  # fmt: skip
    page = ada.get(f"/{NAME}/team").text
    assert ("<bdi>students</bdi>" in page, "staff" in page) == (True, False)
    (team,) = organiser.get(f"/api/v1/{NAME}/admin/teams").json()["rows"]
    assert team["brackets"] == ["students"]
    address = f"/{NAME}/admin/teams/{team['id']}"
    assert 'aria-label="&lt;b&gt;staff: Put in"' in organiser.get(address).text
    form = {"bracket": "<b>staff", "member": "yes"}
    assert organiser.post(f"{address}/bracket", data=form).status_code == 303
    (request,) = web.site.intake.of_kind(NAME, "bracket")
    assert request.payload == {"team": "Ants", "bracket": "<b>staff", "member": True}
    assert "is being recorded" in organiser.get(address).text
    # A form may hold any text: 200 characters of it are recorded, and the scorer refuses it.
    organiser.post(f"{address}/bracket", data={"bracket": "b" * 201})
    assert web.site.intake.of_kind(NAME, "bracket")[-1].payload["bracket"] == "b" * 200


YEAR = {
    "of": "team", "text": "Year", "choices": ["bachelor", "master"], "required": True,
    "shown": "board", "brackets": True, "may_change": False,
}  # fmt: skip


def test_a_team_chooses_its_bracket_when_it_is_founded_and_stays_in_it(web: WebSite) -> None:
    web.scorer.publish(replace(web.facts, questions={"year": YEAR}), brackets={})
    assert '<select id="answer-year"' in web.browser().get(f"/{NAME}/join").text
    form = {"name": "Ada", "team": "Ants", "answer.year": "phd"}
    assert web.browser().post(f"/{NAME}/join", data=form).status_code == 422
    assert web.browser().post(f"/{NAME}/join", data=form | {"answer.year": "master"}).is_success
    bo, cy = (web.program(web.token(web.person(name))) for name in ("Bo", "Cy"))
    for client, team, answers in ((bo, "Bees", {"year": "bachelor"}), (cy, "Cats", {})):
        body = {"team": team, "answers": answers}
        assert client.post(f"/api/v1/{NAME}/join", json=body).status_code == 201
    requests = web.site.intake.of_kind(NAME, "answer")
    assert [(request.team, request.payload["answers"]["year"]) for request in requests] == [
        ("Ants", "master"), ("Bees", "bachelor")
    ]  # fmt: skip
    member_of_bees, member_of_cats = (
        web.site.accounts.members(team.team)[0].account
        for team, _ in sorted(web.site.accounts.teams(NAME), key=lambda team: team[0].name)[1:]
    )

    def check_pages() -> None:
        for account, can_choose in ((member_of_bees, False), (member_of_cats, True)):
            page = web.browser(account).get(f"/{NAME}/team").text
            assert ("decides in which bracket" in page) == can_choose

    check_pages()  # while the answers wait to be recorded
    chosen = {"Ants": {"year": "master"}, "Bees": {"year": "bachelor"}}
    web.scorer.publisher.publish(
        teams=[TeamFacts(team, answers=answers) for team, answers in chosen.items()]
    )
    web.scorer.judge(web.site)
    check_pages()
    submissions = f"/api/v1/{NAME}/submissions"
    changed = bo.post(submissions, content=b"id,y\n", params={"answer.year": "master"})
    assert (changed.status_code, "it stays" in changed.text) == (422, True)
    assert bo.post(submissions, content=b"id,y\n").status_code == 202
    # Nor by another team: not together, and not alone after having left.
    ask = {"team": "Ants"}
    together = bo.post(f"/api/v1/{NAME}/team/requests", json=ask)
    assert (together.status_code, "bachelor, master" in together.text) == (409, True)
    bees, account = web.site.accounts.team_named(NAME, "Bees"), requests[1].member
    assert bees is not None
    web.site.accounts.leave_team(bees.team, account, counts=True)
    assert bo.post(f"/api/v1/{NAME}/team/requests", json=ask).status_code == 409
    ants = web.site.accounts.team_named(NAME, "Ants")
    assert ants is not None
    link = web.site.accounts.invite("team", competition=NAME, team=ants.team)
    assert bo.post(f"/api/v1/{NAME}/join", json={"code": link}).status_code == 409
    assert cy.post(f"/api/v1/{NAME}/team/requests", json=ask).status_code == 201
