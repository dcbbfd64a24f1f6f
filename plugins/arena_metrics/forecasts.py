"""Metrics of forecasts: of quantiles and samples, and relative to errors of naive forecasts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import MetricError, UsageError
from arena.interfaces import MetricOfSums, Modality
from arena.interfaces.faults import FaultList
from arena.types import FloatArray, MetricTraits, PredictionKind, RawTable, RowContext
from arena_metrics.parameters import require_inside, require_whole
from arena_metrics.pointwise import Pointwise
from arena_metrics.regression import pinball_losses, symmetric_percentage_errors
from arena_metrics.rows import bound_copy

_LONG = ("output_type_id", "value")
"""Columns of the long form: the level of a quantile or the number of a sample, and its value."""
_HUB_LEVELS = (0.01, 0.025, *(round(0.05 * step, 2) for step in range(1, 20)), 0.975, 0.99)
"""The 23 levels of the forecast hubs."""


@dataclass(frozen=True)
class SeveralNumbers(Modality):
    """Several numbers in a row, in columns or, as in hubverse, in rows of the same id.

    The long form has the columns ``output_type_id`` and ``value``; an ``output_type`` other than
    that of the metric is ignored.
    """

    numbers: tuple[str, ...] = ()
    """The names after the prefix: levels of quantiles, or numbers of samples."""
    prefix: str = "q"
    output_type: str = "quantile"

    name = "several numbers"
    most_rows = 10_000

    def sent_columns(self, targets: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return a column for each number."""
        return tuple(self.prefix + number for number in self.numbers)

    def arrange(
        self,
        table: RawTable,
        id_column: str,
        faults: FaultList,
        single: Collection[str] = (),  # noqa: ARG002
    ) -> RawTable:
        """Return the columns of numbers of a table in the long form."""
        if not {id_column, *_LONG} <= set(table.names):
            return table
        cells = dict(zip(table.names, table.columns, strict=True))
        ids, levels, values = (_texts(cells[name]) for name in (id_column, *_LONG))
        has_type = np.ones(len(ids), dtype=np.bool_)
        if "output_type" in cells:
            has_type = _texts(cells["output_type"]) == self.output_type
        column_of = {_plain(number): column for column, number in enumerate(self.numbers)}
        first: dict[str, int] = {}
        rows: list[int] = []
        texts: list[list[str]] = []
        for position in np.flatnonzero(has_type).tolist():
            column = column_of.get(_plain(levels[position]))
            if column is None:
                continue
            row = first.setdefault(ids[position], len(rows))
            if row == len(rows):
                rows.append(position)
                texts.append([""] * len(self.numbers))
            if texts[row][column]:
                faults.add(
                    "duplicate value",
                    f"The id has two values of {self.prefix}{self.numbers[column]}: keep one.",
                    row=table.row_number(position),
                    id=ids[position],
                )
            texts[row][column] = values[position]
        if not rows:
            return table
        return replace(
            table,
            names=(id_column, *self.sent_columns(())),
            columns=(
                pa.array([ids[position] for position in rows], pa.string()),
                *(pa.array(column_texts, pa.string()) for column_texts in zip(*texts, strict=True)),
            ),
            row_number=lambda position: table.row_number(rows[position]),
        )


def _texts(column: Any) -> npt.NDArray[np.object_]:
    texts = ["" if cell is None else str(cell).strip() for cell in column.to_pylist()]
    return np.array(texts, dtype=object)


def _plain(number: str) -> str:
    """Return one spelling of a number: ``0.50`` and ``.5`` are the same level."""
    try:
        return f"{float(number):.12g}"
    except ValueError:
        return number


class _SeveralNumbersMetric(Pointwise):
    """A pointwise metric of several numbers for each value."""

    prediction = PredictionKind.VALUE

    @property
    @abstractmethod
    def modality(self) -> SeveralNumbers:
        """The columns of a submission."""

    @property
    def traits(self) -> MetricTraits:
        """All numbers of a row are scored at once."""
        return MetricTraits(score_range=(0.0, np.inf), joint_targets=True)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return values ``(n,)`` and ``(m, n, k)`` sorted predictions."""
        k = len(self.modality.numbers)
        predictions = np.sort(rng.normal(size=(n_submissions, n_rows, k)), axis=-1)
        return rng.normal(size=n_rows), predictions[..., 0] if k == 1 else predictions


def _stacked(predictions: npt.NDArray[Any]) -> FloatArray:
    """Return ``(m, n, k)`` predictions, also of one number."""
    return predictions if predictions.ndim == 3 else predictions[..., np.newaxis]


def _levels(name: str, given: Any) -> tuple[float, ...]:
    """Return the levels of quantiles, which must ascend."""
    problem = UsageError(
        f"The metric {name!r} needs different levels between 0 and 1 in ascending order, such as "
        f"levels=[0.1, 0.5, 0.9], not {given!r}."
    )
    try:
        levels = tuple(float(level) for level in np.atleast_1d(given).tolist())
    except (TypeError, ValueError) as error:
        raise problem from error
    if not levels or list(levels) != sorted(set(levels)) or not 0 < levels[0] <= levels[-1] < 1:
        raise problem
    return levels


@dataclass(frozen=True)
class WeightedIntervalScore(_SeveralNumbersMetric):
    """Weighted interval score of forecasts by quantiles (Bracher et al. 2021), smaller is better.

    A submission has a column for each level, such as ``q0.025``, or the long form of hubverse. The
    score of a row is the mean over the levels of twice the pinball loss: with the median and
    central intervals this is the weighted interval score, and it approximates the continuous
    ranked probability score.

    Parameters
    ----------
    levels
        The levels of the quantiles; by default the 23 of the forecast hubs.

    Examples
    --------
    >>> metric = WeightedIntervalScore((0.25, 0.5, 0.75))
    >>> metric.score(np.array([1.0]), np.array([[0.0, 2.0, 3.0]])).__round__(6)
    0.833333
    """

    levels: tuple[float, ...] = _HUB_LEVELS

    name = "wis"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _levels(self.name, self.levels))

    @property
    def modality(self) -> SeveralNumbers:
        """A column for each level."""
        return SeveralNumbers(tuple(f"{level:g}" for level in self.levels))

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the mean of twice the pinball losses."""
        residuals = truth[:, np.newaxis] - _stacked(predictions)
        return np.asarray(2.0 * pinball_losses(residuals, np.array(self.levels)).mean(axis=-1))


@dataclass(frozen=True)
class SampleCrps(_SeveralNumbersMetric):
    """Continuous ranked probability score of forecasts by samples, smaller is better.

    E|X - y| - E|X - X'|/2 over the samples (Gneiting and Raftery 2007). A submission has the
    columns ``s1``, ``s2``, …, or the long form of hubverse with the output type ``sample``.

    Parameters
    ----------
    samples
        The number of samples of a row.
    fair
        Whether pairs of a sample with itself are left out, which makes the score independent of
        the number of samples in expectation (Ferro 2014).

    Examples
    --------
    >>> SampleCrps(samples=2).score(np.array([1.0]), np.array([[0.0, 4.0]]))
    1.0
    """

    samples: int = 100
    fair: bool = False

    name = "crps"

    def __post_init__(self) -> None:
        require_whole(self.name, "samples", self.samples, 2 if self.fair else 1)

    @property
    def modality(self) -> SeveralNumbers:
        """A column for each sample."""
        return SeveralNumbers(tuple(map(str, range(1, self.samples + 1))), "s", "sample")

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the scores of the rows, from the sorted samples."""
        samples = np.sort(_stacked(predictions), axis=-1)
        k = samples.shape[-1]
        ranks = 2.0 * np.arange(1, k + 1) - k - 1
        spread = (samples @ ranks) / (k * (k - 1 if self.fair else k))
        return np.asarray(np.abs(samples - truth[:, np.newaxis]).mean(axis=-1) - spread)


@dataclass(frozen=True)
class IntervalCoverage(MetricOfSums):
    """Distance between the share of values inside a central interval and its level.

    A submission has the two quantiles that bound the interval: ``q0.05`` and ``q0.95`` for 90%.

    Parameters
    ----------
    level
        The nominal coverage, between 0 and 1.

    Examples
    --------
    >>> metric = IntervalCoverage(0.5)
    >>> metric.score(np.array([1.0, 5.0, 3.0]), np.array([[0.0, 2.0], [4.0, 6.0], [1.0, 3.0]]))
    0.5
    """

    level: float = 0.9

    name = "interval_coverage_error"
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    def __post_init__(self) -> None:
        require_inside(self.name, "level", value=self.level, low=0, high=1)

    @property
    def traits(self) -> MetricTraits:
        """Both ends of a row are scored at once."""
        return MetricTraits(score_range=(0.0, 1.0), joint_targets=True)

    @property
    def modality(self) -> SeveralNumbers:
        """The ends of the interval."""
        tail = (1.0 - self.level) / 2.0
        return SeveralNumbers((f"{tail:.6g}", f"{1.0 - tail:.6g}"))

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return 1 and whether the value is inside."""
        values = truth[:, np.newaxis]
        ends = _stacked(predictions)
        inside = (ends[..., :1] <= values) & (values <= ends[..., -1:])
        return np.concatenate([np.ones(inside.shape), inside], axis=-1)

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the distance of the share from the level."""
        return np.asarray(np.abs(sums[..., 1] / sums[..., 0] - self.level))

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return values ``(n,)`` and ``(m, n, 2)`` intervals."""
        return rng.normal(size=n_rows), np.sort(rng.normal(size=(n_submissions, n_rows, 2)), -1)


class _Scaled(Pointwise):
    """A metric of errors relative to a scale of each row, from the column ``scale``.

    A row is a value, or a series with a column for each step of its horizon.
    """

    _scale: npt.NDArray[np.float64] | None = None

    @property
    def traits(self) -> MetricTraits:
        """The scale is known for each row; all steps of a row are scored at once."""
        return MetricTraits(score_range=(0.0, np.inf), extra_columns=("scale",), joint_targets=True)

    def for_rows(self, context: RowContext) -> Any:
        """Return the metric with the scales of these rows.

        Raises
        ------
        MetricError
            If the solution has no column ``scale``, or a scale is not above 0.
        """
        scale = context.extra.get("scale")
        if scale is None or not (scale > 0).all():
            raise MetricError(
                f"{self.name} needs a column 'scale' above 0 in the solution: the error of the "
                "naive forecast on the training part of the row's series."
            )
        return bound_copy(self, _scale=scale)

    def example_extra(self, n_rows: int) -> dict[str, FloatArray]:
        """Return scales for the conformance suite."""
        return {"scale": np.full(n_rows, 2.0)}

    def _of_steps(
        self, errors: FloatArray, truth: npt.NDArray[Any], power: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return ``(m, n)`` mean powers of the errors over the steps, and ``(n,)`` scales."""
        values = np.abs(errors) ** power
        scale = np.ones(len(truth)) if self._scale is None else self._scale
        return (values.mean(axis=-1) if values.ndim == 3 else values), scale


@dataclass(frozen=True)
class Mase(_Scaled):
    """Mean absolute scaled error (Hyndman and Koehler 2006), smaller is better.

    The absolute error divided by the column ``scale`` of the solution: the mean absolute error of
    the (seasonal) naive forecast on the training part of the series. A row is a step, or a series
    with a target column for each step.

    Examples
    --------
    >>> Mase().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """

    name = "mase"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return scaled absolute errors, the mean over the steps of a row."""
        errors, scale = self._of_steps(predictions - truth, truth, 1)
        return np.asarray(errors / scale)


@dataclass(frozen=True)
class Rmsse(_Scaled):
    """Root mean squared scaled error, the mean over the series, as in the M5 competition.

    A row is a series with a target column for each step of its horizon; the column ``scale`` of
    the solution is the mean squared error of the naive forecast on its training part. With
    ``--weight`` (the value of the series) this is ``wrmsse`` of one level.

    Examples
    --------
    >>> truth, forecast = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 4.0], [3.0, 5.0]])
    >>> Rmsse().score(truth, forecast).__round__(6)
    0.707107
    """

    name = "rmsse"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the roots of the scaled mean squared errors of the series."""
        errors, scale = self._of_steps(predictions - truth, truth, 2)
        return np.asarray(np.sqrt(errors / scale))


@dataclass(frozen=True)
class OverallWeightedAverage(MetricOfSums):
    """Overall weighted average of the M4 competition, smaller is better; the benchmark has 1.

    The mean of two ratios to the benchmark: of sMAPE, and of the mean absolute scaled error. The
    solution has the columns ``scale`` and ``benchmark`` (the forecast of Naive 2).

    Examples
    --------
    >>> OverallWeightedAverage().name
    'owa'
    """

    name = "owa"
    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE
    _benchmark: ClassVar[npt.NDArray[np.float64] | None] = None
    _scale: ClassVar[npt.NDArray[np.float64] | None] = None

    @property
    def traits(self) -> MetricTraits:
        """Scale and benchmark are known for each row."""
        return MetricTraits(score_range=(0.0, np.inf), extra_columns=("scale", "benchmark"))

    def for_rows(self, context: RowContext) -> OverallWeightedAverage:
        """Return the metric with the scales and benchmarks of these rows.

        Raises
        ------
        MetricError
            If the solution lacks one of the columns, or a scale is not above 0.
        """
        scale, benchmark = context.extra.get("scale"), context.extra.get("benchmark")
        if scale is None or benchmark is None or not (scale > 0).all():
            raise MetricError(
                "owa needs the columns 'scale' (above 0) and 'benchmark' (the forecast of Naive 2) "
                "in the solution."
            )
        return bound_copy(self, _scale=scale, _benchmark=benchmark)

    def example_extra(self, n_rows: int) -> dict[str, FloatArray]:
        """Return scales and forecasts of a benchmark for the conformance suite."""
        ones = np.ones(n_rows)
        return {"scale": 2.0 * ones, "benchmark": 3.0 * ones}

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return sMAPE and scaled error of a forecast and of the benchmark."""
        scale = np.ones(len(truth)) if self._scale is None else self._scale
        benchmark = np.zeros(len(truth)) if self._benchmark is None else self._benchmark
        errors, naive_errors = (
            (symmetric_percentage_errors(truth, forecast), np.abs(forecast - truth) / scale)
            for forecast in (predictions, benchmark)
        )
        shape = predictions.shape
        naive = (np.broadcast_to(error, shape) for error in naive_errors)
        return np.stack([*errors, *naive], axis=-1)

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the mean of the two ratios."""
        return np.asarray(0.5 * (sums[..., 0] / sums[..., 2] + sums[..., 1] / sums[..., 3]))
