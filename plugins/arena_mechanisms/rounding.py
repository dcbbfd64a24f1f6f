"""Mechanisms that release every score, exact or rounded. They do not protect against attackers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Evaluation
from arena.types import Release
from arena_mechanisms.steps import round_to_multiple


@dataclass(frozen=True)
class Full:
    """Release every score at full precision."""

    name: ClassVar[str] = "full"
    for_participants: ClassVar[str] = (
        "The public score is the exact score of a submission on the public rows."
    )

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the exact score; ``improved`` if it is better than every earlier one."""
        return _release(evaluation.score, evaluation.score, state, evaluation)


@dataclass(frozen=True)
class Kaggle:
    """Release scores rounded for display, as Kaggle does (Blum and Hardt 2015, Figure 7).

    Teams are ranked by the full-precision score unless ``rank_rounded`` is true. A board that ranks
    at full precision reveals more than the rounded scores that it shows.

    Parameters
    ----------
    rounding
        Scores are shown as multiples of this number, in the metric's unit.
    rank_rounded
        Whether teams are ranked by what is shown.

    Raises
    ------
    UsageError
        If ``rounding`` is not positive.
    """

    rounding: float = 1e-5
    rank_rounded: bool = False

    name: ClassVar[str] = "kaggle"
    for_participants: ClassVar[str] = (
        "The public score is the score of a submission on the public rows, rounded."
    )

    def __post_init__(self) -> None:
        if not 0 < self.rounding < np.inf:
            raise UsageError(f"kaggle: rounding must be positive, not {self.rounding}.")

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the rounded score; ``improved`` if the ranked score is better than before."""
        score = round_to_multiple(evaluation.score, self.rounding)
        ranked = score if self.rank_rounded else evaluation.score
        return _release(score, ranked, state, evaluation)


def _release(
    score: float, ranked: float, state: Mapping[str, Any], evaluation: Evaluation
) -> Release:
    best = state.get("best")
    improved = best is None or evaluation.to_loss(ranked) < evaluation.to_loss(best)
    next_state = {"best": ranked, "submission": evaluation.submission} if improved else dict(state)
    return Release(score=score, improved=improved, state=next_state, ranked_by=ranked)
