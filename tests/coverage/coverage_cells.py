"""All cells of the coverage tables."""

from __future__ import annotations

import coverage_boards
import coverage_combined
import coverage_metrics
import coverage_rare
import coverage_refuting

__all__ = ["CELLS"]

CELLS = (
    *coverage_boards.CELLS,
    *coverage_metrics.CELLS,
    *coverage_rare.CELLS,
    *coverage_refuting.CELLS,
    *coverage_combined.CELLS,
)
