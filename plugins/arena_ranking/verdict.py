"""The verdict on a board: one or two sentences for readers without statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import IntArray
from arena.utils.formatting import level_text


def undecided_at_the_top(better: npt.NDArray[np.bool_], order: IntArray) -> int:
    """Return how many submissions, from the first on, cannot be told apart from each other.

    Parameters
    ----------
    better
        ``(m, m)``: True where the first is provably better than the second.
    order
        ``(m,)`` positions, best first.

    Examples
    --------
    >>> better = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> undecided_at_the_top(better, np.array([0, 1, 2]))
    2
    """
    for count, position in enumerate(order):
        if better[order[:count], position].any():
            return count
    return len(order)


def ranks_verdict(
    better: npt.NDArray[np.bool_],
    possible_winner: npt.NDArray[np.bool_],
    order: IntArray,
    level: float,
    not_offered: str | None = None,
) -> str:
    """Return the verdict: which submissions may be the best, and what is known about the top.

    If the ranks are not claimed at the level, ``not_offered`` is the reason; the verdict then
    includes it.

    Examples
    --------
    >>> better = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> ranks_verdict(better, np.array([True, True, False]), np.array([0, 1, 2]), 0.95)
    '2 of 3 submissions may truly be the best. The top 2 cannot be told apart (95% confidence).'
    """
    m, possible = len(order), int(possible_winner.sum())
    if m == 1:
        return "There is one submission and nothing to compare it with."
    confidence = f"({level_text(level)} confidence)"
    if not_offered is not None:
        confidence = f"(not at {level_text(level)} confidence). {not_offered.rstrip('.')}"
    undecided = undecided_at_the_top(better, order)
    if undecided == m and possible == m:
        return f"The {m:,} submissions cannot be told apart {confidence}."
    may = (
        "Only the first submission may truly be the best."
        if possible == 1
        else f"{possible:,} of {m:,} submissions may truly be the best."
    )
    beaten = int(better[order[0]].sum())
    if undecided == m:
        top = f"When all pairs are compared, none of the {m:,} can be told apart"
    elif undecided > 1 and undecided != possible:
        # The possible winners come from comparisons with the best alone, which are sharper.
        top = f"When all pairs are compared, the top {undecided:,} cannot be told apart"
    elif undecided > 1:
        top = f"The top {undecided:,} cannot be told apart"
    elif beaten == m - 1:
        top = (
            f"The first is better than {'the other' if m == 2 else f'each of the other {m - 1:,}'}"
        )
    else:
        top = f"The first is better than {beaten:,} of the other {m - 1:,}"
    return f"{may} {top} {confidence}."
