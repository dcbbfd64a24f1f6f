"""What came of running one metric of another platform directly and through arena."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """What happened to one metric."""

    name: str
    status: str
    """``equal``, ``different``, ``failed`` (only through arena), or ``not run`` (not directly)."""
    why: str
