"""Mechanisms that add Laplace noise: to what they compare, and to what they release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from arena.interfaces import Evaluation
from arena.types import DEFAULT_LEVEL, Release
from arena_mechanisms import steps
from arena_mechanisms.ladder import Ladder
from arena_mechanisms.steps import BoundedMechanism

_THRESHOLDS_PER_NOISE = 16


def noise_for_step(eta: float, submissions: int, level: float = DEFAULT_LEVEL) -> float:
    """Return the largest noise under which submissions without a gain pass rarely.

    A submission without a gain passes if ``Lap(s) + 2 Lap(s)`` exceeds the step, with probability
    ``(4 exp(-q / 2) - exp(-q)) / 6`` for a step of ``q = eta / s``. The scale s is the one for
    which this is ``(1 - level) / submissions``, so that with probability ``level`` none does.

    Parameters
    ----------
    eta
        The step, in any unit.
    submissions
        Of one team.

    Returns
    -------
    The scale s in the unit of the step.

    Examples
    --------
    >>> round(0.01 / noise_for_step(0.01, 400), 2), round(0.01 / noise_for_step(0.01, 1), 2)
    (17.16, 5.14)
    """
    chance = (1 - level) / submissions
    # With u = exp(-q / 2) this is the smaller root of 4 u - u^2 = 6 chance, without cancellation.
    return eta / (-2 * float(np.log(6 * chance / (2 + np.sqrt(4 - 6 * chance)))))


@dataclass(frozen=True)
class NoisyLadder(Ladder):
    """Release a new score, with noise, if it is better by a noisy step (Hardt 2017).

    This is the shaky Ladder: the Ladder with the noise of the sparse vector technique, by which
    many comparisons cost as much as one. A submission passes if its loss plus ``2 Lap(s)`` is
    smaller than the released loss R plus ``Lap(s)`` by strictly more than the step. The noise of R
    is drawn again after each submission that passes, and only then. What is released is the score
    plus another ``Lap(s)``, rounded to a multiple of the step; it never gets worse.

    Let w be the range divided by the number of rows: by so much a mean of row values changes with
    the label of one row. All that a team is shown until c of its submissions have passed changes
    the odds of that label by at most ``exp(3 c w / s)``. No bound of the leaderboard error is
    claimed: the noise is calibrated by the step, not by the theorem of the paper, which holds for
    numbers of rows that no board has.

    Parameters
    ----------
    eta, start, clip
        As in ``ladder``.
    noise
        The scale s as a share of the range, in (0, 1]. None: :func:`noise_for_step` of the step and
        the limit of submissions per team, or the number of rows if there is no limit.

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
    for_participants: ClassVar[str] = (
        "A submission gets a new public score only if it is better than the last public score "
        "by more than a step; otherwise the last one is shown again. The comparison and the "
        "score include a little random noise. Method: the shaky Ladder of Hardt (2017)."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            steps.check_share(self.name, "noise", self.noise)

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the noisy rounded score if the noisy comparison passes, else the last release."""
        step = self.step(evaluation)
        if self.noise is None:
            scale = noise_for_step(step, evaluation.budget or evaluation.n_rows)
        else:
            scale = evaluation.range_width * self.noise
        # Noise is added to losses; a score is treated as a negative loss.
        noise = evaluation.to_loss(1.0) * rng.laplace(scale=scale, size=4)
        first, compared, answered, renewed = noise.tolist()
        before = self.standing_before(state, evaluation, step)
        if before is not None:
            if not state:  # the baseline's score has no noise yet
                before = replace(before, bar=before.bar + first)
            noisy = replace(evaluation, score=evaluation.score + 2 * compared)
            if not noisy.beats(before.bar, by=step):
                return before.repeated()
            before = replace(before, bar=before.score + renewed)
        score = evaluation.within_range(steps.round_to_multiple(evaluation.score + answered, step))
        return steps.climb(evaluation, before, score, bar=score + renewed)


@dataclass(frozen=True)
class Thresholdout(BoundedMechanism):
    """Release a new score, with noise, if it differs by a noisy threshold (Dwork et al. 2015).

    This is Thresholdout, the reusable holdout, for a leaderboard.

    The algorithm (Generalization in Adaptive Data Analysis and Holdout Reuse, Figure 1) answers a
    query with its training estimate if the holdout estimate is within a noisy threshold of it, and
    otherwise with the holdout estimate plus Laplace noise.

    A leaderboard has no access to a team's training set. **This project uses the team's previous
    answer as the training estimate**: it is what the team knows about its score without using the
    labels again. A submission gets the previous answer again if its public score is within the
    threshold of it, and otherwise its noisy score. The first submission has no training estimate
    and gets its noisy score. The theorem assumes training estimates from a separate set, so it does
    not apply to this use. A released score can get worse; the board shows a team's best.

    Noise of scale s: on the answer Lap(s); on the threshold Lap(2s), redrawn after every answer
    that used the labels; on each comparison Lap(4s). Answers stay within the range of possible
    scores.

    Parameters
    ----------
    threshold
        As a share of the metric's range, in (0, 1]. None: 4 / sqrt(n), at most 1: the 0.04 of the
        paper's experiments at their n = 10,000.
    noise
        The scale s as a share of the range, in (0, 1]. None: a sixteenth of the threshold, so an
        unchanged score gets a new answer in 1.2% of cases.
    budget
        The number of answers that may use the labels; after that the last answer is repeated. None:
        no limit.
    start, clip
        As in ``ladder``; with ``baseline`` the first training estimate is the baseline's score.

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

    name: ClassVar[str] = "thresholdout"
    for_participants: ClassVar[str] = (
        "A submission gets a new public score only if its score on the public rows differs "
        "from the last public score by more than a threshold; otherwise the last one is shown "
        "again. A new public score includes a little random noise. Method: after Thresholdout "
        "of Dwork et al. (2015)."
    )

    def __post_init__(self) -> None:
        for parameter in ("threshold", "noise"):
            value = getattr(self, parameter)
            if value is not None:
                steps.check_share(self.name, parameter, value)
        if self.budget is not None:
            steps.check_whole(self.name, "budget", self.budget)
        super().__post_init__()

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the noisy score if it is far enough from the last answer, else the last answer."""
        width = evaluation.range_width
        threshold = width * self._threshold(evaluation.n_rows)
        scale = threshold / _THRESHOLDS_PER_NOISE if self.noise is None else width * self.noise
        first, renewed, compared, answered = (scale * rng.laplace(size=4)).tolist()
        last = self._last_answer(state, evaluation)
        before = {
            "score": last,
            "best": last,
            "threshold": threshold + 2 * first,
            "used": 0,
            "submission": evaluation.baseline_submission if self.start == "baseline" else None,
            **state,
        }
        spent = self.budget is not None and before["used"] >= self.budget
        if last is not None and (
            spent or abs(evaluation.score - last) <= before["threshold"] + 4 * compared
        ):
            return Release(last, improved=False, state=before, source=before["submission"])
        answer = evaluation.within_range(evaluation.score + answered)
        best = before["best"]
        improved = best is None or (evaluation.to_loss(answer) < evaluation.to_loss(best))
        after = {
            "score": answer,
            "best": answer if improved else best,
            "threshold": threshold + 2 * renewed,
            "used": before["used"] + 1,
            "submission": evaluation.submission,
        }
        return Release(answer, improved=improved, state=after)

    def _threshold(self, n_rows: int) -> float:
        return min(1.0, 4 / np.sqrt(n_rows)) if self.threshold is None else self.threshold

    def _last_answer(self, state: Mapping[str, Any], evaluation: Evaluation) -> float | None:
        if state:
            return float(state["score"])
        before = steps.standing(state, evaluation, self.start, lambda score: score)
        return None if before is None else before.score
