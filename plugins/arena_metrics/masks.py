"""Metrics of how well predicted masks cover the true ones, without decoding them into pixels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import CompetitionInfo, Fault, FloatArray, MetricTraits, PredictionKind
from arena_metrics.engine import choose_engine
from arena_metrics.pointwise import Pointwise
from arena_metrics.text_cells import MOST_DIGITS, cells_of

__all__ = ["Dice", "IntersectionOverUnion"]

_CELLS_PER_ROW_WEIGHT = 100

_WRONG = (
    (
        "not a mask",
        f"holds what is no whole number of at most {MOST_DIGITS} digits: write start and length "
        "of each run, separated by spaces, and nothing for an empty mask.",
    ),
    ("start without length", "has a start and no length: write both."),
    ("start before 1", "starts before 1: pixels are counted from 1."),
    ("empty run", "has a length of 0: leave it out."),
    (
        "runs out of order",
        "starts before the one ahead of it has ended: sort the runs, and merge those that overlap.",
    ),
)


class _MaskMetric(Pointwise):
    """A function of the sizes of two masks and of their intersection; the mean over the rows."""

    greater_is_better = True
    prediction = PredictionKind.TEXT

    @property
    def traits(self) -> MetricTraits:
        """Row values lie between 0 and 1; an empty cell is an empty mask."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    @abstractmethod
    def _of_sizes(self, common: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
        """Return the value of masks that are not both empty."""

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` values; the texts are held once more, as bytes.

        Raises
        ------
        MetricError
            If a mask is not encoded rightly.
        """
        m, n = predictions.shape
        engine = choose_engine(_CELLS_PER_ROW_WEIGHT * predictions.size)
        sizes = engine.overlaps(cells_of(truth), cells_of(predictions), (m, n))
        for whose, of_mask in (("predicted", sizes[1]), ("true", sizes[2])):
            if np.isnan(of_mask).any():
                row = int(np.flatnonzero(np.isnan(of_mask))[0]) % n + 1
                raise MetricError(
                    f"The {whose} mask of row {row:,} of those scored is no run-length encoding: "
                    f"write 'start length start length …', counted from 1, in ascending order."
                )
        both_empty = sizes[1] + sizes[2] == 0
        with np.errstate(invalid="ignore"):
            return np.where(both_empty, 1.0, self._of_sizes(*sizes))

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield the cells that hold no run-length encoded mask."""
        return _faults(predictions, competition)

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield the cells of a solution that hold no run-length encoded mask."""
        return _faults(truth, competition)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return masks of up to three runs, and ``(m, n)`` that are partly the same."""
        truth, shape = _draw_masks((n_rows,), rng), (n_submissions, n_rows)
        return truth, np.where(rng.random(shape) < 0.4, truth, _draw_masks(shape, rng))

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        values = self.row_values(truth, prediction[np.newaxis])[0]
        return float(np.average(values, weights=weight))


def _faults(masks: npt.NDArray[Any], competition: CompetitionInfo) -> Iterable[Fault]:
    engine = choose_engine(_CELLS_PER_ROW_WEIGHT * masks.size)
    codes, runs = engine.check_runs(cells_of(masks))
    for cell in np.flatnonzero(codes).tolist():
        row, column = divmod(cell, masks.shape[1])
        kind, what = _WRONG[codes[cell] - 1]
        yield Fault(
            kind,
            f"Run {runs[cell]:,} of the mask {what}",
            id=competition.ids[row].as_py(),
            column=competition.columns[column],
        )


def _draw_masks(shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[Any]:
    def draw() -> str:
        ends = np.cumsum(rng.integers(1, 9, 2 * rng.integers(4))).tolist()
        return " ".join(f"{a} {b - a}" for a, b in zip(ends[::2], ends[1::2], strict=True))

    return np.array([draw() for _ in np.ndindex(shape)], dtype=object).reshape(shape)


@dataclass(frozen=True)
class Dice(_MaskMetric):
    """Mean Dice coefficient of run-length encoded masks: 2 |A and B| / (|A| + |B|) of each row.

    A cell is ``start length start length …``, pixels counted from 1, the runs in ascending order
    and apart, as on Kaggle; an empty cell is an empty mask. Two empty masks have the value 1.

    Notes
    -----
    Dice (1945). In the order of pixels in which the solution is encoded, whichever that is.

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
class IntersectionOverUnion(_MaskMetric):
    """Mean intersection over union of run-length encoded masks: |A and B| / |A or B| of each row.

    Encoded as for ``dice``; two empty masks have the value 1.

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
