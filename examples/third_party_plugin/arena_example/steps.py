"""A mechanism: the board moves in steps."""

from dataclasses import dataclass

from arena.types import Release


@dataclass(frozen=True)
class Steps:
    """Release a team's best score only once it is better by a step: ``steps(step=0.02)``."""

    step: float = 0.01
    name: str = "steps"

    def release(self, state, evaluation, rng):
        sign = 1 if evaluation.greater_is_better else -1
        best = state.get("best")
        if best is None or sign * (evaluation.score - best) >= self.step:
            return Release(evaluation.score, improved=True, state={"best": evaluation.score})
        return Release(best, improved=False, state=dict(state))
