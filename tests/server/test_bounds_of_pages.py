"""Limits of pages: lengths of texts, rows of lists, submissions that are left, live pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from arena.requests import Answer
from arena.server.records.published import TeamFacts
from arena.server.records.teams import Team
from arena.server.web import actions, events
from arena.server.web.call import Call
from arena.server.web.mail import mail_lost_key
from arena.server.web.membership import allowed_until_now
from arena.server.web.paging import number_of_pages, page_number, search_of
from arena.server.web.people import Person, redirect_target
from arena.server.web.problems import Problem
from web_site import FACTS, NAME, WebSite

FILE = "0" * 32
NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    """Return a site that these tests share, with a file of the team Ants."""
    web = WebSite(tmp_path_factory.mktemp("bounds"), embed=True)
    ants = web.person("Ada", "Ants")
    answer = Answer(
        FILE, 1, team="Ants", kind="submit", status="accepted", submission=7, member=ants
    )
    web.scorer.publisher.publish(answers=[answer])
    yield web
    web.close()


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Return the decisions of organisers in a test; the scorer does not get them."""
    decisions: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(actions, "admin", lambda _call, *decision: decisions.append(decision))
    return decisions


def ants(site: WebSite) -> Team:
    team = site.site.accounts.team_named(NAME, "Ants")
    assert team is not None
    return team


def board_of(n_teams: int) -> list[dict[str, Any]]:
    return [
        {"rank": n, "team": f"team {n}", "score": 1 / n, "submission": n, "n_submissions": 1,
         "baseline": False}
        for n in range(1, n_teams + 1)
    ]  # fmt: skip


def x(length: int) -> str:
    return "x" * length


def call_about(**competition: Any) -> Any:
    """Return a call of the web process at NOW, about a competition with these parts."""
    return SimpleNamespace(
        competition=SimpleNamespace(**competition), site=SimpleNamespace(clock=lambda: NOW)
    )


DECISIONS: list[tuple[str, dict[str, str], tuple[str, dict[str, Any]]]] = [
    (
        "exempt",
        {"team": x(500), "reason": x(500), "extra": "", "until": x(41)},
        ("exempt", {"team": x(500), "reason": x(500), "extra": 0, "until": x(40)}),
    ),
    (
        "exempt",
        {"team": "Ants", "reason": "r", "extra": "1", "until": " "},
        ("exempt", {"team": "Ants", "reason": "r", "extra": 1}),
    ),
    ("rescore", {"kind": "apply", "preview": x(41)}, ("rescore", {"preview": x(40)})),
    ("rescore", {"kind": "preview", "preview": "x"}, ("rescore", {})),
    (
        "decide",
        {"kind": "undo", "what": "9" * 15, "reason": x(500)},
        ("undo", {"reason": x(500), "submission": 10**15 - 1}),
    ),
    (
        "decide",
        {"kind": "disqualify", "what": "9" * 16, "reason": "r"},
        ("disqualify", {"reason": "r", "team": "9" * 16}),
    ),
    (
        f"submissions/{FILE}/disqualify",
        {"reason": x(501)},
        ("disqualify", {"submission": 7, "reason": x(500)}),
    ),
    (
        "teams/TEAM/bracket",
        {"bracket": x(201), "member": "no"},
        ("bracket", {"team": "Ants", "bracket": x(200), "member": False}),
    ),
]
"""A form of the organiser, its fields, and the decision that follows."""


def test_texts_of_an_organiser_have_a_longest_length(
    site: WebSite, decided: list[tuple[str, dict[str, Any]]]
) -> None:
    browser = site.browser(site.person("Org", organiser=True))
    team = ants(site)

    def status(form: str, fields: dict[str, str]) -> int:
        path = f"/{NAME}/admin/{form.replace('TEAM', team.team)}"
        return browser.post(path, data=fields).status_code

    assert [status(form, fields) for form, fields, _ in DECISIONS] == [303] * len(DECISIONS)
    assert decided == [decision for _form, _fields, decision in DECISIONS]
    for form, fields in (
        ("pause", {"reason": x(501)}),
        ("decide", {"kind": "undo", "what": x(501), "reason": "r"}),
    ):
        assert status(form, fields) == 422, form
    assert len(decided) == len(DECISIONS)
    status("teams/TEAM/note", {"note": f"{x(1_998)}\r\nyz"})
    assert site.site.accounts.notes()[team.team] == f"{x(1_998)}\ny"


def test_a_frame_has_the_first_fifty_teams_and_twenty_are_found_without_a_search(
    site: WebSite,
) -> None:
    def page(n_teams: int, path: str) -> str:
        site.scorer.publish(board=board_of(n_teams))
        return site.browser().get(f"/{NAME}/{path}").text

    framed = page(51, "embed")
    assert ("51 teams" in framed, framed.count('<th scope="row">')) == (True, 50)
    assert ['role="search"' in page(n_teams, "") for n_teams in (20, 21)] == [False, True]
    assert [number_of_pages(n_rows) for n_rows in (0, 100, 101, 200, 201)] == [1, 1, 2, 2, 3]


def test_the_three_newest_announcements_are_above_the_board(site: WebSite) -> None:
    for number in range(4):
        site.site.announcements.post(NAME, f"News of day {number}.", "x")
    page = site.browser().get(f"/{NAME}/").text
    assert [f"News of day {number}." in page for number in range(4)] == [False, True, True, True]


def test_query_parameters_are_bounded() -> None:
    def call_with(**query: str) -> Any:
        return SimpleNamespace(request=SimpleNamespace(query_params=query))

    numbers = ("0", "7", "9" * 8, "1" + "0" * 8, "-1", "x")
    assert [page_number(call_with(page=text)) for text in numbers] == [1, 7, 10**8 - 1, 1, 1, 1]
    assert page_number(call_with()) == 1
    assert [search_of(call_with(search=text)) for text in (f" {x(100)}", " a ")] == [x(99), "a"]
    assert search_of(call_with()) == ""
    targets = (f"/{x(298)}", f"/{x(299)}", "/\\a", "//a", "a", "/a\n", "/")
    assert list(map(redirect_target, targets)) == [f"/{x(298)}", "/", "/", "/", "/", "/", "/"]


def test_steps_without_an_account_are_counted_and_a_language_is_kept_for_a_year(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[Any] = []
    monkeypatch.setattr(site.site.buckets, "take", lambda *count: counts.append(count) or 0)
    guest = site.browser()
    guest.post("/sign-in", data={"key": "x"})
    guest.post("/sign-in/lost", data={"contact": "Ada@Example.org"})
    assert [count for count in counts if count[0][0] in {"sign in", "lost"}] == [
        (("sign in", "testclient"), 10),
        (("lost", "testclient"), 10),
        (("lost", "ada@example.org"), 3),
    ]
    answer = guest.post("/language", data={"language": "de", "then": "/churn/"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/churn/")
    assert answer.headers["set-cookie"] == (
        "language=de; HttpOnly; Max-Age=31536000; Path=/; SameSite=lax"
    )
    assert "set-cookie" not in guest.post("/language", data={"language": "xx"}).headers


Limits = tuple[int | None, int | None, int | None]
LEFT: list[tuple[Limits, dict[str, Any], int, tuple[int | None, int | None]]] = [
    ((None, None, None), {}, 3, (None, None)),
    ((50, None, None), {"used_total": 10}, 1, (None, 39)),
    # 5 - 2 - 1 of today, and 50 - 10 - 1.
    ((50, None, 5), {"used_total": 10, "day": "2026-05-06", "used_day": 2}, 1, (2, 39)),
    ((50, None, 5), {"used_total": 10, "day": "2026-05-05", "used_day": 2}, 1, (4, 39)),
    ((3, None, 5), {"used_total": 2}, 0, (1, 1)),
    ((None, 4, None), {"week": "2026-W19", "used_week": 3}, 0, (1, None)),
    ((None, 4, None), {"week": "2026-W18", "used_week": 3}, 0, (4, None)),
    (
        (10, 4, 1),
        {"used_total": 10, "week": "2026-W19", "used_week": 4, "day": "2026-05-06", "used_day": 1,
         "extra": 2},
        0, (2, 2),
    ),
    ((10, None, 1), {"used_total": 11, "day": "2026-05-06", "used_day": 3}, 0, (0, 0)),
]  # fmt: skip
"""Limits (in total, a week, a day), used, waiting files, and what is left today and in total."""


def test_what_is_left_of_the_limits_of_a_day_a_week_and_in_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Any] = []
    monkeypatch.setattr(actions, "_unjudged", lambda *_: waiting)
    for (total, per_week, per_day), used, n_waiting, (today, in_total) in LEFT:
        others = [("select", {}), ("submit", {"program": "p"})]
        waiting[:] = [
            SimpleNamespace(kind=kind, payload=payload)
            for kind, payload in [*others, *[("submit", {})] * n_waiting]
        ]
        published = SimpleNamespace(
            team=lambda name, used=used: TeamFacts(name, **used), current_name=lambda name: name
        )
        facts = SimpleNamespace(total=total, per_week=per_week, per_day=per_day)
        call = call_about(facts=facts, published=published)
        left = actions.left(call, SimpleNamespace(name="Ants"))  # type: ignore[arg-type]
        expected = (today, in_total, n_waiting, "2026-05-07T00:00:00+00:00")
        assert (left.today, left.total, left.waiting, left.resets) == expected, used


ALLOWED: list[tuple[Limits, int, int | None]] = [
    ((None, None, None), 9, None),
    ((50, None, None), 9, 50),
    ((None, None, 2), 0, 2),
    ((None, None, 2), 3, 8),
    # A single day is in 1 week, two to eight days are in 2 weeks at most, nine in 3.
    *(((None, 3, None), days_before, 3 * weeks) for days_before, weeks in (
        (0, 1), (1, 2), (7, 2), (8, 3),
    )),
    ((50, 3, 2), 1, 4),
    ((5, 3, 2), 2, 5),
]  # fmt: skip
"""Limits (in total, a week, a day), the days since a team began, the most that it can have sent."""


def test_how_many_files_a_team_can_have_sent_since_a_day() -> None:
    def allowed(limits: Limits, days_before: int, **about: Any) -> int | None:
        total, per_week, per_day = limits
        facts = replace(FACTS, total=total, per_week=per_week, per_day=per_day, **about)
        since = NOW.replace(hour=23) - timedelta(days=days_before)
        return allowed_until_now(call_about(facts=facts), since, "")

    assert [allowed(limits, days) for limits, days, _ in ALLOWED] == [
        most for _limits, _days, most in ALLOWED
    ]
    # Days before the competition began do not count: two days, yesterday and today.
    assert allowed((None, None, 2), 9, start="2026-05-05T23:00:00+00:00") == 4


def test_how_long_tokens_and_sign_ins_are_valid() -> None:
    def days(since_deadline: float | None) -> float:
        deadline = None if since_deadline is None else NOW - timedelta(days=since_deadline)
        return Call.token_expiry(call_about(deadline=lambda: deadline)) / timedelta(days=1)

    assert [days(since) for since in (None, -5, 28, 29, 30)] == [365, 35, 2, 1, 1]
    hour, second = timedelta(hours=1), timedelta(seconds=1)
    person = Person(since=NOW)
    assert [person.fresh(NOW + hour - second), person.fresh(NOW + hour)] == [True, False]
    assert [Person().fresh(NOW), Person(program=True).fresh(NOW)] == [False, True]


def test_cookies_have_at_most_8192_bytes(site: WebSite) -> None:
    for length, status in ((8_192, 200), (8_193, 431)):
        page = site.browser().get(f"/{NAME}/", headers={"cookie": f"a={x(length - 2)}"})
        assert page.status_code == status, length
    assert "have more than 8,192 bytes. Delete them" in page.text


def test_a_lost_key_is_mailed_to_five_accounts_of_an_address_for_an_hour() -> None:
    states = ("blocked", "active", "organiser", "waiting", "elsewhere", "active")
    people = [
        SimpleNamespace(account=f"a{number}", name=f"Ada {number}", state=state)
        for number, state in enumerate(states)
    ]
    invitations: list[Any] = []
    mails: list[Any] = []

    def invite(kind: str, *, account: str, made_by: str, expires: datetime) -> str:
        invitations.append((kind, account, made_by, expires - NOW))
        return f"secret-{account}"

    facts = replace(FACTS, server=FACTS.server.model_copy(update={"smtp_host": "m"}))
    site: Any = SimpleNamespace(
        accounts=SimpleNamespace(
            with_contact=lambda contact: people,
            competitions_of=lambda account: {"other" if account == "a4" else NAME},
            invite=invite,
        ),
        competitions={NAME: SimpleNamespace(name=NAME, facts=facts)},
        is_organiser=lambda account: account == "a2",
        clock=lambda: NOW,
        settings=SimpleNamespace(url="https://a.org"),
        mails=SimpleNamespace(add=mails.extend),
    )
    mail_lost_key(site, "ada@example.org")
    assert invitations == [("signin", name, name, timedelta(hours=1)) for name in ("a1", "a3")]
    assert [f"signs Ada {n} in to" in mail.body for n, mail in zip((1, 3), mails, strict=True)] == [
        True, True,
    ]  # fmt: skip


def test_a_live_page_gets_events_and_keep_alive_comments(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    competition, accounts = site.site.competitions[NAME], site.site.accounts
    site.scorer.publish(board=[])
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.001)
    monkeypatch.setattr(events, "INTERVAL", 0.001)
    team = ants(site)
    (member,) = accounts.members(team.team)
    call: Any = SimpleNamespace(
        competition=competition, site=site.site, own_team=team,
        person=Person(accounts.account(member.account, NAME)),
    )  # fmt: skip

    def etag() -> str:
        return competition.published.etag("board") or ""

    async def read_events() -> None:
        stream = events.stream(call)
        texts = [await anext(stream) for _ in range(6)]
        assert events.listeners() == 1
        first, announced = etag(), texts[3]
        assert texts == [
            "retry: 5000\n\n", f"event: board\ndata: {first}\n\n",
            "event: results\ndata: \n\n", announced, "event: answer\ndata: 1\n\n",
            ": still here\n\n",
        ]  # fmt: skip
        assert announced.startswith("event: announcement\ndata: ")
        monkeypatch.setattr(events, "KEEP_ALIVE", 60.0)
        site.scorer.publish(board=board_of(1))
        assert await anext(stream) == f"event: board\ndata: {etag()}\n\n" != texts[1]
        await stream.aclose()  # type: ignore[attr-defined]
        assert events.listeners() == 0
        while competition in events.watching_tasks:
            await asyncio.sleep(0.001)

    asyncio.run(read_events())
    monkeypatch.setattr(events, "listeners", lambda: 4)
    for most, may_listen in ((5, True), (4, False)):
        call.competition = SimpleNamespace(limits=SimpleNamespace(listeners=most))
        if may_listen:
            events.stream(call)
        else:
            with pytest.raises(Problem, match="Too many pages are live") as refused:
                events.stream(call)
            assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "60"})


def test_messages_and_announcements_have_a_longest_length(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site.site.buckets, "take", lambda *_: 0)
    member = site.browser(site.person("Ben", "Bees", contact=x(201)))
    host = site.browser(site.person("Hal", organiser=True))
    assert max(len(person.contact) for person in site.site.accounts.accounts(NAME)) == 200

    def statuses(browser: Any, form: str, *texts: str) -> list[int]:
        return [browser.post(f"/{NAME}/{form}", data={"text": text}).status_code for text in texts]

    lengths = ("", f" {x(5_000)} ", x(5_001))
    assert statuses(host, "admin/announce", *lengths) == [422, 303, 422]
    assert statuses(member, "messages", *lengths, *"123456789") == [422, 303, 422, *[303] * 9]
    refused = member.post(f"/{NAME}/messages", data={"text": "the eleventh"})
    assert (refused.status_code, "not answered yet. Wait for" in refused.text) == (409, True)
    answer = {"answers": "1", "kind": "publish", "text": "Yes."}
    for published, status in ((" ", 422), (x(5_001), 422), (x(5_000), 303)):
        page = host.post(f"/{NAME}/admin/messages", data={**answer, "published": published})
        assert page.status_code == status
    assert statuses(member, "messages", "again", "and again") == [303, 409]


def test_pages_of_a_team_list_its_last_files_and_requests(site: WebSite) -> None:
    """The organiser sees ten files of the last 50 answers, a team its last three other requests."""
    host, member = site.person("Ira", organiser=True), site.person("Leo", "Lions")
    team = site.site.accounts.team_named(NAME, "Lions")
    assert team is not None

    def counts(n_files: int, n_others: int) -> tuple[int, int]:
        """Return how many files and how many other, newer requests are on the pages."""
        kinds = [("submit", "accepted")] * n_files + [("select", "refused")] * n_others
        answers = [
            Answer(
                f"lions-{n:03}", 1_000 + n, team="Lions", kind=kind, status=status,
                file=f"file-{n:03}.",
            )
            for n, (kind, status) in enumerate(kinds)
        ]  # fmt: skip
        site.scorer.publisher.publish(answers=answers)
        of_host = site.browser(host).get(f"/{NAME}/admin/teams/{team.team}").text
        of_team = site.browser(member).get(f"/{NAME}/submissions").text
        return of_host.count("<bdi>file-"), of_team.count("Your choice of final submissions:")

    assert [counts(11, 0), counts(1, 49), counts(1, 50)] == [(10, 0), (1, 3), (0, 3)]


def test_numbers_and_keys_of_requests_have_bounds(site: WebSite) -> None:
    program = site.program(site.token(site.person("Kim", "Koalas")))
    api = f"/api/v1/{NAME}"
    queries = (
        "board?limit=500&after=9007199254740992", "board?after=9007199254740993", "board?limit=0",
        "board?after=-1", "submissions?before=-7&limit=500", "submissions?limit=501",
        f"board?after={1:020}", f"board?after={1:021}",
    )  # fmt: skip
    assert [program.get(f"{api}/{query}").status_code for query in queries] == [
        200, 422, 200, 422, 200, 422, 200, 422,
    ]  # fmt: skip
    cut = program.get(f"{api}/board", params={"after": x(41)}).json()["detail"]
    assert cut == f"after is '{x(40)}', but must be a whole number up to 9007199254740992."

    def status(key: str) -> int:
        headers = {"Idempotency-Key": key}
        answer = program.post(f"{api}/submissions", content=b"id,y\n", headers=headers)
        return answer.status_code

    assert [status(key) for key in (x(200), x(201), "a\tb")] == [202, 422, 422]
