"""Two competitions on one server: what a person may do in one says nothing about the other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from arena.server.records.people import HOST_ROLES, HostRole
from arena.server.web.api import ENDPOINTS
from arena.server.web.pages import PAGES
from asgi import respond
from web_site import NAME, URL, WebSite

OTHER = "priv"
FILE = b"id,y\na,1\n"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebSite]:
    """The first competition is open; the organiser of the other one approves each account."""
    site = WebSite(tmp_path, also={OTHER: {"approve": True}}, team_size=2)
    yield site
    site.close()


def registered(web: WebSite, competition: str, team: str, **fields: str) -> Any:
    """Register a person by the page; return the browser."""
    browser = web.browser()
    answer = browser.post(f"/{competition}/join", data={"name": team, "team": team, **fields})
    assert answer.status_code == 200, answer.text
    return browser


def account_of(web: WebSite, name: str) -> str:
    return next(account.account for account in web.site.accounts.accounts() if account.name == name)


def submit(client: Any, competition: str) -> int:
    return int(client.post(f"/{competition}/submit", files={"file": ("a.csv", FILE)}).status_code)


@pytest.mark.parametrize("way", ["page", "api"])
def test_who_is_approved_in_one_competition_waits_in_the_other(web: WebSite, way: str) -> None:
    client = registered(web, NAME, "Ants")
    assert submit(client, NAME) == 303
    if way == "page":
        assert client.post(f"/{OTHER}/join", data={"team": "Ants"}).status_code == 303
    else:
        assert client.post(f"/api/v1/{OTHER}/join", json={"team": "Ants"}).status_code == 201
    assert submit(client, OTHER) == 403
    assert client.put(f"/api/v1/{OTHER}/selection", json={"submissions": []}).status_code == 403
    # Approval there says nothing about here, and a second request changes nothing.
    web.site.accounts.set_state(account_of(web, "Ants"), "active", NAME)
    assert client.post(f"/{OTHER}/join", data={"team": "Bees"}).status_code == 422
    assert submit(client, OTHER) == 403
    web.site.accounts.set_state(account_of(web, "Ants"), "active", OTHER)
    assert submit(client, OTHER) == 303


def test_a_block_is_of_one_competition(web: WebSite) -> None:
    client = registered(web, NAME, "Ants")
    client.post(f"/{OTHER}/join", data={"team": "Ants"})
    account = account_of(web, "Ants")
    token = web.program(web.token(account))
    web.site.accounts.set_state(account, "active", OTHER)
    web.site.accounts.set_state(account, "blocked", NAME)
    assert submit(client, NAME) == 401
    assert token.get(f"/api/v1/{NAME}/team").status_code == 401
    assert client.post(f"/{NAME}/rules", data={}).status_code == 401
    assert client.post(f"/api/v1/{NAME}/join", json={"team": "Again"}).status_code == 401
    assert submit(client, OTHER) == 303
    assert token.get(f"/api/v1/{OTHER}/team").status_code == 200


def test_an_organiser_is_one_of_one_competition(web: WebSite) -> None:
    host = web.browser(web.person("Host", organiser=True))
    page = host.post(f"/{NAME}/admin/teams/organiser", data={"name": "Org"}).text
    link = page.partition(f"{URL}/invite/")[2].partition("<")[0].partition('"')[0]
    organiser = web.browser()
    answer = organiser.post(f"/invite/{link}")
    assert answer.headers["location"] == f"/{NAME}/admin"
    assert organiser.get(f"/{NAME}/admin").status_code == 200
    assert organiser.get(f"/{OTHER}/admin").status_code == 404
    program = web.program(web.token(account_of(web, "Org"), "admin"))
    assert program.get(f"/api/v1/{NAME}/admin/teams").status_code == 200
    assert program.get(f"/api/v1/{OTHER}/admin/teams").status_code == 404
    assert program.get(f"/api/v1/{OTHER}/admin/export/accounts").status_code == 404


def test_each_role_is_stored_as_itself(web: WebSite) -> None:
    accounts = web.site.accounts
    for role in HOST_ROLES:
        accounts.enter(NAME, web.person(role), organiser=role)
    stored = {person.name: person.role for person in accounts.accounts(NAME)}
    assert stored == {"organiser": "organiser", "judge": "judge", "reader": "reader"}


def test_an_organiser_changes_and_sees_nobody_of_another_competition(web: WebSite) -> None:
    registered(web, OTHER, "Bees", contact="bee@example.org")
    both = registered(web, NAME, "Ants")
    both.post(f"/{OTHER}/join", data={"team": "Ants"})
    host = web.person("Host", organiser=True)
    accounts = web.site.accounts
    own = accounts.register("Org").account
    accounts.enter(NAME, own, organiser="organiser")
    organiser, program = web.browser(own), web.program(web.token(own, "admin"))
    for account, status in ((account_of(web, "Bees"), 404), (host, 404)):
        for action in ("approve", "block"):
            answer = program.post(f"/api/v1/{NAME}/admin/{action}", json={"account": account})
            assert answer.status_code == status
        link = organiser.post(f"/{NAME}/admin/teams/link", data={"account": account})
        assert link.status_code == status
    # A link that signs in as somebody would open the other competition too.
    ants = account_of(web, "Ants")
    link = organiser.post(f"/{NAME}/admin/teams/link", data={"account": ants})
    assert link.status_code == 403
    assert web.browser(host).post(
        f"/{NAME}/admin/teams/link", data={"account": ants}
    ).status_code == 200  # fmt: skip
    listed = program.get(f"/api/v1/{NAME}/admin/export/accounts").text
    assert "Ants" in listed
    assert "Bees" not in listed
    assert "bee@example.org" not in listed


def test_an_account_of_an_earlier_arena_keeps_its_state(web: WebSite) -> None:
    """It has a team and no role: it is as it was on the server."""
    for state, status in (("active", 303), ("waiting", 403), ("blocked", 401)):
        account = web.person(state, state)
        browser = web.browser(account)
        web.site.accounts.set_state(account, state)
        assert submit(browser, NAME) == status


def test_a_full_team_leaves_its_invitation_and_no_account(web: WebSite) -> None:
    accounts = web.site.accounts
    first = web.person("Ada", "Ants")
    team = accounts.team_of(NAME, first)
    assert team is not None
    link = accounts.invite("team", competition=NAME, team=team.team, made_by=first)
    accounts.join_team(team.team, accounts.register("Bo").account, 2)
    n_accounts = len(accounts.accounts())
    full = web.browser().post(f"/{NAME}/join", data={"name": "Cy", "code": link})
    assert full.status_code == 422
    assert len(accounts.accounts()) == n_accounts
    assert accounts.invitation(link) is not None
    # A blocked member has no place: the next one has.
    accounts.set_state(account_of(web, "Bo"), "blocked", NAME)
    client = web.browser()
    joined = client.post(f"/{NAME}/join", data={"name": "Cy", "code": link})
    assert joined.status_code == 200
    assert "arena_" in joined.text  # the sign-in key
    assert accounts.invitation(link) is None
    assert submit(client, NAME) == 303


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": "Cy", "team": "ants"}, 409),
        ({"name": "", "team": "Cats"}, 422),
        ({"name": "Cy", "team": "x" * 99}, 422),
        ({"name": "Cy", "team": "Cats", "code": "no such"}, 403),
    ],
)
def test_a_refused_registration_leaves_nothing(
    web: WebSite, fields: dict[str, str], status: int
) -> None:
    accounts = web.site.accounts
    web.person("Ada", "Ants")
    before = [len(accounts.accounts()), len(accounts.teams(NAME))]
    answer = web.browser().post(f"/{NAME}/join", data=fields)
    assert answer.status_code == status, answer.text
    assert [len(accounts.accounts()), len(accounts.teams(NAME))] == before


@pytest.mark.parametrize("name", ["\ua4d0ears", "B\u0435ars", "B\u03b5ars", "b\u0435ARS"])
def test_a_team_that_looks_like_another_is_refused(web: WebSite, name: str) -> None:
    pytest.importorskip("confusable_homoglyphs")
    registered(web, NAME, "Bears")
    client = registered(web, NAME, "Owls")
    alike = web.browser().post(f"/{NAME}/join", data={"name": "Cy", "team": name})
    renamed = client.post(f"/{NAME}/team/rename", data={"name": name})
    refused = "\u03b5" not in name  # an epsilon is no e
    assert [alike.status_code, renamed.status_code] == ([409, 409] if refused else [200, 409])
    assert web.browser().post(
        f"/{OTHER}/join", data={"name": "Di", "team": name}
    ).status_code == 200  # fmt: skip


def test_the_files_of_an_account_have_a_quota_in_each_competition(tmp_path: Path) -> None:
    site = WebSite(
        tmp_path, also={OTHER: {}}, max_stored_bytes=3 * len(FILE), max_waiting_per_team=100
    )
    account = site.person("Ada", "Ants")
    site.site.accounts.create_team(OTHER, "Ants", account)
    client = site.program(site.token(account))

    def sent(competition: str = NAME, **more: Any) -> int:
        url = f"/api/v1/{competition}/submissions"
        return int(client.post(url, content=FILE, **more).status_code)

    # A file in a place that is never submitted takes room too.
    secret, _gone = site.site.slots.open_slot(account, NAME, "a.csv", len(FILE))
    assert client.put(f"/api/v1/uploads/{secret}", content=FILE).status_code == 200
    assert [sent() for _ in range(3)] == [202, 202, 507]
    assert client.post(f"/api/v1/{NAME}/validate", content=FILE).status_code == 507
    other, _gone = site.site.slots.open_slot(account, NAME, "a.csv", len(FILE))
    assert client.put(f"/api/v1/uploads/{other}", content=FILE).status_code == 507
    assert sent(OTHER) == 202
    assert len(list(site.site.uploads.folder.iterdir())) == 4
    site.scorer.judge(site.site)
    assert [sent() for _ in range(3)] == [202, 202, 507]
    assert site.site.arriving == {}
    site.close()


def test_files_that_arrive_at_once_share_the_quota(tmp_path: Path) -> None:
    site = WebSite(tmp_path, max_stored_bytes=int(1.5 * len(FILE)), max_waiting_per_team=100)
    token = f"Bearer {site.token(site.person('Ada', 'Ants'))}".encode()
    headers = [(b"authorization", token), (b"content-length", str(len(FILE)).encode())]
    answers = []

    def another() -> None:
        status, _body = in_thread(site, headers)
        answers.append(status)

    path = f"/api/v1/{NAME}/submissions"
    first, _body = respond(
        site.app, "POST", path, headers=headers, body=[FILE[:3], another, FILE[3:]]
    )
    assert (first, answers) == (202, [507])
    site.close()


def in_thread(site: WebSite, headers: Any) -> tuple[int, bytes]:
    """Answer a second request while the first one waits: an event loop of its own."""
    with ThreadPoolExecutor(1) as other:
        path = f"/api/v1/{NAME}/submissions"
        return other.submit(
            respond, site.app, "POST", path, headers=headers, body=[FILE]
        ).result()  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("role", ["judge", "reader"])
def test_a_judge_and_a_reader_see_everything_and_change_nothing(web: WebSite, role: str) -> None:
    """Every page and operation of organisers; a judge previews a rescore besides."""
    host = web.browser(web.person("Org", organiser=True))
    page = host.post(f"/{NAME}/admin/teams/organiser", data={"name": "Jo", "role": role}).text
    guest = web.browser()
    assert guest.post(f"/invite/{page.partition('/invite/')[2][:43]}").status_code == 303
    account = next(
        person.account for person in web.site.accounts.accounts(NAME) if person.name == "Jo"
    )
    program = web.program(web.token(account, "admin"))
    web.site.accounts.create_team(NAME, "Ants")
    places = {"request": "0", "what": "teams", "team": "0"}
    operations = [
        *((program, endpoint.method, f"/api/v1/{NAME}{endpoint.path}") for endpoint in ENDPOINTS
          if endpoint.who == "organiser"),
        *((guest, method, f"/{NAME}{path}") for method, path, who, *_rest in PAGES
          if who == "organiser"),
    ]  # fmt: skip
    for client, method, path in operations:
        body = {} if client is guest or method == "GET" else {"json": {}}
        answer = client.request(method, path.format(**places), **body)
        previews = role == "judge" and path.endswith("/admin/rescore")
        allowed = method == "GET" or previews
        assert (answer.status_code == 403) != allowed, (method, path, answer.text)
    assert [request.kind for request in web.site.intake.after(NAME, 0)] == ["rescore"] * (
        2 * (role == "judge")
    )
    applied = program.post(f"/api/v1/{NAME}/admin/rescore", json={"preview": "abc"})
    assert applied.status_code == 403


WAYS_INTO_A_TEAM: dict[str, tuple[str, str, dict[str, Any]]] = {
    "found one": ("page", "/join", {"team": "Cats"}),
    "found one by a program": ("api", "/join", {"team": "Cats"}),
    "by its link": ("page", "/join", {"code": "LINK"}),
    "by its link and a program": ("api", "/join", {"code": "LINK"}),
    "ask it": ("page", "/team/ask", {"asked-team": "Ants"}),
    "ask it when joining": ("page", "/join", {"team": "Ants", "ask": "yes"}),
    "ask it by a program": ("api", "/team/requests", {"team": "Ants"}),
    "be accepted": ("captain", "/team/requests", {"accept": True}),
}
"""Way -> by whom or how, where, and what is sent."""


@pytest.mark.few(2)
@pytest.mark.parametrize("way", WAYS_INTO_A_TEAM)
@pytest.mark.parametrize("role", [None, "organiser", "judge", "reader"])
def test_who_sees_more_than_teams_and_decides_nothing_is_in_no_team(
    web: WebSite, role: HostRole | None, way: str
) -> None:
    accounts = web.site.accounts
    captain, person = web.person("Ada", "Ants"), accounts.register("Jo").account
    accounts.enter(NAME, person, organiser=role)
    team = accounts.team_of(NAME, captain)
    assert team is not None
    sender, path, fields = WAYS_INTO_A_TEAM[way]
    if fields.get("code"):
        link = accounts.invite("team", competition=NAME, team=team.team, made_by=captain)
        fields = {**fields, "code": link}
    if sender == "page":
        answer = web.browser(person).post(f"/{NAME}{path}", data=fields)
    elif sender == "api":
        answer = web.program(web.token(person)).post(f"/api/v1/{NAME}{path}", json=fields)
    else:
        accounts.ask_team(team.team, person)
        body = {**fields, "account": person}
        answer = web.browser(captain).put(f"/api/v1/{NAME}{path}", json=body)
    is_refused = role in {"judge", "reader"}
    assert (answer.status_code == 403) == is_refused, answer.text
    is_in_team = accounts.team_of(NAME, person) is not None
    asks = any(request.account == person for request in accounts.team_requests(NAME))
    assert (is_in_team or asks) == (not is_refused or way == "be accepted")
