"""Records as the documents of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel

from arena.server.records.accounts import Token
from arena.server.web import models
from arena.server.web.actions import Sent
from arena.server.web.call import Call
from arena.server.web.language import _

_Model = TypeVar("_Model", bound=BaseModel)


def shown(model: type[_Model], record: object, **more: Any) -> _Model:
    """Return the document whose fields are those of a record with the same names, and ``more``."""
    same = {name: getattr(record, name) for name in model.model_fields if hasattr(record, name)}
    return model.model_validate(same | more)


def info(call: Call) -> models.Info:
    """Return the competition as everybody may see it."""
    state = call.competition.state()
    text, version = call.competition.rules()
    return shown(
        models.Info,
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


def request_state(sending: Sent) -> models.RequestState:
    """Return a request as its team may see it."""
    common: dict[str, Any] = {
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
    if sending.answer is not None:
        further_rounds = [
            request_state(Sent(None, answer, None, None)) for answer in sending.rounds
        ]
        return shown(
            models.RequestState,
            sending.answer,
            score=sending.answer.released,
            rounds=further_rounds,
            **common,
        )
    if sending.request is None:
        raise ValueError("A request without content and answer.")
    sha256 = sending.request.payload.get("sha256")
    description = sending.request.payload.get("description", "")
    return shown(
        models.RequestState,
        sending.request,
        sha256=sha256,
        description=description,
        message=sending.message,
        **common,
    )


def token_state(token: Token) -> dict[str, Any]:
    """Return a token without its secret."""
    return {
        "token": token.token,
        "name": token.name,
        "scope": token.scope,
        "created": token.created.isoformat(),
        "expires": token.expires.isoformat() if token.expires else None,
        "used": token.used.isoformat() if token.used else None,
    }
