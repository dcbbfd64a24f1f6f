"""Which columns a submission must have, and what may stand in them, seen from what it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.types import PredictionKind, Solution

__all__ = ["Layout", "layout_of"]

_PROBABILITIES = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a submission must hold, seen from the columns that it has."""

    columns: tuple[str, ...]
    bounds: tuple[float, float]
    sums_to_one: bool
    keeps_last: bool
    """Both classes are given: the probability of the positive one is kept."""
    empty_cells: bool
    """Whether a text may be empty."""


def layout_of(
    names: Sequence[str],
    solution: Solution,
    prediction_range: tuple[float, float],
    empty_cells: bool,
) -> Layout:
    """Return what a file with these names of columns must hold."""
    probabilities = solution.kind in _PROBABILITIES
    low, high = prediction_range
    bounds = (max(low, 0.0), min(high, 1.0)) if probabilities else (low, high)
    classes = solution.targets[0].classes or ()
    one_target = len(solution.targets) == 1
    both_classes = (
        probabilities
        and one_target
        and len(classes) == 2
        and set(classes) <= set(names)
        and (solution.columns[0] in classes or solution.columns[0] not in names)
    )
    sums = solution.kind is PredictionKind.CLASS_PROBABILITIES and len(solution.columns) > 1
    return Layout(
        columns=classes if both_classes else solution.columns,
        bounds=bounds,
        sums_to_one=both_classes or (sums and one_target),
        keeps_last=both_classes,
        empty_cells=empty_cells,
    )
