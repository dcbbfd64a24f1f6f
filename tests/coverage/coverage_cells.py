"""All cells of the coverage table."""

from __future__ import annotations

from dataclasses import replace

import coverage_boards
import coverage_combined
import coverage_metrics
import coverage_rare

__all__ = ["CELLS"]

CELLS = (
    *coverage_boards.CELLS,
    *(replace(cell, resamples=300) for cell in coverage_metrics.CELLS),
    *(replace(cell, resamples=300) for cell in coverage_rare.CELLS),
    *coverage_combined.CELLS,
)
