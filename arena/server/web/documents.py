"""Records as the documents of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar, cast

from pydantic_core import to_json

from arena import responses
from arena.requests import Answer
from arena.server.records.sign_ins import Token
from arena.server.records.teams import Member
from arena.server.web.actions import Sent
from arena.server.web.call import Call
from arena.server.web.language import _

_Document = TypeVar("_Document", bound=Mapping[str, Any])


def shown(document: type[_Document], record: object, **more: Any) -> _Document:
    """Return the document with the fields of a record that its keys name, and ``more``.

    Raises
    ------
    TypeError
        If a key is missing, or there is none of a name in ``more``.
    """
    keys = document.__annotations__
    values = {key: getattr(record, key) for key in keys if hasattr(record, key)} | more
    if values.keys() != keys.keys():
        raise TypeError(f"{document.__name__}: {sorted(values.keys() ^ keys.keys())}")
    return cast(_Document, {key: values[key] for key in keys})


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON; a number that JSON does not have is null."""
    return to_json(document, inf_nan_mode="null")


def info(call: Call) -> responses.Info:
    """Return the competition as everybody may see it."""
    state = call.competition.state()
    text, version = call.competition.rules()
    return shown(
        responses.Info,
        call.competition.facts,
        phase=state.phase,
        join=call.competition.limits.join,
        rules=text,
        rules_version=version,
        server_time=call.site.clock().isoformat(),
        waiting=call.site.intake.waiting(call.competition.name, state.cursor),
    )


def fault_line(fault: Mapping[str, Any]) -> str:
    """Return a fault as one line in the reader's language: location and message.

    >>> fault_line({"message": "The cell is empty.", "row": 3, "id": "a", "column": None})
    "row 3, id 'a': The cell is empty."
    """
    words = {"row": _("row {place}"), "id": _("id '{place}'"), "column": _("column '{place}'")}
    places = [
        text.format(place=fault[key]) for key, text in words.items() if fault.get(key) is not None
    ]
    return ": ".join(filter(None, (", ".join(places), str(fault.get("message", "")))))


def request_state(sending: Sent) -> responses.RequestState:
    """Return a request as its team may see it."""
    common: dict[str, Any] = {
        "answers": {},
        "trial": None,
        "request": sending.id,
        "status": sending.status,
        "received": sending.received,
        "place": sending.place,
        "seconds": sending.seconds,
        "file": sending.file,
    }
    if sending.request is not None:
        payload = sending.request.payload
        common["answers"] = {**payload.get("answers", {}), **payload.get("private", {})}
    if sending.program is not None:
        trial = sending.program.trial
        common["trial"] = None if trial is None else asdict(trial)
    answer = sending.answer or _unanswered(sending)
    return shown(
        responses.RequestState,
        answer,
        score=answer.released,
        rounds=[request_state(Sent(None, further, None, None)) for further in sending.rounds],
        **common,
    )


def _unanswered(sending: Sent) -> Answer:
    """Return what is known of a request before its answer."""
    if sending.request is None:
        raise ValueError("A request without content and answer.")
    request, payload = sending.request, sending.request.payload
    return replace(
        request.answer(request.team, sending.status, sending.message),
        member=request.member,
        sha256=payload.get("sha256"),
        description=payload.get("description", ""),
    )


def answer_row(answer: Answer) -> responses.AnswerRow:
    """Return an answer as organisers may see it."""
    return shown(responses.AnswerRow, answer)


def token_state(token: Token) -> responses.TokenState:
    """Return a token without its secret."""
    return responses.TokenState(
        token=token.token,
        name=token.name,
        scope=token.scope,
        created=token.created.isoformat(),
        expires=token.expires.isoformat() if token.expires else None,
        used=token.used.isoformat() if token.used else None,
    )


def person_state(member: Member) -> responses.Person:
    """Return a member of a team, for the team and the organiser."""
    return responses.Person(
        account=member.account,
        name=member.name,
        contact=member.contact,
        joined=member.joined.isoformat(),
    )
