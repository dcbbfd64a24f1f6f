"""Shrinking and cropping: true performances whose expected best score is the observed one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from arena.types import FloatArray

_EQUAL = 1e-9
_LIKELY_WEIGHT = 0.9
"""Most boards have a larger weight. An expected maximum takes longest to compute near 0, where
every submission can be the best."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The true performances whose best score matches the observed one."""

    side: int
    """0: solved; 1: the unchanged scores give less; -1: guessing gives more."""
    parameter: float
    """The weight of the observed scores, or the largest score that is kept."""
    performances: FloatArray
    """``(k,)``, in the order of the scores."""
    neighbours: tuple[tuple[float, FloatArray], ...] = ()
    """For crop, the two crops around the solution, with what each keeps."""


Gap: TypeAlias = Callable[[FloatArray], float]
"""The expected best score of such performances minus the observed one, whose root is found."""


def shrink(above: FloatArray, chance: float, gap: Gap, tolerance: float) -> Found:
    """Find the weight of ``weight * score + (1 - weight) * chance`` that closes the gap.

    Up to the tolerance, or up to a gap of a hundredth of it.
    """

    def shrunk(weight: float) -> FloatArray:
        return np.asarray(weight * above + (1 - weight) * chance)

    @cache  # a gap can be a simulation
    def gap_at(weight: float) -> float:
        return gap(shrunk(weight))

    if gap_at(1.0) < -_EQUAL:
        return Found(1, 1.0, above)
    if gap_at(1.0) <= _EQUAL:
        return Found(0, 1.0, above)
    low, high = _LIKELY_WEIGHT, 1.0
    if gap_at(low) > 0:
        low, high = 0.0, low
        if gap_at(low) > 0:
            return Found(-1, 0.0, shrunk(0.0))
    # False position (Illinois): scipy.optimize, which has its like, takes 0.1 s to import.
    at_low, at_high, before = gap_at(low), gap_at(high), 0.0
    while high - low > tolerance and min(-gap_at(low), gap_at(high)) > tolerance / 100:
        root = low - at_low * (high - low) / (at_high - at_low)
        weight = min(max(root, low + tolerance / 2), high - tolerance / 2)
        at_weight = gap_at(weight)
        share = 0.5 if at_weight * before > 0 else 1.0
        if at_weight > 0:
            high, at_high, at_low = weight, at_weight, at_low * share
        else:
            low, at_low, at_high = weight, at_weight, at_high * share
        before = at_weight
    weight = min(low, high, key=lambda end: abs(gap_at(end)))
    return Found(0, weight, shrunk(weight))


def crop(above: FloatArray, chance: float, gap: Gap, tolerance: float) -> Found:  # noqa: ARG001
    """Bisect to the two adjacent crops that bracket the target, and take the nearer one."""
    crops = np.unique(above)

    def kept(position: int) -> FloatArray:
        return np.asarray(above[above <= crops[position]])

    low, high = 0, len(crops) - 1
    gaps = {low: gap(kept(low)), high: gap(kept(high))}
    if gaps[high] < -_EQUAL:
        return Found(1, float(crops[high]), kept(high))
    if gaps[low] > 0:
        return Found(-1, float(crops[low]), kept(low))
    while high - low > 1:
        middle = (low + high) // 2
        gaps[middle] = gap(kept(middle))
        low, high = (middle, high) if gaps[middle] <= 0 else (low, middle)
    nearer = low if -gaps[low] <= gaps[high] else high
    neighbours = tuple((float(crops[position]), kept(position)) for position in (low, high))
    return Found(0, float(crops[nearer]), kept(nearer), neighbours)
