"""Overlap metrics of run-length encoded masks, computed without decoding them into pixels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.interfaces import Modality
from arena.types import CompetitionInfo, Fault, FloatArray, MetricTraits, PredictionKind
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.kernels.text_cells import MOST_DIGITS, cells_of
from arena_metrics.modalities import MASKS
from arena_metrics.pointwise import Pointwise

_CELLS_PER_ROW_WEIGHT = 100

_FAULTS = (
    (
        "not a mask",
        f"has a value that is not a whole number of at most {MOST_DIGITS} digits: write start and "
        "length of each run, separated by spaces; an empty mask is an empty cell or -1.",
    ),
    ("start without length", "has a start but no length: write both."),
    ("start before 1", "starts before 1: pixels are counted from 1."),
    ("empty run", "has a length of 0: leave it out."),
    (
        "runs out of order",
        "starts before the end of the previous run: sort the runs and merge those that overlap.",
    ),
)


class MaskMetric(Pointwise):
    """Mean over the rows of a function of two run-length encoded masks."""

    greater_is_better = True
    prediction = PredictionKind.TEXT

    @property
    def traits(self) -> MetricTraits:
        """Row values lie between 0 and 1; an empty cell is an empty mask."""
        return MetricTraits(
            row_range=(0.0, 1.0),
            score_range=(0.0, 1.0),
        )

    @property
    def modality(self) -> Modality:
        """Run-length encodings, or files of masks."""
        return MASKS

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield the cells that are not a run-length encoded mask."""
        for column, name in enumerate(competition.columns):
            yield from faults_of_masks(predictions[:, column], competition.ids, name)

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield the cells of a solution that are not a run-length encoded mask."""
        return self.faults(truth, competition)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return masks of up to three runs, and ``(m, n)`` predictions, some of them equal."""
        truth, shape = _draw_masks((n_rows,), rng), (n_submissions, n_rows)
        return truth, np.where(rng.random(shape) < 0.4, truth, _draw_masks(shape, rng))


def faults_of_masks(masks: npt.NDArray[Any], ids: Any, column: str) -> Iterable[Fault]:
    """Yield those of ``(n,)`` texts of a column that are not a run-length encoded mask."""
    engine = choose_engine(_CELLS_PER_ROW_WEIGHT * masks.size)
    codes, runs = engine.check_runs(cells_of(masks))
    for row in np.flatnonzero(codes).tolist():
        kind, problem = _FAULTS[codes[row] - 1]
        message = f"Run {runs[row]:,} of the mask {problem}"
        yield Fault(kind, message, id=ids[row].as_py(), column=column)


def _draw_masks(shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return masks of up to three runs within 48 pixels."""

    def draw() -> str:
        ends = np.cumsum(rng.integers(1, 9, 2 * rng.integers(4))).tolist()
        return " ".join(f"{a} {b - a}" for a, b in zip(ends[::2], ends[1::2], strict=True))

    return np.array([draw() for _ in np.ndindex(shape)], dtype=object).reshape(shape)


class _OverlapMetric(MaskMetric):
    """Mean over the rows of a function of the sizes of two masks and of their intersection."""

    @abstractmethod
    def _of_sizes(self, common: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
        """Return the value of pairs of masks that are not both empty."""

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` values; keeps a copy of the texts as bytes.

        Raises
        ------
        MetricError
            If a mask is not a valid run-length encoding.
        """
        m, n = predictions.shape
        engine = choose_engine(_CELLS_PER_ROW_WEIGHT * predictions.size)
        sizes = engine.overlaps(cells_of(truth), cells_of(predictions), (m, n))
        for side, of_mask in (("predicted", sizes[1]), ("true", sizes[2])):
            if np.isnan(of_mask).any():
                row = int(np.flatnonzero(np.isnan(of_mask))[0]) % n + 1
                raise MetricError(
                    f"The {side} mask of row {row:,} of the scored rows is not a run-length "
                    f"encoding: write 'start length start length …', in ascending order."
                )
        both_empty = sizes[1] + sizes[2] == 0
        with np.errstate(invalid="ignore"):
            return np.where(both_empty, 1.0, self._of_sizes(*sizes))


@dataclass(frozen=True)
class Dice(_OverlapMetric):
    """Mean Dice coefficient of run-length encoded masks: 2 |A and B| / (|A| + |B|) per row.

    A cell is ``start length start length …``, pixels counted from 1, with runs in ascending order
    that do not overlap, as on Kaggle; an empty cell, or ``-1`` alone, is an empty mask. Two empty
    masks score 1. A submission may also be a folder or ZIP of mask files (PNG, NIfTI, ``.npy``),
    one per id. Columns ``height`` and ``width`` (and ``depth``) of the solution are the sizes that
    the masks must have.

    Notes
    -----
    Dice (1945). Solution and submissions must number the pixels in the same order.

    Examples
    --------
    >>> truth = np.array(["1 4", ""], dtype=object)
    >>> Dice().score(truth, np.array(["3 4", ""], dtype=object))
    0.75
    """

    name = "dice"

    def _of_sizes(self, common: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
        return 2.0 * common / (predicted + true)


@dataclass(frozen=True)
class IntersectionOverUnion(_OverlapMetric):
    """Mean intersection over union of run-length encoded masks: |A and B| / |A or B| per row.

    Encoded as for ``dice``; two empty masks score 1.

    Notes
    -----
    Jaccard (1912).

    Examples
    --------
    >>> truth = np.array(["1 4", ""], dtype=object)
    >>> round(IntersectionOverUnion().score(truth, np.array(["3 4", ""], dtype=object)), 6)
    0.666667
    """

    name = "iou"

    def _of_sizes(self, common: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
        return common / (predicted + true - common)
