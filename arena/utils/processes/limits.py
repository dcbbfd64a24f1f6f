"""The limits of a worker process, and the result of a task that exceeds them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

HAS_LIMITS = sys.platform.startswith("linux")
"""Whether this system enforces :class:`Limits`. macOS accepts a memory limit and ignores it; there
only the time of a call is limited."""

SLACK = 0.1
"""Share by which a time limit may be exceeded, so that short calls need not restart the timer."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a task whose process ended before the task was finished."""

    too_long: bool
    """Whether the time limit was exceeded; otherwise the process crashed or was killed."""
    seconds: float
    """The time limit."""

    def __str__(self) -> str:
        if self.too_long:
            return f"it took longer than {self.seconds:g} s and was stopped"
        return "its process crashed or was killed, possibly out of memory"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a call, besides its time."""

    memory: int
    """Bytes in addition to those that the process holds when its first call starts."""
    open_files: int = 64
    processor_seconds: int | None = None
    """CPU time of one call; unlike wall-clock time it does not depend on the load of the machine.
    """


@dataclass(frozen=True, slots=True)
class Confinement:
    """Limits on a worker process. Each is enforced only if the system supports it."""

    memory: float | None = None
    """Megabytes that each of its processes may allocate (Linux); None: no limit."""
    network: bool = True
    """False: only a private loopback interface (Linux namespaces)."""
    read_only: Path | None = None
    """A folder that the worker can read but not change (Linux namespaces)."""
