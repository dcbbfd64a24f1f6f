"""Standard errors and degrees of freedom of all pairs, from the best source a metric offers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.clusters import (
    cluster_leverage,
    fewest_units,
    size_degrees_of_freedom,
)
from arena.evaluation.combined_metric import within_tasks
from arena.evaluation.row_weights import row_weights_of
from arena.evaluation.score_intervals import MOST_VALUES
from arena.evaluation.scores import influence_values
from arena.evaluation.standard_errors import class_means_are_removed
from arena.interfaces import HasRowValues, Study, traits_of
from arena.types import FloatArray, IntArray
from arena.utils.memory import return_freed_memory
from arena.utils.parallel import run_tasks
from arena.utils.read_only import read_only
from arena_ranking.differences import (
    standard_errors_from_resamples,
    standard_errors_from_values,
    sum_by_unit,
)
from arena_ranking.fingerprints import count_differing, first_identical, row_fingerprints
from arena_ranking.small_samples import (
    DifferenceShapes,
    Pairwise,
    PooledShapes,
    UsedUnits,
    difference_shapes,
    pooled_degrees_of_freedom,
)
from arena_ranking.unseen import unseen_losses

_BLOCK_BYTES = 16 * 2**20
_MOST_PRODUCTS = 2e11
"""The most multiplications of all pairs of submissions, about a minute of one processor."""

FEW_IN_CLASS = 10
"""With fewer units in a class, the class sets the degrees of freedom."""


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseEvidence:
    """Standard errors of all differences, and which submissions are identical."""

    standard_errors: FloatArray
    """``(m, m)`` standard errors of the differences, not floored."""
    deviations: FloatArray
    """``(m,)`` standard error of each score alone."""
    differing: npt.NDArray[np.uint8]
    """``(m, m)`` numbers of rows (or clusters) that differ; a lower bound above ten."""
    first_identical: IntArray
    """``(m,)`` the position of the first submission with the same predictions."""
    source: str
    """``row values``, ``influence values``, ``resampled scores``, or ``sign tests``."""
    n_units: int
    """The number of rows, or of clusters."""
    shapes: DifferenceShapes | PooledShapes
    """The degrees of freedom of the standard errors, and the skewness of the units' differences
    over the square root of U; 0 if unknown."""
    rarest_class: int
    """The number of units in the rarest class, for a metric that is not defined without it or
    subtracts the mean of each class; within each task that is a part; else the number of units."""
    fewest_in_class: int
    """The number of units in the rarest class, for any metric of one label target."""
    unseen: FloatArray
    """``(m,)`` see :func:`~arena_ranking.unseen.unseen_losses`."""

    @property
    def degrees_of_freedom(self) -> Pairwise:
        """``(m, m)`` degrees of freedom of the standard errors."""
        return self.shapes.degrees_of_freedom

    @property
    def skewness(self) -> Pairwise:
        """``(m, m)`` skewness."""
        return self.shapes.skewness

    @property
    def effective_units(self) -> float:
        """The effective number of units: the median degrees of freedom of the pairs, plus 1."""
        m = len(self.standard_errors)
        pairs = np.triu_indices(min(m, 200), k=1)
        return float(np.median(self.degrees_of_freedom[pairs]) + 1) if m > 1 else self.n_units

    def subset(self, positions: IntArray) -> PairwiseEvidence:
        """Return the evidence on the submissions at some positions."""
        pairs = np.ix_(positions, positions)
        _, first, inverse = np.unique(
            self.first_identical[positions], return_index=True, return_inverse=True
        )
        return PairwiseEvidence(
            standard_errors=self.standard_errors[pairs],
            deviations=self.deviations[positions],
            differing=self.differing[pairs],
            first_identical=np.asarray(first[inverse], dtype=np.intp),
            source=self.source,
            n_units=self.n_units,
            shapes=self.shapes.subset(positions),
            rarest_class=self.rarest_class,
            fewest_in_class=self.fewest_in_class,
            unseen=self.unseen[positions],
        )


def pairwise_evidence(study: Study, *, workers: int = 1) -> PairwiseEvidence:
    """Read the predictions of a study once, and compare all pairs of submissions.

    Row or influence values are used where the metric has them and m submissions of n rows fit:
    ``m * n <= 6e7`` (480 MB of float64) and ``m * m * n <= 2e11`` (some seconds). Else standard
    errors come from the resampled scores. Identical submissions get identical numbers.

    Returns
    -------
    A :class:`PairwiseEvidence`. Memory: the values, where they are used (at most 480 MB), two
    and a half times ``(m, m)`` float64 (180 MB for 3,000 submissions), a part of the values four
    times, and 100 MB of blocks per worker.
    """
    clusters = None if study.clusters is None else np.unique(study.clusters, return_inverse=True)[1]
    units = clusters if study.influence is None else study.influence.groups
    n_rows = len(study.truth)
    n_units = n_rows if units is None else int(units.max()) + 1
    of_predictions, of_values, vectors, by_class, unseen = _read(study, units, n_units, workers)
    if study.influence is not None:
        vectors = study.influence.sums * cluster_leverage(study.influence.groups)
    differing = count_differing(of_predictions, workers=workers)
    if of_values is not None:
        np.minimum(differing, count_differing(of_values, workers=workers), out=differing)
    first = first_identical(of_predictions)
    del of_predictions, of_values  # before matrices of numbers of all pairs
    return_freed_memory()
    shapes: DifferenceShapes | PooledShapes
    if vectors is not None:
        errors = standard_errors_from_values(vectors, n_rows, workers=workers)
        scale = np.sqrt(n_units / max(n_units - 1, 1)) / n_rows
        deviations = _norms(vectors) * scale
        used = UsedUnits.of(vectors)
        del vectors  # before matrices of all pairs take their place
        shapes = difference_shapes(used, workers=workers)
        del used
        source = "row values" if isinstance(study.metric, HasRowValues) else "influence values"
    else:
        errors = standard_errors_from_resamples(study.resampled, workers=workers)
        pooled = pooled_degrees_of_freedom(study.resampled, n_units)
        shapes = PooledShapes(len(errors), pooled)
        centred = study.resampled - study.resampled.mean(axis=1, keepdims=True)
        deviations = _norms(centred) * (1 / np.sqrt(study.resampled.shape[1] - 1))
        source = "resampled scores"
    if (first != np.arange(len(first))).any():
        errors = errors[np.ix_(first, first)]  # one by one: each is a copy
        shapes = shapes.subset(first)
        deviations = deviations[first]
    weights = row_weights_of(study.metric)
    if units is not None or weights is not None:
        of_rows = np.arange(n_rows) if units is None else units
        shapes = shapes.limited(size_degrees_of_freedom(of_rows, weights))
    rarest = _units_of_the_rarest_class(study, clusters, by_class=by_class)
    if rarest < FEW_IN_CLASS:
        # The mean of r units of a class is subtracted from them: r - 1 degrees of freedom, and a
        # variance that is too small by (r - 1) / r. From ten on the kurtosis allows for it.
        shapes = shapes.limited(rarest - 1)
        errors = errors * np.sqrt(rarest / max(rarest - 1, 1))
    return PairwiseEvidence(
        standard_errors=errors,
        deviations=deviations,
        differing=differing,
        first_identical=first,
        source=source,
        n_units=n_units,
        shapes=shapes,
        rarest_class=rarest,
        fewest_in_class=_units_of_the_rarest_class(study, clusters, by_class=True),
        unseen=unseen,
    )


def _norms(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("jd,jd->j", vectors, vectors)))


def _units_of_the_rarest_class(study: Study, clusters: IntArray | None, *, by_class: bool) -> int:
    labels = study.classes is not None and study.truth.ndim == 1
    counts = labels and (by_class or traits_of(study.metric).needs_every_class)
    classes = np.asarray(study.truth, dtype=np.intp) if counts else None
    codes = within_tasks(study.metric, classes)
    if codes is None:
        return len(study.truth) if clusters is None else int(clusters.max()) + 1
    fewest = fewest_units(codes, clusters, row_weights_of(study.metric))
    return max(1, int(fewest + 1e-9))  # equal sizes may give 2.9999999


def _is_by_class(study: Study, values: FloatArray) -> bool:
    """Return whether the metric subtracts the class's mean, as a balanced accuracy and an AUC do.

    The rows of the rarest class are then the units: the others tell nothing of its mean.
    """
    if isinstance(study.metric, HasRowValues):
        return False
    return class_means_are_removed(values, study.truth, study.classes)


def _read(
    study: Study, units: IntArray | None, n_units: int, workers: int
) -> tuple[
    npt.NDArray[np.uint64], npt.NDArray[np.uint64] | None, FloatArray | None, bool, FloatArray
]:
    """Return hashes of predictions and of values, the values if any, and whether by class.

    The values are ``(m, n_units)``, whether by class is that of :func:`_is_by_class`, and the last
    is :attr:`PairwiseEvidence.unseen`.
    """
    of_predictions, of_values, unseen = [], [], []
    vectors: FloatArray | None = None
    start, complete, by_class = 0, True, True
    for block in run_tasks(_read_block, _blocks(study, units), workers=workers):
        of_predictions.append(block.of_predictions)
        unseen.append(block.unseen)
        if block.of_values is not None:
            of_values.append(block.of_values)
        complete = complete and block.values is not None and bool(np.isfinite(block.values).all())
        by_class = by_class and block.by_class
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
        complete and by_class,
        np.concatenate(unseen),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    of_predictions: npt.NDArray[np.uint64]
    of_values: npt.NDArray[np.uint64] | None
    values: FloatArray | None
    by_class: bool
    """See :func:`_is_by_class`; False without values."""
    unseen: FloatArray
    """See :attr:`PairwiseEvidence.unseen`."""


def _blocks(study: Study, units: IntArray | None) -> Iterator[tuple[Any, ...]]:
    m, n_rows = study.predictions.n_submissions, max(1, len(study.truth))
    affordable = m * n_rows <= MOST_VALUES and m * m * n_rows <= _MOST_PRODUCTS
    for _, block in study.predictions.blocks(max(1, _BLOCK_BYTES // (8 * n_rows))):
        yield study, units, block, affordable


def _read_block(
    study: Study, units: IntArray | None, block: npt.NDArray[Any], affordable: bool
) -> _Block:
    metric, truth = study.metric, study.truth
    of_predictions = row_fingerprints(block, units)
    row_values = None
    if isinstance(metric, HasRowValues):
        row_values = metric.row_values(*read_only((truth, block)))
    values = None
    if affordable:
        # A perfect submission's slope can be infinite: 0 * inf is checked for, not warned of.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = influence_values(metric, truth, block, row_values)
    compared = values if row_values is None else row_values
    of_values = None if compared is None else row_fingerprints(compared, units)
    unseen = unseen_losses(metric, truth, block, units, row_values=row_values)
    by_class = values is not None and _is_by_class(study, values)
    if values is not None:
        values = sum_by_unit(values - values.mean(axis=1, keepdims=True), units)
        weights = row_weights_of(metric)
        if (units is not None or weights is not None) and values.shape[1] > 1:
            of_rows = np.arange(len(truth)) if units is None else units
            values *= cluster_leverage(of_rows, weights)
    return _Block(of_predictions, of_values, values=values, by_class=by_class, unseen=unseen)
