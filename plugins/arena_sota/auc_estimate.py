"""The state of the art in ROC AUC from a board, shrunk toward 0.5."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import DEFAULT_LEVEL, FloatArray
from arena_sota.binormal import auc_maximum
from arena_sota.checks import board_scores
from arena_sota.distribution import BestScoreDistribution
from arena_sota.estimate import SotaEstimate, Target, solve

_TOLERANCE = 5e-4


def estimate_auc_sota(
    scores: npt.ArrayLike,
    positives: int,
    negatives: int,
    rng: np.random.Generator,
    *,
    rho: float = 0.0,
    target: Target = "mean",
    level: float = DEFAULT_LEVEL,
    repetitions: int,
) -> SotaEstimate:
    """Estimate the true AUC of the best submission from the scores of a board alone.

    The same simulated errors are used for every weight (Møllersen and Holsbø, section 5.2.3, with
    rho = 0 there). The true AUCs are the shrunken scores of the board; they are not resampled.

    Parameters
    ----------
    scores
        ``(m,)`` AUCs in [0, 1]; those at or below 0.5 are left out first.
    positives, negatives
        Numbers of rows of the two classes.
    rng
        The random number generator.
    rho
        The share of a score's variance, within a class, that all submissions have in common.
    target, level
        As in :func:`~arena_sota.estimate.estimate_sota`.
    repetitions
        Number of simulated boards; the standard error of the estimate is about that of the best
        score over their square root.

    Raises
    ------
    UsageError
        If an argument is out of range, or fewer than two scores are above 0.5.

    Examples
    --------
    >>> scores = 0.90 - 0.1 * np.linspace(0, 1, 30) ** 2
    >>> found = estimate_auc_sota(scores, 60, 400, np.random.default_rng(0), repetitions=50)
    >>> found.solved, 0.85 < found.sota < 0.90
    (True, True)
    """
    values = board_scores(scores)
    seed = int(rng.integers(2**63))
    maximum_by_key: dict[bytes, BestScoreDistribution] = {}

    def maximum_of(performances: FloatArray, settled: float) -> BestScoreDistribution:  # noqa: ARG001
        # The search starts from both ends, which were tried before, and ends at a known value.
        key = performances.tobytes()
        if key not in maximum_by_key:
            same = np.random.default_rng(seed)
            maximum_by_key[key] = auc_maximum(
                performances, positives, negatives, same, rho=rho, repetitions=repetitions
            )
        return maximum_by_key[key]

    return solve(
        values,
        0.5,
        maximum_of,
        method="shrink",
        target=target,
        theta="fixed",
        level=level,
        tolerance=_TOLERANCE,
    )
