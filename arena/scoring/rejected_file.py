"""A rejected file, for results and for the check of files alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from arena.interfaces.faults import group_faults
from arena.types import Fault


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A submission file that was rejected, and its faults."""

    file: str
    """The name of the file."""
    faults: tuple[Fault, ...]
    """Its faults."""


def rejected_document(rejected: RejectedFile) -> dict[str, Any]:
    """Return a rejected file as JSON."""
    return {
        "file": rejected.file,
        "faults": [asdict(fault) for fault in rejected.faults],
        "kinds": [
            {"kind": group.kind, "count": group.count, "cause": group.cause}
            for group in group_faults(rejected.faults)
        ],
    }
