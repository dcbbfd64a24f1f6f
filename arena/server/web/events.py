"""Server-sent events: a page learns that something is new, and asks for it then.

One task for each competition looks twice a second whether something was published, while a browser
listens. An event carries the board's ETag or a number only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from arena.server.records.announcements import version
from arena.server.web import actions
from arena.server.web.call import Call
from arena.server.web.problems import Problem
from arena.server.web.site import CompetitionSite

INTERVAL = 0.5
KEEP_ALIVE = 20.0
_waiting: dict[CompetitionSite, set[asyncio.Event]] = {}
watching_tasks: dict[CompetitionSite, asyncio.Task[None]] = {}


def listeners() -> int:
    """Return how many streams are open."""
    return sum(map(len, _waiting.values()))


async def _watch(competition: CompetitionSite) -> None:
    version = -1
    while _waiting.get(competition):
        try:
            now = competition.published.version()
        except Exception:  # noqa: BLE001 - the scorer is just starting; look again
            now = version
        if now != version:
            version = now
            for event in _waiting.get(competition, ()):
                event.set()
        await asyncio.sleep(INTERVAL)
    watching_tasks.pop(competition, None)


def wake(competition: CompetitionSite) -> None:
    """Let the open pages look for changes: this process made one, not the scorer."""
    for event in _waiting.get(competition, ()):
        event.set()


def stream(call: Call) -> AsyncIterator[str]:
    """Return the events of one listener.

    Raises
    ------
    Problem
        503 if as many browsers listen as may listen.
    """
    if listeners() >= call.competition.limits.listeners:
        raise Problem(
            503,
            "Too many pages are live at the moment. Reload the page to see the current board.",
            {"Retry-After": "60"},
        )
    return _events(call)


def _last_answer(call: Call) -> int:
    team = call.own_team
    senders = [] if team is None else [actions.record_name(call, team)]
    if call.person.organiser:
        senders.append("")  # the decisions of organisers
    answers = [call.competition.published.answers(sender, limit=1) for sender in senders]
    return max(
        (answers_of_team[0].seq for answers_of_team in answers if answers_of_team), default=0
    )


async def _events(call: Call) -> AsyncIterator[str]:
    competition, event = call.competition, asyncio.Event()
    _waiting.setdefault(competition, set()).add(event)
    if competition not in watching_tasks:
        watching_tasks[competition] = asyncio.create_task(_watch(competition))
    sent_versions: dict[str, str] = {}
    try:
        yield "retry: 5000\n\n"
        while True:
            current = {
                "board": competition.published.etag("board") or "",
                "results": competition.published.etag("results") or "",
                "announcement": version(call.site.announcements.of(competition.name)),
            }
            if call.person.account is not None:
                current["answer"] = str(_last_answer(call))
            for name, value in current.items():
                if sent_versions.get(name) != value:
                    yield f"event: {name}\ndata: {value}\n\n"
            sent_versions = current
            try:
                await asyncio.wait_for(event.wait(), KEEP_ALIVE)
            except TimeoutError:
                yield ": still here\n\n"
            event.clear()
    finally:
        _waiting[competition].discard(event)
