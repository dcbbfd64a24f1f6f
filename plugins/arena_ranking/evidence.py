"""What a study says about each pair of submissions, from the best source that its metric offers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.execution import run_tasks
from arena.interfaces import HasRowValues, Study
from arena.resampling import influence_values
from arena.types import FloatArray, IntArray
from arena_ranking.differences import (
    standard_errors_from_resamples,
    standard_errors_from_values,
    sum_by_unit,
)
from arena_ranking.fingerprints import count_differing, first_identical, row_fingerprints

__all__ = ["PairwiseEvidence", "pairwise_evidence"]

_BLOCK_BYTES = 16 * 2**20
_MOST_VALUES = 6e7
_MOST_PRODUCTS = 2e11


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseEvidence:
    """Standard errors of differences, and which submissions are the same."""

    standard_errors: FloatArray
    """``(m, m)`` of the differences, not floored."""
    deviations: FloatArray
    """``(m,)`` standard error of each score alone."""
    differing: npt.NDArray[np.uint8]
    """``(m, m)`` numbers of rows (or clusters) that differ; a lower bound above ten."""
    first_identical: IntArray
    """``(m,)`` the position of the first submission with the same predictions."""
    source: str
    """``row values``, ``influence values`` or ``resampled scores``."""
    n_units: int
    """The number of rows, or of clusters."""


def pairwise_evidence(study: Study, *, workers: int = 1) -> PairwiseEvidence:
    """Read the predictions of a study once, and compare all pairs of submissions.

    Row or influence values are used where the metric has them and m submissions of n rows fit:
    ``m * n <= 6e7`` (480 MB of float64) and ``m * m * n <= 2e11`` (some seconds). Else standard
    errors come from the resampled scores. Identical submissions get identical numbers.

    Returns
    -------
    A :class:`PairwiseEvidence`. Memory: the values, where they are used (at most 480 MB), four
    times ``(m, m)`` float64 (290 MB for 3,000 submissions) and 100 MB of blocks per worker.
    """
    units = None if study.clusters is None else np.unique(study.clusters, return_inverse=True)[1]
    n_rows = len(study.truth)
    n_units = n_rows if units is None else int(units.max()) + 1
    of_predictions, of_values, vectors = _read(study, units, n_units, workers)
    differing = count_differing(of_predictions)
    if of_values is not None:
        np.minimum(differing, count_differing(of_values), out=differing)
    if vectors is not None:
        errors = standard_errors_from_values(vectors, n_rows, workers=workers)
        scale = np.sqrt(n_units / max(n_units - 1, 1)) / n_rows
        source = "row values" if isinstance(study.metric, HasRowValues) else "influence values"
    else:
        vectors = study.resampled - study.resampled.mean(axis=1, keepdims=True)
        errors = standard_errors_from_resamples(study.resampled, workers=workers)
        scale = 1 / np.sqrt(study.resampled.shape[1] - 1)
        source = "resampled scores"
    deviations: FloatArray = np.sqrt(np.einsum("jd,jd->j", vectors, vectors)) * scale
    first = first_identical(of_predictions)
    if (first != np.arange(len(first))).any():
        errors, deviations = errors[np.ix_(first, first)], deviations[first]
    return PairwiseEvidence(errors, deviations, differing, first, source, n_units)


def _read(
    study: Study, units: IntArray | None, n_units: int, workers: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64] | None, FloatArray | None]:
    """Return hashes of predictions and of values, and the ``(m, n_units)`` values, if any."""
    of_predictions, of_values = [], []
    vectors: FloatArray | None = None
    start, complete = 0, True
    for block in run_tasks(_read_block, _blocks(study, units), workers=workers):
        of_predictions.append(block.of_predictions)
        if block.of_values is not None:
            of_values.append(block.of_values)
        complete = complete and block.values is not None and bool(np.isfinite(block.values).all())
        if complete and block.values is not None:
            if vectors is None:
                vectors = np.empty((study.predictions.n_submissions, n_units))
            vectors[start : start + len(block.values)] = block.values
        start += len(block.of_predictions)
    whole = len(of_values) == len(of_predictions)
    return (
        np.concatenate(of_predictions),
        np.concatenate(of_values) if whole else None,
        vectors if complete else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    of_predictions: npt.NDArray[np.uint64]
    of_values: npt.NDArray[np.uint64] | None
    values: FloatArray | None


def _blocks(study: Study, units: IntArray | None) -> Iterator[tuple[Any, ...]]:
    m, n_rows = study.predictions.n_submissions, max(1, len(study.truth))
    affordable = m * n_rows <= _MOST_VALUES and m * m * n_rows <= _MOST_PRODUCTS
    for _, block in study.predictions.blocks(max(1, _BLOCK_BYTES // (8 * n_rows))):
        yield study, units, block, affordable


def _read_block(
    study: Study, units: IntArray | None, block: npt.NDArray[Any], affordable: bool
) -> _Block:
    metric, truth = study.metric, study.truth
    of_predictions = row_fingerprints(block, units)
    of_values = values = None
    if affordable:
        # A perfect submission's slope can be infinite: 0 * inf is checked for, not warned of.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = influence_values(metric, truth, block)
    if isinstance(metric, HasRowValues):
        of_values = row_fingerprints(metric.row_values(truth, block), units)
    elif values is not None:
        of_values = row_fingerprints(values, units)
    if values is not None:
        values = sum_by_unit(values - values.mean(axis=1, keepdims=True), units)
    return _Block(of_predictions, of_values, values)
