"""The public board on pages of other sites: in a frame, and read by their scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from browser import new_context
from web_site import NAME, WebSite, listening

ALLOWED = "access-control-allow-origin"


@pytest.mark.slow
def test_only_what_everybody_sees_is_read_by_other_sites_and_only_if_chosen(tmp_path: Path) -> None:
    for number, (embed, board) in enumerate(
        ((False, "anyone"), (True, "members"), (True, "anyone"))
    ):
        web = WebSite(tmp_path / str(number), embed=embed, board=board)
        program = web.program(web.token(web.person("Ada", "Ants")))
        chosen = embed and board == "anyone"
        for path in ("/board", "/board.csv", "/results"):
            answer = program.get(
                f"/api/v1/{NAME}{path}", headers={"Origin": "https://other.example"}
            )
            assert (answer.headers.get(ALLOWED) == "*") == chosen, path
        for path in ("/submissions", "/team", "/messages", "/files"):
            assert ALLOWED not in program.get(f"/api/v1/{NAME}{path}").headers
        framed = web.browser().get(f"/{NAME}/embed")
        assert framed.status_code == (200 if chosen else 404)
        assert ("frame-ancestors *" in framed.headers["content-security-policy"]) == chosen
        assert (
            "frame-ancestors 'none'"
            in web.browser().get("/sign-in").headers["content-security-policy"]
        )
        web.close()


def test_a_board_for_members_is_not_read_by_other_sites(tmp_path: Path) -> None:
    headers = []
    for board in ("members", "anyone"):
        web = WebSite(tmp_path / board, embed=True, board=board)
        answer = web.program(web.token(web.person("Ada", "Ants"))).get(f"/api/v1/{NAME}/board")
        headers.append((answer.status_code, answer.headers.get(ALLOWED)))
        web.close()
    assert headers == [(200, None), (200, "*")]


@pytest.mark.slow  # a browser takes long to start
def test_a_page_of_another_site_shows_the_board(browser: Any, tmp_path: Path) -> None:
    web = WebSite(tmp_path, embed=True)
    web.scorer.scores = {"Ants": 0.75, "Bees": 0.5}
    web.scorer.judge(web.site)
    with listening(web.app) as port:
        board = f"http://127.0.0.1:{port}/{NAME}/embed"
        api = f"http://127.0.0.1:{port}/api/v1/{NAME}/board"
        script = f"fetch('{api}').then(a => a.json()).then(p => document.title = p.rows.length)"
        html = f'<iframe src="{board}" title="Board"></iframe><script>{script}</script>'

        async def page(_request: Any) -> HTMLResponse:
            return HTMLResponse(html)

        with listening(Starlette(routes=[Route("/", page)])) as other:
            context = new_context(browser)
            opened = context.new_page()
            opened.goto(f"http://localhost:{other}/")
            frame = opened.frame_locator("iframe")
            assert "Ants" in frame.locator("tbody").inner_text()
            opened.wait_for_function("document.title === '2'")
            context.close()
    web.close()
