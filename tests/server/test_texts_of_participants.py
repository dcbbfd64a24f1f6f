"""Texts of participants in every place of the pages where they appear, read by a browser."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest

from arena.server.records.accounts import Accounts
from arena.server.records.names import RefusedError, team_key
from browser import new_context
from web_site import NAME, WebSite, listening

TEXTS = (
    "<img src=x class=pwn onerror=alert(1)>", '"><b class=pwn>x</b>', "</script><i class=pwn>",
    "<svg/onload=alert(1) class=pwn>", "[a](javascript:alert(1))", "&lt;b class=pwn&gt;",
    "{{7*7}}", '=HYPERLINK("http://e")', "@SUM(1)", "a;=1+1", "+1|cmd", "-1+cmd",
)  # fmt: skip
PAGES = ("/overview", "/pages/p", "/files", "/", "/submit", "/submissions", "/team", "/join",
         "/private", "/announcements", "/messages", "/admin/messages", "/admin",
         "/admin/teams", "/rules", "/admin/submissions")  # fmt: skip
TABLES = ("board", "admin/export/accounts", "admin/export/teams", "admin/export/requests",
          "admin/export/board")  # fmt: skip
STARTS_A_FORMULA = re.compile(r"(^|[;|])\s*[=+@]|^-[^\d.]|^[\t\r]")
FOREIGN = """els => els.filter(e => e.matches('.pwn') || [...e.attributes].some(
    a => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value))).map(e => e.outerHTML)"""


@pytest.mark.slow  # a browser takes long to start
@pytest.mark.long
def test_no_text_of_a_participant_becomes_markup_or_a_formula(web: WebSite, browser: Any) -> None:
    members = []
    for text in TEXTS:
        member = web.person(text, text, contact=f"{text}@example.org")
        members.append(member)
        client = web.program(web.token(member))
        assert client.post(f"/api/v1/{NAME}/messages", json={"text": text}).status_code == 201
        path = f"/api/v1/{NAME}/submissions"
        named = {"file": f"{text}.csv", "description": text}
        assert client.post(path, params=named, content=b"id,y\n").status_code == 202
        web.scorer.judge(web.site)
        assert client.post(path, params=named, content=b"id,y\na,1\n").status_code == 202
        fault = {"kind": text, "message": text, "id": text, "column": text, "cause": text}
        web.scorer.judge(web.site, faults=({**fault, "row": 3, "count": 1},))
    rows = [
        {"rank": position, "team": text, "score": 0.5} for position, text in enumerate(TEXTS, 1)
    ]
    web.scorer.publish(
        rules="\n\n".join(TEXTS),
        folder={"pages": [("overview", "\n\n".join(TEXTS)), ("p", "\n\n".join(TEXTS))],
                "images": [], "files": [{"name": text, "bytes": 1, "sha256": "0" * 64}
                                        for text in TEXTS]},
    )  # fmt: skip
    web.scorer.publish_result(rows)
    web.site.announcements.post(NAME, "\n\n".join(TEXTS), "organiser")
    organiser = web.person("Org", organiser=True)
    opened: list[str] = []
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}"
        for account in (organiser, members[0], members[1]):
            context = new_context(browser)
            web.sign_in(context, account, url)
            page = context.new_page()
            page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
            n_shown = 0
            for name in PAGES:
                answer = page.goto(f"{url}/{NAME}{name}")
                n_shown += sum(text in page.inner_text("body") for text in TEXTS)
                assert page.locator("*").evaluate_all(FOREIGN) == [], (name, answer.status)
            assert n_shown > len(TEXTS)
            context.close()
    assert opened == []
    host = web.browser(organiser)
    for table in TABLES:
        table_file = host.get(f"/{NAME}/{table}.csv")
        assert table_file.status_code == 200, table
        cells = [cell for row in csv.reader(io.StringIO(table_file.text)) for cell in row]
        assert "'@SUM(1)" in cells or "'@SUM(1).csv" in cells, table
        assert [cell for cell in cells if STARTS_A_FORMULA.search(cell)] == [], table


@pytest.mark.parametrize("turned", ["\u202eder", "r\u2067ed", "red\u202c"])
def test_a_name_cannot_be_written_backwards(accounts: Accounts, turned: str) -> None:
    with pytest.raises(RefusedError, match="control character"):
        accounts.register(turned)


@pytest.mark.parametrize("same", ["red\u2800", "r\u3164ed", "re\u115fd", "\uffa0red", "re\u200bd"])
def test_marks_without_ink_do_not_make_another_name(accounts: Accounts, same: str) -> None:
    assert team_key(same) == "red"
    with pytest.raises(RefusedError, match="empty"):
        accounts.register("\u3164")


@pytest.fixture
def accounts(web: WebSite) -> Accounts:
    return web.site.accounts
