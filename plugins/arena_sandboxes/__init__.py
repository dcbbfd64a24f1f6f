"""Sandboxes in which programs of participants run."""

from __future__ import annotations

from arena.hookspecs import hookimpl
from arena.interfaces import Deferred

__all__ = ["provide_sandboxes"]


@hookimpl
def provide_sandboxes() -> list[Deferred]:
    """Provide ``bwrap`` and ``podman``."""
    return [
        Deferred("bwrap", "arena_sandboxes.bubblewrap:Bubblewrap"),
        Deferred("podman", "arena_sandboxes.podman:Podman"),
    ]
