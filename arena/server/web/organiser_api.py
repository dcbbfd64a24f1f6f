"""What organisers ask of the HTTP API."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from arena import responses
from arena.server.records.invites import Invite
from arena.server.records.people import Account
from arena.server.records.published import ORDERS
from arena.server.records.teams import Member, Team
from arena.server.web import (
    actions,
    conversations,
    manager,
    membership,
    models,
    programs,
    settings_pages,
)
from arena.server.web.boards import board_rows
from arena.server.web.body import announces_more
from arena.server.web.call import Call, address, nothing_to_publish
from arena.server.web.csv_table import table_csv
from arena.server.web.documents import answer_row, person_state, request_state, shown
from arena.server.web.endpoint import Endpoint, Handler
from arena.server.web.events import wake
from arena.server.web.invitations import Invitation, read_invitations
from arena.server.web.language import _
from arena.server.web.mail import address_of, announcement_mails, invitation_mail
from arena.server.web.paging import MOST_ROWS, PAGE_QUERY, number_in_query
from arena.server.web.problems import Problem

ACTIVITY_DAYS = 14


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
        parameters.get("team"), before=number_in_query(call, "before", None), limit=MOST_ROWS
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
    return responses.Member(**person_state(member), state=account.state)


def team_of_address(call: Call) -> Team:
    """Return the team whose id is in the URL; 404 if the competition has no such team."""
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
                "", before=number_in_query(call, "before", None), limit=MOST_ROWS
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
    """Send the links to people with an e-mail address; return how many e-mails are queued."""
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
    "board": board_rows,
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


ORGANISER_ENDPOINTS = (
    Endpoint("GET", "/admin/result", "organiser", "admin", _next_result,
             "The private board as it would be published next; after the deadline only.",
             answer=responses.NextResult),
    Endpoint("GET", "/admin/queue", "organiser", "admin", _queue, "Requests that wait.",
             answer=responses.Rows[responses.QueueRow]),
    Endpoint("GET", "/admin/requests", "organiser", "admin", _requests,
             "Answered requests, newest first.", answer=responses.Rows[responses.AnswerRow],
             query={**PAGE_QUERY, "team": "Of one team.", "status": "Of one status.",
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
             query=PAGE_QUERY),
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
"""The operations of organisers."""
