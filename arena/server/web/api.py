"""The HTTP API of a competition: one table of endpoints, from which routes and documentation come.

A program sends its token as ``Authorization: Bearer TOKEN``. Every refusal is a problem document.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from arena import responses
from arena.server.records.teams import TeamRequest
from arena.server.web import (
    actions,
    conversations,
    folder_pages,
    manager,
    membership,
    models,
    programs,
)
from arena.server.web.boards import asked_board, asked_bracket, asked_phase, board_rows
from arena.server.web.body import receive, whole_number
from arena.server.web.call import Call, address
from arena.server.web.csv_table import csv_response, table_csv
from arena.server.web.documents import (
    fault_line,
    info,
    json_bytes,
    person_state,
    request_state,
    shown,
    token_state,
)
from arena.server.web.endpoint import Endpoint
from arena.server.web.events import stream
from arena.server.web.language import _
from arena.server.web.organiser_api import ORGANISER_ENDPOINTS
from arena.server.web.paging import MOST_ROWS, PAGE_QUERY, number_in_query
from arena.server.web.problems import Problem
from arena.server.web.shared import share

VALIDATE_SECONDS = 60.0


async def _info(call: Call) -> responses.Info:
    return info(call)


async def _phases(call: Call) -> responses.Phases:
    return responses.Phases(
        phases=cast("list[responses.Phase]", list(call.competition.facts.phases))
    )


async def _board(call: Call) -> Response | responses.BoardPage:
    after, limit = (
        number_in_query(call, "after", 0) or 0,
        number_in_query(call, "limit", 100, MOST_ROWS) or 100,
    )
    bracket, phase, board = asked_bracket(call), asked_phase(call), asked_board(call)
    share(call)
    if board:
        released, etag = call.competition.released_board(board, bracket)
        rows = released["standings"]
    else:
        rows, etag = call.competition.board(bracket, phase)
    headers = {"ETag": f'"{etag}"', "Cache-Control": "no-cache"}
    known_etags = call.request.headers.get("if-none-match", "")
    if etag and f'"{etag}"' in known_etags:
        return Response(status_code=304, headers=headers)
    part = (board, phase, bracket, after, limit)
    body = call.competition.kept(etag, part)
    if body is None:
        page = responses.BoardPage(
            rows=rows[after : after + limit],
            late=call.competition.late() if not (after or bracket or phase or board) else [],
            total=len(rows),
            after=after,
            next=after + limit if after + limit < len(rows) else None,
            etag=etag,
        )
        body = call.competition.keep(etag, part, json_bytes(page))
    return Response(body, media_type="application/json", headers=headers)


async def board_csv(call: Call) -> Response:
    """Return the public board as CSV."""
    rows = board_rows(call)
    return csv_response(table_csv(rows, () if rows else ("rank", "team", "score")), "board")


async def _events(call: Call) -> Response:
    return StreamingResponse(
        stream(call),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _join(call: Call, body: models.Join) -> responses.TeamState:
    membership.join(call, team=body.team, code=body.code, rules=body.rules, answers=body.answers)
    return _team_state(call)


async def _submit(call: Call) -> responses.RequestState:
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute)
    actions.check_may_submit(call)
    actions.check_receives(call, call.site.clock())
    key = call.request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= 200 and key.isprintable()):
        raise Problem(422, "The Idempotency-Key must have 1 to 200 printable characters.")
    received = await receive(call.request, call.site, call.competition, call.account.account)
    request, _new = await actions.submit(call, received, key)
    return request_state(actions.sent_request(call, request.request))


async def validate_file(call: Call) -> responses.Checked | None:
    """Check a file without counting it; ``None`` if the check takes longer than a minute."""
    if call.competition.facts.programs is not None:
        # Its faults would tell the ids of the hidden rows.
        raise Problem(409, _("This competition takes programs: their trial checks them."))
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute * 2)
    actions.check_may_submit(call)
    actions.check_receives(call, call.site.clock())
    received = await receive(call.request, call.site, call.competition, call.account.account)
    name, upload = call.competition.name, received.stored.name
    intake, published = call.site.intake, call.competition.published
    check = await run_in_threadpool(intake.add_check, name, upload, received.file)
    try:
        end = time.monotonic() + VALIDATE_SECONDS
        while time.monotonic() < end:
            faults = published.check(check)
            if faults is not None:
                return responses.Checked(status="rejected" if faults else "ok", faults=faults)
            await asyncio.sleep(0.1)
        return None
    finally:
        await run_in_threadpool(intake.drop_check, check)
        await run_in_threadpool(call.site.uploads.drop, upload)


async def _validate(call: Call) -> responses.Checked:
    checked = await validate_file(call)
    if checked is None:
        raise Problem(
            503,
            "The file was not checked within a minute, because many files are waiting. Try again "
            "later.",
            {"Retry-After": "60"},
        )
    return checked


async def _submissions(call: Call) -> responses.SubmissionsPage:
    before = number_in_query(call, "before", None)
    limit = number_in_query(call, "limit", 100, MOST_ROWS) or 100
    team = call.team
    sendings = actions.sent(call, team, before=before, limit=limit)
    answered = [sending.answer.seq for sending in sendings if sending.answer is not None]
    left = actions.left(call, team)
    facts = call.competition.published.team(actions.record_name(call, team))
    return responses.SubmissionsPage(
        requests=[request_state(sending) for sending in sendings],
        next=min(answered) if len(answered) >= limit else None,
        left_today=left.today,
        left_total=left.total,
        waiting=left.waiting,
        resets=left.resets,
        selected=list(facts.selected),
    )


async def submissions_csv(call: Call) -> Response:
    """Return the team's submissions as CSV."""
    rows = [
        {
            **state,
            "score_of": state["source"],
            "faults": "; ".join(map(fault_line, state["faults"])),
        }
        for state in map(request_state, actions.sent(call, call.team, limit=10_000))
        if state["kind"] == "submit"
    ]
    columns = ("submission", "received", "status", "score", "score_of", "private", "private_rank",
               "before_rebuild", "late", "phase", "file", "selected", "faults", "receipt", "sha256",
               "request")  # fmt: skip
    return csv_response(table_csv(rows, columns), "submissions")


async def _request(call: Call) -> responses.RequestState:
    call.account  # noqa: B018 - 401 without an account
    return request_state(actions.sent_request(call, call.request.path_params["request"]))


async def _select(call: Call, body: models.Selection) -> responses.RequestState:
    request = actions.select_by_number(call, body.submissions, body.phase)
    return request_state(actions.sent_request(call, request.request))


async def _withdraw(call: Call, body: models.Withdrawal) -> responses.RequestState:
    request = actions.withdraw_submission(call, body.submission)
    return request_state(actions.sent_request(call, request.request))


def _team_state(call: Call) -> responses.TeamState:
    team = call.team
    return responses.TeamState(
        name=team.name,
        members=[person_state(member) for member in call.site.accounts.members(team.team)],
        size=call.competition.limits.team_size,
        new_name=call.renaming.get(team.team),
    )


async def _team(call: Call) -> responses.TeamState:
    return _team_state(call)


async def _rename(call: Call, body: models.TeamChange) -> responses.TeamState:
    membership.rename(call, body.name)
    return _team_state(call)


async def _leave_team(call: Call, body: models.OldMember) -> responses.Message:
    membership.leave(call, body.account or call.account.account)
    return responses.Message(message="The member left the team.")


def _request_state(call: Call, request: TeamRequest) -> responses.TeamRequestState:
    accounts = call.site.accounts
    own_team = None if request.own_team is None else accounts.team(request.own_team).name
    return shown(
        responses.TeamRequestState,
        request,
        team=accounts.team(request.team).name,
        own_team=own_team,
        asked=request.asked.isoformat(),
    )


def team_requests(call: Call) -> responses.TeamRequests:
    """Return the own open request to a team, and those to the own team."""
    own_request, team = membership.own_request(call), call.own_team
    received = [] if team is None else membership.requests_to(call, team)
    return responses.TeamRequests(
        sent=None if own_request is None else _request_state(call, own_request),
        received=[_request_state(call, request) for request in received],
    )


async def _team_requests(call: Call) -> responses.TeamRequests:
    return team_requests(call)


async def _ask_team(call: Call, body: models.AskedTeam) -> responses.TeamRequests:
    membership.ask_team(call, body.team)
    return team_requests(call)


async def _answer_team(call: Call, body: models.TeamAnswer) -> responses.TeamRequests:
    membership.answer_request(call, body.account, accept=body.accept)
    return team_requests(call)


async def _end_team_request(call: Call) -> responses.TeamRequests:
    membership.end_request(call)
    return team_requests(call)


async def _change_account(call: Call, body: models.AccountNames) -> responses.Message:
    membership.change_account(call, body.name, body.contact)
    return responses.Message(message="The account was changed.")


def invite_member(call: Call) -> responses.InviteMade:
    """Create a link that lets one person join the own team."""
    call.limit("invite", call.account.account, 10)
    team, expires = call.team, call.site.clock() + timedelta(days=14)
    secret = call.site.accounts.invite(
        "team",
        competition=call.competition.name,
        team=team.team,
        made_by=call.account.account,
        expires=expires,
    )
    return responses.InviteMade(url=address(call, f"/invite/{secret}"), expires=expires.isoformat())


async def _invite(call: Call) -> responses.InviteMade:
    return invite_member(call)


async def _tokens(call: Call) -> responses.TokenList:
    return responses.TokenList(
        tokens=[token_state(token) for token in call.site.accounts.tokens(call.account.account)]
    )


def new_token(call: Call, name: str, scope: str, days: int | None) -> responses.TokenMade:
    """Create a token for the account; 403 for a scope that the request does not have itself."""
    call.limit("token", call.account.account, 10)
    if scope not in call.person.scopes:
        raise Problem(403, _("You cannot create a token of the scope {scope}.").format(scope=scope))
    if len(call.site.accounts.tokens(call.account.account)) >= 50:
        raise Problem(409, _("You have 50 tokens. Revoke one that you no longer need."))
    lasts = timedelta(days=days) if days else call.token_expiry()
    secret, token = call.site.accounts.make_token(
        call.account.account, name, scope, call.site.clock() + lasts
    )
    return responses.TokenMade(secret=secret, **token_state(token))


async def _new_token(call: Call, body: models.NewToken) -> responses.TokenMade:
    return new_token(call, body.name, body.scope, body.days)


async def _revoke(call: Call, body: models.OldToken) -> responses.Message:
    if not call.site.accounts.revoke(call.account.account, body.token):
        raise Problem(404, "You have no such token. GET /tokens lists them.")
    return responses.Message(message="The token was revoked.")


async def _private(call: Call) -> Response:
    document = call.competition.published.document("private")
    if document is None:
        results = call.competition.published.document("results")
        retracted = [result["retracted"] for result in results.json()][-1:] if results else []
        if retracted:
            raise Problem(404, _("The result was retracted:") + f" {retracted[0]['reason']}")
        raise Problem(404, _("The private board is not published yet."))
    return Response(document.body, media_type="application/json")


async def _results(call: Call) -> responses.Rows[responses.ResultState]:
    document = call.competition.published.document("results")
    return responses.Rows(rows=[] if document is None else document.json())


async def _result(call: Call) -> Response:
    version = call.request.path_params["version"]
    number = whole_number(version)
    document = call.competition.published.document(f"result {number}")
    if document is None:
        raise Problem(404, _("There is no such result."))
    return Response(document.body, media_type="application/json")


async def _announcements(call: Call) -> responses.AnnouncementList:
    return responses.AnnouncementList(
        announcements=[
            responses.AnnouncementState(
                announcement=announcement.announcement,
                posted=announcement.posted.isoformat(),
                text=announcement.text,
            )
            for announcement in call.site.announcements.of(call.competition.name)
        ]
    )


async def _result_mail(call: Call, body: models.ResultMail) -> responses.Message:
    actions.choose_result_mail(call, wanted=body.wanted)
    return responses.Message(message="The choice was saved.")


async def _delete_account(call: Call) -> responses.Message:
    membership.delete_account(call)
    return responses.Message(message="The account was deleted.")


_BRACKET = {
    "bracket": "The teams of this bracket only, ranked among themselves.",
    "phase": "The board of this phase. Default: that of the current one.",
    "board": "A board over phases, [board.NAME] with phases.",
}

ENDPOINTS = (
    Endpoint("GET", "", "anyone", "read", _info,
             "Rules, deadline, limits, server time and phase.", answer=responses.Info),
    Endpoint("GET", "/phases", "reader", "read", _phases,
             "The phases, their dates, rows and states.", answer=responses.Phases),
    Endpoint("GET", "/board", "reader", "read", _board, "A page of the public board.",
             answer=responses.BoardPage,
             query={"after": "Rows to skip.", "limit": "Rows a page, at most 500.", **_BRACKET}),
    Endpoint("GET", "/board.csv", "reader", "read", board_csv, "The public board as CSV.",
             answer="text/csv", query=_BRACKET),
    Endpoint("GET", "/events", "reader", "read", _events,
             "Server-sent events: board and results with their ETag, answer and announcement with "
             "a number.",
             answer="text/event-stream"),
    Endpoint("POST", "/join", "signed-in", "submit", _join,
             "Enter the competition with a team.", 201, models.Join, responses.TeamState,
             (409,)),
    Endpoint("POST", "/submissions", "member", "submit", _submit,
             "Submit a file: its bytes, or a form with the part file. Repeat with the same "
             "Idempotency-Key after an error: it is counted once.", 202, bytes,
             responses.RequestState, (409, 507),
             {"file": "The name of the file.", "description": "A note for the team.",
              "phase": "Where several phases are open: the one for which it counts. Of rounds: "
              "one of them only, instead of every open one whose rows the file has.",
              "answer.KEY": "The answer to the question KEY, which is public."}),
    Endpoint("POST", "/validate", "member", "submit", _validate,
             "Check a file; it is not counted and not kept.", 200, bytes, responses.Checked,
             (409, 507)),
    Endpoint("GET", "/submissions", "member", "read", _submissions,
             "The team's requests, newest first, and how many submissions are left.",
             answer=responses.SubmissionsPage, query=PAGE_QUERY),
    Endpoint("GET", "/submissions.csv", "member", "read", submissions_csv,
             "The team's submissions as CSV.", answer="text/csv"),
    Endpoint("POST", "/runs/lease", "runner", "run", programs.lease,
             "The next run of a program, for a runner; 204 if there is none for 5 seconds. Every "
             "request of a runner has its token in the header Authorization, as Bearer.", 200,
             models.RunnerState, responses.Lease, (409,)),
    Endpoint("GET", "/runs/{run}/program", "runner", "run", programs.program_file,
             "The program of a run, for the runner that has it.",
             answer="application/octet-stream", errors=(409,),
             query={"lease": "The number of the lease."}),
    Endpoint("POST", "/runs/{run}/beat", "runner", "run", programs.beat,
             "Keep a run for another minute.", 200, models.Beat, responses.Message,
             (409,)),
    Endpoint("POST", "/runs/{run}/result", "runner", "run", programs.result,
             "The signed result of a run: a form with the fields result and signature, and the "
             "part output.", 200, bytes, responses.Message, (409,)),
    Endpoint("GET", "/requests/{request}", "signed-in", "read", _request,
             "One request of the own team: its answer, or its place in the queue.",
             answer=responses.RequestState),
    Endpoint("GET", "/requests/{request}/file", "signed-in", "read", manager.download_upload,
             "The file of a request as it was uploaded, while it is kept.",
             answer="application/octet-stream"),
    Endpoint("PUT", "/selection", "member", "submit", _select,
             "Choose the final submissions.", 202, models.Selection, responses.RequestState,
             (409,)),
    Endpoint("POST", "/withdrawals", "member", "submit", _withdraw,
             "Withdraw a submission permanently: it leaves every board, but counts in the limits.",
             202, models.Withdrawal, responses.RequestState, (409,)),
    Endpoint("GET", "/team", "member", "read", _team, "The own team.", answer=responses.TeamState),
    Endpoint("PATCH", "/team", "member", "submit", _rename, "Rename the own team.", 200,
             models.TeamChange, responses.TeamState, (409,)),
    Endpoint("DELETE", "/team/members", "member", "account", _leave_team,
             "Leave the own team, or remove another member as its captain.", 200,
             models.OldMember, responses.Message, (409,)),
    Endpoint("GET", "/team/requests", "signed-in", "read", _team_requests,
             "The own request to a team, and those to the own team.",
             answer=responses.TeamRequests),
    Endpoint("POST", "/team/requests", "signed-in", "submit", _ask_team,
             "Ask a team to take the account in, or, as the captain of a team, to merge the own "
             "team with it. An earlier request ends.", 201, models.AskedTeam,
             responses.TeamRequests, (409,)),
    Endpoint("DELETE", "/team/requests", "signed-in", "submit", _end_team_request,
             "End the own request.", answer=responses.TeamRequests),
    Endpoint("PUT", "/team/requests", "member", "account", _answer_team,
             "Accept or decline a request to the own team, as its captain.", 200,
             models.TeamAnswer, responses.TeamRequests, (409,)),
    Endpoint("PATCH", "/account", "signed-in", "account", _change_account,
             "Change the own name and contact.", 200, models.AccountNames, responses.Message),
    Endpoint("DELETE", "/account", "signed-in", "account", _delete_account,
             "Delete the own account: what it sent no longer names a person.",
             answer=responses.Message, errors=(409,)),
    Endpoint("POST", "/team/invites", "member", "account", _invite,
             "A link with which one person joins the own team.", 201, None, responses.InviteMade),
    Endpoint("GET", "/tokens", "signed-in", "read", _tokens, "The own tokens.",
             answer=responses.TokenList),
    Endpoint("POST", "/tokens", "signed-in", "account", _new_token,
             "A new token; its secret is shown once.", 201, models.NewToken, responses.TokenMade,
             (409,)),
    Endpoint("DELETE", "/tokens", "signed-in", "submit", _revoke, "Revoke a token.", 200,
             models.OldToken, responses.Message),
    Endpoint("GET", "/private", "reader", "read", _private,
             "The private board with its intervals, after it is published.",
             answer=responses.Result),
    Endpoint("GET", "/files", "anyone", "read", folder_pages.list_files,
             "The files that are offered for download, with their digests.",
             answer=responses.FileList),
    Endpoint("GET", "/files/{file}", "downloader", "read", folder_pages.download,
             "One of these files; with Range, a part of it.",
             answer="application/octet-stream"),
    Endpoint("GET", "/results", "reader", "read", _results,
             "Every version of the private board that was published, with its state and mark.",
             answer=responses.Rows[responses.ResultState]),
    Endpoint("GET", "/results/{version}", "reader", "read", _result,
             "A published version of the private board; of a retracted one no rows.",
             answer=responses.Result),
    Endpoint("GET", "/announcements", "reader", "read", _announcements,
             "Announcements of the organiser, newest first.",
             answer=responses.AnnouncementList),
    Endpoint("GET", "/answers", "reader", "read", conversations.published_answers,
             "Questions that the organisers answered for everybody, newest first.",
             answer=responses.MessageList),
    Endpoint("GET", "/messages", "signed-in", "read", conversations.own_messages,
             "The own messages and those of the organisers to the account, newest first.",
             answer=responses.MessageList),
    Endpoint("POST", "/messages", "signed-in", "submit", conversations.send_message,
             "Ask the organisers.", 201, models.NewQuestion, responses.MessageState,
             (409,)),
    Endpoint("PUT", "/result-mail", "signed-in", "submit", _result_mail,
             "Choose whether an e-mail says that a file that one sent has its result.", 200,
             models.ResultMail, responses.Message, (409,)),
    *ORGANISER_ENDPOINTS,
)  # fmt: skip
"""All operations of the API of a competition."""
