"""The pages as people meet them: in Chromium, light and dark, wide and narrow, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from arena.server.records.layout import OIDC_SECRET
from browser import axe_faults, new_context, overflow
from fake_provider import CLIENT, SECRET, fake_provider
from web_site import NAME, RULES, WebSite, listening

pytestmark = pytest.mark.slow  # a browser takes long to start

PAGES = ("/overview", "/pages/prizes", "/files", "/", "/submit", "/submissions", "/team", "/rules",
         "/private", "/join", "/nothing", "/announcements", "/messages", "/admin",
         "/admin/messages", "/admin/settings", "/admin/teams", "/admin/submissions")  # fmt: skip


OVERVIEW = r"""Forecast **churn**: the loss is $\frac{1}{n}\sum_i |y_i - \hat y_i|$.

$$\text{score} = \sqrt{\sum_{i=1}^n \frac{(y_i - \hat y_i)^2}{n}}$$

| column | meaning | example of a rather long text that a phone must not be widened by |
|---|---|---|
| y | left | 1 |
"""


@pytest.fixture
def url(web: WebSite) -> Iterator[str]:
    """Serve a site with two teams, faults and a published private board."""
    digest = "0" * 64
    file = {"name": "train.csv", "bytes": 123_456, "sha256": digest}
    copies = web.site.settings.layout.shared(NAME)
    copies.mkdir()
    (copies / digest).write_bytes(b"")
    pages = [("overview", OVERVIEW), ("_footer", "By *us*."), ("prizes", "# Prizes\n\nNone.")]
    rounds = [
        {
            "phase": f"week-{day}", "series": "week", "state": state, "shares": [], "start": None,
            "end": f"{day}T00:00:00+00:00", "public_rows": 0, "private_rows": 1_234,
            "pending_rows": 1_000,
            **{key: getattr(web.facts, key) for key in ("metric", "board_metric", "mechanism")},
        }
        for day, state in (("2026-03-08", "ended"), ("2998-03-15", "open"), ("2998-03-22", "next"))
    ]  # fmt: skip
    phases = {"phases": tuple(rounds), "current_phase": "week-2998-03-15"}
    web.scorer.publish(
        replace(web.facts, deadline="2030-01-01T00:00:00+00:00", public_rows=18, **phases),
        rules=RULES,
        folder={"pages": pages, "images": [], "files": [file]},
    )
    for number, name in enumerate(("Ants <b>", "Bees")):
        member = web.person(f"Member of {name}", name, contact="m@example.org")
        web.site.accounts.accept_rules(NAME, member, web.site.competitions[NAME].rules()[1])
        client = web.program(web.token(member))
        path = f"/api/v1/{NAME}/submissions"
        assert client.post(path, content=b"id,y\na,%d\n" % number).status_code == 202
        web.scorer.judge(web.site, 0.6 + number / 10)
    assert client.post(path, content=b"id,y\nb,1\n").status_code == 202
    web.scorer.judge(web.site, faults=({"kind": "missing ids", "message": "Row 3 has no id."},))
    assert client.post(path, content=b"id,y\nc,1\n").status_code == 202
    web.site.announcements.post(NAME, "# News\n\nThe deadline moves *today*.", "organiser")
    question = web.site.messages.ask(NAME, member, "May we use <b>other</b> data?")
    web.site.messages.reply(
        NAME, member, "*No.*", answers=question.message, published="Other data?"
    )
    web.site.messages.ask(NAME, member, "And older data?")
    row = {"rank": 1, "team": "Bees", "score": 0.7, "score_low": 0.6, "score_high": 0.8,
           "rank_low": 1, "rank_high": 2}  # fmt: skip
    web.scorer.publish_result([row])
    with listening(web.app) as port:
        yield f"http://127.0.0.1:{port}"


def signed_in(browser: Any, web: WebSite, url: str, team: str | None, **context: Any) -> Any:
    opened = new_context(browser, **context)
    if team is None:
        account = web.person("Org", organiser=True)
    else:
        record = web.site.accounts.team_named(NAME, team)
        assert record is not None
        account = web.site.accounts.members(record.team)[0].account
    web.sign_in(opened, account, url)
    return opened


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 360)])
def test_every_page_is_accessible(
    browser: Any, web: WebSite, url: str, scheme: str, width: int
) -> None:
    """By axe-core: no fault of any weight; and no page is wider than the screen."""
    look: dict[str, Any] = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    contexts = {
        "member": signed_in(browser, web, url, "Bees", **look),
        "organiser": signed_in(browser, web, url, None, **look),
    }
    faults, messages, repeated = [], [], []
    # A page each: every new one would start a process.
    pages = {who: context.new_page() for who, context in contexts.items()}
    for page in pages.values():
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
    for path in (*PAGES, "sign-in"):
        who = "organiser" if path.startswith("/admin") else "member"
        context, page = contexts[who], pages[who]
        page.goto(f"{url}/{path}" if path == "sign-in" else f"{url}/{NAME}{path}")
        assert overflow(page) == 0, path
        assert page.locator(".button:visible").count() <= 1, path  # one primary action
        faults += [(path, *fault) for fault in axe_faults(context, page)]
        names = page.locator("button:visible").evaluate_all(
            "all => all.map(button => button.ariaLabel || button.innerText)"
        )
        repeated += [(path, name) for name in set(names) if names.count(name) > 1]
    assert not faults
    assert not repeated  # a screen reader lists buttons by their names
    # A page that is not there is said on the console, by the browser itself.
    assert [text for text in messages if "404" not in text] == []
    for context in contexts.values():
        context.close()


def test_a_person_without_scripts_submits(
    browser: Any, web: WebSite, url: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("id,y\na,0.5\n")
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{url}/{NAME}/join")
    for name, value in (("name", "Cy"), ("team", "Wasps")):
        page.fill(f"#{name}", value)
    page.check("#accept")
    page.click("main button.button")
    page.click("text=Submit a file")
    page.set_input_files("#file", str(tmp_path / "mine.csv"))
    page.click("form button.button")
    page.wait_for_load_state()  # a click waits for the navigation to begin, and not for its end
    assert "in the queue" in page.content()
    web.scorer.judge(web.site, 0.9)
    page.reload()
    assert "0.9" in page.locator(".verdict").text_content()
    context.close()


def test_a_file_that_was_only_checked_stays_chosen(
    browser: Any, web: WebSite, url: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("id,y\na,0.5\n")
    web.scorer.judge(web.site)
    context = signed_in(browser, web, url, "Bees")
    page = context.new_page()
    page.goto(f"{url}/{NAME}/submit")
    page.set_input_files("#file", str(tmp_path / "mine.csv"))
    page.fill("#description", "third try")
    for faults, sentence in (
        (({"kind": "odd", "message": "Row 2 is odd."},), "Row 2 is odd."),
        ((), "The file is valid."),
    ):
        page.click("text=Check only", no_wait_after=True)
        while not web.site.intake.checks(NAME):
            page.wait_for_timeout(20)
        web.scorer.judge(web.site, faults=faults)
        page.wait_for_selector(f"main:has-text('{sentence}')")
        assert page.evaluate("document.querySelector('#file').files[0].name") == "mine.csv"
        assert page.input_value("#description") == "third try"
    page.click("form.card button.button")
    page.wait_for_url(f"{url}/{NAME}/submissions/*")
    assert "third try" in page.text_content("main")
    context.close()


def test_the_board_is_live(browser: Any, web: WebSite, url: str) -> None:
    context = signed_in(browser, web, url, "Bees")
    page = context.new_page()
    page.goto(f"{url}/{NAME}/")
    assert page.locator("tbody th", has_text="Wasps").count() == 0
    web.scorer.scores["Wasps"] = 0.95
    web.scorer.judge(web.site)
    page.wait_for_selector("tbody th:has-text('Wasps')")
    token = web.token(web.person("Org", organiser=True), "admin")
    posted = httpx.post(
        f"{url}/api/v1/{NAME}/admin/announcements",
        json={"text": "The deadline moves again."},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert posted.status_code == 201
    page.wait_for_selector("article:has-text('The deadline moves again.')")
    context.close()


def test_the_pages_of_a_provider_are_accessible_and_lead_there_and_back(
    browser: Any, web: WebSite, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without scripts, from the form for newcomers to the provider, back, and into a team."""
    monkeypatch.setenv(OIDC_SECRET, SECRET)
    with fake_provider() as provider:
        provider.callback = f"{url}/sign-in/oidc/callback"
        keys = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT, "oidc_name": "Uni"}
        web.scorer.publish(
            facts=replace(web.facts, server=web.facts.server.model_copy(update=keys))
        )
        web.site.settings = replace(web.site.settings, url=url)
        for look in ({"color_scheme": "light"}, {"color_scheme": "dark"}):
            context = new_context(
                browser, java_script_enabled=False, viewport={"width": 360, "height": 900}, **look
            )
            page = context.new_page()
            for path in ("/sign-in", f"/{NAME}/join"):
                page.goto(f"{url}{path}")
                assert "Sign in with Uni" in page.content()
            page.click("text=Sign in with Uni")
            page.wait_for_url(f"{url}/{NAME}/join")  # after redirects to the provider and back
            assert page.url == f"{url}/{NAME}/join"
            assert "ada@example.org" in page.content()
            with_scripts = new_context(browser, viewport={"width": 360, "height": 900}, **look)
            with_scripts.add_cookies(context.cookies())
            checked = with_scripts.new_page()
            for path in ("/sign-in", f"/{NAME}/join"):
                checked.goto(f"{url}{path}")
                assert overflow(checked) == 0, path
                assert axe_faults(with_scripts, checked) == [], path
            with_scripts.close()
            if look["color_scheme"] == "dark":
                page.fill("#team", "Wasps")
                page.check("#accept")
                page.click("form.card button.button")
                page.wait_for_load_state()
                assert "Welcome" in page.content()
            context.close()
