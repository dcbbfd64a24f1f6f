"""LadderBoot of Neto et al. (2016): a Ladder that compares and releases by a bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from arena.interfaces import Evaluation
from arena.types import Release
from arena_mechanisms import steps
from arena_mechanisms.steps import BoundedMechanism


@dataclass(frozen=True)
class LadderBoot(BoundedMechanism):
    """Release the mean of a few bootstrapped scores if a submission is better (Neto et al. 2016).

    A submission passes if the Bayes factor of being better than the team's submission whose score
    was released last, against being worse, is larger than a threshold. The Bayes factor is the
    ratio of the shares of joint resamples of the rows in which its score is better and is not. The
    release is the mean of its scores under a few resamples. It has noise with a standard deviation
    of ``1 / sqrt(resamples)`` standard errors of the score, which is large on few rows.

    Resampled scores are taken as normal. With d the gain and e its standard error, the Bayes factor
    is then ``P(d / e) / P(-d / e)`` with P the normal distribution function, and the release is
    drawn at once. Unlike the authors' code, a release never makes a team's score worse.

    Parameters
    ----------
    bayes_factor
        The threshold, at least 1; 3 in the authors' code, which is a gain of 0.67 standard errors.
    resamples
        The number of scores whose mean is released; 10 in the authors' code. Fewer reveal less.
    start, clip
        As in ``ladder``.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    >>> error = {"standard_error_of_difference": lambda other: 0.01, "standard_error": lambda: 0.04}
    >>> mechanism, state, rng = LadderBoot(), {}, np.random.default_rng(0)
    >>> for number, score in enumerate([0.70, 0.705, 0.71], start=1):
    ...     release = mechanism.release(state, Evaluation(number, score, True, 100, **error), rng)
    ...     state = release.state
    ...     print(round(release.score, 3), release.improved)
    0.698 True
    0.698 False
    0.702 True
    """

    bayes_factor: float = 3.0
    resamples: int = 10

    name: ClassVar[str] = "ladder-boot"
    for_participants: ClassVar[str] = (
        "A submission gets a new public score only if it is probably better than the one that got "
        "the last public score; otherwise that is shown again. Public scores include random noise, "
        "the more the fewer rows there are. Method: LadderBoot of Neto et al. (2016)."
    )

    def __post_init__(self) -> None:
        steps.check_number(self.name, "bayes_factor", self.bayes_factor, least=1)
        steps.check_whole(self.name, "resamples", self.resamples)
        super().__post_init__()

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the score with noise if it is probably better, else the last release."""
        before = steps.standing(state, evaluation, self.start, lambda score: score)
        z = NormalDist().inv_cdf(self.bayes_factor / (1 + self.bayes_factor))
        error = evaluation.standard_error()
        if np.isnan(error):  # a single row or group
            error = evaluation.range_width
        noise = evaluation.to_loss(float(rng.normal())) * error / self.resamples**0.5
        if before is not None and not steps.gains_by_errors(evaluation, before, z):
            return before.repeated()
        return steps.climb(evaluation, before, evaluation.score + noise, bar=evaluation.score)
