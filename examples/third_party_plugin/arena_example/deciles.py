"""A mechanism that compares teams: a score is the share of the other teams that it beats."""

from dataclasses import dataclass
from typing import ClassVar

from arena.errors import InputError
from arena.types import Release


@dataclass(frozen=True)
class Deciles:
    """Release the share of the other teams that a team's best score beats, in steps of a tenth.

    It counts the teams that submitted before, and takes ``scope = "competition"``.
    """

    name: ClassVar[str] = "deciles"
    for_participants: ClassVar[str] = (
        "The score is the share of the other teams that were behind the team's best submission "
        "when it was sent, rounded down to a tenth."
    )

    def review(self, board):
        if board.scope != "competition":
            raise InputError('deciles compares teams: set scope = "competition" under [public].')
        return []

    def release(self, state, evaluation, rng):
        best = dict(state.get("best", {}))  # the loss and submission of each team
        best_before = best.pop(evaluation.team, None)
        entry = [evaluation.to_loss(evaluation.score), evaluation.submission]
        improved = best_before is None or entry < best_before
        loss, submission = entry if improved else best_before
        behind = sum(loss < other for other, _ in best.values())
        tenths = 10 * behind // len(best) if best else 0
        # The score keeps the direction of the metric: the best teams have the most, or the least.
        score = tenths / 10 if evaluation.greater_is_better else 1 - tenths / 10
        state = {"best": {**best, evaluation.team: [loss, submission]}}
        return Release(score, improved, state, source=None if improved else submission)
