"""The verdict on a board: one or two sentences for readers without statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import TEAMS, Vocabulary
from arena.utils.formatting import level_text


def ranks_verdict(
    possible_winner: npt.NDArray[np.bool_],
    level: float,
    not_offered: str | None = None,
    words: Vocabulary = TEAMS,
) -> str:
    """Return the verdict: which submissions may be the best.

    If the ranks are withheld, ``not_offered`` is the reason, which the verdict then gives.
    ``words`` are the nouns for what is ranked.

    Examples
    --------
    >>> ranks_verdict(np.array([True, True, False]), 0.95)
    '2 of 3 submissions may truly be the best (95% confidence).'
    """
    m, possible = len(possible_winner), int(possible_winner.sum())
    if m == 1:
        return f"There is one {words.submission} and nothing to compare it with."
    if not_offered is not None:
        return f"Rank intervals are withheld. {not_offered}"
    confidence = f"({level_text(level)} confidence)"
    if possible == m:
        return f"The {m:,} {words.submissions} cannot be told apart {confidence}."
    if possible > 1:
        return f"{possible:,} of {m:,} {words.submissions} may truly be the best {confidence}."
    others = "the other" if m == 2 else f"each of the other {m - 1:,}"
    return f"The {words.submission} on rank 1 is better than {others} {confidence}."
