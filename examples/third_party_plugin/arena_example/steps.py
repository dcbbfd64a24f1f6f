"""A mechanism: the board moves in steps."""

from dataclasses import dataclass
from typing import ClassVar

from arena.types import Release


@dataclass(frozen=True)
class Steps:
    """Release a team's score once it beats the last release by a step: ``steps(step=0.02)``."""

    step: float = 0.01
    name: ClassVar[str] = "steps"

    def release(self, state, evaluation, rng):
        best = state.get("best")
        if best is None or evaluation.beats(best, by=self.step):
            best = {"best": evaluation.score, "submission": evaluation.submission}
            return Release(evaluation.score, improved=True, state=best)
        return Release(best, improved=False, state=dict(state), source=state["submission"])
