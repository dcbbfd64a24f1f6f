"""Brackets on the pages: organisers assign them, teams see theirs."""

from __future__ import annotations

from dataclasses import replace

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
