"""The public board, announcements and results, as pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from starlette.responses import Response

from arena.server.records.announcements import version
from arena.server.web import actions, api
from arena.server.web.boards import asked_board, asked_bracket, asked_phase, rounds_of
from arena.server.web.body import whole_number
from arena.server.web.call import Call, address, may_download, nothing_to_publish
from arena.server.web.feed import atom
from arena.server.web.language import _
from arena.server.web.paging import SEARCHED_ABOVE, matches, page_of, search_of
from arena.server.web.problems import Problem
from arena.server.web.prose import markdown
from arena.server.web.rendering import Pages, show_page
from arena.server.web.shared import share
from arena.utils.bracket_rows import rows_of_bracket
from arena.utils.formatting import BoardDisplay, score_format

EMBEDDED_ROWS = 50
"""Rows of the board in a frame of another site."""
_NEWEST = 3
"""Announcements above the board."""


def _own_name(call: Call) -> str | None:
    """Return the name of the own team on the boards; None without one."""
    team = call.own_team
    return None if team is None else actions.record_name(call, team)


async def _released_board(call: Call, name: str) -> Response:
    """Show a public board over phases."""
    bracket = asked_bracket(call)
    board, _etag = call.competition.released_board(name, bracket)
    rows = board["standings"]
    keys = ("rank", "team", "score", "n_submissions", "baseline", "brackets")
    return show_page(
        call,
        "released_board.html",
        board=board,
        name=name,
        parts=[key for row in rows[:1] for key in row if key not in keys],
        own_name=_own_name(call),
        bracket=bracket,
        **page_of(call, rows),
    )


async def _board(call: Call) -> Response:
    share(call)
    if name := asked_board(call):
        return await _released_board(call, name)
    bracket, phase = asked_bracket(call), asked_phase(call)
    rows, etag = call.competition.board(bracket, phase)
    own_name = _own_name(call)
    search = search_of(call)
    matching = [row for row in rows if matches(search, str(row.get("team", "")))]
    page = page_of(call, matching)
    pinned = next((row for row in rows if row.get("team") == own_name), None)
    listed = page["rows"] if pinned is None else [*page["rows"], pinned]
    ranks_before, since = ({}, "") if bracket or phase else call.competition.ranks_before()
    facts = call.competition.facts.of_phase(phase)
    teams = [str(row.get("team")) for row in listed]
    last = call.competition.published.last_entries(teams)
    return show_page(
        call,
        "board.html",
        risen={
            row["team"]: ranks_before[row["team"]] - row["rank"]
            for row in listed
            if row.get("rank") is not None and row["team"] in ranks_before
        },
        since=since,
        last={
            team: time for team, time in last.items() if not facts.freeze or time <= facts.freeze
        },
        facts=facts,
        pinned=None if pinned in page["rows"] else pinned,
        own_name=own_name,
        received=call.competition.received(listed),
        difference=call.competition.chance() if facts is call.competition.facts else None,
        late=[] if bracket or phase else call.competition.late(),
        rounds=rounds_of(call),
        bracket=bracket,
        phase=phase or call.competition.facts.current_phase,
        total=len(rows),
        found=len(matching),
        search=search,
        searched_above=SEARCHED_ABOVE,
        etag=etag,
        **page,
        **_announcements(call, below=2, most=_NEWEST),
    )


async def _embed(call: Call) -> Response:
    """Show the top of the board in a frame of another site."""
    limits = call.competition.limits
    if not limits.embed or limits.board != "anyone":
        raise Problem(404, _("There is no such page."))
    rows, _etag = call.competition.board()
    page = show_page(call, "embed.html", rows=rows[:EMBEDDED_ROWS], total=len(rows))
    page.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors *"
    )
    page.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return page


def _announcements(call: Call, *, below: int, most: int | None = None) -> dict[str, Any]:
    """Return the templates' values for the newest announcements below a heading's level."""
    announcements = call.site.announcements.of(call.competition.name)
    return {
        "announcements": [
            (announcement, markdown(announcement.text, below=below))
            for announcement in announcements[:most]
        ],
        "n_announcements": len(announcements),
        "announcements_version": version(announcements),
    }


async def _show_announcements(call: Call) -> Response:
    return show_page(call, "announcements.html", **_announcements(call, below=1))


async def _feed(call: Call) -> Response:
    """Return the announcements as a feed, or 304 if its reader has them."""
    facts, name = call.competition.facts, call.competition.name
    title = facts.title or facts.name
    body = atom(
        call.site.announcements.of(name),
        title=f"{title}: {_('Announcements')}",
        author=", ".join(facts.server.organisers) or title,
        address=address(call, f"/{name}"),
    )
    headers = {"ETag": f'"{sha256(body).hexdigest()[:16]}"', "Cache-Control": "no-cache"}
    if headers["ETag"] in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/atom+xml", headers=headers)


FINAL_COLUMNS: dict[str, tuple[str, str]] = {
    "tier": ("whole", "Tier"),
    "rank_median": ("number", "Median rank"),
    "win_rate": ("share", "Share of wins"),
    "public_rank": ("whole", "Public rank"),
    "public_score": ("score", "Public score"),
    "n_submissions": ("whole", "Submissions"),
}
"""Further columns of the final result -> kind and title, in their order."""
REPORT = "report.html"
"""A file for download that the page of the result links."""
_FIXED_COLUMNS = {
    "rank", "rank_low", "rank_high", "team", "score", "score_low", "score_high", "submission",
    "answers", "baseline", "brackets", "possible_winner", "verification", "verification_note",
}  # fmt: skip


async def _private(call: Call) -> Response:
    results, _results_etag = call.competition.held("results", lambda stored: stored.json())
    last = results[-1]["version"] if results else 0
    number = whole_number(call.request.path_params.get("version", "")) or last
    document, _etag = call.competition.held(f"result {number}", lambda result: result.json())
    if document is None:
        raise Problem(404, _("The private board is not published yet."))
    return _result_page(call, document, results=results)


async def _next_result(call: Call) -> Response:
    """Show the organiser the private board before it is published."""
    document, _etag = call.competition.held("next result", lambda result: result.json())
    if document is None:
        raise nothing_to_publish()
    return _result_page(call, document, seen=actions.seen(call))


def _result_page(
    call: Call,
    document: Mapping[str, Any],
    *,
    results: Sequence[Mapping[str, Any]] = (),
    seen: str = "",
) -> Response:
    """Show a result; ``seen``: one that only the organiser sees, with the step to publish it."""
    boards = document.get("boards", {})
    board = actions.requested_name(call, "board", boards)
    document = {**document, **boards.get(board, {})}
    rows: Sequence[Mapping[str, Any]] = document.get("leaderboard", [])
    brackets = document.get("brackets", ())
    bracket = actions.requested_name(call, "bracket", brackets)
    rows = rows_of_bracket(rows, bracket) if bracket else rows
    facts = call.competition.facts
    with_interval = [row for row in rows if None not in map(row.get, ("score_low", "score_high"))]
    keys = dict.fromkeys(key for row in rows for key, value in row.items() if value is not None)
    columns = [(key, kind, _(title)) for key, (kind, title) in FINAL_COLUMNS.items() if key in keys]
    chosen = [key for key in keys if key not in {*_FIXED_COLUMNS, *FINAL_COLUMNS}]
    return show_page(
        call,
        "private.html",
        verdicts=[] if bracket else document.get("verdicts", []),
        boards=boards,
        board=board,
        brackets=brackets,
        bracket=bracket,
        result=document,
        results=results,
        seen=seen,
        corrected=None if bracket else document.get("best_score_corrected"),
        has_report=may_download(call)
        and any(file.name == REPORT for file in call.competition.folder().files),
        shown=score_format(with_interval, BoardDisplay(facts.decimals, facts.unit)),
        columns=[*columns, *((key, "number", key) for key in chosen)],
        total=len(rows),
        **page_of(call, rows),
        own_name=_own_name(call),
    )


PAGES: Pages = (
    ("GET", "/", "reader", "read", _board),
    ("GET", "/embed", "anyone", "read", _embed),
    ("GET", "/board.csv", "reader", "read", api.board_csv),
    ("GET", "/private", "reader", "read", _private),
    ("GET", "/private/{version}", "reader", "read", _private),
    ("GET", "/admin/result", "organiser", "admin", _next_result),
    ("GET", "/announcements", "reader", "read", _show_announcements),
    ("GET", "/announcements.atom", "reader", "read", _feed),
)
