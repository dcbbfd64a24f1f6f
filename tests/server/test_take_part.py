"""A person takes part by the pages: registers, checks, submits, reads, chooses, invites, leaves."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from starlette.testclient import TestClient

from arena.requests import Answer
from arena.server.records.published import TeamFacts
from arena.server.web import api
from arena.server_section import ServerSection
from web_site import NAME, ORIGIN, RULES, URL, WebSite

FILE = ("mine.csv", b"id,y\na,0.5\n", "text/csv")


def field(page: str, name: str) -> str:
    value = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert value, name
    return value[1]


def secret(page: str) -> str:
    value = re.search(r'class="secret">([^<]+)<', page)
    assert value
    return value[1]


def send(client: TestClient, path: str, **data: Any) -> Any:
    return client.post(f"/{NAME}{path}", data=data)


def test_from_registration_to_the_board(web: WebSite) -> None:
    web.scorer.publish(rules=RULES)
    client = web.browser()
    assert client.get(f"/{NAME}/submissions").status_code == 401
    join = client.get(f"/{NAME}/join").text
    details = {"name": "Ada <i>L</i>", "team": "Ants & Co", "contact": "ada@example.org"}
    refused = send(client, "/join", **details)
    assert refused.status_code == 422
    assert "accept" in refused.text
    assert "Ada &lt;i&gt;L&lt;/i&gt;" in refused.text
    welcome = send(client, "/join", **details, version=field(join, "version"), accept="yes")
    assert welcome.status_code == 200
    key = secret(welcome.text)
    cookie = welcome.headers["set-cookie"]
    assert cookie.startswith("__Host-arena=")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(cookie.split("; "))

    page = client.get(f"/{NAME}/submit").text
    assert "5 submissions left today" in page
    answer = client.post(f"/{NAME}/submit", data={"key": field(page, "key")}, files={"file": FILE})
    assert answer.status_code == 303
    again = client.post(f"/{NAME}/submit", data={"key": field(page, "key")}, files={"file": FILE})
    assert again.headers["location"] == answer.headers["location"]
    assert len(list(web.site.uploads.folder.iterdir())) == 1
    waiting = client.get(answer.headers["location"]).text
    assert "It is judged next" in waiting
    assert "4 submissions left today" in client.get(f"/{NAME}/submit").text
    web.scorer.judge(web.site, 0.8125)
    assert "0.8125" in client.get(answer.headers["location"]).text

    board = client.get(f"/{NAME}/").text
    assert "Ants &amp; Co" in board
    assert "Customer &lt;b&gt;churn&lt;/b&gt;" in board
    assert '<span class="tag">you</span>' in board

    facts = replace(web.facts, decimals=0, unit="%", ties="earliest")
    web.scorer.publish(facts=facts)
    board = client.get(f"/{NAME}/").text
    assert '<td class="n">81%</td>' in board
    assert "the one with the earlier submission is ahead" in board

    chosen = send(client, "/selection", submission="1")
    assert chosen.status_code == 303
    assert send(client, "/selection", submission="7").status_code == 422

    other = web.browser()
    assert other.post("/sign-in", data={"key": key + "x"}).status_code == 403
    back = other.post("/sign-in", data={"key": key, "then": f"/{NAME}/team"})
    assert back.headers["location"] == f"/{NAME}/team"
    assert "ada@" not in other.get(f"/{NAME}/").text
    signed_in = other.cookies["__Host-arena"]
    assert other.post("/sign-out").status_code == 303
    other.cookies.set("__Host-arena", signed_in)
    assert other.get(f"/{NAME}/team").status_code == 401


def test_the_scores_of_a_table_have_the_digits_of_the_report(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    web.scorer.scores |= {"Bees": 0.8125, "Wasps": 0.9, "Owls": 0.5}
    web.scorer.judge(web.site)
    board = client.get(f"/{NAME}/").text
    assert all(f'<td class="n">{score}</td>' in board for score in ("0.9000", "0.8125", "0.5000"))
    row = {"rank": 1, "team": "Wasps", "score": 0.75, "score_low": 0.5, "score_high": 0.8}
    web.scorer.publish_result([row, {**row, "team": "Owls", "score": 0.6}])
    final = client.get(f"/{NAME}/private").text
    assert '<td class="n">0.6000</td>' in final
    assert "0.5000 \u2013 0.8000" in final


def test_nobody_takes_part_once_no_file_can_come(web: WebSite) -> None:
    now = web.site.clock()
    yesterday, tomorrow = ((now + timedelta(days=days)).isoformat() for days in (-1, 1))
    link = secret(send(web.browser(web.person("Ada", "Ants")), "/team/invite").text)
    newcomer, bo = web.browser(), web.browser(web.person("Bo"))
    web.scorer.publish(facts=replace(web.facts, deadline=yesterday))
    sentence = "The competition ended at "

    def asked_to_join() -> set[bool]:
        pages = [newcomer.get(f"/{NAME}/{page}") for page in ("", "overview", "files", "messages")]
        pages += [bo.get(f"/{NAME}/{page}") for page in ("team", "submit", "submissions")]
        pages += [newcomer.get(path) for path in (f"/{NAME}/submissions", "/sign-in")]
        return {f'href="/{NAME}/join"' in page.text for page in pages}

    assert asked_to_join() == {False}
    for path in (f"/{NAME}/join", link.removeprefix(URL)):
        page = newcomer.get(path)
        assert sentence in page.text
        assert 'name="name"' not in page.text
    bees = {"name": "Cy", "team": "Bees"}
    for refused in (
        send(newcomer, "/join", **bees),
        send(newcomer, "/join", name="Cy", code=link),
        bo.post(f"/api/v1/{NAME}/join", json={"team": "Bees"}),
    ):
        assert refused.status_code == 409
        assert sentence in refused.text
    assert web.site.accounts.team_named(NAME, "Bees") is None
    web.scorer.publish(facts=replace(web.facts, deadline=yesterday, late_until=tomorrow))
    web.scorer.state(phase="closed")
    assert asked_to_join() == {True}
    assert "The competition is over" not in newcomer.get(f"/{NAME}/overview").text
    assert send(newcomer, "/join", **bees).status_code == 200


def test_a_team_grows_by_a_link(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    link = secret(send(client, "/team/invite").text)
    assert link.startswith(f"{URL}/invite/")
    path = link.removeprefix(URL)
    guest = web.browser()
    page = guest.get(path)
    assert "You are invited to the team Ants" in page.text
    done = send(guest, "/join", code=field(page.text, "code"), name="Bo")
    assert done.status_code == 200
    assert "Bo" in client.get(f"/{NAME}/team").text
    assert web.browser().get(path).status_code == 404
    assert send(web.browser(), "/join", code=path.split("/")[-1], name="Cy").status_code == 403


def test_registration_by_code(web: WebSite) -> None:
    organiser = web.browser(web.person("Org", organiser=True))
    web.scorer.publish(
        facts=web.facts.__class__(**{**_dict(web.facts), "server": {"join": "code"}})
    )
    guest = web.browser()
    assert send(guest, "/join", name="Bo", team="B").status_code == 403
    first = secret(send(organiser, "/admin/code").text)
    code = secret(send(organiser, "/admin/code").text)
    assert send(guest, "/join", name="Bo", team="B", code=first).status_code == 403
    assert send(guest, "/join", name="Bo", team="B", code=code).status_code == 200
    typed = code.lower().replace("-", " ")
    assert send(web.browser(), "/join", name="Ed", team="E", code=typed).status_code == 200
    refusal = send(web.browser(), "/join", name="Cy", team="b", code=code)
    assert refusal.status_code == 409
    assert "Another team is called b" in refusal.text
    web.scorer.publish(
        facts=replace(web.facts, server=ServerSection(join="code"), baselines=("Our Baseline",))
    )
    web.scorer.publisher.publish(teams=[TeamFacts("Imported")], names={"Former": "Imported"})
    link = web.site.accounts.invite("register", competition=NAME)
    for name in ("our baseline", "IMPORTED", "former"):
        refused = send(web.browser(), "/join", name="Di", team=name, code=link)
        assert refused.status_code == 409, name
    assert web.site.accounts.invitation(link) is not None
    assert send(web.browser(), "/join", name="Cy", team="C", code=code).status_code == 200


def _dict(facts: Any) -> dict[str, Any]:
    return {name: getattr(facts, name) for name in facts.__slots__}


def test_a_file_is_checked_without_being_counted(web: WebSite, monkeypatch: Any) -> None:
    client = web.browser(web.person("Ada", "Ants"))

    async def judged(_seconds: float) -> None:
        web.scorer.judge(web.site, faults=({"kind": "odd", "message": "No <x>.", "row": 3},))

    monkeypatch.setattr(api.asyncio, "sleep", judged)
    page = client.post(f"/{NAME}/check", files={"file": FILE})
    assert page.status_code == 200
    assert "row 3: No &lt;x&gt;." in page.text
    assert "5 submissions left today" in page.text


def test_a_program_is_told_whether_a_file_is_good(web: WebSite, monkeypatch: Any) -> None:
    program = web.program(web.token(web.person("Ada", "Ants")))
    faults: tuple[dict[str, Any], ...] = ()

    async def judged(_seconds: float) -> None:
        web.scorer.judge(web.site, faults=faults)

    monkeypatch.setattr(api.asyncio, "sleep", judged)

    def answer() -> Any:
        return program.post(f"/api/v1/{NAME}/validate", content=b"id,y\n")

    good = answer()
    assert (good.status_code, good.json()) == (200, {"status": "ok", "faults": []})
    faults = ({"kind": "odd", "message": "No.", "row": 3},)
    bad = answer()
    assert (bad.status_code, bad.json()["status"]) == (200, "rejected")
    assert bad.json()["faults"][0]["message"] == "No."
    monkeypatch.setattr(api, "VALIDATE_SECONDS", 0.0)
    late = answer()
    assert (late.status_code, late.headers["retry-after"]) == (503, "60")
    assert web.site.intake.checks(NAME) == []


def test_the_list_of_submissions_says_how_many_faults_there_are(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    fault = {"kind": "odd", "message": "No."}
    others = {"kind": "odd", "message": "… and 40 more.", "count": 40}
    for faults, n_more in (((), 0), ((fault,), 1), ((others,), 40)):
        client.post(f"/{NAME}/submit", files={"file": FILE})
        web.scorer.judge(web.site, faults=(fault, *faults))
        page = client.get(f"/{NAME}/submissions").text
        assert (f"{n_more} more like it<" if n_more else "No.") in page
        assert ("more like it" in page) == (n_more > 0)


def test_tokens(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    client = web.browser(account)
    page = send(client, "/tokens", name="laptop", scope="submit").text
    program = web.program(secret(page))
    assert program.get(f"/api/v1/{NAME}/team").json()["name"] == "Ants"
    token = field(page, "token")
    assert send(client, "/tokens/revoke", token=token).status_code == 303
    assert program.get(f"/api/v1/{NAME}/team").status_code == 401
    assert send(client, "/tokens", name="x", scope="admin").status_code == 403


def test_a_token_lasts_at_most_ten_years(web: WebSite) -> None:
    client = web.browser(web.person("Ada", "Ants"))
    for days in ("0", "3651", "000000100999", "-1", "x"):
        assert send(client, "/tokens", name="laptop", days=days).status_code == 422, days
    for days in ("", "3650"):
        assert send(client, "/tokens", name="laptop", days=days).status_code == 200, days


def test_a_stolen_token_cannot_become_its_owner(web: WebSite) -> None:
    account = web.person("Org", "Ants", organiser=True)
    first, second = web.browser(account), web.browser(account)
    program = web.program(web.token(account, "submit"))
    assert send(program, "/sign-in-key").status_code == 403
    assert send(first, "/sign-in-key").status_code == 200
    assert first.get(f"/{NAME}/team").status_code == 200
    assert second.get(f"/{NAME}/team").status_code == 401


def test_a_blocked_person_cannot_come_back(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    link = secret(send(web.browser(account), "/team/invite").text).removeprefix(URL)
    assert web.browser().get(link).status_code == 200
    web.site.accounts.set_state(account, "blocked")
    assert web.browser().get(link).status_code == 404


def test_a_team_is_renamed(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    client = web.browser(account)
    assert send(client, "/team/rename", name="Bees").status_code == 303
    (request,) = web.site.intake.after(NAME, 0)
    assert (request.kind, request.team, request.member) == ("rename", "Ants", account)
    team = web.site.accounts.team_of(NAME, account)
    assert team is not None
    assert request.payload == {"team": "Ants", "to": "Bees", "accounts": [team.team]}
    assert send(client, "/team/rename", name="Cats").status_code == 409
    assert "The new name “Bees” is being recorded" in client.get(f"/{NAME}/team").text
    # The coming name is taken, and an invitation to it means this team.
    assert send(web.browser(), "/join", name="Bo", team="bees").status_code == 409
    link = web.site.accounts.invite("register", competition=NAME, team="Bees")
    assert send(web.browser(), "/join", name="Cy", code=link).status_code == 200
    own = f"/api/v1/{NAME}/team"
    state = client.get(own).json()
    assert (state["name"], state["new_name"], len(state["members"])) == ("Ants", "Bees", 2)
    web.scorer.judge(web.site)
    # A web process that ended before it changed the account finds the request at its next start.
    for _start in range(2):
        web.site.competitions[NAME].changes = None
        state = client.get(own).json()
        assert (state["name"], state["new_name"]) == ("Bees", None)
    web.scorer.refuses = "Another team has or had the name 'Cats'."
    assert send(client, "/team/rename", name="Cats").status_code == 303
    web.scorer.judge(web.site)
    assert client.get(own).json()["name"] == "Bees"
    web.scorer.state(phase="finalized")
    assert send(client, "/team/rename", name="Dogs").status_code == 409


def test_a_team_that_waits_for_its_new_name_sees_what_it_sent(web: WebSite) -> None:
    account = web.person("Ada", "Ants")
    client = web.browser(account)
    assert send(client, "/team/rename", name="Bees").status_code == 303
    client.post(f"/{NAME}/submit", files={"file": FILE})
    (rename, _submit) = web.site.intake.after(NAME, 0)
    answer = Answer(
        rename.request, rename.seq, "Bees", "rename", "done", received="", judged="", member=account
    )
    web.scorer.cursor = rename.seq
    web.scorer.publisher.publish(answers=[answer], names={"Ants": "Bees"})
    web.scorer.publish()
    page = client.get(f"/{NAME}/submissions").text
    assert "mine.csv" in page
    assert "4 submissions left today" in page


def test_the_organiser(web: WebSite) -> None:
    organiser = web.browser(web.person("Org", organiser=True))
    people = "Bees,Bo,bo@example.org\nBees,Cy,\n"
    links = send(organiser, "/admin/teams/invite", csv=people, kind="create")
    paths = re.findall(rf'class="secret">{URL}(/invite/[^<]+)<', links.text)
    assert len(paths) == 2
    for path, name in zip(paths, ("Bo", "Cy"), strict=True):
        guest = web.browser()
        page = guest.get(path).text
        welcome = send(guest, "/join", code=field(page, "code"), name=name)
        assert welcome.status_code == 200
        assert "Sign out" in welcome.text and "Take part" not in welcome.text  # noqa: PT018
    assert [len(members) for _team, members in web.site.accounts.teams(NAME)] == [2]
    assert "bo@example.org" in organiser.get(f"/{NAME}/admin/teams").text
    page = organiser.get(f"/{NAME}/admin")
    assert page.status_code == 200
    stale = send(organiser, "/admin/step", kind="finalize", sure="yes", seen="0")
    assert stale.status_code == 409
    version = field(page.text, "seen")
    assert (
        send(organiser, "/admin/step", kind="finalize", sure="yes", seen=version).status_code == 303
    )
    done = send(organiser, "/admin/decide", kind="disqualify", what="Bees", reason="two accounts")
    assert (done.status_code, done.headers["location"]) == (303, f"/{NAME}/admin#events")
    page = organiser.get(f"/{NAME}/admin").text
    assert "2 decisions wait in the queue." in page
    assert '<option value="Bees">' in page
    kinds = [request.kind for request in web.site.intake.after(NAME, 0)]
    assert kinds == ["finalize", "disqualify"]
    web.scorer.judge(web.site)
    assert "in the queue." not in organiser.get(f"/{NAME}/admin").text
    for what in ("accounts", "acceptances", "board", "requests", "teams"):
        assert organiser.get(f"/{NAME}/admin/export/{what}.csv").status_code == 200


def test_the_organiser_announces_something(web: WebSite) -> None:
    person = web.person("Org", organiser=True)
    organiser, reader = web.browser(person), web.browser()
    program = web.program(web.token(person, "admin"))
    assert reader.get(f"/api/v1/{NAME}/announcements").json() == {"announcements": []}
    assert "Announcements" not in reader.get(f"/{NAME}/").text
    text = (
        "# Late\r\n\r\nThe deadline **moves**. <script>alert(1)</script> [x](javascript:alert(1))"
    )
    assert send(organiser, "/admin/announce", text=text).status_code == 303
    for path, heading in (("/", "h3"), ("/announcements", "h2")):
        page = reader.get(f"/{NAME}{path}").text
        assert f"<{heading}>Late</{heading}>" in page
        assert "The deadline <strong>moves</strong>." in page
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
    for number in range(2, 6):
        posted = program.post(
            f"/api/v1/{NAME}/admin/announcements", json={"text": f"News {number}"}
        )
        assert (posted.status_code, posted.json()["mailed"]) == (201, 0)
    board = reader.get(f"/{NAME}/").text
    assert [number for number in range(1, 6) if f"News {number}" in board] == [3, 4, 5]
    assert "All 5 announcements" in board
    assert send(organiser, "/admin/withdraw", announcement="5").status_code == 303
    gone = program.request(
        "DELETE", f"/api/v1/{NAME}/admin/announcements", json={"announcement": 5}
    )
    assert gone.status_code == 404
    announcements = reader.get(f"/api/v1/{NAME}/announcements").json()["announcements"]
    assert [row["announcement"] for row in announcements] == [4, 3, 2, 1]
    for wrong in ("", "x" * 5_001):
        assert send(organiser, "/admin/announce", text=wrong).status_code == 422
    refused = program.post(f"/api/v1/{NAME}/admin/announcements", json={"text": "x", "mail": True})
    assert refused.status_code == 409
    assert "smtp_host" in refused.json()["detail"]
    member = web.browser(web.person("Ada", "Ants"))
    assert send(member, "/admin/announce", text="x").status_code == 404


def test_the_organisers_link_works_once(web: WebSite) -> None:
    link = web.site.accounts.organiser_link(URL).removeprefix(URL)
    client = web.browser()
    assert "signs you in as Organiser" in client.get(link).text
    assert client.post(link).headers["location"] == f"/{NAME}/admin"
    assert client.get(f"/{NAME}/admin").status_code == 200
    assert web.browser().post(link).status_code == 404


def test_rules_and_markdown_are_safe(web: WebSite) -> None:
    web.scorer.publish(rules=RULES)
    client = web.browser(web.person("Ada", "Ants"))
    page = client.get(f"/{NAME}/rules").text
    assert "<strong>kind</strong>" in page
    assert "<script>alert" not in page
    answer = client.post(f"/{NAME}/submit", files={"file": FILE})
    assert answer.status_code == 403
    assert "Accept the rules" in answer.text
    version = field(page, "version")
    assert send(client, "/rules", version=version).status_code == 303
    web.scorer.publish(rules=RULES + "More.")
    assert send(client, "/rules", version=version).status_code == 409
    assert client.post(f"/{NAME}/submit", files={"file": FILE}).status_code == 403


def test_a_board_of_many_pages(web: WebSite) -> None:
    rows = [{"rank": i, "team": f"team {i}", "score": 1 / i, "n_submissions": 1, "baseline": False}
            for i in range(1, 251)]  # fmt: skip
    web.scorer.publish(board=rows)
    client = web.browser()
    assert client.get(f"/{NAME}/?page=3").text.count('<th scope="row">') == 50
    assert client.get(f"/{NAME}/?page=99999999999").status_code == 200
    page = client.get(f"/{NAME}/?search=TEAM 25").text
    assert "2 of 250 teams" in page
    assert ORIGIN["Origin"] == URL
