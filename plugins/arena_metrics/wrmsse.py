"""Weighted root mean squared scaled error of series and their sums, as in the M5 competition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.interfaces import BaseMetric
from arena.types import FloatArray, IntArray, MetricTraits, PredictionKind, RowContext, WeightArray
from arena.utils.row_products import weighted_sums
from arena_metrics.rows import bound_copy

_CELLS_AT_ONCE = 2**22
"""Counts of rows in resamples that are converted to floats at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The groups of a level, whose series are added up."""

    codes: IntArray
    """``(n,)`` the group of each row."""
    scale: FloatArray
    """``(G,)`` mean squared errors of the naive forecast of each group's sum, above 0."""
    weight: FloatArray
    """``(G,)`` weights of the groups, not negative and not all 0."""

    @classmethod
    def of(cls, level: str, names: Sequence[str], extra: Any) -> _Level:
        """Return a level; ``names`` are the columns of its scales, its weights and its groups.

        Raises
        ------
        MetricError
            If a column is missing, or its values do not fit a level.
        """
        missing = [name for name in names if name not in extra]
        if missing:
            raise MetricError(
                f"wrmsse needs the columns {', '.join(names)} in the solution"
                f"{f' for the level {level}' if level else ''}; it has no {', '.join(missing)}."
            )
        scale, weight = extra[names[0]], extra[names[1]]
        groups = extra[names[2]] if level else np.arange(len(scale))
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        for name, values in zip(names, (scale, weight), strict=False):
            if (values != values[first][codes]).any():
                raise MetricError(f"Rows of one {level} differ in the column {name!r} of wrmsse.")
        if not ((scale > 0).all() and (weight >= 0).all() and weight.any()):
            raise MetricError(
                f"wrmsse needs values above 0 in {names[0]!r}, and weights in {names[1]!r} that "
                "are not negative nor all 0."
            )
        return cls(codes, scale[first], weight[first])

    def errors(self, errors: FloatArray, weights: WeightArray) -> FloatArray:
        """Return the ``(m, B)`` weighted errors of ``(m, n, H)`` errors under ``(n, B)`` counts.

        A group under counts has the mean of the errors of its drawn rows, times their number in
        all rows, and the share of its rows that was drawn as a factor of its weight.
        """
        if len(self.scale) < len(self.codes):
            return self._of_groups(errors, weights)
        weight = self.weight[self.codes]
        with np.errstate(invalid="ignore", over="ignore"):
            weighted = weight * np.sqrt(np.square(errors).mean(axis=2) / self.scale[self.codes])
            sums = weighted_sums(np.vstack([weighted, weight]), weights)
            of_rows = np.asarray(sums[:-1] / sums[-1])
        infinite = ~np.isfinite(weighted).all(axis=1)
        if infinite.any():
            of_rows[infinite] = self._of_groups(errors[infinite], weights)
        return of_rows

    def _of_groups(self, errors: FloatArray, weights: WeightArray) -> FloatArray:
        """Return what :meth:`errors` does, also for groups of several rows."""
        n, n_resamples = weights.shape
        size = np.bincount(self.codes)[:, np.newaxis]
        scores = np.empty((len(errors), n_resamples))
        step = max(1, _CELLS_AT_ONCE // max(1, n))
        for start in range(0, n_resamples, step):
            part = slice(start, start + step)
            counts = weights[:, part].astype(np.float64)
            share = self._group_sums(np.ones(n), counts) / size
            group_weights = self.weight[:, np.newaxis] * share
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                for row, of_submission in zip(scores, errors, strict=True):
                    squares = sum(
                        np.square(self._group_sums(of_step, counts) / share)
                        for of_step in of_submission.T
                    )
                    roots = np.sqrt(squares / errors.shape[2] / self.scale[:, np.newaxis])
                    weighted = np.where(share > 0, group_weights * roots, 0.0).sum(axis=0)
                    row[part] = weighted / group_weights.sum(axis=0)
        return scores

    def _group_sums(self, values: FloatArray, counts: FloatArray) -> FloatArray:
        """Return the ``(G, B)`` sums of ``(n,)`` values over groups under ``(n, B)`` counts."""
        from scipy.sparse import csr_matrix

        n = len(values)
        return np.asarray(
            csr_matrix((values, (self.codes, np.arange(n))), (len(self.scale), n)) @ counts
        )

    def influence(self, errors: FloatArray) -> FloatArray:
        """Return the ``(n,)`` derivatives of the error with respect to the counts of the rows."""
        size = np.bincount(self.codes)
        sums = np.zeros((len(size), errors.shape[1]))
        np.add.at(sums, self.codes, errors)
        roots = np.sqrt(np.square(sums).mean(axis=1) / self.scale)
        weights = self.weight / self.weight.sum()
        moved = (sums[self.codes] * errors).mean(axis=1) / self.scale[self.codes]
        moved = moved - np.square(roots)[self.codes] / size[self.codes]
        slopes = np.divide(weights, roots, out=np.zeros(len(size)), where=roots > 0)
        shares = weights * (roots - weights @ roots) / size
        return np.asarray(slopes[self.codes] * moved + shares[self.codes])


@dataclass(frozen=True)
class Wrmsse(BaseMetric):
    """Weighted root mean squared scaled error of series and their sums (M5), smaller is better.

    A row is a series with a target column for each step of its horizon. Of each series, the
    solution has a ``scale``, the mean squared error of the naive forecast on its training part, and
    a ``weight``, such as its sales. Of each level it has a column of that name with the number of
    the group of a series, and ``scale_LEVEL`` and ``weight_LEVEL`` of the sum of the group.

    The error of a level is the weighted mean over its groups, and the score is the mean over the
    series themselves and all levels. All series of a group must be ranked rows.

    Parameters
    ----------
    levels
        The names of the columns of groups, such as ``[total, store]``.

    Notes
    -----
    Makridakis, Spiliotis and Assimakopoulos (2022), *M5 accuracy competition*. In a resample of the
    series, the sum of a group is the mean of its drawn series times their number.

    Examples
    --------
    >>> truth, forecast = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 4.0], [3.0, 5.0]])
    >>> Wrmsse().score(truth, forecast).__round__(6)
    0.707107
    """

    levels: Sequence[str] = ()
    _levels: ClassVar[tuple[_Level, ...]] = ()

    name = "wrmsse"
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) or len(set(self.levels)) < len(self.levels):
            raise UsageError(
                "wrmsse: levels must be a list of different columns, as [total, store]."
            )

    @property
    def _columns(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The columns of scales, weights and groups of each level; "": the series."""
        yield "", ("scale", "weight")
        for level in self.levels:
            yield level, (f"scale_{level}", f"weight_{level}", level)

    def _levels_of(self, n_rows: int) -> tuple[_Level, ...]:
        """Return the bound levels, or the rows themselves with equal scales and weights."""
        ones = np.ones(n_rows)
        return self._levels or (_Level(np.arange(n_rows), ones, ones),)

    @property
    def traits(self) -> MetricTraits:
        """All steps of a row are scored at once."""
        return MetricTraits(
            score_range=(0.0, np.inf),
            extra_columns=tuple(name for _, names in self._columns for name in names),
            joint_targets=True,
            row_weights=False,
        )

    def for_rows(self, context: RowContext) -> Wrmsse:
        """Return the metric with the levels of these rows.

        Raises
        ------
        MetricError
            If a column of a level is missing, or its values do not fit.
        """
        levels = tuple(_Level.of(level, names, context.extra) for level, names in self._columns)
        return bound_copy(self, _levels=levels)

    def example_extra(self, n_rows: int) -> dict[str, FloatArray]:
        """Return scales, weights and a group of all rows for the conformance suite."""
        ones = np.ones(n_rows)
        values: tuple[FloatArray, ...] = (2.0 * ones, 3.0 * ones, ones)
        named = (zip(names, values, strict=False) for _, names in self._columns)
        return dict(itertools.chain.from_iterable(named))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission."""
        counts: Any = np.ones(len(truth)) if weight is None else np.asarray(weight)
        return float(self.resample(truth, prediction[np.newaxis], counts[:, np.newaxis])[0, 0])

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values, the derivatives under weights of the series."""
        n, levels = len(truth), self._levels_of(len(truth))
        errors = (predictions - truth).reshape(len(predictions), n, -1)
        of_each = [[level.influence(error) for level in levels] for error in errors]
        return np.asarray(n * np.mean(of_each, axis=1))

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores; NaN where no row of a positive weight is drawn."""
        n = len(weights)
        errors = (predictions - truth).reshape(len(predictions), n, -1)
        of_levels = [level.errors(errors, weights) for level in self._levels_of(n)]
        return np.asarray(np.mean(of_levels, axis=0))
