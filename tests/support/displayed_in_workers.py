"""What a worker process displays: in a module that worker processes can import."""

from __future__ import annotations

from multiprocessing import parent_process

from arena.utils.progress import shown

__all__ = ["displayed"]


def displayed(_: int) -> tuple[bool, str]:
    """Return whether this is a worker process, and the kind of display that it opens."""
    with shown(None) as display:
        return parent_process() is not None, type(display).__name__
