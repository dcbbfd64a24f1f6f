"""Records as the documents of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.server.records.accounts import Token
from arena.server.web import models
from arena.server.web.actions import Sent
from arena.server.web.call import Call
from arena.server.web.language import _


def info(call: Call) -> models.Info:
    """Return the competition as everybody may see it."""
    facts, state = call.competition.facts, call.competition.state()
    text, version = call.competition.rules()
    return models.Info(
        name=facts.name,
        title=facts.title,
        metric=facts.metric,
        greater_is_better=facts.greater_is_better,
        mechanism=facts.mechanism,
        mechanism_text=facts.mechanism_text,
        deadline=facts.deadline,
        mark=None if facts.mark is None else dict(facts.mark),
        phase=state.phase,
        columns=list(facts.columns),
        rows=facts.rows,
        per_day=facts.per_day,
        total=facts.total,
        max_bytes=facts.max_bytes,
        final_rule=facts.final_rule,
        final_count=facts.final_count,
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


def request_state(sent: Sent) -> models.RequestState:
    """Return a request as its team may see it."""
    answer = sent.answer
    common: dict[str, Any] = {
        "request": sent.id,
        "status": sent.status,
        "received": sent.received,
        "place": sent.place,
        "seconds": sent.seconds,
        "file": sent.file,
    }
    if answer is None and sent.request is not None:
        return models.RequestState(
            kind=sent.request.kind,
            member=sent.request.member,
            sha256=sent.request.payload.get("sha256"),
            **common,
        )
    if answer is None:
        raise ValueError("A request without content and answer.")
    return models.RequestState(
        kind=answer.kind,
        submission=answer.submission,
        score=answer.released,
        faults=[dict(one) for one in answer.faults],
        message=answer.message,
        selected=answer.selected,
        receipt=answer.receipt,
        sha256=answer.sha256,
        member=answer.member,
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
