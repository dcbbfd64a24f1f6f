"""Built-in mechanisms of the public board: unrestricted, rounded, Ladder and noisy releases."""

from __future__ import annotations

from arena.hookspecs import hookimpl
from arena.interfaces import Deferred

__all__ = ["provide_mechanisms"]

_CLASSES = {
    "full": "rounding:Full",
    "kaggle": "rounding:Kaggle",
    "ladder": "ladder:Ladder",
    "ladder-free": "ladder:LadderFree",
    "ladder-boot": "boot:LadderBoot",
    "noisy-ladder": "noisy:NoisyLadder",
    "thresholdout": "noisy:Thresholdout",
}
"""The name of a mechanism -> its module and class."""


@hookimpl
def provide_mechanisms() -> list[Deferred]:
    """Provide ``full`` and ``kaggle``, three Ladders, and two mechanisms that add noise."""
    return [Deferred(name, f"arena_mechanisms.{place}") for name, place in _CLASSES.items()]
