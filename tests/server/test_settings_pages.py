"""Settings and texts in the browser: previewed, then asked for; the scorer decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from arena import OrganiserClient
from web_site import NAME, RULES, WebSite, listening

API = f"/api/v1/{NAME}/admin/settings"
PAGE = f"/{NAME}/admin/settings"
DEADLINE = "2030-01-01T00:00:00+00:00"


@pytest.fixture
def site(web: WebSite) -> WebSite:
    folder = {"pages": [("prizes", "# Prizes\n\nNone.")], "images": [], "files": []}
    web.scorer.publish(replace(web.facts, deadline=DEADLINE), rules=RULES, folder=folder)
    return web


def asked(web: WebSite) -> list[dict[str, Any]]:
    return [dict(request.payload) for request in web.site.intake.of_kind(NAME, "configure")]


def test_a_change_is_previewed_and_asked_for(site: WebSite) -> None:
    host = site.browser(site.person("Org", organiser=True))
    page = host.get(PAGE).text
    assert "Changed in competition.toml only" in page
    fields = {"limits.per_day": "7", "competition.deadline": "2030-01-02 12:00",
              "server.join": "invite", "server.approve": "no"}  # fmt: skip
    page = host.post(PAGE, data={**fields, "kind": "preview"}).text
    assert "limits.per_day: 5 → 7" in page
    assert "server.join: open → invite" in page
    assert "server.approve" not in page.partition('id="preview"')[2].partition("</pre>")[0]
    assert asked(site) == []
    assert host.post(PAGE, data={**fields, "kind": "apply"}).status_code == 303
    text = "# Prizes\r\n\r\nTwo.\r\n"
    page = host.post(PAGE, data={"pages/prizes.md": text, "kind": "preview"}).text
    compared = [
        "--- pages/prizes.md",
        "+++ pages/prizes.md",
        "@@ -2,2 +2,2 @@",
        " ",
        "-None.",
        "+Two.",
    ]
    assert "\n".join(compared) in page
    assert host.post(PAGE, data={"pages/prizes.md": text, "kind": "apply"}).status_code == 303
    assert asked(site) == [
        {
            "changes": {
                "competition.deadline": [DEADLINE, "2030-01-02T12:00:00+00:00"],
                "limits.per_day": [5, 7],
                "server.join": ["open", "invite"],
            },
            "texts": {},
        },
        {"changes": {}, "texts": {"pages/prizes.md": "# Prizes\n\nTwo."}},
    ]
    assert "pages/terms.md" in host.post(PAGE, data={"new-page": "terms", "kind": "new page"}).text
    site.offset += timedelta(hours=2)  # a change needs a recent sign-in
    assert host.post(PAGE, data={**fields, "kind": "apply"}).status_code == 403


def test_the_dates_of_phases_stand_for_those_of_the_competition(site: WebSite) -> None:
    names = {"start": None, "end": DEADLINE}
    site.scorer.publish(replace(site.facts, deadline=DEADLINE, phases=(
        {**dict.fromkeys(("board_metric", "metric", "state"), ""), "phase": "dev", **names},
    )))  # fmt: skip
    host = site.browser(site.person("Org", organiser=True))
    page = host.get(PAGE).text
    assert ('name="phase.dev.end" value="2030-01-01 00:00"' in page) is True
    assert "competition.deadline" not in page
    fields = {"phase.dev.end": "2030-01-02", "phase.dev.start": "2029-01-01", "kind": "apply"}
    assert host.post(PAGE, data=fields).status_code == 303
    assert asked(site)[0]["changes"] == {
        "phase.dev.end": [DEADLINE, "2030-01-02T00:00:00+00:00"],
        "phase.dev.start": [None, "2029-01-01T00:00:00+00:00"],
    }
    for wrong in (
        {"phase.dev.end": "2029-12-31"},
        {"phase.dev.end": ""},
        {"phase.x.end": "2031-01-01"},
    ):
        assert host.post(PAGE, data={**wrong, "kind": "apply"}).status_code == 422
    assert host.get(f"/{NAME}/admin").text.count("<option>dev</option>") == 2  # of the final steps


@pytest.mark.parametrize(
    "fields",
    [
        {"limits.per_day": "many"},
        {"competition.deadline": "2029-12-31"},
        {"competition.deadline": ""},
        {"competition.start": "tomorrow"},
        {"competition.start": "9999-12-31T23:59-05:00"},
        {"competition.start": "0001-01-01T00:00+05:00"},
        {"server.join": "everybody"},
        {},
    ],
)
@pytest.mark.few(2)
def test_what_cannot_be_set_is_refused_on_the_page(site: WebSite, fields: dict[str, str]) -> None:
    host = site.browser(site.person("Org", organiser=True))
    answer = host.post(PAGE, data={**fields, "kind": "apply"})
    assert (answer.status_code, 'role="alert"' in answer.text) == (422, True)
    assert asked(site) == []


def test_what_is_repeated_of_a_wrong_setting_is_cut(site: WebSite) -> None:
    host = site.browser(site.person("Org", organiser=True))
    headers = {"authorization": f"Bearer {site.token(site.person('Pat', organiser=True), 'admin')}"}
    page = host.post(PAGE, data={"limits.per_day": "x" * 61, "kind": "apply"}).text
    assert f"Submissions a day: &#39;{'x' * 60}&#39; is not a value of this setting." in page
    program = site.program()
    for key, value, sentence in (
        ("k" * 81, 1, f"{'k' * 80} can be changed in competition.toml only."),
        (
            "competition.deadline", "x" * 61,
            f"competition.deadline: '{'x' * 60}' is not a value of this setting.",
        ),
    ):  # fmt: skip
        refused = program.patch(API, json={"settings": {key: value}}, headers=headers)
        assert (refused.status_code, refused.json()["detail"]) == (422, sentence)
    new = {"new-page": f"{'p' * 81}", "kind": "new page"}
    assert f"pages/{'p' * 80}.md" in host.post(PAGE, data=new).text
    new["new-page"] = "a/../b c_d-1é"
    assert "pages/abc_d-1.md" in host.post(PAGE, data=new).text


def test_an_organiser_of_one_competition_cannot_name_the_mail_server(site: WebSite) -> None:
    """It would be sent the password of the whole server."""
    organiser = site.person("Org")
    site.site.accounts.enter(NAME, organiser, organiser="organiser")
    host = site.browser(organiser)
    fields = {"server.smtp_host": "", "limits.per_day": "7", "kind": "apply"}
    refused = host.post(PAGE, data={**fields, "server.smtp_host": "mail.example.net"})
    assert (refused.status_code, "server.smtp_host can be" in refused.text) == (422, True)
    assert asked(site) == []
    assert host.post(PAGE, data=fields).status_code == 303


@pytest.mark.slow
def test_settings_by_the_client(site: WebSite) -> None:
    token = site.token(site.person("Org", organiser=True), "admin")
    member = site.program(site.token(site.person("Ada", "Ants")))
    assert member.get(API).status_code == 404
    host = site.program(token)
    for wrong in ({"metric.name": "x"}, {"competition.deadline": "soon"},
                  {"competition.deadline": "2030-01-01T01:00:00+01:00"}):  # fmt: skip
        refused = host.patch(API, json={"settings": wrong})
        assert refused.status_code == 422, wrong
    with listening(site.app) as port:
        client = OrganiserClient(f"http://127.0.0.1:{port}/{NAME}", token, attempts=1)
        state = client.settings()
        assert (state["settings"]["limits.per_day"], state["texts"]["rules"]) == (5, RULES)
        assert client.preview_settings({"limits.per_day": 6}) == ["limits.per_day: 5 → 6"]
        request = client.change_settings({}, {"rules": "# New rules"})
        assert request["kind"] == "configure"
    assert asked(site) == [{"changes": {}, "texts": {"rules": "# New rules"}}]
