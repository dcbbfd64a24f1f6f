"""Invitations: lists pasted from anywhere, their faults by line, and links that are open."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arena.server.web.invitations import read_invitations
from web_site import NAME, URL, WebSite

API = f"/api/v1/{NAME}"
LISTS: dict[str, tuple[str, list[tuple[str, str, str]], list[tuple[int, str]]]] = {
    "commas": ("Ants,Ada,a@b.org\nBees, Bo ,\n", [("Ants", "Ada", "a@b.org"), ("Bees", "Bo", "")],
               []),
    "a spreadsheet": ("Ants\tAda\ta@b.org\r\nBees\tBo, jr.\t\r\n",
                      [("Ants", "Ada", "a@b.org"), ("Bees", "Bo, jr.", "")], []),
    "semicolons, address first": ("a@b.org;Ants;Ada", [("Ants", "Ada", "a@b.org")], []),
    "named columns": ("E-Mail;Name;Gruppe\na@b.org;Ada;Ants", [("Ants", "Ada", "a@b.org")], []),
    "another column": ("team,note,email\nAnts,x,a@b.org", [("Ants", "", "a@b.org")], []),
    "teams only": ("Ants\nBees\n", [("Ants", "", ""), ("Bees", "", "")], []),
    "quotes": ('"Ants, red",Ada,', [("Ants, red", "Ada", "")], []),
    "a mark at the start": ("\ufeffteam,name\nAnts,Ada", [("Ants", "Ada", "")], []),
    "addresses only": ("\na@b.org\n", [], [(2, "The name of the team is missing.")]),
    "two addresses": ("a@b.org,c@d.org", [], [(1, "a@b.org would be the public name")]),
    "no team": ("Ants,Ada\n,Bo", [("Ants", "Ada", "")], [(2, "The name of the team is missing.")]),
    "too many cells": ("Ants,Ada,a@b.org,x", [], [(1, "It has 4 cells, but there are 3 columns.")]),
    "the same address": ("Ants,Ada,a@b.org\nBees,Bo,A@b.org", [("Ants", "Ada", "a@b.org")],
                         [(2, "Line 1 has the same e-mail address.")]),
    "a long name": (f"{'x' * 81},Ada", [], [(1, "The name has 81 characters.")]),
    "an open quote": ('Ants,"Ada\n', [("Ants", "Ada", "")], []),
    "nothing": (" \n", [], []),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_read_with_its_faults_by_line(name: str) -> None:
    text, expected, faults = LISTS[name]
    people, found_faults = read_invitations(text)
    assert [(person.team, person.name, person.contact) for person in people] == expected
    assert len(found_faults) == len(faults)
    for fault, (line, start) in zip(found_faults, faults, strict=True):
        assert (fault.line, fault.text[: len(start)]) == (line, start)


def test_links_to_a_team_that_is_renamed_or_merged_invite_to_the_team_of_today(
    web: WebSite,
) -> None:
    accounts = web.site.accounts
    host, _ = web.person("Org", organiser=True), web.person("Ada", "Ants")
    web.person("Bo", "Bees")
    people = [("ants", "Cy", ""), ("Ants", "Di", ""), ("Owls", "Eve", "")]
    links = accounts.invite_teams(NAME, people, made_by=host, expires=None)
    accounts.invite("register", competition=NAME, uses=None)  # a code without a team

    def join(number: int) -> None:
        _team, name, code = links[number]
        answer = web.browser().post(f"/{NAME}/join", data={"code": code, "name": name})
        assert answer.status_code == 200

    (ants, _), (bees, _) = accounts.teams(NAME)
    accounts.rename_team(ants.team, "Wasps")
    join(0)
    accounts.merge_teams(ants.team, bees.team)
    join(1)
    assert {member.name for member in accounts.members(bees.team)} == {"Ada", "Bo", "Cy", "Di"}
    assert {invite.team for invite in accounts.invites()} == {"Owls", None}


def test_a_preview_invites_nobody(web: WebSite) -> None:
    host = web.browser(web.person("Org", organiser=True))
    web.person("Bo", "Bees")

    def post(text: str, kind: str) -> str:
        return host.post(f"/{NAME}/admin/teams/invite", data={"csv": text, "kind": kind}).text

    good, bad = "Bees;Ada;a@b.org\nWasps;Cy;", "Ants;Ada;a@b.org\nx@y.org"
    page = post(good, "preview")
    assert "2 people" in page
    assert "exists" in page
    assert web.site.accounts.invites() == []
    for kind in ("preview", "create"):
        page = post(bad, kind)
        assert "Line 2: The name of the team is missing." in page
        assert "x@y.org</textarea>" in page  # what was pasted is still there
    admin = web.program(web.token(web.person("Pat", organiser=True), "admin"))
    lines_without_team = "".join(f"a{line}@b.org\n" for line in range(1, 12))
    refused = admin.post(f"{API}/admin/teams", content=lines_without_team.encode())
    # The answer names the first ten.
    sentences = " ".join(f"Line {line}: The name of the team is missing." for line in range(1, 11))
    assert (refused.status_code, refused.json()["detail"]) == (422, sentences)
    assert web.site.accounts.invites() == []
    assert len(re.findall(f"{URL}/invite/", post(good, "create"))) == 2
    assert len(web.site.accounts.invites()) == 2


def test_an_open_link_is_withdrawn_or_sent_again(tmp_path: Path) -> None:
    web = WebSite(tmp_path, smtp_host="mail.example.org", smtp_from="a@example.org")
    admin = web.program(web.token(web.person("Org", organiser=True), "admin"))
    invitations = admin.post(f"{API}/admin/teams", content=b"Ants\tAda\ta@b.org\nBees\tBo\n").json()
    assert (invitations["mailed"], [row["contact"] for row in invitations["rows"]]) == (
        1,
        ["a@b.org", ""],
    )
    links = {
        row["team"]: row["invite"] for row in admin.get(f"{API}/admin/invitations").json()["rows"]
    }
    again = admin.put(f"{API}/admin/invitations", json={"invite": links["Ants"]}).json()
    assert (again["mailed"], again["rows"][0]["name"]) == (1, "Ada")
    old, new = (web.browser().get(row["url"]) for row in (invitations["rows"][0], again["rows"][0]))
    assert (old.status_code, new.status_code) == (404, 200)
    assert 'value="Ada"' in new.text
    assert 'value="a@b.org"' in new.text
    gone = admin.request("DELETE", f"{API}/admin/invitations", json={"invite": links["Bees"]})
    assert gone.status_code == 200
    assert web.browser().get(invitations["rows"][1]["url"]).status_code == 404
    assert admin.put(f"{API}/admin/invitations", json={"invite": links["Bees"]}).status_code == 404
    # A link that was used and a mail that was sent are no record of a person.
    guest, code = web.browser(), again["rows"][0]["url"].rpartition("/")[2]
    answer = guest.post(f"/{NAME}/join", data={"code": code, "name": "Ada", "accept": "yes"})
    assert answer.status_code == 200
    assert "arena_" in answer.text
    while mail := web.site.mails.claim():
        web.site.mails.sent(mail)
    web.site.accounts.forget_person(web.site.accounts.with_contact("a@b.org")[0].account)
    with closing(sqlite3.connect(web.site.settings.layout.intake)) as database:
        dump = "\n".join(database.iterdump())
    assert "a@b.org" not in dump
    assert "'Ada'" not in dump
    web.close()


def test_accounts_that_wait_stand_on_the_first_page(tmp_path: Path) -> None:
    web = WebSite(tmp_path, approve=True)
    ada = web.person("Ada Waits", "Ants")
    host = web.browser(web.person("Org", organiser=True))
    assert "Ada Waits" not in host.get(f"/{NAME}/admin").text
    web.site.accounts.enter(NAME, ada, "waiting")
    assert "Approve Ada Waits" in host.get(f"/{NAME}/admin").text
    host.post(f"/{NAME}/admin/teams/state", data={"account": ada, "state": "active"})
    assert "Ada Waits" not in host.get(f"/{NAME}/admin").text
    web.close()
