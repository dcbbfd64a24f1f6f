"""The organiser's page of a team, and what was uploaded on each day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from arena import OrganiserClient
from web_site import NAME, WebSite, listening

API = f"/api/v1/{NAME}"


def test_a_team_is_renamed_noted_and_loses_a_member(web: WebSite) -> None:
    ada, bo = (web.person(name, "Ants", contact=f"{name}@example.org") for name in ("Ada", "Bo"))
    web.person("Cyrano", "Bees")
    host = web.browser(web.person("Org", organiser=True))
    (team,) = (team for team, _members in web.site.accounts.teams(NAME) if team.name == "Ants")
    matching = host.get(f"/{NAME}/admin/teams?search=bo@").text
    assert ("1 of 2 teams" in matching, "Cyrano" in matching) == (True, False)
    path = f"/{NAME}/admin/teams/{team.team}"
    assert host.post(f"{path}/note", data={"note": "Called on <Monday>."}).status_code == 303
    assert host.post(f"{path}/remove", data={"member": bo}).status_code == 422  # not confirmed
    assert host.post(f"{path}/remove", data={"member": bo, "sure": "yes"}).status_code == 303
    refusal = host.post(f"{path}/rename", data={"name": "Bees"})
    assert (refusal.status_code, "similarly" in refusal.text) == (409, True)
    assert host.post(f"{path}/rename", data={"name": "Wasps"}).status_code == 303
    page = host.get(path).text
    assert ("Called on &lt;Monday&gt;." in page, "Bo@" in page) == (True, False)
    assert "is being recorded" in page
    web.scorer.judge(web.site)
    web.browser(ada).get(f"/{NAME}/team")  # the accounts follow the record
    assert web.site.accounts.team(team.team).name == "Wasps"
    member = web.browser(ada).get(f"/{NAME}/team").text
    assert ("Wasps" in member, "Monday" in member) == (True, False)
    assert host.get(f"/{NAME}/admin/teams/0").status_code == 404


@pytest.mark.slow
def test_an_organiser_deletes_the_account_of_a_member(web: WebSite) -> None:
    """An account that takes part elsewhere: only an organiser of the whole server."""
    accounts = web.site.accounts
    ada, bo = (web.person(name, "Ants", contact=f"{name}@example.org") for name in ("Ada", "Bo"))
    accounts.enter("other", bo)
    local = web.person("Local")
    accounts.enter(NAME, local, organiser="organiser")
    ((team, _members),) = accounts.teams(NAME)
    path = f"/{NAME}/admin/teams/{team.team}/delete"
    host, server_host = web.browser(local), web.browser(web.person("Org", organiser=True))
    assert host.post(path, data={"member": ada}).status_code == 422  # not confirmed
    assert host.post(path, data={"member": bo, "sure": "yes"}).status_code == 403
    assert host.post(path, data={"member": local, "sure": "yes"}).status_code == 404
    assert web.browser(ada).post(path, data={"member": bo, "sure": "yes"}).status_code == 404
    assert host.post(path, data={"member": ada, "sure": "yes"}).status_code == 303
    assert server_host.post(path, data={"member": bo, "sure": "yes"}).status_code == 303
    assert accounts.members(team.team) == []
    assert accounts.with_contact("Ada@example.org") == []


@pytest.mark.slow
def test_activity_and_teams_by_the_client(web: WebSite) -> None:
    token = web.token(web.person("Org", organiser=True), "admin")
    for number, team in enumerate(("Ants", "Bees", "Bees")):
        account = web.person(f"Member {number}", team)
        program = web.program(web.token(account))
        program.post(f"{API}/submissions", content=b"id,y\na,%d\n" % number)
        web.scorer.judge(web.site, faults=({"kind": "odd", "message": "No."},) if number else ())
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    with listening(web.app) as port:
        client = OrganiserClient(f"http://127.0.0.1:{port}/{NAME}", token, attempts=1)
        assert client.activity() == [{"day": today, "uploads": 3, "accepted": 1, "teams": 2}]
        ants = next(team for team in client.teams() if team["team"] == "Ants")
        client.edit_team(ants["id"], note="Winner of 2025.", name="Wasps")
        assert [team["note"] for team in client.teams()] == ["Winner of 2025.", ""]
    (request,) = web.site.intake.of_kind(NAME, "rename")
    assert (request.team, request.payload["to"]) == ("", "Wasps")
