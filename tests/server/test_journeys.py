"""Scripted journeys in a real browser, from the first page to the last, as people make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser import new_context, overflow
from web_site import NAME, RULES, WebSite, listening

pytestmark = pytest.mark.slow  # a browser takes long to start

PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
FAULT = {"kind": "empty cell", "message": "The cell is empty.", "row": 2, "column": "y"}


def offer_files(web: WebSite) -> None:
    """Publish an overview, rules and one file."""
    digest = "0" * 64
    copies = web.site.settings.layout.shared(NAME)
    copies.mkdir()
    (copies / digest).write_text("id,x\n")
    file = {"name": "train.csv", "bytes": 5, "sha256": digest}
    pages = [("overview", "Predict who leaves."), ("data", "# Data\n\nAll of them.")]
    web.scorer.publish(rules=RULES, folder={"pages": pages, "images": [], "files": [file]})


def judge_when_sent(web: WebSite, page: Any, *, checks: bool = False, **how: Any) -> None:
    """Play the scorer as soon as the page has sent something."""
    while not (
        web.site.intake.checks(NAME)
        if checks
        else web.site.intake.after(NAME, web.scorer.cursor, 1)
    ):
        page.wait_for_timeout(20)
    web.scorer.judge(web.site, **how)


def test_a_participant_on_a_phone_from_the_invitation_to_the_choice(
    browser: Any, web: WebSite, tmp_path: Path
) -> None:
    offer_files(web)
    secret = web.site.accounts.invite(
        "register", competition=NAME, team="Wasps", contact="cy@example.org"
    )
    (tmp_path / "mine.csv").write_text("id,y\na,0.5\n")
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}"
        context = new_context(browser, **PHONE)
        page = context.new_page()
        page.goto(f"{url}/invite/{secret}")
        assert page.input_value("#contact") == "cy@example.org"
        page.fill("#name", "Cy")
        page.check("#accept")
        page.click("main button.button")
        page.click("nav >> text=Overview")
        assert "Predict who leaves." in page.text_content("main")
        page.click("main >> text=Data")
        with page.expect_download() as download:
            page.click("text=train.csv")
        assert Path(download.value.path()).read_text() == "id,x\n"
        page.click("nav >> text=Submit")
        page.set_input_files("#file", str(tmp_path / "mine.csv"))
        page.click("text=Check only", no_wait_after=True)
        judge_when_sent(web, page, checks=True, faults=(FAULT,))
        page.wait_for_selector("main:has-text('The cell is empty.')")
        page.fill("#description", "first try")
        page.click("form.card button.button", no_wait_after=True)
        judge_when_sent(web, page, score=0.8)
        page.wait_for_selector(".verdict:has-text('0.8')")
        page.click("nav >> text=My submissions")
        page.check("input[name=submission]")
        page.click("text=Save the choice", no_wait_after=True)
        page.wait_for_url("**/submissions/*")
        judge_when_sent(web, page)
        page.goto(f"{url}/{NAME}/")
        row = page.locator("tr.own")
        assert "Wasps" in row.text_content()
        for path in ("/", "/overview", "/files", "/submit", "/submissions", "/team"):
            page.goto(f"{url}/{NAME}{path}")
            assert overflow(page) == 0, path
        context.close()
    (chosen,) = web.site.intake.of_kind(NAME, "select")
    assert dict(chosen.payload) == {"submissions": [1]}


def test_a_refused_upload_is_explained_and_judged_again(browser: Any, web: WebSite) -> None:
    """A complaint, answered: the organiser finds the file, sees why, and lets it be judged."""
    ada, host = web.person("Ada", "Ants"), web.person("Org", organiser=True)
    program = web.program(web.token(ada))
    path = f"/api/v1/{NAME}/submissions"
    program.post(path, params={"file": "lost.csv"}, content=b"id,y\n")
    web.scorer.judge(web.site, faults=(FAULT,))
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}"
        context = new_context(browser, viewport={"width": 1400, "height": 900})
        web.sign_in(context, host, url)
        page = context.new_page()
        page.goto(f"{url}/{NAME}/admin")
        page.click("nav >> text=Submissions")
        page.fill("#search", "lost")
        page.click("text=Find")
        page.click("text=lost.csv")
        assert "The cell is empty." in page.text_content("main")
        with page.expect_download() as download:
            page.click("text=Download the file")
        assert Path(download.value.path()).read_bytes() == b"id,y\n"
        page.click("text=Judge it again")
        page.wait_for_load_state()
        web.scorer.judge(web.site, score=0.6)
        page.reload()
        assert "0.6" in page.locator(".verdict").text_content()
        context.close()
    assert program.get(path).json()["requests"][0]["status"] == "accepted"


def test_a_member_leaves_and_an_account_is_deleted(browser: Any, web: WebSite) -> None:
    people = [web.person(name, "Ants") for name in ("Ada", "Bo")]
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}"
        for account, words in zip(people, ("Delete your account", "Leave the team"), strict=True):
            context = new_context(browser, **PHONE)
            web.sign_in(context, account, url)
            page = context.new_page()
            page.goto(f"{url}/{NAME}/team")
            page.click(f"summary:has-text('{words}')")
            form = page.locator(f"form:has(button:text-is('{words}'))")
            form.locator("input[type=checkbox]").check()
            form.locator("button").click()
            page.wait_for_load_state()
            context.close()
    assert [members for _team, members in web.site.accounts.teams(NAME)] == [[]]
    assert web.site.accounts.account(people[0]).name.startswith("deleted")
    assert web.site.accounts.account(people[1]).name == "Bo"
