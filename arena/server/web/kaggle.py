"""The endpoints of the official kaggle client, so that its commands work unchanged.

Versions 1.6 are pointed here by ``KAGGLE_API_ENDPOINT=URL``; versions 2 by
``KAGGLE_API_ENVIRONMENT=LOCALHOST``, which is http://localhost:80. The client sends an account name
and a token by HTTP Basic, or the token as a bearer. It uploads a file in three steps: ask for a
place, send the bytes to the place's address, which is the secret, then submit its content.

The client downloads from the address that a redirect names: the name of the file is its last part.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from typing import Any, TypeAlias
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from arena.server.records.uploads import Stored
from arena.server.web import actions
from arena.server.web.body import (
    Received,
    base_name,
    read_fields,
    read_small,
    receive,
    whole_number,
)
from arena.server.web.call import Call, check_who
from arena.server.web.csv_table import table_csv
from arena.server.web.documents import fault_line
from arena.server.web.people import Person, identify
from arena.server.web.problems import Problem, problem_of
from arena.server.web.site import Site
from arena.utils.strict_json import parse_json
from arena.utils.text import plural

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
    documents = []
    for number, (name, competition) in enumerate(site.competitions.items(), 1):
        facts = competition.facts
        account = person.account
        entered = account is not None and site.accounts.team_of(name, account.account) is not None
        board = competition.board()[0] if competition.limits.board == "anyone" else []
        documents.append(
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
    return documents


def _open_place(call: Call, file: str, size: int) -> dict[str, str]:
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute)
    actions.check_may_submit(call)
    actions.check_open(call, call.site.clock(), late=True)
    _check_left(call)
    most = call.competition.facts.largest_upload
    if size > most:
        raise Problem(413, f"The file is too large: the limit is {plural(most, 'byte')}.")
    secret, gone = call.site.slots.open_slot(
        call.account.account, call.competition.name, base_name(file), size
    )
    for upload in gone:
        call.site.uploads.drop(upload)
    # The address must be the one that the client uses: it may differ from the server's public one.
    base = str(call.request.base_url).rstrip("/")
    return {"token": secret, "createUrl": f"{base}/api/v1/uploads/{secret}"}


def _check_left(call: Call) -> None:
    """Refuse a file that the scorer would refuse: the client does not show a later refusal."""
    left = actions.left(call, call.team)
    if left.waiting:
        return  # a file that waits may have faults, which cost nothing
    if left.total == 0:
        raise Problem(409, "Your team has used all of its submissions.")
    if left.today == 0:
        raise Problem(
            409,
            f"Your team has used all of its submissions of today. A new day starts at "
            f"{datetime.fromisoformat(left.resets):%Y-%m-%d %H:%M} UTC.",
        )


async def _fill(site: Site, request: Request) -> Response:
    secret = request.path_params["secret"]
    slot = site.slots.slot(secret)
    if slot is None:
        raise Problem(404, "This upload's address has expired. Submit the file again.")
    competition = site.competition(slot.competition)
    received = await receive(request, site, competition, slot.account)
    stored = received.stored
    gone = site.slots.fill_slot(secret, stored.name, stored.bytes, stored.sha256)
    if gone is not None:
        await run_in_threadpool(site.uploads.drop, gone)
    if gone == stored.name:
        raise _no_such_upload()
    return Response(status_code=200)


def _no_such_upload() -> Problem:
    return Problem(404, "There is no such upload. Submit the file again.")


async def _submit(call: Call, secret: str, description: str) -> dict[str, Any]:
    slots, name = call.site.slots, call.competition.name
    key = f"kaggle-{sha256(secret.encode()).hexdigest()[:32]}"
    names = actions.all_names(call, call.team)
    request = call.site.intake.find(name, *names, key=key)  # its answer was lost on the way
    if request is None:
        slot = slots.slot(secret)
        if slot is None or slot.account != call.account.account or slot.competition != name:
            raise _no_such_upload()
        if slot.upload is None:
            raise Problem(409, "The file did not arrive. Submit it again.")
        # The place is closed first: another request with its secret cannot replace the file now.
        slot = slots.close_slot(secret)
        if slot is None or slot.upload is None or slot.sha256 is None:
            raise _no_such_upload()
        # The file may have come in long before: what counts is that it is submitted now.
        received = Received(
            Stored(slot.upload, slot.size, slot.sha256),
            slot.file,
            {"description": description},
            call.site.clock(),
        )
        request, _new = await actions.submit(call, received, key)
    place = actions.sent_request(call, request.request).place
    title = call.competition.facts.title or call.competition.name
    return {
        "message": f"Successfully submitted to {title}."
        + (f" Place in the queue: {place}." if place else ""),
        "ref": request.seq,
    }


def _submissions(call: Call, *, only_known: bool) -> list[dict[str, Any]]:
    """Return the submissions of the team.

    The client shows no reason of an error. Versions 1 show any status, so the reason is there;
    versions 2 know some only, so it is before the description.
    """
    team = call.team
    documents = []
    for sending in actions.sent(call, team):
        kind = sending.answer.kind if sending.answer else sending.request.kind  # type: ignore[union-attr]
        if kind != "submit":
            continue
        answer, request = sending.answer, sending.request or call.site.intake.get(sending.id)
        payload = request.payload if request else {}
        member = answer.member if answer else request.member if request else ""
        score = answer.released if answer is not None else None
        fault = fault_line(answer.faults[0]) if answer and answer.faults else None
        reason = fault or (answer.message if answer else "")
        state = _STATUS.get(sending.status, "error")
        description = str(payload.get("description", ""))
        if state == "error" and reason:
            if only_known:
                description = f"[{reason}] {description}".rstrip()
            else:
                state = f"{state}: {reason}"
        documents.append(
            {
                "ref": answer.seq if answer else request.seq if request else 0,
                "totalBytes": payload.get("bytes"),
                "date": _time(sending.received),
                "description": description,
                "errorDescription": reason or None,
                "fileName": sending.file,
                "publicScore": "" if score is None else f"{score:.10g}",
                "privateScore": "",
                "status": state.upper() if only_known else state,
                "submittedBy": member,
                "submittedByRef": member,
                "teamName": team.name,
                "type": "standard",
                "url": "",
            }
        )
    return documents


def _leaderboard(call: Call) -> list[dict[str, Any]]:
    rows, _etag = call.competition.board()
    times = call.competition.received(rows)
    return [
        {
            "teamId": number,
            "teamName": str(row.get("team", "")),
            "submissionDate": _time(times.get(row.get("submission", 0)) or None) or _NEVER,
            "score": "" if row.get("score") is None else f"{row['score']:.10g}",
        }
        for number, row in enumerate(rows, 1)
    ]


_SAMPLE = "sample_submission.csv"


def _files(call: Call) -> list[dict[str, Any]]:
    """Return the files that participants can download here: the sample submission."""
    sample = call.competition.published.document("sample")
    if sample is None:
        return []
    size = len(sample.body)
    return [
        {
            "ref": _SAMPLE,
            "name": _SAMPLE,
            "description": "",
            "totalBytes": size,
            "size": size,
            "url": f"{call.site.settings.url}/{call.competition.name}/{_SAMPLE}",
            "creationDate": _time(call.site.started.isoformat()),
        }
    ]


def _file(call: Call, name: str) -> Response:
    """Return where a file is; without a name, an archive of all."""
    files = [file["name"] for file in _files(call)]
    if not files:
        raise Problem(404, "This competition has no files here: ask the organiser for the data.")
    if name and name not in files:
        raise Problem(404, f"There is no file {name[:100]!r} here. There is: {', '.join(files)}.")
    base = str(call.request.base_url).rstrip("/")
    file_name = quote(name or f"{call.competition.name}.zip")
    place = f"{base}/api/v1/competitions/data/file/{call.competition.name}/{file_name}"
    return RedirectResponse(place, 303)


async def _content(site: Site, request: Request) -> Response:
    call = _call(site, request, request.path_params["id"], "anyone", "read")
    name = request.path_params["file"]
    sample = call.competition.published.document("sample")
    if sample is None or name not in {_SAMPLE, f"{call.competition.name}.zip"}:
        raise Problem(404, "There is no such file.")
    body = sample.body if name == _SAMPLE else _archive(_SAMPLE, sample.body)
    return _download(body, "text/csv" if name == _SAMPLE else "application/zip", site.started)


def _board_archive(call: Call) -> Response:
    name = f"{call.competition.name}-publicleaderboard.csv"
    text = table_csv(_leaderboard(call), ("teamId", "teamName", "submissionDate", "score"))
    return _download(_archive(name, text.encode()), "application/zip", call.site.clock())


def _archive(name: str, content: bytes) -> bytes:
    """Return a ZIP archive with one file, stored as it is: compressing costs time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def _download(body: bytes, media: str, changed: datetime) -> Response:
    """Return a file with the time without which the client fails."""
    return Response(
        body,
        media_type=media,
        headers={"Last-Modified": format_datetime(changed.astimezone(UTC), usegmt=True)},
    )


# Versions 1.6


async def _list_1(site: Site, request: Request) -> Any:
    person = identify(request, site.accounts)
    if request.query_params.get("page", "1") not in {"", "0", "1", "-1"}:
        return []
    search = request.query_params.get("search", "").casefold()
    return [
        competition
        for competition in _competitions(site, person)
        if search in competition["ref"].casefold() or search in competition["title"].casefold()
    ]


async def _place_1(site: Site, request: Request) -> Any:
    path = request.path_params
    call = _call(site, request, path["id"], "member", "submit")
    fields = await read_fields(request, call.competition.limits)
    size = whole_number(path["size"])
    if size is None:
        raise Problem(404, _NO_SERVICE)
    return _open_place(call, fields.get("fileName", ""), size)


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
    return _submissions(call, only_known=False)


async def _leaderboard_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "reader", "read")
    return {"submissions": _leaderboard(call)}


async def _files_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "anyone", "read")
    return {"files": _files(call), "nextPageToken": ""}


async def _file_1(site: Site, request: Request) -> Any:
    call = _call(site, request, request.path_params["id"], "anyone", "read")
    return _file(call, request.path_params.get("file", ""))


async def _board_archive_1(site: Site, request: Request) -> Any:
    return _board_archive(_call(site, request, request.path_params["id"], "reader", "read"))


async def _nothing(_site: Site, _request: Request) -> Any:
    raise Problem(404, _NO_SERVICE)


# Versions 2


async def _list_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    person = identify(request, site.accounts)
    search = str(body.get("search") or "").casefold()
    return {
        "competitions": [
            competition
            for competition in _competitions(site, person)
            if search in competition["ref"].casefold() or search in competition["title"].casefold()
        ]
    }


def _name(body: dict[str, Any]) -> str:
    return str(body.get("competitionName", ""))


async def _place_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "member", "submit")
    size = body.get("contentLength")
    return _open_place(call, str(body.get("fileName", "")), size if isinstance(size, int) else 0)


async def _submit_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "member", "submit")
    description = str(body.get("submissionDescription") or "")
    return await _submit(call, str(body.get("blobFileTokens", "")), description)


async def _submissions_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "member", "read")
    return {"submissions": _submissions(call, only_known=True)}


async def _leaderboard_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "reader", "read")
    return {"submissions": _leaderboard(call)}


async def _limits_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "member", "read")
    team, facts = call.team, call.competition.facts
    left = actions.left(call, team)
    used = call.competition.published.team(actions.record_name(call, team)).used_total
    possible = [number for number in (left.today, left.total) if number is not None]
    return {
        "numAllowedNow": min(possible) if possible else 1_000,
        "numToday": 0 if left.today is None else (facts.per_day or 0) - left.today,
        "numTotal": used + left.waiting,
        "limitedByTotal": left.total is not None and left.today in {None, left.total},
    }


async def _files_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "anyone", "read")
    return {"files": _files(call), "nextPageToken": ""}


async def _file_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    call = _call(site, request, _name(body), "anyone", "read")
    return _file(call, str(body.get("fileName") or ""))


async def _board_archive_2(site: Site, request: Request, body: dict[str, Any]) -> Any:
    return _board_archive(_call(site, request, _name(body), "reader", "read"))


_SERVICES: dict[str, Service] = {
    "ListCompetitions": _list_2,
    "StartSubmissionUpload": _place_2,
    "CreateSubmission": _submit_2,
    "ListSubmissions": _submissions_2,
    "GetLeaderboard": _leaderboard_2,
    "GetSubmissionLimits": _limits_2,
    "ListDataFiles": _files_2,
    "DownloadDataFile": _file_2,
    "DownloadDataFiles": _file_2,
    "DownloadLeaderboard": _board_archive_2,
}
_NO_SERVICE = (
    "This server does not have this service of the kaggle client. It has: list, files, download, "
    "submit, submissions, leaderboard."
)


async def _service(site: Site, request: Request) -> Any:
    service = _SERVICES.get(request.path_params["service"])
    if service is None:
        raise Problem(404, _NO_SERVICE)
    body = await read_small(request, site.limits())
    try:
        document = parse_json(body or b"{}")
        json.dumps(document, ensure_ascii=False).encode()  # refuses half a surrogate pair
    except (ValueError, RecursionError):
        raise Problem(400, "The body is not JSON.") from None
    return await service(site, request, document if isinstance(document, dict) else {})


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
            "/competitions/{id}/submissions/url/{size}/{modified}",
            _place_1,
        ),
        ("PUT", "/uploads/{secret}", _fill),
        ("POST", "/competitions/submissions/submit/{id}", _submit_1),
        ("GET", "/competitions/submissions/list/{id}", _submissions_1),
        ("GET", "/competitions/{id}/leaderboard/view", _leaderboard_1),
        ("GET", "/competitions/{id}/leaderboard/download", _board_archive_1),
        ("GET", "/competitions/data/list/{id}", _files_1),
        ("GET", "/competitions/data/download-all/{id}", _file_1),
        ("GET", "/competitions/data/download/{id}/{file:path}", _file_1),
        ("GET", "/competitions/data/file/{id}/{file:path}", _content),
        ("POST", "/competitions.CompetitionApiService/{service}", _service),
        ("GET", "/competitions/{rest:path}", _nothing),
        ("POST", "/competitions/{rest:path}", _nothing),
    )
    return [
        Route(f"/api/v1{path}", _answered(site, handler), methods=[method])
        for method, path, handler in table
    ]
