"""The uncertainty of scores, as every procedure for intervals describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, Vocabulary

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""``(m,)`` lower and upper ends."""
FEWEST_UNITS = 4.5
"""Where a score has no two bounds, fewer units of equal size tell nothing of the unseen ones."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreErrors:
    """The uncertainty of m scores, each by itself."""

    scores: FloatArray
    """``(m,)`` in the metric's natural sign."""
    score_range: tuple[float, float]
    """The range of the metric; either end may be infinite."""
    n_units: int
    """The number of rows, or of clusters."""
    standard_errors: FloatArray
    """``(m,)``, linearised; 0 or NaN where no row changes the score."""
    degrees_of_freedom: FloatArray
    """``(m,)`` of the standard errors, at least 1."""
    assumption: str
    """What the intervals assume, in a sentence."""
    reasons: tuple[str | None, ...]
    """m sentences: why the interval of a submission is withheld; None: it is given."""

    @property
    def is_withheld(self) -> npt.NDArray[np.bool_]:
        """``(m,)`` whether the interval of a submission is withheld."""
        return np.array([reason is not None for reason in self.reasons])

    def ends(self, below: FloatArray, above: FloatArray) -> Ends:
        """Return the ends, in natural sign, with ``(m,)`` probabilities below and above them."""
        raise NotImplementedError

    @property
    def effective_units(self) -> FloatArray:
        """``(m,)`` numbers of normally distributed rows with equal information on the spread."""
        return self.degrees_of_freedom + 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Widest(ScoreErrors):
    """Scores for which no single procedure is known to hold: the widest of several ends counts."""

    parts: Sequence[ScoreErrors]

    def ends(self, below: FloatArray, above: FloatArray) -> Ends:
        """Return the smallest lower and the largest upper ends."""
        lows, highs = zip(*(part.ends(below, above) for part in self.parts), strict=True)
        return np.fmin.reduce(lows), np.fmax.reduce(highs)


def too_few_units(n_units: int, effective: float, words: Vocabulary) -> str:
    """Return why an interval without bounds is withheld."""
    return (
        f"The {n_units:,} {words.rows} or groups are worth only {effective:.1f} of equal size, "
        "which is too few."
    )


def unmoved(words: Vocabulary) -> str:
    """Return why a score that is the same on all resamples has no interval."""
    return (
        f"No {words.row} changes this score, so its error cannot be estimated from the "
        f"{words.rows}."
    )
