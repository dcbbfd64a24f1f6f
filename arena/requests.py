"""A request of a competition, and its answer: one form of each, from the queue to the record.

The web process appends requests to the queue; the scorer answers them in their order. The same
answers are read from the record, published, and shown to teams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "submit",
    "program",
    "select",
    "disqualify",
    "undo",
    "rename",
    "merge",
    "rescore",
    "finalize",
    "publish",
    "retract",
    "withdraw",
    "pause",
    "resume",
    "exempt",
    "bracket",
    "answer",
    "verification",
    "configure",
]
"""The kind of a request. Its payload:

``submit``
    ``{"upload": ID, "file": NAME, "bytes": N, "sha256": HEX}`` and optionally ``"description"``,
    ``"phase": NAME`` and ``"answers": {KEY: TEXT}`` to the questions; as ``"private"`` those that
    are not recorded.
    ``upload`` is the name in :class:`~arena.server.records.uploads.Uploads`. Of a program's run on
    hidden inputs: ``{"program": ID, "file": NAME, "run": RESULT, "signature": HEX, "output": ID}``;
    ``output`` is its upload, which no team may download, and missing without one.
``program``
    As ``submit``: a program whose trial ended well. Its key is the program's id.
``select``
    ``{"submissions": [N, ...]}``: the final submissions of the request's team; [] clears them.
``disqualify``, ``undo``
    ``{"submission": N, "reason": TEXT}`` or ``{"team": NAME, "reason": TEXT}``.
``rename``
    ``{"team": NAME, "to": NAME, "accounts": [TEAM]}``.
``merge``
    ``{"team": NAME, "into": NAME, "accounts": [TEAM, TEAM]}``. ``accounts`` are the identifiers of
    the teams in :class:`~arena.server.records.accounts.Accounts`, which are changed after the
    record.
``rescore``
    ``{}`` asks for a preview, ``{"preview": CODE}`` applies it; CODE is in the answer.
``finalize``, ``publish``
    ``{}``, or ``{"phase": NAME}``. ``publish`` makes the finalized private board public.
``retract``
    ``{"reason": TEXT}`` and optionally ``"phase"``: the last published result is no longer shown.
``pause``
    ``{"reason": TEXT}``: files are refused, uncounted, until ``resume``, whose payload is ``{}``.
``exempt``
    ``{"team": NAME, "until": TIME, "extra": N, "reason": TEXT}``, without ``until`` or ``extra``.
``bracket``
    ``{"team": NAME, "bracket": NAME, "member": BOOL}``: a team is in a bracket, or no longer.
``answer``
    ``{"answers": {KEY: TEXT}}``: to questions about the request's team, when it is founded.
``verification``
    ``{"submission": N, "state": "verified", "failed" or "open", "note": TEXT}``.
``configure``
    ``{"changes": {KEY: [BEFORE, AFTER]}, "texts": {NAME: TEXT}}``: settings and texts that change.
``withdraw``
    ``{"submission": N}``: a submission of the request's team leaves every board.

Requests of the organiser have the team ``""`` and the organiser's account as member.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a queue. Requests are answered in the order of their numbers."""

    seq: int
    """Its number in the queue."""
    request: str
    """The random id that the participant gets."""
    kind: str
    """See :data:`Kind`."""
    team: str
    """The team's name when the request came in; ``""`` for the organiser."""
    member: str
    """The account that sent it."""
    received: datetime
    """When the last byte arrived, in UTC: the deadline and the limits of a day follow it."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """As its kind says."""
    competition: str = ""
    key: str = ""
    """The idempotency key: unique for each competition and team."""
    fingerprint: str = ""
    """Must be equal in a request that repeats the key; such as the digest of the file."""
    path: Path | None = None
    """The uploaded file, where it is opened to be judged."""

    @property
    def actor(self) -> str:
        """The name that events record as their author."""
        return f"member {self.member}" if self.team else f"organiser {self.member}"

    @property
    def event_fields(self) -> dict[str, Any]:
        """The fields that identify it in its event."""
        return {"request": {"id": self.request, "seq": self.seq, "kind": self.kind}}

    def answer(self, team: str, status: str, message: str = "") -> Answer:
        """Return its answer to the team, without the facts of a submission."""
        return Answer(
            self.request, self.seq, team=team, kind=self.kind, status=status, message=message
        )


def name_without_request(submission: int) -> str:
    """Return the request id of a submission without a request of its own."""
    return f"submission-{submission}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request, or to its file in a further round."""

    request: str
    seq: int
    """The number of the request; those for further rounds have the same."""
    team: str
    """The team's current name; ``""`` for the organiser."""
    kind: str
    """See :data:`Kind`."""
    status: str
    """Of a submission: ``accepted``, ``rejected`` (the file has faults), ``refused`` (a limit or
    the deadline), ``disqualified``, ``withdrawn`` or ``set_aside``. Of anything else: ``done``,
    ``refused`` or ``set_aside``.

    ``set_aside``: it could not be judged, such as a file that ended the checker twice. It counts
    against no limit, and the organiser sees it."""
    received: str = ""
    """ISO 8601, UTC; empty until the answer is published, as ``judged`` and ``member``."""
    judged: str = ""
    """ISO 8601, UTC."""
    member: str = ""
    submission: int | None = None
    """The number of the stored submission; what ``select`` and ``disqualify`` take."""
    file: str | None = None
    released: float | None = None
    """The score on the public board."""
    source: int | None = None
    """The submission whose score it is, if the mechanism repeated an earlier score."""
    late: bool = False
    """Whether it came after the deadline: it is listed apart, and not ranked."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no phases."""
    of_request: str = ""
    """The request whose file it is, of an answer for a further round; else empty."""
    closed_rounds: tuple[str, ...] = ()
    """The rounds whose rows the file has, and for which it does not count: they were not open."""
    private: float | None = None
    """The score on the private rows, once the result is published and teams see it."""
    private_rank: int | None = None
    """The rank that it would have among the final submissions."""
    before_rebuild: bool = False
    """Whether it is a score from before the board was released again."""
    faults: tuple[Mapping[str, Any], ...] = ()
    """Why it was rejected or refused: ``{"kind", "message", ...}`` of
    :class:`arena.types.Fault`."""
    message: str = ""
    """The result in one sentence, for requests other than submissions."""
    selected: bool = False
    """Whether it is among the team's chosen final submissions."""
    description: str = ""
    """The team's note."""
    reason: str = ""
    """Why it is disqualified."""
    receipt: str | None = None
    """The hash of the event that stored it, which proves later that the record still has it."""
    sha256: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Answer:
        """Return the answer that a JSON document describes."""
        lists = {key: tuple(document.get(key, ())) for key in ("faults", "closed_rounds")}
        return cls(**{**document, **lists})
