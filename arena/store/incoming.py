"""A submission on its way into a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import Fault, PredictionKind


@dataclass(frozen=True, slots=True, eq=False)
class Incoming:
    """A submission to be stored."""

    team: str
    file: str
    """The file name, for display only."""
    sha256: str
    """The sha256 of the file; empty if it could not be read."""
    values: npt.NDArray[Any] | None
    """``(n, n_columns)`` in the order of the solution: float64, or str objects if texts are
    predicted; None: the submission is rejected."""
    faults: tuple[Fault, ...] = ()
    """Why it is rejected."""
    key: str | None = None
    """The idempotency key; None: the sha256."""
    received: datetime | None = None
    """None: now."""
    refused: bool = False
    """Whether it is over a limit or too late: it is recorded and may be submitted again."""
    late: bool = False
    """Whether it was received after the deadline and is scored nevertheless."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no named phases."""

    @property
    def status(self) -> str:
        """Accepted, rejected for its faults, or refused."""
        if self.refused:
            return "refused"
        return "rejected" if self.values is None or self.faults else "accepted"

    @property
    def idempotency_key(self) -> str | None:
        """The key, by default the sha256; for an unreadable file a hash of name and faults.

        A refused submission has no key: the same file may be accepted on another day.
        """
        if self.refused:
            return None
        unread = f"{self.file}\n{json_of(self.faults)}".encode()
        return self.key or self.sha256 or "unread " + hashlib.sha256(unread).hexdigest()

    def check(self, shape: tuple[int, int], kind: PredictionKind) -> None:
        """Check the values of an accepted submission for a solution of this shape and kind.

        Raises
        ------
        ValueError
            If they do not fit it, or are not finite.
        """
        if self.status != "accepted" or self.values is None:
            return
        values = self.values
        if values.shape != shape:
            message = f"values have shape {values.shape}, but the solution needs {shape}"
            raise ValueError(message)
        if (values.dtype == object) != (kind is PredictionKind.TEXT):
            raise ValueError(f"values are {values.dtype}, but the solution needs {kind}")
        if values.dtype != object and not np.isfinite(values).all():
            raise ValueError("values must be finite")


def json_of(faults: Sequence[Fault]) -> str:
    """Return faults as they are stored."""
    return json.dumps([asdict(fault) for fault in faults], ensure_ascii=False)
