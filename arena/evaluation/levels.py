"""Validation of confidence levels."""

from __future__ import annotations

from arena.errors import UsageError


def check_level(level: float) -> None:
    """Raise UsageError unless a level is strictly between 0 and 1.

    >>> check_level(95)
    Traceback (most recent call last):
    arena.errors.UsageError: The level must be between 0 and 1, not 95.
    """
    if not 0 < level < 1:
        raise UsageError(f"The level must be between 0 and 1, not {level:g}.")


PAIRS, LEADS, LEADER = 0.5, 0.25, 0.25
"""Shares of the error probability of a board's claim about ranks: decisions about all pairs, leads
over a possible winner, and the test of the leader. They add up to 1 (Bonferroni)."""
