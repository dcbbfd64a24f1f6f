"""The public function ``arena.sota``; ``arena.sample_maximum`` is in :mod:`arena_sota.maximum`."""

from __future__ import annotations

from numbers import Integral
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import DEFAULT_LEVEL
from arena.utils.progress import stage
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.checks import check_choice
from arena_sota.estimate import Method, SotaEstimate, Target, Theta, estimate_sota


def sota(
    scores: npt.ArrayLike,
    rows: int | tuple[int, int],
    *,
    metric: Literal["accuracy", "roc_auc"] = "accuracy",
    classes: int = 2,
    rho: float | None = None,
    method: Method = "shrink",
    target: Target = "mean",
    theta: Theta = "bootstrap",
    level: float = DEFAULT_LEVEL,
    repetitions: int = 400,
    seed: int = 0,
) -> SotaEstimate:
    """Estimate the true performance of the best of a leaderboard, corrected for selection.

    Parameters
    ----------
    scores
        ``(m,)`` accuracies or areas under the ROC curve in [0, 1]; those at or below guessing are
        left out.
    rows
        Number of rows behind each score; for ``roc_auc`` the numbers of positive and of negative
        rows.
    metric
        What the scores are.
    classes
        A guess is right with probability ``1 / classes``; of an accuracy.
    rho
        Correlation with a common cause, in [0, 1); None: 0.6, and 0 for ``roc_auc``.
    method, target, theta
        As in :func:`arena_sota.estimate.estimate_sota`; ``roc_auc`` takes ``target`` only.
    level
        Of the intervals.
    repetitions, seed
        Number of simulated boards and their seed, for ``roc_auc``; ``simulation_error`` of the
        result says what they leave open.

    Returns
    -------
    SotaEstimate
        ``sota`` is the estimate; ``verdict`` says it in a sentence.

    Raises
    ------
    UsageError
        If an argument is out of range, or fewer than two scores are above guessing.

    Examples
    --------
    >>> found = sota(0.91 - 0.02 * np.linspace(0, 1, 30) ** 2, 300)
    >>> found.solved, found.sota < found.observed_maximum
    (True, True)
    """
    check_choice("metric", metric, ("accuracy", "roc_auc"))
    check_choice("method", method, get_args(Method))
    check_choice("target", target, get_args(Target))
    check_choice("theta", theta, get_args(Theta))
    if not isinstance(seed, Integral) or seed < 0:
        raise UsageError("The seed must be 0 or more, and whole.")
    if metric == "accuracy":
        if not isinstance(rows, int | np.integer):
            raise UsageError("The rows of an accuracy are one number.")
        return estimate_sota(
            scores,
            int(rows),
            classes,
            rho0=0.6 if rho is None else rho,
            method=method,
            target=target,
            theta=theta,
            level=level,
        )
    if isinstance(rows, int | np.integer) or len(rows) != 2:
        raise UsageError(
            "The rows of an area under the ROC curve are two numbers, (positives, negatives)."
        )
    if rho is not None and rho < 0:
        raise UsageError(f"The correlation rho must be at least 0 and below 1, not {rho:g}.")
    if method == "crop":
        raise UsageError("For roc_auc only the method shrink is available.")
    positives, negatives = rows
    with stage("Simulating boards"):
        return estimate_auc_sota(
            scores,
            positives,
            negatives,
            np.random.default_rng(seed),
            rho=0.0 if rho is None else rho**2,
            target=target,
            level=level,
            repetitions=repetitions,
        )
