"""What a participant may conclude from how a board answers."""

from __future__ import annotations

from dataclasses import dataclass

from arena.interfaces import Answer, Metric
from arena_competitors.guesses import is_better

__all__ = ["BoardManners"]


@dataclass(slots=True)
class BoardManners:
    """Notices whether the board shows every score, or only improvements as a Ladder does.

    A board that has shown a team a worse score than before shows every score; one that never has
    is taken for a Ladder, whose answer tells something of a submission only if it is news.
    """

    metric: Metric
    shows_every_score: bool = False

    def hear(self, answer: Answer) -> bool:
        """Take in an answer, and return whether it is news: the first, or another than before."""
        if answer.previous is None:
            return True
        if is_better(answer.previous, answer.score, self.metric):
            self.shows_every_score = True
        return answer.score != answer.previous
