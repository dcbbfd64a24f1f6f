"""How sure the prize places and the top k are: the rows with which they go to the truly best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arena.simulation.plan.priors import least_favourable
from arena.simulation.plan.uncertainty import pair_errors
from arena.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class RankTarget:
    """First places that are to go to the submissions which truly deserve them."""

    size: int
    """How many places it has."""
    ordered: bool
    """Whether each must be in its own place; otherwise only the set matters."""

    @property
    def label(self) -> str:
        """What is to be right, in words."""
        if self.size == 1:
            return "first place"
        return (
            f"places 1 to {self.size}, in order" if self.ordered else f"set of the top {self.size}"
        )


def targets_for(n_submissions: int, prizes: int, top: int) -> tuple[RankTarget, ...]:
    """Return the targets that so many submissions allow beside the first place.

    >>> [target.label for target in targets_for(20, 3, 10)]
    ['places 1 to 2, in order', 'places 1 to 3, in order', 'set of the top 10']
    """
    places = [
        RankTarget(size, ordered=True) for size in range(2, prizes + 1) if size < n_submissions
    ]
    return (*places, *([RankTarget(top, ordered=False)] if 1 < top < n_submissions else []))


def rows_until(true: FloatArray, errors: FloatArray, n_rows: int, target: RankTarget) -> FloatArray:
    """Return from how many rows on a target is right, for each draw.

    A target is right if every pair of submissions that it depends on is in its true order, and on
    N rows the errors are smaller by ``sqrt(n / N)``.

    Parameters
    ----------
    true
        ``(m, D)`` or ``(m, 1)``, larger is better.
    errors
        ``(m, D)`` on ``n_rows`` rows.

    Examples
    --------
    >>> true, errors = np.array([[0.9], [0.8], [0.5]]), np.array([[0.0], [0.2], [0.0]])
    >>> rows_until(true, errors, 100, RankTarget(1, ordered=True)).round(6).tolist()
    [400.0]
    >>> rows_until(true, errors, 100, RankTarget(2, ordered=False)).tolist()
    [0.0]
    """
    order = np.argsort(-true, axis=0, kind="stable")
    scores = np.take_along_axis(true, order, axis=0)
    is_same_order = order.shape[1] == 1
    ordered_errors = (
        errors[order[:, 0]] if is_same_order else np.take_along_axis(errors, order, axis=0)
    )
    largest = np.zeros(errors.shape[1])
    for place in range(target.size):
        after = slice(place + 1 if target.ordered else target.size, None)
        leads = scores[place] - scores[after]
        per_lead = np.divide(1.0, leads, out=np.zeros_like(leads), where=leads > 0)
        ratios = (ordered_errors[after] - ordered_errors[place]) * per_lead
        largest = np.maximum(largest, ratios.max(axis=0))
    return np.asarray(n_rows * largest**2, dtype=np.float64)


def least_favourable_for(
    scores: FloatArray, errors: FloatArray, target: RankTarget, critical: float
) -> FloatArray:
    """Return true scores in the confidence set under which a target is hardest to get right.

    For places in order, as :func:`~arena.simulation.plan.priors.least_favourable`: everyone is as
    close to the leader as the bounds allow. For a set, everyone is as close to its last member.

    Parameters
    ----------
    scores, errors
        ``(k,)``, larger is better, and ``(k, B)``.
    critical
        How many standard errors of a difference the bounds allow for, for all pairs at once.

    Returns
    -------
    ``(k,)``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = least_favourable_for(
    ...     np.array([9.0, 5.0, 4.9, 1.0]),
    ...     0.1 * rng.normal(size=(4, 200)),
    ...     RankTarget(2, False),
    ...     3.0,
    ... )
    >>> (found == 0).tolist()
    [False, True, True, False]
    """
    if target.ordered:
        return -least_favourable(scores, errors, critical)
    edge = int(np.argsort(-scores, kind="stable")[target.size - 1])
    deviations = pair_errors(errors)[edge]
    needed = np.full(len(scores), np.inf)
    needed[deviations > 0] = critical * deviations[deviations > 0]
    gaps = scores - scores[edge]
    return np.asarray(np.sign(gaps) * np.maximum(np.abs(gaps) - needed, 0.0))


def share_right(true: FloatArray, errors: FloatArray, target: RankTarget) -> float:
    """Return how often a target is right for ``(k,)`` true scores with ``(k, E)`` errors.

    Of submissions with equal true scores any order is the true one with the same probability.

    >>> share_right(np.array([0.9, 0.9, 0.2]), np.zeros((3, 1)), RankTarget(1, ordered=True))
    0.5
    """
    board_order: IntArray = np.argsort(-(true[:, np.newaxis] + errors), axis=0)[: target.size]
    top = true[board_order]
    if not target.ordered:
        top = np.sort(top, axis=0)[::-1]
    best = np.sort(true)[::-1][: target.size]
    orders = math.perm if target.ordered else math.comb
    submissions = Counter(true.tolist())
    true_orders = math.prod(
        orders(submissions[score], places) for score, places in Counter(best.tolist()).items()
    )
    return float((top == best[:, np.newaxis]).all(axis=0).mean()) / true_orders


def has_ties(true: FloatArray, target: RankTarget) -> bool:
    """Return whether equal true scores keep a target from ever being certain."""
    ordered: Sequence[float] = np.sort(true)[::-1].tolist()
    edges = range(1, target.size + 1) if target.ordered else [target.size]
    return any(ordered[edge - 1] == ordered[edge] for edge in edges)
