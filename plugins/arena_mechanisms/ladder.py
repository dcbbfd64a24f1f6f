"""The Ladder of Blum and Hardt (2015): a score is released if it is better by more than a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Evaluation, PublicBoard
from arena.types import Release
from arena_mechanisms import steps
from arena_mechanisms.steps import Clip, Standing, Start

__all__ = ["Ladder", "LadderFree", "default_eta"]


def default_eta(n_rows: int, budget: int | None) -> float:
    """Return the step that Blum and Hardt (2015, Theorem 3.1) give the order of, its constant 1.

    ``n^(-1/3) log(k n)^(1/3)`` with the natural logarithm, n rows and a budget of k submissions;
    at most 1. Without a limit of submissions k is taken as n: the step grows with the third root
    of a logarithm, so that it hardly depends on k.

    >>> round(default_eta(4000, 400), 3), round(default_eta(4000, None), 3)
    (0.153, 0.161)
    """
    return min(1.0, float(np.cbrt(np.log((budget or n_rows) * n_rows) / n_rows)))


@dataclass(frozen=True)
class Ladder:
    """The Ladder with a fixed step (Blum and Hardt 2015, Figure 1).

    The released loss R starts at infinity. A submission whose loss on the public rows is smaller
    than R by strictly more than the step is released, rounded to the nearest multiple of the step,
    and becomes R; every other one is answered with R again. What is shown never gets worse, and
    stays within the range of conceivable scores.

    Parameters
    ----------
    eta
        The step as a share of the metric's range, in (0, 1]. None: :func:`default_eta`.
    start
        ``infinity``: the first submission is always released. ``baseline``: R starts at the public
        score of the organiser's baseline, at full precision for the comparison and rounded where
        it is shown; a team that does not beat it is shown that.
    clip
        Row values are moved into these bounds before their mean is taken, or into [0, c] for a
        number c; of a metric without row values the score is. Needed where the range is not
        bounded. It bears on the public board only.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    >>> ladder, state, rng = Ladder(eta=0.1), {}, np.random.default_rng(0)
    >>> for number, loss in enumerate([0.52, 0.45, 0.38], start=1):
    ...     one = Evaluation(number, loss, False, 100, lambda other: 0.0)
    ...     release = ladder.release(state, one, rng)
    ...     state = release.state
    ...     print(release.score, release.improved)
    0.5 True
    0.5 False
    0.4 True
    """

    eta: float | None = None
    start: Start = "infinity"
    clip: Clip = None

    name: ClassVar[str] = "ladder"

    def __post_init__(self) -> None:
        if self.eta is not None:
            steps.check_share(self.name, "eta", self.eta)
        steps.check_start(self.name, self.start)
        object.__setattr__(self, "clip", steps.as_clip(self.name, self.clip))

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return a warning if the step leaves nothing to be released."""
        steps.require_bounded_scores(self.name, board, self.start)
        low, high = board.score_range or (0.0, 1.0)
        step = self._share(board.n_rows, board.budget) * (high - low)
        return steps.say_if_nothing_passes(self.name, "eta", step, board)

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the rounded score, if it is better by more than the step, or the last one."""
        step = self.step(evaluation)
        before = self.standing_before(state, evaluation, step)
        if before is not None and not steps.beats(evaluation, before, step, evaluation.score):
            return Release(before.score, improved=False, state=before.to_state())
        shown = steps.round_to_multiple(evaluation.score, step)
        return steps.climb(evaluation, before, shown)

    def step(self, evaluation: Evaluation) -> float:
        """Return the step in the metric's unit."""
        share = self._share(evaluation.n_rows, evaluation.budget)
        return share * steps.range_width(evaluation)

    def _share(self, n_rows: int, budget: int | None) -> float:
        return default_eta(n_rows, budget) if self.eta is None else self.eta

    def standing_before(
        self, state: Mapping[str, Any], evaluation: Evaluation, step: float
    ) -> Standing | None:
        """Return what a submission has to beat, if there is anything."""
        baseline = evaluation.baseline
        shown = None if baseline is None else steps.round_to_multiple(baseline, step)
        return steps.standing(state, evaluation, self.start, shown)


@dataclass(frozen=True)
class LadderFree:
    """The parameter-free Ladder (Blum and Hardt 2015, Figure 2).

    The step is the standard error of the paired difference from the best submission so far,
    s / sqrt(n), with s the sample standard deviation of the differences of row values (n - 1). A
    metric without row values has it from influence values, an opaque one from a paired bootstrap.
    The first submission has nothing to be paired with and is always released.

    The published step is one standard error, and rows come in whole numbers: a submission that
    mends two rows of the best so far gains 2/n, more than sqrt(2)/n, and is released, which tells
    both labels. ``z`` and ``minimum_step`` are options beyond the paper against that.

    Parameters
    ----------
    z
        How many standard errors the step is; not negative.
    minimum_step
        The step is at least this share of the metric's range.
    rounding
        ``"1/n"``: to multiples of 1/n of the metric's range, as published; a number: to multiples
        of it, in the metric's unit; None: not at all, as in the authors' own code.
    start, clip
        As in :class:`Ladder`. The baseline is compared in pairs too, where its submission is
        known; to beat a bare number only the smallest step is asked for.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    >>> first = Evaluation(1, 0.75, True, 100, lambda other: 0.0)
    >>> second = Evaluation(2, 0.77, True, 100, lambda other: 0.01)
    >>> ladder, rng = LadderFree(), np.random.default_rng(0)
    >>> state = ladder.release({}, first, rng).state
    >>> ladder.release(state, second, rng).score
    0.77
    >>> LadderFree(minimum_step=0.05).release(state, second, rng).score
    0.75
    """

    z: float = 1.0
    minimum_step: float = 0.0
    rounding: float | str | None = "1/n"
    start: Start = "infinity"
    clip: Clip = None

    name: ClassVar[str] = "ladder-free"

    def __post_init__(self) -> None:
        if not _is_number(self.z) or not 0 <= self.z < np.inf:
            raise UsageError(f"{self.name}: z is a number from 0 on, not {self.z!r}.")
        if not (self.rounding in ("1/n", None) or _is_positive(self.rounding)):
            raise UsageError(
                f'{self.name}: rounding is "1/n", None or a positive number, not {self.rounding!r}.'
            )
        steps.check_share(self.name, "minimum_step", self.minimum_step, zero=True)
        steps.check_start(self.name, self.start)
        object.__setattr__(self, "clip", steps.as_clip(self.name, self.clip))

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return a warning if the smallest step leaves nothing to be released."""
        steps.require_bounded_scores(self.name, board, self.start)
        low, high = board.score_range or (0.0, 1.0)
        step = self.minimum_step * (high - low)
        return steps.say_if_nothing_passes(self.name, "minimum_step", step, board)

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the score, if it is better by more than the step, or the last one."""
        baseline = evaluation.baseline
        shown = None if baseline is None else self._rounded(baseline, evaluation)
        before = steps.standing(state, evaluation, self.start, shown)
        if before is not None and not self._passes(evaluation, before):
            return Release(before.score, improved=False, state=before.to_state())
        return steps.climb(evaluation, before, self._rounded(evaluation.score, evaluation))

    def _passes(self, evaluation: Evaluation, before: Standing) -> bool:
        """Return whether a submission passes; the standard error is asked for only if it may."""
        least = self.minimum_step * steps.range_width(evaluation)
        if not steps.beats(evaluation, before, least, evaluation.score):
            return False
        if before.submission is None:  # a bare number has no rows to be paired with
            return True
        error = evaluation.standard_error_of_difference(before.submission)
        return steps.beats(evaluation, before, max(self.z * error, least), evaluation.score)

    def _rounded(self, score: float, evaluation: Evaluation) -> float:
        if self.rounding is None:
            return score
        if isinstance(self.rounding, str):
            unit = steps.range_width(evaluation) / evaluation.n_rows
            return steps.round_to_multiple(score, unit)
        return steps.round_to_multiple(score, self.rounding)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and 0 < value < np.inf
