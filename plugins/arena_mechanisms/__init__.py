"""What the public board releases: everything, or scores rounded for display."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Mechanism

__all__ = ["provide_mechanisms"]


@hookimpl
def provide_mechanisms() -> list[Mechanism]:
    """Provide ``full`` and ``kaggle``."""
    from arena_mechanisms.rounding import Full, Kaggle

    return [Full(), Kaggle()]
