"""Valid constant predictions: for the sample, and for rows that a file leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import Metric, modality_of, traits_of
from arena.types import PredictionKind, Solution, Usage


def _shown_rows(solution: Solution) -> npt.NDArray[np.bool_]:
    """Return which rows the sample may follow: the public ones; if there is none, all ranked."""
    public: npt.NDArray[np.bool_] = solution.usage == np.uint8(Usage.PUBLIC)
    return public if public.any() else solution.usage != np.uint8(Usage.IGNORED)


def sample_values(solution: Solution, metric: Metric) -> list[Any]:
    """Return a valid value for each column of a submission, the same on every row."""
    if solution.kind is PredictionKind.LABEL:
        truth = solution.truth[_shown_rows(solution)].reshape(-1, len(solution.targets))
        return [
            target.classes[int(truth[:, position].min(initial=len(target.classes) - 1))]
            for position, target in enumerate(solution.targets)
            if target.classes
        ]
    if solution.kind is PredictionKind.CLASS_PROBABILITIES and len(solution.targets) == 1:
        classes = solution.targets[0].classes or ()
        return [1 / max(len(classes), 2)] * len(solution.columns)
    if solution.kind is PredictionKind.TEXT:
        # Whether sets of rows are empty does not matter: the sample does not depend on it.
        public_truth = solution.truth[_shown_rows(solution)].reshape(-1, len(solution.targets))
        cells = {
            target.name: public_truth[:, j].tolist() for j, target in enumerate(solution.targets)
        }
        sample = modality_of(metric).sample_cell
        return [sample(column, cells.get(column, ())) for column in solution.columns]
    middle = 0.5 if solution.kind is PredictionKind.PROBABILITY else 0.0
    return [float(np.clip(middle, *traits_of(metric).prediction_range))] * len(solution.columns)
