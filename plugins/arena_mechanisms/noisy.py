"""Mechanisms that add Laplace noise: to what they compare, and to what they release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Evaluation, PublicBoard
from arena.types import Release
from arena_mechanisms import steps
from arena_mechanisms.ladder import Ladder
from arena_mechanisms.steps import Clip, Start

__all__ = ["NoisyLadder", "Thresholdout"]

_STEPS_PER_NOISE = 8
_THRESHOLDS_PER_NOISE = 16


@dataclass(frozen=True)
class NoisyLadder(Ladder):
    """A Ladder with Laplace noise on the comparison and on the release.

    After the shaky Ladder of Hardt (2017, Climbing a shaky ladder), which makes the Ladder
    differentially private by noise. Here is its idea and not its calibration: neither its
    algorithm nor its theorem is claimed, and no bound is promised.

    A submission passes if its score and a draw of noise are better than what is shown by strictly
    more than the step. It is then shown with another draw, rounded to a multiple of the step, but
    never worse than what was shown before.

    Parameters
    ----------
    eta, start, clip
        As of ``ladder``.
    noise
        The scale of the Laplace noise as a share of the range, in (0, 1]. None: an eighth of eta,
        so that a submission that gains nothing passes with probability exp(-8)/2 = 0.0002.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    >>> one = Evaluation(1, 0.523, True, 4000, lambda other: 0.0)
    >>> NoisyLadder(eta=0.01).release({}, one, np.random.default_rng(0)).score
    0.52
    """

    noise: float | None = None

    name: ClassVar[str] = "noisy-ladder"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            steps.check_share(self.name, "noise", self.noise)

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the noisy rounded score, if the noisy comparison passes, or the last one."""
        step = self.step(evaluation)
        width = steps.range_width(evaluation)
        scale = step / _STEPS_PER_NOISE if self.noise is None else width * self.noise
        before = self.standing_before(state, evaluation, step)
        # Noise is added to losses, so that a score is treated as a loss mirrored.
        noise = steps.to_loss(1.0, evaluation) * rng.laplace(scale=scale, size=2)
        compared, released = evaluation.score + noise
        if before is not None and not steps.beats(evaluation, before, step, float(compared)):
            return Release(before.score, improved=False, state=before.to_state())
        return steps.climb(evaluation, before, steps.round_to_multiple(float(released), step))


@dataclass(frozen=True)
class Thresholdout:
    """Thresholdout, the reusable holdout of Dwork et al. (2015), for a leaderboard.

    Of the algorithm (Generalization in Adaptive Data Analysis and Holdout Reuse, Figure 1): a query
    is answered with its training estimate while its holdout estimate lies within a noisy threshold
    of it, and else with the holdout estimate and Laplace noise.

    A leaderboard has no training set of the team's. **What stands for the training estimate is
    this project's choice: the answer that the team had last**, which is what it knows of its score
    without a new look at the labels. So a submission is answered with the last answer again while
    its public score lies within the threshold of it, and with its noisy score once it is further
    away, to either side. The first one has no training estimate and is answered with its noisy
    score. The theorem is about queries whose training estimates come from a set of its own, so
    that it is not claimed for this use. A released score can get worse; a board shows the best.

    Noise of scale s: on the answer Lap(s); on the threshold Lap(2s), drawn anew after every answer
    that used the labels; on each comparison Lap(4s). Answers stay within the conceivable scores.

    Parameters
    ----------
    threshold
        As a share of the metric's range, in (0, 1]. None: 4 / sqrt(n), at most 1: the 0.04 of the
        paper's experiments at their n = 10,000.
    noise
        The scale s as a share of the range, in (0, 1]. None: a sixteenth of the threshold, with
        which an unchanged score is answered anew in 1.2 of 100 cases.
    budget
        How many answers may use the labels; then the last one is repeated for good. None: no limit.
    start, clip
        As of ``ladder``: with ``baseline`` the first training estimate is the baseline's score.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    >>> rng, mechanism = np.random.default_rng(0), Thresholdout()
    >>> first = Evaluation(1, 0.7, True, 10_000, lambda other: 0.0)
    >>> release = mechanism.release({}, first, rng)
    >>> second = Evaluation(2, 0.71, True, 10_000, lambda other: 0.0)
    >>> mechanism.release(release.state, second, rng).score == release.score
    True
    """

    threshold: float | None = None
    noise: float | None = None
    budget: int | None = None
    start: Start = "infinity"
    clip: Clip = None

    name: ClassVar[str] = "thresholdout"

    def __post_init__(self) -> None:
        for parameter in ("threshold", "noise"):
            value = getattr(self, parameter)
            if value is not None:
                steps.check_share(self.name, parameter, value)
        whole = isinstance(self.budget, int) and not isinstance(self.budget, bool)
        if self.budget is not None and not (whole and self.budget >= 1):
            raise UsageError(
                f"{self.name}: budget is a whole number from 1 on, not {self.budget!r}."
            )
        steps.check_start(self.name, self.start)
        object.__setattr__(self, "clip", steps.as_clip(self.name, self.clip))

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return nothing; refuse scores without a bounded range."""
        steps.require_bounded_scores(self.name, board, self.start)
        return ()

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the noisy score, if it is far enough from the last answer, or that again."""
        width = steps.range_width(evaluation)
        threshold = width * self._threshold(evaluation.n_rows)
        scale = threshold / _THRESHOLDS_PER_NOISE if self.noise is None else width * self.noise
        first, renewed, compared, answered = (scale * rng.laplace(size=4)).tolist()
        last = self._last_answer(state, evaluation)
        before = {"score": last, "best": last, "threshold": threshold + 2 * first, "used": 0}
        before |= state
        spent = self.budget is not None and before["used"] >= self.budget
        if last is not None and (
            spent or abs(evaluation.score - last) <= before["threshold"] + 4 * compared
        ):
            return Release(last, improved=False, state=before)
        answer = steps.within_range(evaluation.score + answered, evaluation)
        best = before["best"]
        improved = best is None or (
            steps.to_loss(answer, evaluation) < steps.to_loss(best, evaluation)
        )
        after = {
            "score": answer,
            "best": answer if improved else best,
            "threshold": threshold + 2 * renewed,
            "used": before["used"] + 1,
        }
        return Release(answer, improved=improved, state=after)

    def _threshold(self, n_rows: int) -> float:
        return min(1.0, 4 / np.sqrt(n_rows)) if self.threshold is None else self.threshold

    def _last_answer(self, state: Mapping[str, Any], evaluation: Evaluation) -> float | None:
        if state:
            return float(state["score"])
        before = steps.standing(state, evaluation, self.start, evaluation.baseline)
        return None if before is None else before.score
