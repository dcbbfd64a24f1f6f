"""The organiser's manager of submissions: every file of every team."""

from __future__ import annotations

from datetime import date

from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from arena import responses
from arena.requests import Answer, Request
from arena.server.records.published import ORDERS, SubmissionQuery
from arena.server.web import actions
from arena.server.web.body import base_name, read_fields
from arena.server.web.call import Call
from arena.server.web.documents import answer_row, request_state
from arena.server.web.language import _
from arena.server.web.paging import ROWS, number_of_pages, page_number
from arena.server.web.problems import Problem
from arena.server.web.rendering import Handler, Pages, go_to, refusals_on, show_page

STATUSES = ("accepted", "rejected", "refused", "withdrawn", "disqualified", "set_aside")
RERUN = {"rejected", "set_aside"}
"""Statuses of submissions that can be judged again: they have no score."""


def read_query(call: Call) -> SubmissionQuery:
    """Return what the address asks for; 422 for what there is not."""
    parameters = {key: value.strip()[:200] for key, value in call.request.query_params.items()}
    if parameters.get("status") and parameters["status"] not in STATUSES:
        raise Problem(422, f"status is one of {', '.join(STATUSES)}.")
    if parameters.get("order", "newest") not in ORDERS:
        raise Problem(422, f"order is one of {', '.join(ORDERS)}.")
    if parameters.get("day"):
        try:
            date.fromisoformat(parameters["day"])
        except ValueError:
            raise Problem(422, _("A day is written like 2026-03-01.")) from None
    return SubmissionQuery(
        team=parameters.get("team", ""),
        status=parameters.get("status", ""),
        day=parameters.get("day", ""),
        phase=parameters.get("phase", ""),
        search=parameters.get("search", ""),
        order=parameters.get("order") or "newest",
        page=page_number(call),
        limit=ROWS,
    )


async def _matching(call: Call, query: SubmissionQuery) -> tuple[list[Answer], int]:
    # A search reads every answer: the pages of others do not wait for it.
    return await run_in_threadpool(call.competition.published.submissions, query)


async def list_submissions(call: Call) -> responses.SubmissionRows:
    """Return a page of the submissions of all teams."""
    answers, total = await _matching(call, read_query(call))
    return responses.SubmissionRows(rows=list(map(answer_row, answers)), total=total)


async def _show_list(call: Call) -> Response:
    problem: Problem | None = None
    try:
        query = read_query(call)
    except Problem as error:
        problem, query = error, SubmissionQuery()
    answers, total = await _matching(call, query)
    return show_page(
        call,
        "admin_submissions.html",
        status=problem.status if problem else 200,
        problem=problem,
        query=query,
        answers=answers,
        total=total,
        n_pages=number_of_pages(total),
        statuses=STATUSES,
        orders=ORDERS,
        teams=sorted(
            team.name for team, _members in call.site.accounts.teams(call.competition.name)
        ),
        n_waiting=call.site.intake.waiting(call.competition.name, call.competition.state().cursor),
    )


def _upload_of(call: Call, stored: Request | None) -> str | None:
    """Return the name of the upload of a request if its file is still kept."""
    name = None if stored is None else stored.payload.get("upload")
    if not isinstance(name, str) or not name.isalnum():
        return None
    return name if call.site.uploads.path(name).is_file() else None


def has_file(call: Call, stored: Request | None) -> bool:
    """Return whether the uploaded file of a request is still kept."""
    return _upload_of(call, stored) is not None


def name_of(call: Call, stored: Request | None) -> str:
    """Return the name of the person who sent a request; empty if there is none any more."""
    if stored is None:
        return ""
    try:
        return call.site.accounts.account(stored.member).name
    except KeyError:
        return ""


async def download_upload(call: Call) -> Response:
    """Return the file of a request as it was uploaded: to its team and to the organiser."""
    call.account  # noqa: B018 - 401 without an account
    sending = actions.sent_request(call, call.request.path_params["request"])
    upload = _upload_of(call, sending.request)
    if upload is None:
        raise Problem(404, _("This file is not kept any more."))
    return FileResponse(
        call.site.uploads.path(upload),
        media_type="application/octet-stream",
        filename=base_name(sending.file),
    )


def _may_rerun(call: Call, answer: Answer) -> bool:
    """Return whether a file can be judged again; a program would be read as predictions."""
    return answer.status in RERUN and call.competition.facts.programs is None


def rerun(call: Call) -> Request:
    """Judge a file without a score again, as a new upload of its team that arrives now."""
    sending = actions.sent_request(call, call.request.path_params["request"])
    stored, answer = sending.request, sending.answer
    if stored is None or stored.kind != "submit" or answer is None or not _may_rerun(call, answer):
        raise Problem(409, _("Only a file that was rejected or set aside can be judged again."))
    upload = _upload_of(call, stored)
    if upload is None:
        raise Problem(404, _("This file is not kept any more."))
    actions.check_open(call, call.site.clock())
    with call.site.uploads.path(upload).open("rb") as file:
        copy = call.site.uploads.put(iter(lambda: file.read(2**20), b""))
    request, _new = call.site.intake.append(
        competition=call.competition.name,
        team=answer.team,
        member=stored.member,
        kind="submit",
        payload={**stored.payload, "upload": copy.name, "sha256": copy.sha256},
        fingerprint=copy.sha256,
        received=call.site.clock(),
    )
    return request


async def rerun_submission(call: Call) -> responses.RequestState:
    """Judge a file again; return the new request."""
    request = await run_in_threadpool(rerun, call)
    return request_state(actions.sent_request(call, request.request))


async def _show(call: Call, problem: Problem | None = None, status: int = 200) -> Response:
    name = call.request.path_params["request"]
    sending = actions.sent_request(call, name)
    if sending.request is not None and sending.request.kind != "submit":
        raise Problem(404, _("There is no such page."))
    answer = sending.answer
    same = [] if answer is None else await run_in_threadpool(
        call.competition.published.same_file, answer
    )  # fmt: skip
    return show_page(
        call,
        "admin_submission.html",
        status=status,
        problem=problem,
        one=request_state(sending),
        team=answer.team if answer else (sending.request.team if sending.request else ""),
        answer=answer,
        sender=name_of(call, sending.request),
        same=same,
        has_file=has_file(call, sending.request),
        may_rerun=answer is not None and _may_rerun(call, answer),
    )


def _act(kind: str) -> Handler:
    @refusals_on(_show)
    async def act(call: Call) -> Response:
        fields = await read_fields(call.request, call.competition.limits)
        base = "/admin/submissions"
        if kind == "rerun":
            request = await run_in_threadpool(rerun, call)
            return go_to(call, f"{base}/{request.request}")
        answer = actions.sent_request(call, call.request.path_params["request"]).answer
        reason = fields.get("reason", "").strip()[:500]
        if not reason:
            raise Problem(422, _("Give the reason. The team sees it."))
        if answer is None or answer.submission is None:
            raise Problem(409, _("This file was not accepted, so it counts for nothing."))
        actions.admin(call, kind, {"submission": answer.submission, "reason": reason})
        return go_to(call, f"{base}/{answer.request}")

    return act


_SUBMISSION = "/admin/submissions/{request}"
PAGES: Pages = (
    ("GET", "/admin/submissions", "organiser", "admin", _show_list),
    ("GET", _SUBMISSION, "organiser", "admin", _show),
    *(
        ("POST", f"{_SUBMISSION}/{kind}", "organiser", "admin", _act(kind))
        for kind in ("disqualify", "undo", "rerun")
    ),
    ("GET", "/submissions/{request}/file", "signed-in", "read", download_upload),
)
