"""One sentence on a board, for a person who knows no statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import IntArray

__all__ = ["ranks_verdict", "undecided_at_the_top"]


def undecided_at_the_top(better: npt.NDArray[np.bool_], order: IntArray) -> int:
    """Return how many submissions from the first on have nobody better among themselves.

    Parameters
    ----------
    better
        ``(m, m)``: True where the first is shown to be better than the second.
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


def ranks_verdict(better: npt.NDArray[np.bool_], order: IntArray, level: float) -> str:
    """Say what is shown about the top of the board.

    Examples
    --------
    >>> better = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> ranks_verdict(better, np.array([0, 1, 2]), 0.95)
    'None of the first 2 of 3 is shown to be better than the others of them at 95 %.'
    """
    m = len(order)
    if m == 1:
        return "There is one submission and nothing to compare it with."
    at = f"at {100 * level:.10g} %"
    undecided = undecided_at_the_top(better, order)
    if undecided == m:
        return f"None of the {m:,} submissions is shown to be better than another {at}."
    if undecided > 1:
        return (
            f"None of the first {undecided:,} of {m:,} is shown to be better than the others "
            f"of them {at}."
        )
    beaten = int(better[order[0]].sum())
    if beaten == m - 1:
        whom = "the other one" if m == 2 else f"each of the other {m - 1:,}"
        return f"The first of {m:,} is shown to be better than {whom} {at}."
    return (
        f"The first of {m:,} is shown to be better than the second and {beaten - 1:,} more, "
        f"but not than the other {m - 1 - beaten:,}, {at}."
    )
