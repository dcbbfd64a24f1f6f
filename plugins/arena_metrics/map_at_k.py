"""Metrics of predicted lists of ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.kernels.text_cells import cells_of
from arena_metrics.parameters import require_whole
from arena_metrics.pointwise import Pointwise

_IDS = ("a", "b", "c", "d", "e", "f", "g", "h")
_CELLS_PER_ROW_WEIGHT = 60
"""In plain Python, one cell costs as much as sorting 60 row weights."""


@dataclass(frozen=True)
class MapAtK(Pointwise):
    """Mean average precision at k of lists of ids, one row per query, as on Kaggle.

    A predicted cell holds ids separated by spaces, the best first; a cell of the solution holds
    the relevant ids. The average precision of a row is the sum, over the positions i <= k with a
    relevant id, of the precision among the first i ids, divided by
    ``min(k, number of relevant ids)``. A repeated id counts at its first position only; the
    repetitions still occupy their positions. A row without relevant ids counts 0.

    Parameters
    ----------
    k
        How many predicted ids count, at least 1.

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
        """Return ``(m, n)`` average precisions; keeps a copy of the texts as bytes."""
        m, n = predictions.shape
        engine = choose_engine(_CELLS_PER_ROW_WEIGHT * predictions.size)
        return engine.average_precisions(cells_of(truth), cells_of(predictions), (m, n), self.k)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lists of up to four of eight ids, and ``(m, n)`` predictions, some equal."""

        def draw(shape: tuple[int, ...]) -> npt.NDArray[Any]:
            cells = [" ".join(rng.permutation(_IDS)[: rng.integers(5)]) for _ in np.ndindex(shape)]
            return np.array(cells, dtype=object).reshape(shape)

        truth, shape = draw((n_rows,)), (n_submissions, n_rows)
        return truth, np.where(rng.random(shape) < 0.4, truth, draw(shape))
