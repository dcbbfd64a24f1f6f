"""Decisions on when files are received: a pause, and exemptions of teams. Both are on record.

They are kept as one value of the store, so that a submission reads it without the history.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from arena.store import Store
from arena.utils.strict_json import parse_json

PAUSED, RESUMED, EXEMPTED = "paused", "resumed", "exempted"
"""The kinds of events."""
ADMISSION = "admission"
"""The name of the value in the store."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """What a team may do that others may not."""

    until: datetime | None = None
    """It may submit until then, also after the deadline; None: until the deadline."""
    extra: int = 0
    """It may send so many submissions more: a day, a week and in total."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The pause and the exemptions of a competition."""

    paused: Mapping[str, str] | None = None
    """``time`` and ``reason``; None: files are received."""
    exemptions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The stored name of a team -> ``until``, ``extra`` and ``reason`` of its last exemption."""
    qualified: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """A phase -> the stored names of the teams that were named for it."""

    @classmethod
    def read(cls, store: Store) -> Self:
        """Return what was decided last."""
        return cls(**parse_json(store.meta(ADMISSION) or "{}"))

    def of(self, members: Iterable[str]) -> Exemption:
        """Return the exemption of a team, by all names under which its submissions are stored."""
        entries = [self.exemptions[name] for name in members if name in self.exemptions]
        times = [datetime.fromisoformat(entry["until"]) for entry in entries if entry["until"]]
        return Exemption(max(times, default=None), sum(entry["extra"] for entry in entries))

    def end_of(self, members: Iterable[str], deadline: datetime | None) -> datetime | None:
        """Return until when a team may submit, choose and withdraw; None: without end.

        >>> deadline, until = datetime(2026, 3, 2), datetime(2026, 3, 1)
        >>> exempted = Admission(exemptions={"owls": {"until": f"{until}", "extra": 0}})
        >>> exempted.end_of(["owls"], deadline) == deadline  # which was moved after the exemption
        True
        """
        until = self.of(members).until
        return deadline if deadline is None or until is None else max(deadline, until)

    def to_text(self) -> str:
        """Return it as the text that is kept in the store."""
        return json.dumps(asdict(self))
