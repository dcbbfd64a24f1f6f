"""The Ladder of Blum and Hardt (2015): a score is released if it is better by more than a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Evaluation, PublicBoard
from arena.types import Release
from arena.utils.text import plural
from arena_mechanisms import steps
from arena_mechanisms.bounds import best_step, leaderboard_error_bound
from arena_mechanisms.steps import BoundedMechanism, Standing


def default_eta(n_rows: int, budget: int | None) -> float:
    """Return the step that minimises the bound of Blum and Hardt (2015, Theorem 3.1) at 95%.

    See :func:`~arena_mechanisms.bounds.best_step`. Without a limit on submissions their number is
    set to that of the rows: the step hardly depends on it.

    >>> default_eta(4000, 400), default_eta(4000, None)
    (0.069, 0.073)
    """
    return best_step(n_rows, budget or n_rows)


@dataclass(frozen=True)
class Ladder(BoundedMechanism):
    """Release a new score if it is better by a fixed step (Blum and Hardt 2015, Figure 1).

    The released loss R starts at infinity. If the loss of a submission on the public rows is
    smaller than R by strictly more than the step, it is rounded to the nearest multiple of the
    step, released, and becomes the new R. For every other submission R is released again. The
    released score never gets worse, and it stays within the range of possible scores.

    Parameters
    ----------
    eta
        The step as a share of the metric's range, in (0, 1]. None: :func:`default_eta`.
    start
        ``infinity``: the first submission is always released. ``baseline``: R starts at the public
        score of the organiser's baseline: at full precision in the comparison, rounded when shown.
        A team that does not beat it sees the baseline's score.
    clip
        Row values are clipped to these bounds before averaging; a number c means [0, c]. For a
        metric without row values the score itself is clipped. Required if the metric's range is not
        bounded. Affects the public board only.

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

    name: ClassVar[str] = "ladder"
    for_participants: ClassVar[str] = (
        "A submission gets a new public score only if it is better than the last public score "
        "by more than a fixed step; otherwise the last one is shown again. Public scores are "
        "rounded to that step, so that they reveal little about the labels. Method: the "
        "Ladder of Blum and Hardt (2015)."
    )

    def __post_init__(self) -> None:
        if self.eta is not None:
            steps.check_share(self.name, "eta", self.eta)
        super().__post_init__()

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return a warning if the step is the default, or if it leaves nothing to be released."""
        low, high = self.score_range(board)
        share = self._share(board.n_rows, board.budget)
        step = share * (high - low)
        blocked = steps.warnings_if_nothing_passes(self.name, "eta", step, board)
        if blocked or self.eta is not None:
            return blocked
        submissions = (
            "with no limit on submissions"
            if board.budget is None
            else f"for at most {plural(board.budget, 'submission')}"
        )
        bound = leaderboard_error_bound(board.n_rows, board.budget or board.n_rows, share)
        error = float(bound) * (high - low)
        return [
            f"The mechanism ladder has no eta, so its step is {step:.3g}, from "
            f"{plural(board.n_rows, 'public row')} {submissions}: smaller improvements are not "
            "shown. With this step the bound of Blum and Hardt (2015) is smallest: with 95% "
            f"confidence the best true score differs from the one shown by at most {error:.3g}. If "
            "you know the smallest gain that matters, give it as eta; else use ladder-free, whose "
            "step is the standard error of each improvement."
        ]

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Release:
        """Return the rounded score if it is better by more than the step, else the last release."""
        step = self.step(evaluation)
        before = self.standing_before(state, evaluation, step)
        if before is not None and not evaluation.beats(before.bar, by=step):
            return before.repeated()
        shown = steps.round_to_multiple(evaluation.score, step)
        return steps.climb(evaluation, before, shown)

    def step(self, evaluation: Evaluation) -> float:
        """Return the step in the metric's unit."""
        share = self._share(evaluation.n_rows, evaluation.budget)
        return share * evaluation.range_width

    def _share(self, n_rows: int, budget: int | None) -> float:
        return default_eta(n_rows, budget) if self.eta is None else self.eta

    def standing_before(
        self, state: Mapping[str, Any], evaluation: Evaluation, step: float
    ) -> Standing | None:
        """Return the score that a submission has to beat; None if there is none."""
        return steps.standing(
            state, evaluation, self.start, lambda score: steps.round_to_multiple(score, step)
        )


@dataclass(frozen=True)
class LadderFree(BoundedMechanism):
    """Release a new score if it is better by a standard error (Blum and Hardt 2015, Figure 2).

    This is the parameter-free Ladder. For every other submission the last release is repeated.

    The step is the standard error of the paired difference from the best submission so far,
    s / sqrt(n), with s the sample standard deviation of the differences of row values (n - 1). For
    a metric without row values it comes from influence values; if there are none either, from a
    paired bootstrap. The first submission has no predecessor and is always released.

    The published step is one standard error. A submission that corrects two rows of the best so far
    gains 2/n, which is more than the step sqrt(2)/n. It is released, and the release reveals both
    labels. ``z`` and ``minimum_step`` are options beyond the paper that prevent this.

    Parameters
    ----------
    z
        The step as a number of standard errors, at least 0.
    minimum_step
        The step is at least this share of the metric's range.
    rounding
        ``"1/n"``: to multiples of 1/n of the metric's range, as published. A number: to multiples
        of that number, in the metric's unit. None: no rounding, as in the authors' code.
    start
        As in ``ladder``. The comparison with the baseline is paired too if its submission is known;
        if only its score is known, just ``minimum_step`` applies.
    clip
        As in ``ladder``.
    noise
        The scale of Laplace noise that is added to a score when it is released, in rows: multiples
        of 1/n of the range. Submissions are compared by their scores without noise. A pointwise
        score moves by at most one row if a label changes, so a release changes the odds of a label
        by at most exp(1/noise). 0: no noise, as published.

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
    noise: float = 0.0

    name: ClassVar[str] = "ladder-free"

    @property
    def for_participants(self) -> str:
        """How public scores come about, for participants."""
        noise = "Public scores include a little random noise. " if self.noise else ""
        return (
            "A submission gets a new public score only if it is better than the best one so far "
            "by more than the statistical uncertainty of the difference; otherwise the last "
            f"public score is shown again. {noise}Method: the parameter-free Ladder of Blum and "
            "Hardt (2015)."
        )

    def __post_init__(self) -> None:
        steps.check_number(self.name, "z", self.z, least=0)
        if not (self.rounding in ("1/n", None) or _is_positive(self.rounding)):
            raise UsageError(
                f'{self.name}: rounding must be "1/n", None or a positive number, '
                f"not {self.rounding!r}."
            )
        steps.check_number(self.name, "noise", self.noise, least=0)
        steps.check_share(self.name, "minimum_step", self.minimum_step, zero=True)
        super().__post_init__()

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return a warning if the smallest step leaves nothing to be released."""
        low, high = self.score_range(board)
        step = self.minimum_step * (high - low)
        return steps.warnings_if_nothing_passes(self.name, "minimum_step", step, board)

    def release(
        self,
        state: Mapping[str, Any],
        evaluation: Evaluation,
        rng: np.random.Generator,
    ) -> Release:
        """Return the score if it is better by more than the step, else the last release."""
        before = steps.standing(
            state, evaluation, self.start, lambda score: self._rounded(score, evaluation)
        )
        least = self.minimum_step * evaluation.range_width
        if before is not None and not steps.gains_by_errors(evaluation, before, self.z, least):
            return before.repeated()
        score = evaluation.score
        if not self.noise:
            return steps.climb(evaluation, before, self._rounded(score, evaluation))
        row = evaluation.range_width / evaluation.n_rows
        noisy = self._rounded(score + rng.laplace(0.0, self.noise * row), evaluation)
        return steps.climb(evaluation, before, noisy, bar=score)

    def _rounded(self, score: float, evaluation: Evaluation) -> float:
        if self.rounding is None:
            return score
        if isinstance(self.rounding, str):
            unit = evaluation.range_width / evaluation.n_rows
            return steps.round_to_multiple(score, unit)
        return steps.round_to_multiple(score, self.rounding)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < np.inf
