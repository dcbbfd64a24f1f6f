"""Built-in mechanisms of the public board: unrestricted, rounded, Ladder and noisy releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Mechanism

__all__ = ["provide_mechanisms"]


@hookimpl
def provide_mechanisms() -> list[Mechanism]:
    """Provide ``full`` and ``kaggle``, two Ladders, and two mechanisms that add noise."""
    from arena_mechanisms.ladder import Ladder, LadderFree
    from arena_mechanisms.noisy import NoisyLadder, Thresholdout
    from arena_mechanisms.rounding import Full, Kaggle

    return [Full(), Kaggle(), Ladder(), LadderFree(), NoisyLadder(), Thresholdout()]
