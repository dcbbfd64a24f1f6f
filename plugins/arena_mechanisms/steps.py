"""Helpers for mechanisms with a state: the score to beat, the step, and parameter checks.

Steps, thresholds and noise are shares of the range of possible scores, as in Blum and Hardt (2015),
where losses lie in [0, 1]. Where an evaluation declares no range, its width counts as 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from arena.errors import InputError, UsageError
from arena.interfaces import Evaluation, PublicBoard
from arena.types import Release

Start: TypeAlias = Literal["infinity", "inf", "baseline"]
Clip: TypeAlias = float | Sequence[float] | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The current score of a mechanism instance: the score shown and the score to beat."""

    score: float
    """The score that is shown."""
    bar: float
    """The score to beat: the score that is shown, or the baseline's at full precision."""
    submission: int | None
    """The submission with this score; None if only the score is known."""

    def to_state(self) -> dict[str, Any]:
        """Return it as small JSON."""
        return {"score": self.score, "bar": self.bar, "submission": self.submission}

    def repeated(self) -> Release:
        """Return the release of a submission that is no improvement."""
        return Release(self.score, improved=False, state=self.to_state(), source=self.submission)


def round_to_multiple(value: float, step: float) -> float:
    """Return the multiple of ``step`` nearest to a value, to 12 significant digits.

    >>> round_to_multiple(0.1234567, 1e-5), round_to_multiple(0.73, 0.25)
    (0.12346, 0.75)
    """
    from arena.evaluation.scores import round_significant  # not to show a board, only to release

    return float(round_significant(round(value / step) * step))


def standing(
    state: Mapping[str, Any], evaluation: Evaluation, start: Start, show: Callable[[float], float]
) -> Standing | None:
    """Return the current score of an instance; None if it has released nothing yet.

    Parameters
    ----------
    start
        ``baseline``: an instance without a state starts from the baseline's score.
    show
        Returns a score as the mechanism would show it.

    Raises
    ------
    InputError
        If ``start`` is ``baseline`` and the baseline was not submitted yet.
    """
    if state:
        return Standing(state["score"], state["bar"], state["submission"])
    if start != "baseline":
        return None
    if evaluation.baseline is None:
        raise InputError(
            "The public board starts from the baseline's score, and the baseline was not "
            "submitted yet. Submit it first, as the team that [competition] baseline names."
        )
    score = show(evaluation.baseline)
    return Standing(score, evaluation.baseline, evaluation.baseline_submission)


def climb(
    evaluation: Evaluation, before: Standing | None, score: float, *, bar: float | None = None
) -> Release:
    """Return the release of a submission that passed; the shown score never gets worse.

    ``bar`` is the score that later submissions have to beat; None: the one that is shown.
    """
    score = evaluation.within_range(score)
    if before is not None and evaluation.to_loss(score) >= evaluation.to_loss(before.score):
        return before.repeated()
    after = Standing(score, score if bar is None else bar, evaluation.submission)
    return Release(score, improved=True, state=after.to_state())


def gains_by_errors(
    evaluation: Evaluation, before: Standing, z: float, minimum_step: float = 0.0
) -> bool:
    """Return whether a submission is better than the score to beat by more than a step.

    The step is ``z`` standard errors of the paired difference, and at least ``minimum_step``, in
    the metric's unit. A score to beat without a submission cannot be paired: it has no error.

    The standard error is computed for every submission, even where it is not needed. With a
    metric that can only be called as a whole it dominates the running time, so skipping it
    would reveal through the response time which submissions are better.
    """
    step = minimum_step
    if before.submission is not None:
        error = evaluation.standard_error_of_difference(before.submission)
        if np.isnan(error):  # a single row or group
            return False
        step = max(z * error, step)
    return evaluation.beats(before.bar, by=step)


# -- parameters --------------------------------------------------------------------------------


def check_share(mechanism: str, parameter: str, value: Any, *, zero: bool = False) -> None:
    """Raise UsageError unless a parameter is a share of the range, in (0, 1], or [0, 1].

    >>> check_share("ladder", "eta", 1.5)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    arena.errors.UsageError: ladder: eta must be a share of the metric's range, above 0 and at most
    1, not 1.5.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (0 < value <= 1 or (zero and value == 0)):
        return
    least = "from 0 to 1" if zero else "above 0 and at most 1"
    raise UsageError(
        f"{mechanism}: {parameter} must be a share of the metric's range, {least}, not {value!r}."
    )


def check_number(mechanism: str, parameter: str, value: Any, *, least: float) -> None:
    """Raise UsageError unless a parameter is a finite number that is large enough."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value < np.inf:
        raise UsageError(
            f"{mechanism}: {parameter} must be a number of at least {least:g}, not {value!r}."
        )


def check_whole(mechanism: str, parameter: str, value: Any) -> None:
    """Raise UsageError unless a parameter is a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(
            f"{mechanism}: {parameter} must be a whole number of at least 1, not {value!r}."
        )


def as_clip(mechanism: str, clip: Any) -> tuple[float, float] | None:
    """Return the bounds of a clip; a number c means [0, c].

    Raises
    ------
    UsageError
        If it is neither a positive number nor two finite ones, the smaller first.

    Examples
    --------
    >>> as_clip("ladder", 5), as_clip("ladder", [-1, 1])
    ((0.0, 5.0), (-1.0, 1.0))
    """
    if clip is None:
        return None
    try:
        low, high = map(float, clip if isinstance(clip, list | tuple) else (0.0, clip))
    except (TypeError, ValueError):
        low = high = np.nan
    if not (-np.inf < low < high < np.inf):
        raise UsageError(
            f"{mechanism}: clip must be a positive number c (for [0, c]) or two numbers "
            f"[low, high], not {clip!r}."
        )
    return low, high


def written_clip(clip: tuple[float, float]) -> str:
    """Return bounds as the parameter ``clip`` is written.

    >>> written_clip((0.0, 5.0)), written_clip((-1.2, 1.0))
    ('5', '[-1.2, 1]')
    """
    low, high = clip
    return f"{high:g}" if low == 0 else f"[{low:g}, {high:g}]"


# -- checks before anything is released -------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BoundedMechanism:
    """The parameters and checks of every mechanism that needs scores of a bounded range.

    The guarantee of every Ladder requires row values of bounded range. Otherwise one row could move
    a score by any amount, and one release could reveal its label.

    Parameters
    ----------
    start
        ``infinity``, or ``baseline``: see :func:`standing`.
    clip
        The bounds of row values: see :func:`as_clip`.

    Raises
    ------
    UsageError
        If a parameter is out of its range.
    """

    start: Start = "infinity"
    clip: Clip = None

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.start not in get_args(Start):
            raise UsageError(
                f"{self.name}: start must be infinity or baseline, not {self.start!r}."
            )
        object.__setattr__(self, "clip", as_clip(self.name, self.clip))

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return no warnings; raise InputError where the mechanism cannot be used."""
        self.score_range(board)
        return ()

    def score_range(self, board: PublicBoard) -> tuple[float, float]:
        """Return the range of the scores.

        Raise InputError if it is not bounded, or if there is no baseline to start from.
        """
        if board.score_range is None:
            clip = written_clip(board.suggested_clip or (0.0, 5.0))
            source = (
                "a bound of your choice"
                if board.suggested_clip is None
                else "a few times what a constant prediction costs"
            )
            raise InputError(
                f"The mechanism {self.name} needs scores with a bounded range. {board.metric} has "
                f"no such range: one row can move the score by any amount, and a single release "
                f"can reveal its label. Use a bounded metric, such as log_loss(clip=0.01), or let "
                f"the mechanism clip row values, for example {self.name}(clip={clip}): {source}."
            )
        if self.start == "baseline" and not board.has_baseline:
            raise InputError(
                f"The mechanism {self.name} starts from the baseline's score, but there is no "
                f"baseline: name the baseline's team under [competition] baseline, or omit start."
            )
        return board.score_range


def warnings_if_nothing_passes(
    mechanism: str, parameter: str, step: float, board: PublicBoard
) -> list[str]:
    """Return a warning if no submission can be better than the baseline by more than a step."""
    if board.baseline is None or board.score_range is None:
        return []
    best = board.score_range[1] if board.greater_is_better else board.score_range[0]
    if abs(best - board.baseline) > step:
        return []
    return [
        f"The step of the mechanism {mechanism} is {step:.3g}, and no score can be better than "
        f"the baseline by more than that: no improvement over the baseline will ever be "
        f"released. Choose a smaller {parameter}."
    ]
