"""The HTTP API of a competition: one table of endpoints, from which routes and documentation come.

A program sends its token as ``Authorization: Bearer TOKEN``. Every refusal is a problem document.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from arena import responses
from arena.server.records.invites import Invite
from arena.server.records.people import Account
from arena.server.records.published import ORDERS
from arena.server.records.teams import Member, Team, TeamRequest
from arena.server.web import (
    actions,
    conversations,
    folder_pages,
    manager,
    membership,
    models,
    programs,
    settings_pages,
)
from arena.server.web.body import announces_more, receive, whole_number
from arena.server.web.call import Call, nothing_to_publish
from arena.server.web.documents import (
    answer_row,
    fault_line,
    info,
    json_bytes,
    request_state,
    shown,
    token_state,
)
from arena.server.web.events import stream, wake
from arena.server.web.invitations import Invitation, read_invitations
from arena.server.web.language import _
from arena.server.web.mail import address_of, announcement_mails, invitation_mail
from arena.server.web.problems import Problem
from arena.server.web.shared import share
from arena.utils.bracket_rows import with_names_of_brackets
from arena.utils.formatting import minute
from arena.utils.pending_labels import PendingLabels
from arena.utils.questions import with_answers_as_cells
from arena.utils.text import csv_cell

Handler: TypeAlias = Callable[..., Awaitable[Any]]

MOST_ROWS = 500
VALIDATE_SECONDS = 60.0
ACTIVITY_DAYS = 14


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation of the API.

    Attributes
    ----------
    method, path
        The path is below ``/api/v1/{competition}``.
    who, scope
        As for :func:`~arena.server.web.call.check_who`.
    handler
        Called with the call and, if the body is a model, with the body; returns a document, or a
        response.
    summary
        One sentence for the documentation.
    status
        Of the answer, if all goes well.
    body
        The model of the request's body; ``bytes`` for a file.
    answer
        The type of the answer of :mod:`arena.responses`, or its media type.
    errors
        Further statuses of refusals: not those that follow from ``who``, the body or the query.
    query
        Parameters of the query, and their meanings.
    """

    method: str
    path: str
    who: str
    scope: str
    handler: Handler
    summary: str
    status: int = 200
    body: type[BaseModel] | type[bytes] | None = None
    answer: Any = responses.Message
    errors: tuple[int, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


def route_path(path: str) -> str:
    """Return a path as a route: the name of a file may have slashes."""
    return path.replace("{file}", "{file:path}")


def _number(call: Call, name: str, default: int | None, most: int = 2**53) -> int | None:
    text = call.request.query_params.get(name)
    if text is None:
        return default
    # Submissions that did not come by the queue have negative numbers in the order of answers.
    digits = text.removeprefix("-") if name == "before" else text
    if whole_number(digits, digits=20) is None or int(digits) > most:
        raise Problem(422, f"{name} is {text[:40]!r}, but must be a whole number up to {most}.")
    return int(text)


async def _info(call: Call) -> responses.Info:
    return info(call)


def asked_bracket(call: Call) -> str:
    """Return the bracket that a request names; empty: the board of all teams."""
    return actions.requested_name(call, "bracket", call.competition.facts.brackets)


def asked_phase(call: Call) -> str:
    """Return the phase that a request names; empty: the current one."""
    return actions.requested_name(call, "phase", call.competition.facts.phase_names)


def asked_board(call: Call) -> str:
    """Return the board over phases that a request names; empty: that of a phase."""
    return actions.requested_name(call, "board", call.competition.facts.boards)


async def _phases(call: Call) -> responses.Phases:
    return responses.Phases(
        phases=cast("list[responses.Phase]", list(call.competition.facts.phases))
    )


async def _board(call: Call) -> Response | responses.BoardPage:
    after, limit = _number(call, "after", 0) or 0, _number(call, "limit", 100, MOST_ROWS) or 100
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


def table_csv(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """Return rows as CSV that a spreadsheet opens without running a cell as a formula."""
    rows = with_answers_as_cells(with_names_of_brackets(rows))
    names = list(columns) or list(dict.fromkeys(key for row in rows for key in row))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return file.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return csv_cell(value)
    return csv_cell(json.dumps(value)) if isinstance(value, dict | list | tuple) else value


def _csv(text: str, name: str) -> Response:
    return Response(
        text,
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )


async def board_csv(call: Call) -> Response:
    """Return the public board as CSV."""
    rows = _board_rows(call)
    return _csv(table_csv(rows, () if rows else ("rank", "team", "score")), "board")


def _board_rows(call: Call) -> list[dict[str, Any]]:
    """Return the rows of the public board for a table, each with what holds for the whole board."""
    if board := asked_board(call):
        released, _etag = call.competition.released_board(board, asked_bracket(call))
        rows: list[dict[str, Any]] = released["standings"]
        mark, pending = released["mark"], None
    else:
        rows, _etag = call.competition.board(asked_bracket(call), asked_phase(call))
        facts = call.competition.facts.of_phase(asked_phase(call))
        mark, pending = facts.mark, facts.pending_labels
    if pending is not None:
        rows = [{**row, "pending_labels": PendingLabels(**pending).sentence} for row in rows]
    if mark is not None:
        when = minute(mark["time"])
        sentence = f"The scores were released again on {when} UTC: {mark['cause']}."
        rows = [{**row, "mark": sentence} for row in rows]
    return rows


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
    before = _number(call, "before", None)
    limit = _number(call, "limit", 100, MOST_ROWS) or 100
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
    return _csv(table_csv(rows, columns), "submissions")


async def _request(call: Call) -> responses.RequestState:
    call.account  # noqa: B018 - 401 without an account
    return request_state(actions.sent_request(call, call.request.path_params["request"]))


async def _select(call: Call, body: models.Selection) -> responses.RequestState:
    request = actions.select_by_number(call, body.submissions, body.phase)
    return request_state(actions.sent_request(call, request.request))


async def _withdraw(call: Call, body: models.Withdrawal) -> responses.RequestState:
    request = actions.withdraw_submission(call, body.submission)
    return request_state(actions.sent_request(call, request.request))


def _person(member: Member) -> responses.Person:
    return responses.Person(
        account=member.account,
        name=member.name,
        contact=member.contact,
        joined=member.joined.isoformat(),
    )


def _team_state(call: Call) -> responses.TeamState:
    team = call.team
    return responses.TeamState(
        name=team.name,
        members=[_person(member) for member in call.site.accounts.members(team.team)],
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


def address(call: Call, path: str) -> str:
    """Return the full address of a page."""
    url = call.site.settings.url
    return (url or str(call.request.base_url).rstrip("/")) + path


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


# The organiser


def announce(call: Call, text: str, *, mail: bool) -> responses.AnnouncementPosted:
    """Post an announcement; with ``mail`` also send it to the members of all teams."""
    facts = call.competition.facts
    if mail and not facts.server.smtp_host:
        raise Problem(
            409, _("No mail server is set: set smtp_host under [server] in competition.toml.")
        )
    posted = call.site.announcements.post(call.competition.name, text, call.account.account)
    mailed = call.site.mails.add(announcement_mails(call.site, facts, posted)) if mail else 0
    wake(call.competition)
    return responses.AnnouncementPosted(
        announcement=posted.announcement,
        posted=posted.posted.isoformat(),
        text=posted.text,
        mailed=mailed,
    )


def withdraw_announcement(call: Call, announcement: int) -> None:
    """Delete an announcement; 404 if there is none."""
    if not call.site.announcements.withdraw(call.competition.name, announcement):
        raise Problem(404, _("There is no such announcement."))
    wake(call.competition)


async def _announce(call: Call, body: models.NewAnnouncement) -> responses.AnnouncementPosted:
    return announce(call, body.text, mail=body.mail)


async def _withdraw_announcement(call: Call, body: models.OldAnnouncement) -> responses.Message:
    withdraw_announcement(call, body.announcement)
    return responses.Message(message="The announcement was withdrawn.")


async def _next_result(call: Call) -> Response:
    document = call.competition.published.document("next result")
    if document is None:
        raise nothing_to_publish()
    return Response(document.body, media_type="application/json")


async def _queue(call: Call) -> responses.Rows[responses.QueueRow]:
    cursor = call.competition.state().cursor
    return responses.Rows(
        rows=[
            responses.QueueRow(
                place=place,
                request=request.request,
                kind=request.kind,
                team=request.team,
                received=request.received.isoformat(),
                file=request.payload.get("file", ""),
            )
            for place, request in enumerate(
                call.site.intake.after(call.competition.name, cursor, MOST_ROWS), 1
            )
        ]
    )


async def _requests(call: Call) -> responses.Rows[responses.AnswerRow]:
    parameters = call.request.query_params
    rows = call.competition.published.answers(
        parameters.get("team"), before=_number(call, "before", None), limit=MOST_ROWS
    )
    return responses.Rows(
        rows=[
            answer_row(row)
            for row in rows
            if parameters.get("status", row.status) == row.status
            and parameters.get("kind", row.kind) == row.kind
        ]
    )


async def _teams(call: Call) -> responses.Rows[responses.TeamRow]:
    return responses.Rows(rows=team_rows(call))


def team_rows(call: Call) -> list[responses.TeamRow]:
    """Return the teams with their members, for the organiser."""
    published, rows = call.competition.published, list[responses.TeamRow]()
    notes = call.site.accounts.notes()
    for team, members in call.site.accounts.teams(call.competition.name):
        facts = published.team(published.current_name(team.name))
        rows.append(
            responses.TeamRow(
                brackets=call.competition.brackets_of(facts.team),
                id=team.team,
                team=team.name,
                note=notes.get(team.team, ""),
                created=team.created.isoformat(),
                submissions=facts.used_ever,
                disqualified=facts.disqualified,
                members=[_member(call, member) for member in members],
            )
        )
    return rows


def _member(call: Call, member: Member) -> responses.Member:
    account = call.site.accounts.account(member.account, call.competition.name)
    return responses.Member(**_person(member), state=account.state)


def team_of_address(call: Call) -> Team:
    """Return the team that the address names; 404 if this competition has none."""
    try:
        team = call.site.accounts.team(call.request.path_params["team"])
    except KeyError:
        team = None
    if team is None or team.competition != call.competition.name:
        raise Problem(404, _("There is no such team."))
    return team


def change_team(call: Call, team: Team, body: models.TeamEdit) -> None:
    """Rename a team, or write the organisers' note on it; what is None stays."""
    if body.note is not None:
        call.site.accounts.write_note(team.team, body.note.strip())
    if body.name is not None:
        membership.rename_for(call, team, body.name, by_organiser=True)


async def _change_team(call: Call, body: models.TeamEdit) -> responses.Message:
    change_team(call, team_of_address(call), body)
    return responses.Message(message="The team was changed. A new name is recorded in a moment.")


async def _activity(call: Call) -> responses.Rows[responses.ActivityRow]:
    return responses.Rows(rows=await activity(call))


async def activity(call: Call) -> list[responses.ActivityRow]:
    """Return what was uploaded on each of the last days, the last one first."""
    # It reads every answer: the pages of others do not wait for it.
    return await run_in_threadpool(call.competition.published.activity, ACTIVITY_DAYS)


async def _admin_events(call: Call) -> responses.Rows[responses.AnswerRow]:
    return responses.Rows(
        rows=[
            answer_row(answer)
            for answer in call.competition.published.answers(
                "", before=_number(call, "before", None), limit=MOST_ROWS
            )
        ]
    )


async def _admin_health(call: Call) -> responses.Health:
    return health(call)


def health(call: Call) -> responses.Health:
    """Return the state of the scorer, the queue and the disk."""
    state = call.competition.state()
    return shown(
        responses.Health,
        state,
        beat_seconds=round(max(time.time() - state.beat, 0.0), 1),
        waiting=call.site.intake.waiting(call.competition.name, state.cursor),
        disk_free_bytes=shutil.disk_usage(call.site.settings.layout.root).free,
        seen=actions.seen(call),
        problem=state.problem or programs.problem(call),
    )


def _people_of(text: str) -> list[Invitation]:
    """Return the people of a list; 422 with its faults by line."""
    people, faults = read_invitations(text)
    if faults:
        lines = (
            _("Line {line}: {fault}").format(line=fault.line, fault=fault.text)
            for fault in faults[:10]
        )
        raise Problem(422, " ".join(lines))
    if not people:
        raise Problem(422, _("The list is empty."))
    return people


def invite_teams(call: Call, people: Sequence[Invitation]) -> responses.Invited:
    """Create a link for each person; links are shown once, and mailed."""
    invitations = call.site.accounts.invite_teams(
        call.competition.name,
        [(person.team, person.name, person.contact) for person in people],
        made_by=call.account.account,
        expires=call.site.clock() + call.token_expiry(),
    )
    rows = [
        responses.InvitationLink(
            team=team,
            name=name,
            contact=person.contact,
            url=address(call, f"/invite/{secret}"),
        )
        for person, (team, name, secret) in zip(people, invitations, strict=True)
    ]
    return responses.Invited(rows=rows, mailed=mail_invitations(call, rows))


def mail_invitations(call: Call, rows: Sequence[responses.InvitationLink]) -> int:
    """Mail links to those who have an address; return how many mails wait now."""
    facts = call.competition.facts
    if not facts.server.smtp_host:
        return 0
    return call.site.mails.add(
        invitation_mail(facts, row["team"], recipient, row["url"])
        for row in rows
        if (recipient := address_of(row["contact"]))
    )


def open_invitations(call: Call) -> list[Invite]:
    """Return the links of this competition by which one person each can still register."""
    return [
        invite
        for invite in call.site.accounts.invites(kind="register")
        if invite.competition == call.competition.name and invite.uses is not None
    ]


def _open_invitation(call: Call, invite: str) -> Invite:
    invitation_found = next(
        (invitation for invitation in open_invitations(call) if invitation.invite == invite),
        None,
    )
    if invitation_found is None:
        raise Problem(404, _("This link is no longer open."))
    return invitation_found


def withdraw_invitation(call: Call, invite: str) -> None:
    """End a link that was not used; 404 if it is not open."""
    call.site.accounts.withdraw(_open_invitation(call, invite).invite)


def send_invitation_again(call: Call, invite: str) -> responses.Invited:
    """Replace a link by a new one, which is mailed if there is an address."""
    old, accounts = _open_invitation(call, invite), call.site.accounts
    with accounts.as_one():
        accounts.withdraw(old.invite)
        secret = accounts.invite(
            "register",
            competition=call.competition.name,
            team=old.team,
            name=old.name,
            contact=old.contact,
            made_by=call.account.account,
            expires=call.site.clock() + call.token_expiry(),
        )
    url = address(call, f"/invite/{secret}")
    row = responses.InvitationLink(team=old.team or "", name=old.name, contact=old.contact, url=url)
    return responses.Invited(rows=[row], mailed=mail_invitations(call, [row]))


async def _failed_mails(call: Call) -> responses.Rows[responses.FailedMailRow]:
    return responses.Rows(
        rows=[
            shown(responses.FailedMailRow, mail, created=mail.created.isoformat())
            for mail in call.site.mails.failures(call.competition.name)
        ]
    )


def send_mail_again(call: Call, mail: str) -> None:
    """Let an e-mail that failed be sent again; 404 if there is none."""
    if not call.site.mails.send_again(call.competition.name, mail):
        raise Problem(404, _("This e-mail is not among those that failed."))


async def _send_mail_again(call: Call, body: models.FailedMail) -> responses.Message:
    send_mail_again(call, body.mail)
    return responses.Message(message="The e-mail will be sent in a moment.")


async def _invitations(call: Call) -> responses.Rows[responses.InvitationRow]:
    return responses.Rows(
        rows=[
            responses.InvitationRow(
                invite=invitation.invite,
                team=invitation.team,
                name=invitation.name,
                contact=invitation.contact,
                created=invitation.created.isoformat(),
                expires=invitation.expires.isoformat() if invitation.expires else None,
            )
            for invitation in open_invitations(call)
        ]
    )


async def _withdraw_invitation(call: Call, body: models.OldInvitation) -> responses.Message:
    withdraw_invitation(call, body.invite)
    return responses.Message(message="The link was withdrawn.")


async def _invite_again(call: Call, body: models.OldInvitation) -> responses.Invited:
    return send_invitation_again(call, body.invite)


async def _invite_teams(call: Call) -> responses.Invited:
    most = 2**20
    if announces_more(call.request, most):
        raise Problem(413, "The CSV is larger than 1 MB. Send it in parts.")
    parts, size = [], 0
    async for chunk in call.request.stream():
        size += len(chunk)
        if size > most:
            raise Problem(413, "The CSV is larger than 1 MB. Send it in parts.")
        parts.append(chunk)
    try:
        text = b"".join(parts).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "The CSV is not UTF-8. Save it as UTF-8.") from None
    return invite_teams(call, _people_of(text))


def _account_state(state: str) -> Handler:
    async def change(call: Call, body: models.AccountChange) -> responses.Message:
        set_account_state(call, body.account, state)
        return responses.Message(message=f"The account is {state}.")

    return change


def participant(call: Call, account: str) -> Account:
    """Return an account that an organiser of this competition may change.

    Raises
    ------
    Problem
        404 if it does not exist or takes part in other competitions only; 409 if it is that of an
        organiser.
    """
    accounts, here = call.site.accounts, call.competition.name
    missing = Problem(404, _("There is no such account."))
    try:
        account_found = accounts.account(account, here)
    except KeyError:
        raise missing from None
    is_host = accounts.account(call.account.account).organiser
    if here not in accounts.competitions_of(account) and not is_host:
        raise missing
    if account_found.organiser and not is_host:
        raise Problem(409, _("An organiser's account cannot be changed here."))
    return account_found


async def _delete_member(call: Call, body: models.AccountChange) -> responses.Message:
    team = call.site.accounts.team_of(call.competition.name, body.account)
    if team is None:
        raise Problem(404, _("There is no such account."))
    membership.delete_member(call, team, body.account)
    return responses.Message(message="The account was deleted.")


async def _delete_account(call: Call) -> responses.Message:
    membership.delete_account(call)
    return responses.Message(message="The account was deleted.")


def set_account_state(call: Call, account: str, state: str) -> None:
    """Approve or block an account in this competition; raise as :func:`participant`."""
    if participant(call, account).organiser:
        raise Problem(409, _("An organiser's account cannot be changed here."))
    call.site.accounts.set_state(account, state, call.competition.name)


def merge_teams(call: Call, team: str, into: str) -> str:
    """Ask to merge two teams and return the request; members move once the record has done it."""
    accounts, name = call.site.accounts, call.competition.name
    first, second = accounts.team_named(name, team), accounts.team_named(name, into)
    if first is None or second is None:
        raise Problem(404, _("There is no team {name}.").format(name=into if first else team))
    if first == second:
        raise Problem(422, _("A team cannot be merged into itself."))
    return membership.merge(call, first, second, by_organiser=True).request


def _answer(call: Call, request: str) -> responses.RequestState:
    return request_state(actions.sent_request(call, request))


def merges(call: Call) -> list[responses.MergeRow]:
    """Return the merges of teams that were asked for, the last one first, for the organiser."""
    return [
        responses.MergeRow(
            request=request.request,
            team=request.payload["team"],
            into=request.payload["into"],
            received=request.received.isoformat(),
            by=manager.name_of(call, request),
            by_organiser=not request.team,
            status=answer.status if answer else "waiting",
            message=answer.message if answer else "",
        )
        for request in reversed(call.site.intake.of_kind(call.competition.name, "merge"))
        for answer in (call.competition.published.answer(request.request),)
    ]


async def _merges(call: Call) -> responses.Rows[responses.MergeRow]:
    return responses.Rows(rows=merges(call))


async def _merge(call: Call, body: models.MergeTeams) -> responses.RequestState:
    return _answer(call, merge_teams(call, body.team, body.into))


def _decision(kind: str) -> Handler:
    async def decide(call: Call, body: models.Decision) -> responses.RequestState:
        if (body.submission is None) == (body.team is None):
            raise Problem(422, "Name a submission or a team, and not both.")
        payload = body.model_dump(exclude_none=True)
        return _answer(call, actions.admin(call, kind, payload).request)

    return decide


async def _finalize(call: Call, body: models.FinalStep) -> responses.RequestState:
    step = actions.final_step(call, "finalize", body.seen, phase=body.phase)
    return _answer(call, step.request)


async def _publish(call: Call, body: models.FinalStep) -> responses.PublishRequest:
    document = call.competition.published.document("next result")
    step = actions.final_step(call, "publish", body.seen, phase=body.phase)
    board: dict[str, Any] = {} if document is None else document.json()
    phase = body.phase or call.competition.facts.current_phase
    warnings = board["warnings"] if board and board.get("phase", "") == phase else []
    return responses.PublishRequest(**_answer(call, step.request), warnings=warnings)


async def _retract(call: Call, body: models.Retraction) -> responses.RequestState:
    return _answer(call, actions.retract(call, body.reason, body.phase).request)


async def _pause(call: Call, body: models.Reason) -> responses.RequestState:
    return _answer(call, actions.admin(call, "pause", {"reason": body.reason}).request)


async def _resume(call: Call) -> responses.RequestState:
    return _answer(call, actions.admin(call, "resume", {}).request)


async def _exempt(call: Call, body: models.NewExemption) -> responses.RequestState:
    payload = body.model_dump(exclude_none=True)
    return _answer(call, actions.admin(call, "exempt", payload).request)


async def _assign_bracket(call: Call, body: models.TeamBracket) -> responses.RequestState:
    return _answer(call, actions.admin(call, "bracket", body.model_dump()).request)


async def _verify_winner(call: Call, body: models.NewVerification) -> responses.RequestState:
    return _answer(call, actions.admin(call, "verification", body.model_dump()).request)


async def _rescore(call: Call, body: models.Rescore) -> responses.RequestState:
    return _answer(call, actions.rescore(call, body.preview).request)


def _all_answers(call: Call) -> Iterable[dict[str, Any]]:
    before: int | None = None
    while page := call.competition.published.answers(None, before=before, limit=MOST_ROWS):
        yield from map(asdict, page)
        before = page[-1].seq


def _submission_answers(call: Call) -> Iterable[dict[str, Any]]:
    """Yield a row for each answer to a question."""
    for request in call.site.intake.of_kind(call.competition.name, "submit"):
        for kind in ("answers", "private"):
            for key, answer in request.payload.get(kind, {}).items():
                yield {
                    "request": request.request,
                    "team": call.competition.published.current_name(request.team),
                    "received": request.received.isoformat(),
                    "question": key,
                    "answer": answer,
                    "public": kind == "answers",
                }


EXPORTS: dict[str, Callable[[Call], Iterable[Mapping[str, Any]]]] = {
    "accounts": lambda call: (
        {**asdict(account), "created": account.created.isoformat()}
        for account in call.site.accounts.accounts(call.competition.name)
    ),
    "acceptances": lambda call: call.site.accounts.acceptances(call.competition.name),
    "answers": _submission_answers,
    "board": _board_rows,
    "requests": _all_answers,
    "teams": team_rows,
}
"""Name of an export -> its rows."""


async def export(call: Call) -> Response:
    """Return one export as CSV."""
    what = call.request.path_params["what"]
    if what not in EXPORTS:
        raise Problem(404, f"There is no export {what!r}. There are: {', '.join(EXPORTS)}.")
    rows = EXPORTS[what](call)

    async def lines() -> AsyncIterator[str]:
        yield table_csv(rows)

    return StreamingResponse(
        lines(),
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{what}.csv"'},
    )


_BEFORE = {"before": "Continue after the last seq of the previous page.", "limit": "Rows a page."}
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
             answer=responses.SubmissionsPage, query=_BEFORE),
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
    Endpoint("GET", "/admin/result", "organiser", "admin", _next_result,
             "The private board as it would be published next; after the deadline only.",
             answer=responses.NextResult),
    Endpoint("GET", "/admin/queue", "organiser", "admin", _queue, "Requests that wait.",
             answer=responses.Rows[responses.QueueRow]),
    Endpoint("GET", "/admin/requests", "organiser", "admin", _requests,
             "Answered requests, newest first.", answer=responses.Rows[responses.AnswerRow],
             query={**_BEFORE, "team": "Of one team.", "status": "Of one status.",
                    "kind": "Of one kind."}),
    Endpoint("GET", "/admin/submissions", "organiser", "admin", manager.list_submissions,
             "Submissions of all teams, a page of 100.", answer=responses.SubmissionRows,
             query={"team": "Of one team.", "status": "Of one status.", "day": "Received on it.",
                    "phase": "For one phase.", "search":
                    "In team, file, description, number, digest or faults.",
                    "order": f"One of {', '.join(ORDERS)}.", "page": "From 1."}),
    Endpoint("POST", "/admin/submissions/{request}/rerun", "organiser", "admin",
             manager.rerun_submission,
             "Judge a file that was rejected or set aside again, as a new upload of its team.",
             202, answer=responses.RequestState, errors=(409,)),
    Endpoint("GET", "/admin/teams", "organiser", "admin", _teams, "Teams and their members.",
             answer=responses.Rows[responses.TeamRow]),
    Endpoint("PATCH", "/admin/teams/{team}", "organiser", "admin", _change_team,
             "Rename a team, by its id of GET /admin/teams, or write a note on it that only "
             "organisers see.", 200, models.TeamEdit, responses.Message, (409,)),
    Endpoint("GET", "/admin/activity", "organiser", "admin", _activity,
             "On each of the last 14 days with uploads: uploads, accepted ones, teams.",
             answer=responses.Rows[responses.ActivityRow]),
    Endpoint("GET", "/admin/events", "organiser", "admin", _admin_events,
             "Actions of organisers, newest first.", answer=responses.Rows[responses.AnswerRow],
             query=_BEFORE),
    Endpoint("GET", "/admin/health", "organiser", "admin", _admin_health,
             "The scorer, the queue and the disk.", answer=responses.Health),
    Endpoint("POST", "/admin/teams", "organiser", "admin", _invite_teams,
             "Invite people by a list: team, name, e-mail, with tabs, semicolons or commas.", 201,
             bytes, responses.Invited),
    Endpoint("GET", "/admin/invitations", "organiser", "admin", _invitations,
             "Invitations that were not used yet.", answer=responses.Rows[responses.InvitationRow]),
    Endpoint("DELETE", "/admin/invitations", "organiser", "admin", _withdraw_invitation,
             "Withdraw an unused invitation.", 200, models.OldInvitation, responses.Message),
    Endpoint("PUT", "/admin/invitations", "organiser", "admin", _invite_again,
             "Replace an unused invitation by a new link, and mail it.", 200, models.OldInvitation,
             responses.Invited),
    Endpoint("GET", "/admin/mails", "organiser", "admin", _failed_mails,
             "E-mails of the last month that could not be delivered, and why.",
             answer=responses.Rows[responses.FailedMailRow]),
    Endpoint("POST", "/admin/mails", "organiser", "admin", _send_mail_again,
             "Send one of these e-mails again.", 200, models.FailedMail, responses.Message),
    Endpoint("POST", "/admin/announcements", "organiser", "admin", _announce,
             "Post an announcement on the board's page, and by e-mail if requested.", 201,
             models.NewAnnouncement, responses.AnnouncementPosted, (409,)),
    Endpoint("DELETE", "/admin/announcements", "organiser", "admin", _withdraw_announcement,
             "Withdraw an announcement. E-mails that were sent stay sent.", 200,
             models.OldAnnouncement, responses.Message),
    Endpoint("GET", "/admin/messages", "organiser", "admin", conversations.all_messages,
             "Messages between participants and organisers, newest first.",
             answer=responses.Rows[responses.MessageRow]),
    Endpoint("POST", "/admin/messages", "organiser", "admin", conversations.send_reply,
             "Answer a message, privately or for everybody, or write to the members of a team.",
             201, models.NewMessage, responses.MessageList),
    Endpoint("POST", "/admin/approve", "organiser", "admin", _account_state("active"),
             "Approve an account, or end its block.", 200, models.AccountChange, responses.Message,
             (409,)),
    Endpoint("POST", "/admin/block", "organiser", "admin", _account_state("blocked"),
             "Block an account; its tokens and sessions stop working.", 200,
             models.AccountChange, responses.Message, (409,)),
    Endpoint("DELETE", "/admin/accounts", "organiser", "admin", _delete_member,
             "Delete the account of a member of a team: what it sent no longer names a person.",
             200, models.AccountChange, responses.Message, (409,)),
    Endpoint("POST", "/admin/merge", "organiser", "admin", _merge,
             "Merge a team into another one. This cannot be undone.", 202, models.MergeTeams,
             responses.RequestState, (409,)),
    Endpoint("GET", "/admin/merges", "organiser", "admin", _merges,
             "Merges that organisers or captains asked for, newest first.",
             answer=responses.Rows[responses.MergeRow]),
    Endpoint("POST", "/admin/disqualify", "organiser", "admin", _decision("disqualify"),
             "Disqualify a submission or a team.", 202, models.Decision, responses.RequestState),
    Endpoint("POST", "/admin/undo", "organiser", "admin", _decision("undo"),
             "Undo a disqualification.", 202, models.Decision, responses.RequestState),
    Endpoint("POST", "/admin/rescore", "organiser", "admin", _rescore,
             "Preview a rescore with corrected_solution.csv of the competition's folder or the "
             "metric in competition.toml; with the code of the preview, apply it.", 202,
             models.Rescore, responses.RequestState),
    Endpoint("POST", "/admin/finalize", "organiser", "admin", _finalize,
             "Compute the private board.", 202, models.FinalStep, responses.RequestState, (409,)),
    Endpoint("POST", "/admin/publish", "organiser", "admin", _publish,
             "Show the private board to everybody.", 202, models.FinalStep,
             responses.PublishRequest, (409,)),
    Endpoint("POST", "/admin/pause", "organiser", "admin", _pause,
             "Refuse files, uncounted, until the competition is resumed.", 202, models.Reason,
             responses.RequestState, (409,)),
    Endpoint("POST", "/admin/resume", "organiser", "admin", _resume, "Receive files again.", 202,
             None, responses.RequestState, (409,)),
    Endpoint("POST", "/admin/exempt", "organiser", "admin", _exempt,
             "Let a team submit after the deadline or more often.", 202, models.NewExemption,
             responses.RequestState, (409,)),
    Endpoint("POST", "/admin/brackets", "organiser", "admin", _assign_bracket,
             "Put a team into a bracket, or take it out.", 202, models.TeamBracket,
             responses.RequestState, (409,)),
    Endpoint("GET", "/admin/settings", "organiser", "admin", settings_pages.show_settings,
             "The settings and texts that can be changed here.", answer=responses.SettingsState),
    Endpoint("POST", "/admin/settings/preview", "organiser", "admin",
             settings_pages.preview_settings, "What a change of settings and texts would change.",
             200, models.SettingsChange, responses.SettingsPreview),
    Endpoint("PATCH", "/admin/settings", "organiser", "admin", settings_pages.change_settings,
             "Change settings and texts; competition.toml is written, and its comments stay.", 202,
             models.SettingsChange, responses.RequestState, (409,)),
    Endpoint("POST", "/admin/verifications", "organiser", "admin", _verify_winner,
             "Record what the verification of a final submission found; boards mark it.", 202,
             models.NewVerification, responses.RequestState, (409,)),
    Endpoint("POST", "/admin/retract", "organiser", "admin", _retract,
             "Retract the published result: its rows are no longer shown.", 202,
             models.Retraction, responses.RequestState, (409,)),
    Endpoint("GET", "/admin/export/{what}", "organiser", "admin", export,
             "One export as CSV.",
             answer="text/csv"),
)  # fmt: skip
"""All operations of the API of a competition."""
