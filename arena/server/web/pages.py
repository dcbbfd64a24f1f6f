"""The pages of participants. Every form works without script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from arena.responses import RequestState
from arena.server.records.announcements import version
from arena.server.records.teams import Team
from arena.server.web import (
    actions,
    admin_pages,
    api,
    conversations,
    folder_pages,
    language,
    manager,
    membership,
    provider_pages,
    settings_pages,
    team_pages,
)
from arena.server.web.body import check_confirmed, read_fields, read_many, receive, whole_number
from arena.server.web.call import Call, may_download, nothing_to_publish
from arena.server.web.cookies import cookies_of
from arena.server.web.documents import request_state
from arena.server.web.feed import atom
from arena.server.web.language import _
from arena.server.web.limits import sender
from arena.server.web.mail import address_of, mail_lost_key, mailing_competitions
from arena.server.web.paging import SEARCHED_ABOVE, matches, page_of, search_of
from arena.server.web.people import (
    cookie_name,
    drop_cookie,
    identify,
    redirect_target,
    signed_in,
)
from arena.server.web.problems import EXPECTED, TITLES, Problem, too_many_requests
from arena.server.web.prose import markdown
from arena.server.web.provider_pages import newcomer, newcomer_cookie
from arena.server.web.rendering import Handler, left, refusals_on, render, served_markdown
from arena.server.web.score_chart import score_chart
from arena.server.web.shared import share
from arena.server.web.site import Site
from arena.server_section import ServerSection
from arena.utils.bracket_rows import rows_of_bracket
from arena.utils.formatting import BoardDisplay, score_format

DEVICE = timedelta(minutes=15)
"""How long a link for another device works."""
EMBEDDED_ROWS = 50
"""Rows of the board in a frame of another site."""
_NEWEST = 3
"""Announcements above the board."""


def problem_page(request: Request, problem: Problem, site: Site) -> Response:
    """Return a refusal as a page, with the step that helps."""
    name = request.path_params.get("competition") or next(iter(site.competitions), None)
    call = _call_of(request, site, name)
    return render(
        site,
        request,
        call,
        "problem.html",
        status=problem.status,
        headers=problem.headers,
        problem=problem,
        title=_(TITLES.get(problem.status, "Not possible now")),
        here=request.scope["path"],
    )


def _call_of(request: Request, site: Site, name: str | None) -> Call | None:
    if name not in site.competitions:
        return None
    try:
        person = identify(request, site.accounts)
        call = Call(request, site, site.competitions[name], person)
        call.competition.facts  # noqa: B018 - raises before the first publication
    except EXPECTED:
        return None
    return call


def _page(call: Call, template: str, status: int = 200, **context: Any) -> Response:
    return render(call.site, call.request, call, template, status=status, **context)


def _go(call: Call, path: str) -> Response:
    return RedirectResponse(f"/{call.competition.name}{path}", 303)


def _form(
    show: Callable[..., Awaitable[Response]],
    act: Callable[[Call, dict[str, str]], Awaitable[Response]],
) -> Handler:
    """Return a handler of a form: a refusal is shown on its page, with the person's input."""

    async def handle(call: Call) -> Response:
        fields: dict[str, str] = {}

        @refusals_on(partial(show, fields=fields))
        async def act_on_fields(call: Call) -> Response:
            fields.update(await read_fields(call.request, call.competition.limits))
            return await act(call, fields)

        return await act_on_fields(call)

    return handle


# Board


def _rounds(call: Call) -> list[dict[str, Any]]:
    """Return the rounds with what the own team sent (None: no team), and the published result."""
    rounds, own_team = call.competition.facts.rounds, call.own_team
    if not rounds:
        return []
    results, _etag = call.competition.held("results", lambda document: document.json())
    versions = {
        result.get("phase"): result["version"]
        for result in results or ()
        if result["state"] == "published"
    }
    last_sent = None
    if own_team is not None:
        last_sent = call.competition.published.last_in_phases(actions.record_name(call, own_team))
    return [
        {
            **phase,
            "rows": phase["public_rows"] + phase["private_rows"],
            "result": versions.get(phase["phase"]),
            "sent": None if last_sent is None else last_sent.get(phase["phase"], False),
        }
        for phase in rounds
    ]


def _own_name(call: Call) -> str | None:
    """Return the name of the own team on the boards; None without one."""
    team = call.own_team
    return None if team is None else actions.record_name(call, team)


async def _released_board(call: Call, name: str) -> Response:
    """Show a public board over phases."""
    bracket = api.asked_bracket(call)
    board, _etag = call.competition.released_board(name, bracket)
    rows = board["standings"]
    keys = ("rank", "team", "score", "n_submissions", "baseline", "brackets")
    return _page(
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
    if name := api.asked_board(call):
        return await _released_board(call, name)
    bracket, phase = api.asked_bracket(call), api.asked_phase(call)
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
    return _page(
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
        rounds=_rounds(call),
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
    page = _page(call, "embed.html", rows=rows[:EMBEDDED_ROWS], total=len(rows))
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
    return _page(call, "announcements.html", **_announcements(call, below=1))


async def _feed(call: Call) -> Response:
    """Return the announcements as a feed, or 304 if its reader has them."""
    facts, name = call.competition.facts, call.competition.name
    title = facts.title or facts.name
    body = atom(
        call.site.announcements.of(name),
        title=f"{title}: {_('Announcements')}",
        author=", ".join(facts.server.organisers) or title,
        address=api.address(call, f"/{name}"),
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
    return _page(
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


# Submit


async def _show_submit(
    call: Call, problem: Problem | None = None, checked: Any = None, status: int = 200,
    file: str = "",
) -> Response:  # fmt: skip
    team, facts = call.own_team, call.competition.facts
    open_phases = actions.open_phases(call, call.site.clock())
    rows_decide = facts.programs is None and actions.are_rounds(facts, open_phases)
    commands = submit_commands(
        api.address(call, ""),
        call.competition.name,
        programs=bool(facts.programs),
        phase="" if rows_decide or len(open_phases) < 2 else open_phases[0],
        required=[key for key, question in facts.questions.items() if question["required"]],
    )
    return _page(
        call,
        "submit.html",
        status=status,
        problem=problem,
        checked=checked,
        file=file,
        open_phases=open_phases,
        rounds=_rounds(call),
        rows_decide=rows_decide,
        commands=commands.values(),
        with_kaggle="kaggle" in commands,
        left=actions.left(call, team) if team else None,
        team_answers=_team_answers(call, team),
        rules_accepted=call.person.account is None or call.has_accepted_rules,
        has_sample=call.competition.published.etag("sample") is not None,
    )


def submit_commands(
    url: str, name: str, *, programs: bool, phase: str, required: Sequence[str]
) -> dict[str, str]:
    """Return program -> the command that submits a file, with all that the competition needs.

    ``phase``: the one to name, empty if one is open; ``required``: the questions to answer. The
    kaggle client sends no phase, answer or program.

    >>> commands = submit_commands(
    ...     "https://a.org", "race", programs=False, phase="dev", required=["method"]
    ... )
    >>> list(commands)
    ['arena', 'curl']
    >>> commands["arena"].partition(" --token-file ")[2]
    'token.txt --phase dev --answer "method=…" submission.csv'
    """
    file = "main.py" if programs else "submission.csv"
    options = [f"--phase {phase}"] if phase else []
    options += [f'--answer "{key}=…"' for key in required]
    query = [f"file={file}"] if programs else []  # its suffix says what it is
    query += [f"phase={phase}"] if phase else []
    query += [f"answer.{key}=…" for key in required]
    address = f"{url}/api/v1/{name}/submissions{'?' if query else ''}{'&'.join(query)}"
    to = f"arena submit --to {url}/{name} --token-file token.txt"
    commands = {
        "arena": " ".join([to, *options, file]),
        "curl": f'curl --fail-with-body -H "Authorization: Bearer $(cat token.txt)" \\\n'
        f'  --data-binary @{file} "{address}"',
    }
    if not (programs or phase or required):
        commands["kaggle"] = (
            f'KAGGLE_API_ENDPOINT={url} KAGGLE_USERNAME=me KAGGLE_KEY="$(cat token.txt)" \\\n'
            f'  kaggle competitions submit {name} -f {file} -m "first try"'
        )
    return commands


@refusals_on(_show_submit)
async def _submit(call: Call) -> Response:
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute)
    actions.check_may_submit(call)
    actions.check_open(call, call.site.clock(), late=True)
    received = await receive(call.request, call.site, call.competition, call.account.account)
    key = received.fields.get("key", "")[:100] or None
    # A second click sends the same form again; another file from the same page is a new one.
    request, _new = await actions.submit(
        call, received, f"page-{key}-{received.stored.sha256[:16]}" if key else None
    )
    return _go(call, f"/submissions/{request.request}")


@refusals_on(_show_submit)
async def _check(call: Call) -> Response:
    checked = await api.validate_file(call)
    if checked is None:
        raise Problem(
            503,
            _(
                "The file was not checked within a minute, because many files are waiting. "
                "Try again later."
            ),
        )
    return await _show_submit(call, checked=checked)


async def _sample(call: Call) -> Response:
    document = call.competition.published.document("sample")
    if document is None:
        raise Problem(404, _("There is no such page."))
    return Response(
        document.body,
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="sample_submission.csv"'},
    )


# My submissions


async def _show_mine(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None,  # noqa: ARG001 - as every form's page
) -> Response:  # fmt: skip
    team = call.team
    facts = call.competition.published.team(actions.record_name(call, team))
    states = [request_state(sending) for sending in actions.sent(call, team, limit=actions.LISTED)]
    files = [state for state in states if state["kind"] == "submit"]
    compared = [
        answer
        for key in ("first", "second")
        for answer in files
        if str(answer["submission"]) == call.request.query_params.get(key)
    ]
    rows, _etag = call.competition.board()
    own_row = next((row for row in rows if row.get("team") == facts.team), {})
    chosen_now = [
        answer
        for answer in files
        if answer["submission"] in facts.selected
        and answer["phase"] == call.competition.facts.current_phase
    ]
    return _page(
        call,
        "mine.html",
        status=status,
        problem=problem,
        team=team,
        sent=files,
        standing=own_row.get("submission"),
        compared=compared if len(compared) == 2 else [],
        difference=call.competition.chance(),
        members={member.account: member.name for member in call.site.accounts.members(team.team)},
        chart=_score_charts(files),
        others=[
            state
            for state in states
            if state["kind"] in {"rename", "select", "withdraw", "merge"}
            and state["status"] != "done"
        ][:3],
        selected=set(facts.selected),
        chose_too_many=len(chosen_now) > call.competition.facts.final_count,
        disqualified=facts.disqualified,
        left=actions.left(call, team),
        gets_result_mail=call.account.account
        in call.site.accounts.result_mails(call.competition.name),
    )


def _score_charts(files: Sequence[RequestState]) -> Markup:
    """Return a chart of the released scores of each phase: another one can have another metric."""
    by_phase: dict[str, list[tuple[str, float]]] = {}
    for file in reversed(files):
        if file["score"] is not None:
            score = (file["received"], file["score"])
            by_phase.setdefault(file["phase"], []).append(score)
    return Markup("").join(score_chart(scores, phase) for phase, scores in by_phase.items())


def _team_answers(call: Call, team: Team | None) -> Mapping[str, str]:
    if team is None:
        return {}
    recorded = call.competition.published.team(actions.record_name(call, team)).answers
    return {**actions.waiting_answers(call, team), **recorded}


async def _mine(call: Call) -> Response:
    return await _show_mine(call)


@refusals_on(_show_mine)
async def _choose(call: Call) -> Response:
    values, form = await read_many(call.request, call.competition.limits, "submission")
    await form.close()
    chosen = [number for value in values if (number := whole_number(value)) is not None]
    if len(chosen) < len(values):
        raise Problem(422, _("Choose submissions by their check boxes."))
    requests = actions.select_in_phases(call, chosen)
    only = f"/{requests[0].request}" if len(requests) == 1 else ""
    return _go(call, f"/submissions{only}")


async def _withdraw_submission(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    submission = whole_number(fields.get("submission", ""))
    if submission is None:
        raise Problem(422, _("Fill in all fields of the form."))
    request = actions.withdraw_submission(call, submission)
    return _go(call, f"/submissions/{request.request}")


async def _choose_result_mail(call: Call, fields: dict[str, str]) -> Response:
    actions.choose_result_mail(call, wanted=bool(fields.get("wanted")))
    return _go(call, "/submissions")


async def _one(call: Call) -> Response:
    call.account  # noqa: B018 - 401 without an account
    sending = actions.sent_request(call, call.request.path_params["request"])
    return _page(
        call,
        "request.html",
        one=request_state(sending),
        sender=manager.name_of(call, sending.request),
        has_file=manager.has_file(call, sending.request),
    )


# Team, tokens, account


async def _show_team(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None, made: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    account, team = call.account, call.own_team
    accounts = call.site.accounts
    tokens, provider = accounts.tokens(account.account), call.site.provider()
    subject = accounts.subject(account.account) or ""
    is_linked = provider is not None and subject.startswith(f"{provider.oidc_issuer} ")
    return _page(
        call,
        "team.html",
        status=status,
        problem=problem,
        fields=fields or {},
        team=team,
        new_name=call.renaming.get(team.team) if team else None,
        members=call.site.accounts.members(team.team) if team else [],
        invites=call.site.accounts.invites(team=team.team, kind="team") if team else [],
        captain=membership.captain(call, team) if team else None,
        is_merging=team is not None and team.team in call.merging,
        brackets=call.competition.brackets_of(actions.record_name(call, team)) if team else [],
        team_answers=_team_answers(call, team),
        requests=api.team_requests(call),
        tokens=[token for token in tokens if token.scope != "signin"],
        made=made or {},
        url=api.address(call, ""),
        has_key=accounts.has_key(account.account),
        provider=provider,
        is_linked=is_linked,
        identity=newcomer(call.request, call.site) if provider and not is_linked else None,
    )


async def _team(call: Call) -> Response:
    return await _show_team(call)


async def _rename(call: Call, fields: dict[str, str]) -> Response:
    membership.rename(call, fields.get("name", ""))
    return _go(call, "/team")


async def _invite(call: Call, _fields: dict[str, str]) -> Response:
    call.team  # noqa: B018 - 403 without a team
    return await _show_team(call, made={"invite": api.invite_member(call)["url"]})


async def _withdraw(call: Call, fields: dict[str, str]) -> Response:
    call.site.accounts.withdraw(fields.get("invite", ""), team=call.team.team)
    return _go(call, "/team")


async def _leave(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    membership.leave(call, fields.get("member") or call.account.account)
    return _go(call, "/team")


async def _ask_team(call: Call, fields: dict[str, str]) -> Response:
    membership.ask_team(call, fields.get("asked-team", ""))
    return _go(call, "/team")


async def _end_team_request(call: Call, _fields: dict[str, str]) -> Response:
    membership.end_request(call)
    return _go(call, "/team")


async def _answer_team(call: Call, fields: dict[str, str]) -> Response:
    accept = fields.get("kind") == "accept"
    if accept:
        check_confirmed(fields)
    membership.answer_request(call, fields.get("account", ""), accept=accept)
    return _go(call, "/team")


async def _change_account(call: Call, fields: dict[str, str]) -> Response:
    membership.change_account(call, fields.get("account-name", ""), fields.get("contact", ""))
    return _go(call, "/team")


async def _delete_account(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    membership.delete_account(call)
    response = RedirectResponse("/", 303)
    drop_cookie(response, call.request, cookie_name(call.request))
    return response


async def _new_token(call: Call, fields: dict[str, str]) -> Response:
    text = fields.get("days", "")
    days = whole_number(text)
    if text and not 0 < (days or 0) <= 3_650:
        raise Problem(422, _("The number of days is between 1 and 3,650."))
    scope = fields.get("scope", "submit")
    if scope not in {"read", "submit", "admin"}:
        raise Problem(422, _("Choose a scope from the list."))
    name = " ".join(fields.get("name", "").split()) or _("my program")
    token_made = api.new_token(call, name, scope, days)
    return await _show_team(call, made={"token": token_made})


async def _revoke(call: Call, fields: dict[str, str]) -> Response:
    call.site.accounts.revoke(call.account.account, fields.get("token", ""))
    return _go(call, "/team")


async def _new_key(call: Call, _fields: dict[str, str]) -> Response:
    session = cookies_of(call.request).get(cookie_name(call.request))
    key = call.site.accounts.new_key(call.account.account, session)
    return await _show_team(call, made={"key": key})


async def _device(call: Call, _fields: dict[str, str]) -> Response:
    account = call.account.account
    call.limit("device", account, 5)
    secret = call.site.accounts.invite(
        "signin", account=account, made_by=account, expires=call.site.clock() + DEVICE
    )
    return await _show_team(call, made={"device": f"{api.address(call, '')}/invite/{secret}"})


async def _link(call: Call, fields: dict[str, str]) -> Response:
    call.check_fresh()
    identity = newcomer(call.request, call.site)
    # The form names the identity: another tab may have signed in as somebody else meanwhile.
    if identity is None or identity.digest != fields.get("identity"):
        raise Problem(
            409,
            _("The sign-in there was more than half an hour ago, or as somebody else. Repeat it."),
        )
    call.site.accounts.link_subject(call.account.account, identity.subject)
    response = _go(call, "/team")
    drop_cookie(response, call.request, newcomer_cookie(call.request))
    return response


async def _forget_identity(call: Call, _fields: dict[str, str]) -> Response:
    response = _go(call, "/team")
    drop_cookie(response, call.request, newcomer_cookie(call.request))
    return response


async def _unlink(call: Call, _fields: dict[str, str]) -> Response:
    call.check_fresh()
    provider = call.site.provider()
    if provider is not None and provider.oidc_only:
        # With it, a person could register a second time.
        raise Problem(
            409,
            _("Everybody signs in with {name} here, so the identity stays linked.").format(
                name=provider.provider_name
            ),
        )
    call.site.accounts.unlink_subject(call.account.account)
    return _go(call, "/team")


# Rules


async def _show_rules(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None,  # noqa: ARG001 - as every form's page
) -> Response:  # fmt: skip
    text, version = call.competition.rules()
    account = call.person.account
    return _page(
        call,
        "rules.html",
        status=status,
        problem=problem,
        rules=served_markdown(call, text),
        version=version,
        accepted=call.site.accounts.accepted(call.competition.name, account.account, version)
        if account
        else None,
    )


async def _rules(call: Call) -> Response:
    return await _show_rules(call)


async def _accept(call: Call, fields: dict[str, str]) -> Response:
    _text, version = call.competition.rules()
    if fields.get("version") != version:
        raise Problem(409, _("The rules changed since this page was loaded. Read them again."))
    call.site.accounts.accept_rules(call.competition.name, call.account.account, version)
    return _go(call, "/submit")


# Sign in, register, leave


async def _show_join(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None, code: str = "", invite: Any = None,
) -> Response:  # fmt: skip
    text, version = call.competition.rules()
    end = actions.end_of_files(call)
    return _page(
        call,
        "join.html",
        status=status,
        problem=problem or end,
        fields=fields or {},
        code=code or (fields or {}).get("code", ""),
        invite=invite,
        team=call.own_team,
        to_join_another=membership.to_join_another_team(),
        rules=text is not None,
        version=version,
        provider=call.site.provider(),
        newcomer=None if call.person.account else newcomer(call.request, call.site),
    )


async def _join_page(call: Call) -> Response:
    return await _show_join(call)


async def _join(call: Call, fields: dict[str, str]) -> Response:
    rules = fields.get("version", "") if fields.get("accept") else ""
    ask, answers = bool(fields.get("ask")), actions.given_answers(fields)
    if call.person.account is not None:
        membership.join(
            call,
            team=fields.get("team", ""),
            code=fields.get("code", ""),
            rules=rules,
            ask=ask,
            answers=answers,
        )
        return _go(call, "/team" if ask else "/submit")
    identity = newcomer(call.request, call.site) if fields.get("provider") else None
    if fields.get("provider") and identity is None:
        raise Problem(403, _("You signed in more than half an hour ago. Sign in again."))
    account, key = membership.register(
        call,
        name=fields.get("name", ""),
        contact=identity.email if identity and identity.verified else fields.get("contact", ""),
        code=fields.get("code", "").strip(),
        team=fields.get("team", ""),
        rules=rules,
        ask=ask,
        answers=answers,
        identity=identity,
    )
    person = replace(call.person, account=account)  # the page is shown to the person signed in
    page = _page(call, "welcome.html", account=account, key=key, person=person, asked=ask)
    if identity is not None:
        drop_cookie(page, call.request, newcomer_cookie(call.request))
    return signed_in(page, call.site.accounts, call.request, account.account)


@dataclass(frozen=True, slots=True)
class _PlainPages:
    """The pages that belong to no competition."""

    site: Site

    async def index(self, request: Request) -> Response:
        if len(self.site.competitions) == 1:
            return RedirectResponse(f"/{next(iter(self.site.competitions))}/", 303)
        return render(
            self.site,
            request,
            None,
            "index.html",
            groups=self._groups(),
            newcomer=newcomer(request, self.site),
        )

    def _groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the competitions by what a reader can do in them, the next deadline first."""
        now = self.site.clock()
        rows: dict[str, list[dict[str, Any]]] = {"open": [], "upcoming": [], "over": []}
        for competition in self.site.competitions.values():
            facts, deadline = competition.facts, competition.deadline()
            over = competition.state().phase in actions.OVER or (
                deadline is not None and deadline < now
            )
            upcoming = facts.start is not None and datetime.fromisoformat(facts.start) > now
            rows["over" if over else "upcoming" if upcoming else "open"].append(
                {
                    "name": competition.name,
                    "title": facts.title or competition.name,
                    "start": facts.start if upcoming else None,
                    "deadline": facts.deadline,
                    "left": left(facts.deadline, now) if facts.deadline else "",
                    "metric": facts.board_metric,
                    "teams": len(competition.board()[0])
                    if competition.limits.board == "anyone"
                    else 0,
                }
            )
        for group in rows.values():
            group.sort(key=lambda row: (row["deadline"] or "9", row["title"]))
        return [
            (_("Open"), rows["open"]),
            (_("Upcoming"), rows["upcoming"]),
            (_("Over"), rows["over"][::-1]),
        ]

    async def sign_in_page(
        self,
        request: Request,
        problem: Problem | None = None,
        then: str = "",
        *,
        asked: bool = False,
    ) -> Response:
        call = _call_of(request, self.site, next(iter(self.site.competitions), None))
        return render(
            self.site,
            request,
            call,
            "sign_in.html",
            status=problem.status if problem else 200,
            problem=problem,
            then=then or redirect_target(request.query_params.get("then", "/")),
            provider=self.site.provider(),
            asked=asked,
            may_mail=bool(mailing_competitions(self.site)),
            here="/sign-in",
        )

    async def sign_in(self, request: Request) -> Response:
        address = sender(request)
        then = "/"
        try:
            fields = await read_fields(request, ServerSection())
            then = redirect_target(fields.get("then", "/"))
            if wait := self.site.buckets.take(("sign in", address), 10):
                raise too_many_requests(wait)
            held = self.site.accounts.holder(fields.get("key", "").strip())
            if held is None or held[1].scope != "signin":
                raise Problem(
                    403,
                    _(
                        "This sign-in key is not valid. It was shown when you registered; the "
                        "organiser can send you a link that signs you in."
                    ),
                )
        except Problem as problem:
            return await self.sign_in_page(request, problem, then)
        return signed_in(RedirectResponse(then, 303), self.site.accounts, request, held[0].account)

    async def lost_key(self, request: Request) -> Response:
        """Mail a link to the accounts with an address; the answer never says if there is one."""
        address = sender(request)
        fields = await read_fields(request, ServerSection())
        contact = address_of(fields.get("contact", ""))
        most = {("lost", address): 10, ("lost", (contact or "").casefold()): 3}
        wait = max(self.site.buckets.take(key, n) for key, n in most.items())
        if wait:
            return await self.sign_in_page(request, too_many_requests(wait))
        if contact is None:
            problem = Problem(422, _("This is no e-mail address."))
            return await self.sign_in_page(request, problem)
        page = await self.sign_in_page(request, asked=True)
        # After the answer, so that its time does not say it either.
        page.background = BackgroundTask(mail_lost_key, self.site, contact)
        return page

    async def sign_out(self, request: Request) -> Response:
        secret = cookies_of(request).get(cookie_name(request))
        if secret:
            self.site.accounts.close_session(secret)
        response = RedirectResponse("/", 303)
        drop_cookie(response, request, cookie_name(request))
        drop_cookie(response, request, newcomer_cookie(request))
        return response

    async def choose_language(self, request: Request) -> Response:
        fields = await read_fields(request, ServerSection())
        response = RedirectResponse(redirect_target(fields.get("then", "/")), 303)
        if fields.get("language") in language.LANGUAGES:
            response.set_cookie(
                "language", fields["language"], max_age=31_536_000, samesite="lax", httponly=True
            )
        return response

    async def invitation(self, request: Request) -> Response:
        """Show the invitation of a link; only the form uses it, because previews open links too."""
        secret = request.path_params["secret"]
        invite = self.site.accounts.invitation(secret)
        if invite is None:
            raise Problem(
                404,
                _(
                    "This link or code is not valid: it was used, has expired or is mistyped. "
                    "Ask the person who sent it for a new one."
                ),
            )
        name = invite.competition or next(iter(self.site.competitions))
        if invite.kind == "signin":
            account = self.site.accounts.account(str(invite.account))
            call = _call_of(request, self.site, name)
            return render(
                self.site, request, call, "sign_in_link.html", account=account, secret=secret
            )
        person = identify(request, self.site.accounts)
        call = Call(request, self.site, self.site.competition(name), person)
        team = None
        if invite.kind == "team":
            try:
                team = self.site.accounts.team(str(invite.team)).name
            except KeyError:
                raise Problem(
                    404, _("This team was merged into another one. Ask for a new link.")
                ) from None
        invite_fields = {
            "team": team or invite.team, "name": invite.name, "contact": invite.contact,
        }  # fmt: skip
        return await _show_join(call, code=secret, invite=invite_fields)

    async def use_invitation(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        invite = self.site.accounts.invitation(secret)
        if invite is None or invite.kind != "signin":
            return await self.invitation(request)
        self.site.accounts.use(secret)
        account = self.site.accounts.account(str(invite.account))
        organised = [
            name
            for name in self.site.competitions
            if self.site.accounts.account(account.account, name).organiser
        ]
        name = next(iter([*organised, *self.site.competitions]))
        target = f"/{name}/admin" if organised else f"/{name}/"
        return signed_in(
            RedirectResponse(target, 303), self.site.accounts, request, account.account
        )

    def routes(self) -> list[Route]:
        """Return their routes."""
        return [
            Route("/", self.index),
            Route("/sign-in", self.sign_in_page),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            *provider_pages.routes(self.site, self.sign_in_page),
            Route("/sign-in/lost", self.lost_key, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
            Route("/language", self.choose_language, methods=["POST"]),
            Route("/invite/{secret}", self.invitation),
            Route("/invite/{secret}", self.use_invitation, methods=["POST"]),
        ]


PAGES: tuple[tuple[str, str, str, str, Handler], ...] = (
    ("GET", "/", "reader", "read", _board),
    ("GET", "/embed", "anyone", "read", _embed),
    ("GET", "/board.csv", "reader", "read", api.board_csv),
    ("GET", "/private", "reader", "read", _private),
    ("GET", "/private/{version}", "reader", "read", _private),
    ("GET", "/admin/result", "organiser", "admin", _next_result),
    ("GET", "/announcements", "reader", "read", _show_announcements),
    ("GET", "/announcements.atom", "reader", "read", _feed),
    ("GET", "/submit", "anyone", "read", _show_submit),
    ("POST", "/submit", "member", "submit", _submit),
    ("POST", "/check", "member", "submit", _check),
    ("GET", "/sample_submission.csv", "anyone", "read", _sample),
    ("GET", "/submissions", "member", "read", _mine),
    ("GET", "/submissions.csv", "member", "read", api.submissions_csv),
    ("POST", "/selection", "member", "submit", _choose),
    ("POST", "/result-mail", "member", "submit", _form(_show_mine, _choose_result_mail)),
    ("POST", "/withdrawals", "member", "submit", _form(_show_mine, _withdraw_submission)),
    ("GET", "/submissions/{request}", "signed-in", "read", _one),
    ("GET", "/team", "signed-in", "read", _team),
    ("POST", "/team/rename", "member", "submit", _form(_show_team, _rename)),
    ("POST", "/team/invite", "member", "account", _form(_show_team, _invite)),
    ("POST", "/team/withdraw", "member", "submit", _form(_show_team, _withdraw)),
    ("POST", "/team/leave", "member", "account", _form(_show_team, _leave)),
    ("POST", "/team/ask", "signed-in", "submit", _form(_show_team, _ask_team)),
    ("POST", "/team/unask", "signed-in", "submit", _form(_show_team, _end_team_request)),
    ("POST", "/team/answer", "member", "account", _form(_show_team, _answer_team)),
    ("POST", "/account", "signed-in", "account", _form(_show_team, _change_account)),
    ("POST", "/account/delete", "signed-in", "account", _form(_show_team, _delete_account)),
    ("POST", "/tokens", "signed-in", "account", _form(_show_team, _new_token)),
    ("POST", "/tokens/revoke", "signed-in", "submit", _form(_show_team, _revoke)),
    ("POST", "/sign-in-key", "signed-in", "account", _form(_show_team, _new_key)),
    ("POST", "/device", "signed-in", "account", _form(_show_team, _device)),
    ("POST", "/provider/link", "signed-in", "account", _form(_show_team, _link)),
    ("POST", "/provider/unlink", "signed-in", "account", _form(_show_team, _unlink)),
    ("POST", "/provider/forget", "signed-in", "account", _form(_show_team, _forget_identity)),
    ("GET", "/rules", "anyone", "read", _rules),
    ("POST", "/rules", "signed-in", "submit", _form(_show_rules, _accept)),
    ("GET", "/join", "anyone", "read", _join_page),
    ("POST", "/join", "anyone", "read", _form(_show_join, _join)),
    *conversations.PAGES,
    *settings_pages.PAGES,
    *folder_pages.PAGES,
    *manager.PAGES,
    *admin_pages.PAGES,
    *team_pages.PAGES,
)
"""Method, path below the competition, who, scope, handler."""


def routes(site: Site, guarded: Any) -> list[Route]:
    """Return the routes of all pages."""
    return [
        *_PlainPages(site).routes(),
        *(
            Route(
                f"/{{competition}}{api.route_path(path)}",
                guarded(site, who, scope, handler),
                methods=[method],
            )
            for method, path, who, scope, handler in PAGES
        ),
    ]
