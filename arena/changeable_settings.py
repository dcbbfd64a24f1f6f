"""The settings that an organiser may change in the browser, for the web process and the scorer.

A web process that is taken over must not be able to end a competition, read a label or run another
program. So the metric, the data, the mechanism, plugins, paths of files and where people sign in
are changed in ``competition.toml`` only, and a deadline or the end of a phase is moved later only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from arena.server_section import ServerSection
from arena.utils.times import in_utc

Kind: TypeAlias = Literal["text", "time", "number", "flag", "choice", "list"]

CHANGEABLE: Mapping[str, Kind] = {
    "competition.title": "text",
    "competition.start": "time",
    "competition.deadline": "time",
    "competition.late_until": "time",
    "limits.per_day": "number",
    "limits.per_week": "number",
    "limits.total": "number",
    "limits.max_bytes": "number",
    "server.board": "choice",
    "server.files": "choice",
    "server.join": "choice",
    "server.approve": "flag",
    "server.team_size": "number",
    "server.contact": "text",
    "server.forum": "text",
    "server.organisers": "list",
    "server.colour": "text",
    "server.keep_uploads_days": "number",
    "server.uploads_per_minute": "number",
    "server.reminder_hours": "number",
    "server.smtp_host": "text",
    "server.smtp_port": "number",
    "server.smtp_tls": "choice",
    "server.smtp_user": "text",
    "server.smtp_from": "text",
}
"""The key with its section -> what its values are."""
OF_A_PHASE: Mapping[str, Kind] = {"start": "time", "end": "time"}
"""The same for the keys of ``[phase.NAME]``."""
_DATES = ("competition.start", "competition.deadline", "competition.late_until")
LONGEST_TEXT = 20_000
"""Characters of a page or of the rules, with which a form is no larger than it may be."""


def changeable(phases: Iterable[str] = ()) -> dict[str, Kind]:
    """Return the settings that can be changed in a competition with these phases.

    Phases have dates of their own, instead of those of the whole competition.

    >>> keys = changeable(["dev"])
    >>> "phase.dev.end" in keys, "competition.deadline" in keys
    (True, False)
    """
    of_phases = {
        f"phase.{phase}.{name}": kind for phase in phases for name, kind in OF_A_PHASE.items()
    }
    left_out = _DATES if of_phases else ()
    return {key: kind for key, kind in CHANGEABLE.items() if key not in left_out} | of_phases


def kind_of(key: str) -> Kind:
    """Return what the values of a setting are that can be changed; ``KeyError`` for others."""
    if key.startswith("phase."):
        return OF_A_PHASE[key.rpartition(".")[2]]
    return CHANGEABLE[key]


def ends_the_competition(key: str) -> bool:
    """Return whether a setting is the time after which private scores may be shown.

    >>> ends_the_competition("phase.dev.end"), ends_the_competition("competition.start")
    (True, False)
    """
    return key == "competition.deadline" or (key.startswith("phase.") and key.endswith(".end"))


def choices(key: str) -> tuple[str, ...]:
    """Return the values of a choice.

    >>> choices("server.join")
    ('code', 'invite', 'open')
    """
    annotation = ServerSection.model_fields[key.partition(".")[2]].annotation
    return tuple(annotation.__args__)  # type: ignore[union-attr]


def read_value(key: str, text: str) -> Any:
    """Return the value that a person typed; None for an empty one, which unsets the key.

    Times are UTC unless they have an offset.

    Raises
    ------
    ValueError
        If it is no value of this kind.

    Examples
    --------
    >>> read_value("limits.per_day", " 5 "), read_value("server.approve", "yes")
    (5, True)
    >>> read_value("competition.deadline", "2027-01-05 12:00")
    '2027-01-05T12:00:00+00:00'
    """
    text, kind = text.strip(), kind_of(key)
    if kind == "flag":
        return text == "yes"
    if kind == "list":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if not text:
        return "" if kind == "text" else None
    if kind == "time":
        return in_utc(datetime.fromisoformat(text)).isoformat()
    if kind == "number":
        return float(text) if "." in text else int(text)
    if kind == "choice" and text not in choices(key):
        raise ValueError(text)
    return text
