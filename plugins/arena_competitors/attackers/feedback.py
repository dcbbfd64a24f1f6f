"""Infers from released scores what kind of board a participant faces."""

from __future__ import annotations

from dataclasses import dataclass

from arena.interfaces import Feedback, Metric
from arena_competitors.attackers.guesses import is_better


@dataclass(slots=True)
class BoardBehaviour:
    """Detects whether the board shows every score, or only improvements as a Ladder does.

    A board that releases a worse score than before to a team shows every score. Otherwise it is
    assumed to be a Ladder, whose release carries information only if it changed.
    """

    metric: Metric
    shows_every_score: bool = False

    def observe(self, feedback: Feedback) -> bool:
        """Record a release, and return whether it is the first or differs from the one before."""
        if feedback.previous is None:
            return True
        if is_better(feedback.previous, feedback.score, self.metric):
            self.shows_every_score = True
        return feedback.score != feedback.previous
