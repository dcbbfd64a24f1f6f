"""What the mechanisms with a memory share: a score to beat, a step, and how both are checked.

Steps, thresholds and noise are shares of the range of conceivable scores, as Blum and Hardt (2015)
have losses in [0, 1]. Where an evaluation declares no range, its width counts as 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from arena.errors import InputError, UsageError
from arena.interfaces import Evaluation, PublicBoard
from arena.resampling import round_significant
from arena.types import Release

__all__ = [
    "Clip",
    "Standing",
    "Start",
    "as_clip",
    "beats",
    "check_share",
    "check_start",
    "climb",
    "range_width",
    "require_bounded_scores",
    "round_to_multiple",
    "say_if_nothing_passes",
    "standing",
    "to_loss",
    "within_range",
]

Start: TypeAlias = Literal["infinity", "inf", "baseline"]
Clip: TypeAlias = float | Sequence[float] | None

_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an instance of a mechanism stands: what it shows, and what must be beaten."""

    score: float
    """What is shown."""
    bar: float
    """What must be beaten: the score that is shown, or the baseline's at full precision."""
    submission: int | None
    """Whose score it is."""

    def to_state(self) -> dict[str, Any]:
        """Return it as small JSON."""
        return {"score": self.score, "bar": self.bar, "submission": self.submission}


def to_loss(score: float, evaluation: Evaluation) -> float:
    """Return a score as a loss: smaller is better."""
    return -score if evaluation.greater_is_better else score


def range_width(evaluation: Evaluation) -> float:
    """Return the width of the range of conceivable scores; 1 if none is declared."""
    low, high = evaluation.score_range or evaluation.row_range or (0.0, 1.0)
    return high - low


def within_range(score: float, evaluation: Evaluation) -> float:
    """Return a score moved into the range of conceivable ones, if one is declared."""
    return float(np.clip(score, *(evaluation.score_range or (-np.inf, np.inf))))


def round_to_multiple(value: float, step: float) -> float:
    """Return the multiple of ``step`` nearest to a value, to 12 significant digits.

    >>> round_to_multiple(0.1234567, 1e-5), round_to_multiple(0.73, 0.25)
    (0.12346, 0.75)
    """
    return float(round_significant(round(value / step) * step))


def standing(
    state: Mapping[str, Any], evaluation: Evaluation, start: Start, shown_baseline: float | None
) -> Standing | None:
    """Return where an instance stands; None if it shows nothing yet, so that anything is better.

    Parameters
    ----------
    start
        ``baseline``: an instance without a state stands where the baseline does.
    shown_baseline
        The baseline's score as the mechanism would show it; None if there is none.

    Raises
    ------
    InputError
        If the baseline is to be started from and was not submitted yet.
    """
    if state:
        return Standing(state["score"], state["bar"], state["submission"])
    if start != "baseline":
        return None
    if evaluation.baseline is None or shown_baseline is None:
        raise InputError(
            "The public board starts from the baseline's score, and the baseline was not "
            "submitted yet. Submit it first, as the team that [competition] baseline names."
        )
    return Standing(shown_baseline, evaluation.baseline, evaluation.baseline_submission)


def beats(evaluation: Evaluation, before: Standing, step: float, score: float) -> bool:
    """Return whether a score is better than what must be beaten by strictly more than a step.

    Exact ties are common, since a row more is worth 1/n; to release one gives a label away. Scores
    are rounded to 12 significant digits, so a gain counts from 1e-12 (relative, above 1) on.
    """
    bar, loss = to_loss(before.bar, evaluation), to_loss(score, evaluation)
    return bar - loss - step > _TOLERANCE * (1 + abs(bar) + abs(loss))


def climb(evaluation: Evaluation, before: Standing | None, shown: float) -> Release:
    """Return the release of a submission that passed: what is shown never gets worse."""
    shown = within_range(shown, evaluation)
    if before is not None and to_loss(shown, evaluation) >= to_loss(before.score, evaluation):
        return Release(before.score, improved=False, state=before.to_state())
    after = Standing(shown, shown, evaluation.submission)
    return Release(shown, improved=True, state=after.to_state())


# -- parameters --------------------------------------------------------------------------------


def check_share(mechanism: str, parameter: str, value: Any, *, zero: bool = False) -> None:
    """Raise UsageError unless a parameter is a share of the range, in (0, 1], or [0, 1].

    >>> check_share("ladder", "eta", 1.5)
    Traceback (most recent call last):
    arena.errors.UsageError: ladder: eta is a share of the metric's range, above 0 and at most 1, not 1.5.
    """  # noqa: E501
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (0 < value <= 1 or (zero and value == 0)):
        return
    least = "from 0 to 1" if zero else "above 0 and at most 1"
    raise UsageError(
        f"{mechanism}: {parameter} is a share of the metric's range, {least}, not {value!r}."
    )


def check_start(mechanism: str, start: Any) -> None:
    """Raise UsageError unless this is where a mechanism can start."""
    if start not in get_args(Start):
        raise UsageError(f"{mechanism}: start is infinity or baseline, not {start!r}.")


def as_clip(mechanism: str, clip: Any) -> tuple[float, float] | None:
    """Return the bounds that a clip asks for: c means from 0 to c.

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
            f"{mechanism}: clip is a positive number c, for values from 0 to c, or two numbers "
            f"[low, high], not {clip!r}."
        )
    return low, high


# -- what an organiser is told before anything is released ------------------------------------


def require_bounded_scores(mechanism: str, board: PublicBoard, start: Start) -> None:
    """Raise InputError if the scores have no bounded range, or there is no baseline to start from.

    The guarantee of every Ladder rests on row values of bounded range: one row could otherwise
    move a score by any amount, and one release could tell its label.
    """
    if board.score_range is None:
        raise InputError(
            f"The mechanism {mechanism} needs scores of a bounded range, and {board.metric} has "
            f"none: one row can move such a score by any amount, so that a single release can "
            f"tell its label. Bound the metric, such as log_loss(clip=0.01), or let the mechanism "
            f"move row values into bounds of your choice, such as {mechanism}(clip=5)."
        )
    if start == "baseline" and not board.has_baseline:
        raise InputError(
            f"The mechanism {mechanism} is to start from the baseline's score, and there is none: "
            f"name the baseline's team under [competition] baseline, or leave start out."
        )


def say_if_nothing_passes(
    mechanism: str, parameter: str, step: float, board: PublicBoard
) -> list[str]:
    """Return a warning if no submission can be better than the baseline by more than a step."""
    if board.baseline is None or board.score_range is None:
        return []
    best = board.score_range[1] if board.greater_is_better else board.score_range[0]
    if abs(best - board.baseline) > step:
        return []
    return [
        f"The step of the mechanism {mechanism} is {step:.3g}, and the baseline is no more than "
        f"that away from the best conceivable score: no submission better than the baseline will "
        f"ever be released as such. Choose a smaller {parameter}."
    ]
