"""Changes while a competition ran: the events that matter to a reader of its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from arena.competition.record.rebuild import CAUSES, CHANGES_NOTHING, REBUILT
from arena.competition.server_settings import SERVED
from arena.store import Event
from arena.types import Section, Table
from arena.utils.formatting import minute
from arena.utils.text import plural, shorten

_SHOWN = 120
_EXPLANATION = (
    "The record also has the scores of earlier revisions and the releases of earlier epochs of the "
    "public board; this page shows the latest of each."
)


def history_section(events: Iterable[Event]) -> Section | None:
    """Return every rescore, epoch, repair, change of a setting and of teams; None without any."""
    rows = [
        (minute(event.time), what)
        for event in events
        if event.kind in _DESCRIPTIONS
        for what in _DESCRIPTIONS[event.kind](event.payload)
    ]
    if not rows:
        return None
    table = Table("What changed while it ran", ("time (UTC)", "what"), tuple(rows))
    return Section("What changed while it ran", _EXPLANATION, (table,))


def _rescored(payload: Mapping[str, Any]) -> list[str]:
    metric, solution = payload["metric"], payload["solution_sha256"]
    causes = [
        _change("the metric", metric) if metric[0] != metric[1] else "",
        *(
            _change(f"the metric of the phase {phase}", pair)
            for phase, pair in payload.get("phase_metrics", {}).items()
        ),
        "by a corrected solution" if solution[0] != solution[1] else "",
    ]
    why = ", ".join(cause for cause in causes if cause) or "the code of the metric changed"
    if payload.get(CHANGES_NOTHING):
        why = "neither labels nor metrics changed"
    return [
        f"Scored again, revision {payload['revision']}: {why}. It changed the private rank of "
        f"{plural(payload['ranks_changed'], 'team')}."
    ]


def _epoch(payload: Mapping[str, Any]) -> list[str]:
    changes = [
        _change(name, payload[name])
        for name in ("mechanism", "scope")
        if payload[name][0] != payload[name][1]
    ]
    what = "; ".join(changes) or "nothing else changed"
    released = len(payload["released"])
    return [
        f"Epoch {payload['epoch']} of the public board began: {what}. "
        f"{plural(released, 'submission', 'were')} released again."
    ]


def _rebuilt(payload: Mapping[str, Any]) -> list[str]:
    released = len(payload["released"])
    return [
        f"The public board was released again for {plural(released, 'submission')}: "
        f"{CAUSES[payload['cause']]}."
    ]


def _configuration(payload: Mapping[str, Any]) -> list[str]:
    return [f"{_change(key, change)}." for key, *change in payload.get("changes", ())]


def _repair(payload: Mapping[str, Any]) -> list[str]:
    if "rebuilt" in payload:
        return [f"Tables derived from the history were rebuilt: {', '.join(payload['rebuilt'])}."]
    lost = ", ".join(map(str, payload["lost_submissions"]))
    return [f"The database was repaired. Submissions lost: {lost or 'none'}."]


def _renamed(payload: Mapping[str, Any]) -> list[str]:
    return [f"The team {shorten(payload['team'])} was renamed to {shorten(payload['to'])}."]


def _merged(payload: Mapping[str, Any]) -> list[str]:
    return [f"The team {shorten(payload['team'])} joined the team {shorten(payload['to'])}."]


def _change(what: str, values: Sequence[Any]) -> str:
    before, after = (
        "nothing" if value is None else shorten(str(value), _SHOWN) for value in values
    )
    return f"{what} from {before} to {after}"


_DESCRIPTIONS: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    REBUILT: _rebuilt,
    "configuration": _configuration,
    "epoch": _epoch,
    "repair": _repair,
    "rescored": _rescored,
    SERVED: _configuration,
    "team merged": _merged,
    "team renamed": _renamed,
}
"""Kind of event -> its description."""
DESCRIBED = tuple(_DESCRIPTIONS)
"""The kinds of events that the section describes; the others of a long history need no reading."""
