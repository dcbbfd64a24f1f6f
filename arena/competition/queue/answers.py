"""The answers to the queued requests of a served competition, read from the record of events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from arena.competition.queue.decisions import DECISIONS
from arena.competition.record.programs import SET_ASIDE as PROGRAM_SET_ASIDE
from arena.competition.submit import Submitted
from arena.requests import Answer, Request, name_without_request
from arena.store import Event, Store
from arena.store.events import is_of_queue

SET_ASIDE = "request set aside"
"""The kind of the event of a request that could not be judged; only for organisers."""
SET_ASIDE_TEXT = (
    "This could not be judged because of a fault that is not yours, and it counts against no "
    "limit. The organiser has been notified. You can send it again."
)


def last_answer(store: Store) -> Answer | None:
    """Return the answer to the last request that the record has, or None.

    Requests are processed in the order of their numbers, so the record is read from its end.
    """
    for _id, events in groupby(filter(is_of_queue, store.last_events()), key=_id_of_request):
        return next(iter(answers_in(reversed([*events])).values()))[0]
    return None


def cursor_of(store: Store) -> int:
    """Return the number of the last request that the record has; 0 without one."""
    last = last_answer(store)
    return 0 if last is None else last.seq


def _id_of_request(event: Event) -> str:
    return str(event.payload["request"]["id"])


def answers_in(events: Iterable[Event]) -> dict[str, list[Answer]]:
    """Return the answers to every request that these events record, by its id.

    There is one; to a file of several rounds one for each of them.
    """
    answers: dict[str, list[Answer]] = {}
    for event in filter(is_of_queue, events):
        request, payload = event.payload["request"], event.payload
        answer = Answer(
            request=request["id"],
            seq=request["seq"],
            kind=request["kind"],
            team=str(payload.get("team", "")),
            status="done",
        )
        if event.kind == "submission":
            of_rounds = [
                earlier for earlier in answers.get(answer.request, ()) if earlier.submission
            ]
            document = {**payload, "receipt": event.hash}
            answers[answer.request] = [*of_rounds, _of_round(answer, document, of_rounds)]
            continue
        if event.kind in {SET_ASIDE, PROGRAM_SET_ASIDE}:
            answer = replace(answer, status="set_aside", message=SET_ASIDE_TEXT)
        elif (refused := payload.get("refused")) is not None:
            answer = replace(answer, status="refused", message=str(refused))
        else:
            answer = replace(answer, message=_sentence(answer.kind, payload))
        answers[answer.request] = [answer]
    return answers


_SUBMISSION_FIELDS = (
    "team",
    "status",
    "submission",
    "released",
    "source",
    "late",
    "phase",
    "faults",
    "closed_rounds",
    "receipt",
)
"""The fields of an answer that are in the document of a submission's answer, and in its event."""


def _of_round(answer: Answer, document: Mapping[str, Any], of_rounds: Collection[Answer]) -> Answer:
    """Return the answer to a submission; ``of_rounds``: those for the rounds before."""
    fields = {name: document[name] for name in _SUBMISSION_FIELDS if name in document}
    answered = Answer.of({**asdict(answer), **fields})
    if not of_rounds:
        return answered
    request = name_without_request(document["submission"])
    return replace(answered, request=request, of_request=answer.request)


def answers_to(request: Request, submitted: Submitted) -> list[Answer]:
    """Return the answers to a request that is a submission, one for each round."""
    answers: list[Answer] = []
    for of_round in (submitted, *submitted.rounds):
        answer = request.answer(of_round.team, of_round.status)
        answers.append(_of_round(answer, of_round.to_dict(), answers))
    return answers


def _sentence(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the result of a request in a sentence, from the event that records it."""
    if answer := payload.get("answer"):
        return str(answer)
    return DECISIONS[kind].sentence(payload) if kind in DECISIONS else ""
