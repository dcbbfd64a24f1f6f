"""The endpoints of the official kaggle client, so that its commands work unchanged.

Versions 1.6 are pointed here by ``KAGGLE_API_ENDPOINT=URL``; versions 2 by
``KAGGLE_API_ENVIRONMENT=LOCALHOST``, which is http://localhost:80. The client sends an account name
and a token by HTTP Basic, or the token as a bearer. It uploads a file in three steps: ask for a
place, send the bytes to the place's address, which is the secret, then submit what is there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from arena.server.records.uploads import Stored
from arena.server.web import actions
from arena.server.web.body import Received, base_name, read_fields, read_small, read_upload
from arena.server.web.call import Call, check_who
from arena.server.web.documents import fault_line
from arena.server.web.people import Person, identify
from arena.server.web.problems import Problem, problem_of
from arena.server.web.site import Site

_STATUS = {"waiting": "pending", "accepted": "complete"}
Service: TypeAlias = Callable[[Site, Request, dict[str, Any]], Awaitable[Any]]


_NEVER = "1970-01-01T00:00:00.000Z"
"""The client fails without a date."""


def _time(text: str | None) -> str | None:
    """Return a time in the only form that all versions of the client parse."""
    if text is None:
        return None
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1_000:03d}Z"


def _call(site: Site, request: Request, name: str, who: str, scope: str) -> Call:
    person = identify(request, site.accounts)
    call = Call(request, site, site.competition(name), person)
    check_who(call, who, scope)
    return call


def _competitions(site: Site, person: Person) -> list[dict[str, Any]]:
    shown = []
    for number, (name, competition) in enumerate(site.competitions.items(), 1):
        facts = competition.facts
        account = person.account
        entered = account is not None and site.accounts.team_of(name, account.account) is not None
        board = competition.board()[0] if competition.limits.board == "anyone" else []
        shown.append(
            {
                "id": number,
                "ref": name,
                "title": facts.title or name,
                "url": f"{site.settings.url}/{name}/",
                "deadline": _time(facts.deadline) or "9999-12-31T00:00:00.000Z",
                "category": "Community",
                "reward": "",
                "teamCount": len(board),
                "userHasEntered": entered,
                "userRank": None,
                "tags": [],
                "maxDailySubmissions": facts.per_day or 0,
                "maxTeamSize": competition.limits.team_size,
                "evaluationMetric": facts.board_metric,
            }
        )
    return shown


def _open_place(call: Call, file: str, size: int) -> dict[str, str]:
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute)
    actions.check_may_submit(call)
    actions.check_open(call, call.site.clock())
    most = call.competition.facts.max_bytes
    if size > most:
        raise Problem(413, f"The file is too large: the limit is {most:,} bytes.")
    secret, gone = call.site.accounts.open_slot(
        call.account.account, call.competition.name, base_name(file), size
    )
    for upload in gone:
        call.site.uploads.drop(upload)
    # The address must be the one that the client uses: it may differ from the server's public one.
    base = str(call.request.base_url).rstrip("/")
    return {"token": secret, "createUrl": f"{base}/api/v1/uploads/{secret}"}


async def _fill(site: Site, request: Request) -> Response:
    secret = request.path_params["secret"]
    slot = site.accounts.slot(secret)
    if slot is None:
        raise Problem(404, "This upload's address has expired. Submit the file again.")
    competition = site.competition(slot.competition)
    received = await read_upload(request, site, competition.limits, competition.facts.max_bytes)
    stored = received.stored
    gone = site.accounts.fill_slot(secret, stored.name, stored.bytes, stored.sha256)
    if gone is not None:
        await run_in_threadpool(site.uploads.drop, gone)
    if gone == stored.name:
        raise _no_such_upload()
    return Response(status_code=200)


def _no_such_upload() -> Problem:
    return Problem(404, "There is no such upload. Submit the file again.")


async def _submit(call: Call, secret: str, description: str) -> dict[str, Any]:
    accounts, name = call.site.accounts, call.competition.name
    key = f"kaggle-{sha256(secret.encode()).hexdigest()[:32]}"
    request = call.site.intake.find(name, call.team.name, key)  # its answer was lost on the way
    if request is None:
        slot = accounts.slot(secret)
        if slot is None or slot.account != call.account.account or slot.competition != name:
            raise _no_such_upload()
        if slot.upload is None:
            raise Problem(409, "The file did not arrive. Submit it again.")
        # The place is closed first: another request with its secret cannot replace the file now.
        slot = accounts.close_slot(secret)
        if slot is None or slot.upload is None or slot.sha256 is None or slot.received is None:
            raise _no_such_upload()
        received = Received(
            Stored(slot.upload, slot.size, slot.sha256),
            slot.file,
            {"description": description},
            slot.received,
        )
        request, _new = await actions.submit(call, received, key)
    place = actions.sent_one(call, request.request).place
    title = call.competition.facts.title or call.competition.name
    return {
        "message": f"Successfully submitted to {title}."
        + (f" Place in the queue: {place}." if place else ""),
        "ref": request.seq,
    }


def _submissions(call: Call, status: Callable[[str], str]) -> list[dict[str, Any]]:
    team = call.team
    shown = []
    for one in actions.sent(call, team):
        kind = one.answer.kind if one.answer else one.request.kind  # type: ignore[union-attr]
        if kind != "submit":
            continue
        answer, request = one.answer, one.request or call.site.intake.get(one.id)
        payload = request.payload if request else {}
        member = answer.member if answer else request.member if request else ""
        score = answer.released if answer is not None else None
        fault = fault_line(answer.faults[0]) if answer and answer.faults else None
        shown.append(
            {
                "ref": answer.seq if answer else request.seq if request else 0,
                "totalBytes": payload.get("bytes"),
                "date": _time(one.received),
                "description": payload.get("description", ""),
                "errorDescription": fault,
                "fileName": one.file,
                "publicScore": "" if score is None else f"{score:.10g}",
                "privateScore": "",
                "status": status(_STATUS.get(one.status, "error")),
                "submittedBy": member,
                "submittedByRef": member,
                "teamName": team.name,
                "type": "standard",
                "url": "",
            }
        )
    return shown


def _leaderboard(call: Call) -> list[dict[str, Any]]:
    rows, _etag = call.competition.board()
    times = call.competition.times()
    return [
        {
            "teamId": number,
            "teamName": str(row.get("team", "")),
            "submissionDate": _time(times.get(row.get("submission", 0))) or _NEVER,
            "score": "" if row.get("score") is None else f"{row['score']:.10g}",
        }
        for number, row in enumerate(rows, 1)
    ]


# Versions 1.6


async def _list_1(site: Site, request: Request) -> Any:
    person = identify(request, site.accounts)
    if request.query_params.get("page", "1") not in {"", "0", "1", "-1"}:
        return []
    wanted = request.query_params.get("search", "").casefold()
    return [
        one
        for one in _competitions(site, person)
        if wanted in one["ref"].casefold() or wanted in one["title"].casefold()
    ]


async def _place_1(site: Site, request: Request) -> Any:
    path = request.path_params
    call = _call(site, request, path["id"], "member", "submit")
    fields = await read_fields(request, call.competition.limits)
    return _open_place(call, fields.get("fileName", ""), path["size"])


async def _submit_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "member", "submit")
    fields = await read_fields(request, call.competition.limits)
    return await _submit(
        call, fields.get("blobFileTokens", ""), fields.get("submissionDescription", "")
    )


async def _submissions_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "member", "read")
    if request.query_params.get("page", "1") not in {"", "0", "1", "-1"}:
        return []
    return _submissions(call, str.lower)


async def _leaderboard_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "reader", "read")
    return {"submissions": _leaderboard(call)}


# Versions 2


async def _list_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    person = identify(request, site.accounts)
    wanted = str(sent.get("search") or "").casefold()
    return {
        "competitions": [
            one
            for one in _competitions(site, person)
            if wanted in one["ref"].casefold() or wanted in one["title"].casefold()
        ]
    }


def _name(sent: dict[str, Any]) -> str:
    return str(sent.get("competitionName", ""))


async def _place_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    call = _call(site, request, _name(sent), "member", "submit")
    size = sent.get("contentLength")
    return _open_place(call, str(sent.get("fileName", "")), size if isinstance(size, int) else 0)


async def _submit_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    call = _call(site, request, _name(sent), "member", "submit")
    description = str(sent.get("submissionDescription") or "")
    return await _submit(call, str(sent.get("blobFileTokens", "")), description)


async def _submissions_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    call = _call(site, request, _name(sent), "member", "read")
    return {"submissions": _submissions(call, str.upper)}


async def _leaderboard_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    call = _call(site, request, _name(sent), "reader", "read")
    return {"submissions": _leaderboard(call)}


async def _limits_2(site: Site, request: Request, sent: dict[str, Any]) -> Any:
    call = _call(site, request, _name(sent), "member", "read")
    left = actions.left(call, call.team)
    possible = [one for one in (left.today, left.total) if one is not None]
    return {
        "numAllowedNow": min(possible) if possible else 1_000,
        "numTotal": left.waiting,
    }


_SERVICES: dict[str, Service] = {
    "ListCompetitions": _list_2,
    "StartSubmissionUpload": _place_2,
    "CreateSubmission": _submit_2,
    "ListSubmissions": _submissions_2,
    "GetLeaderboard": _leaderboard_2,
    "GetSubmissionLimits": _limits_2,
}


async def _service(site: Site, request: Request) -> Any:
    service = _SERVICES.get(request.path_params["service"])
    if service is None:
        raise Problem(404, "This server does not have this service of the kaggle client.")
    body = await read_small(request, site.limits())
    try:
        sent = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Problem(400, "The body is not JSON.") from None
    return await service(site, request, sent if isinstance(sent, dict) else {})


def _answered(
    site: Site, handler: Callable[[Site, Request], Awaitable[Any]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler whose refusals the client prints: JSON with ``code`` and ``message``."""

    async def answer(request: Request) -> Response:
        try:
            result = await handler(site, request)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            return JSONResponse(
                {
                    **problem.document(),
                    "code": problem.status,
                    "message": problem.detail,
                },
                problem.status,
                headers=problem.headers,
            )
        return result if isinstance(result, Response) else JSONResponse(result)

    return answer


def routes(site: Site) -> list[Route]:
    """Return the routes of the kaggle client, below ``/api/v1``."""
    table = (
        ("GET", "/competitions/list", _list_1),
        (
            "POST",
            "/competitions/{id}/submissions/url/{size:int}/{modified:int}",
            _place_1,
        ),
        ("PUT", "/uploads/{secret}", _fill),
        ("POST", "/competitions/submissions/submit/{id}", _submit_1),
        ("GET", "/competitions/submissions/list/{id}", _submissions_1),
        ("GET", "/competitions/{id}/leaderboard/view", _leaderboard_1),
        ("POST", "/competitions.CompetitionApiService/{service}", _service),
    )
    return [
        Route(f"/api/v1{path}", _answered(site, handler), methods=[method])
        for method, path, handler in table
    ]
