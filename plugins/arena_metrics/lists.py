"""Metrics of lists of ids that are predicted for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.engine import choose_engine
from arena_metrics.parameters import require_whole
from arena_metrics.pointwise import Pointwise
from arena_metrics.text_cells import cells_of

__all__ = ["MapAtK"]

_IDS = ("a", "b", "c", "d", "e", "f", "g", "h")
_CELLS_PER_ROW_WEIGHT = 60
"""A cell costs plain Python sixty sorted row weights."""


@dataclass(frozen=True)
class MapAtK(Pointwise):
    """Mean average precision at k of lists of ids, one row per query, as on Kaggle.

    A cell holds ids separated by spaces, the best first; the solution's cell the relevant ones.
    The average precision of a row is the sum, over the places i up to k that hold a relevant id,
    of the precision of the first i, divided by ``min(k, number of relevant ids)``. An id that is
    repeated counts once, at its first place, and takes up the others; so it is in the solution. A
    row without relevant ids counts 0.

    Parameters
    ----------
    k
        How many ids count, at least 1.

    Notes
    -----
    The formula is that of Hamner's ``ml_metrics.mapk``, which Kaggle's competitions use.

    Examples
    --------
    >>> truth = np.array(["a b", "c"], dtype=object)
    >>> MapAtK(k=2).score(truth, np.array(["a x", "x c"], dtype=object))
    0.5
    """

    k: int = 10

    name = "map_at_k"
    greater_is_better = True
    prediction = PredictionKind.TEXT

    def __post_init__(self) -> None:
        require_whole(self.name, "k", self.k, 1)

    @property
    def traits(self) -> MetricTraits:
        """Row values lie between 0 and 1; an empty list is a prediction."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` average precisions; the texts are held once more, as bytes."""
        m, n = predictions.shape
        engine = choose_engine(_CELLS_PER_ROW_WEIGHT * predictions.size)
        return engine.average_precisions(cells_of(truth), cells_of(predictions), (m, n), self.k)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lists of up to four of eight ids, and ``(m, n)`` that are partly the same."""

        def draw(shape: tuple[int, ...]) -> npt.NDArray[Any]:
            cells = [" ".join(rng.permutation(_IDS)[: rng.integers(5)]) for _ in np.ndindex(shape)]
            return np.array(cells, dtype=object).reshape(shape)

        truth, shape = draw((n_rows,)), (n_submissions, n_rows)
        return truth, np.where(rng.random(shape) < 0.4, truth, draw(shape))

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        values = self.row_values(truth, prediction[np.newaxis])[0]
        return float(np.average(values, weights=weight))
