"""``sklearn:NAME``: any metric of scikit-learn that compares truth and predictions."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from arena.errors import UnknownNameError, UsageError
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import HasRowValues, Metric, traits_of
from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.catalogue import metric_of
from arena_metrics.rows import as_codes, drawn_rows

_BY_NAME: Mapping[str, PredictionKind] = {
    "average_precision_score": PredictionKind.SCORE,
    "brier_score_loss": PredictionKind.PROBABILITY,
    "d2_brier_score": PredictionKind.PROBABILITY,
    "d2_log_loss_score": PredictionKind.CLASS_PROBABILITIES,
    "hinge_loss": PredictionKind.SCORE,
    "log_loss": PredictionKind.CLASS_PROBABILITIES,
    "roc_auc_score": PredictionKind.SCORE,
    "top_k_accuracy_score": PredictionKind.SCORE,
}
"""Metrics whose predictions are neither labels nor numbers."""
_NUMBERS = ("_error", "_deviance", "r2_score", "d2_", "explained_variance", "_pinball_")
_POWERS: Mapping[str, float] = {"mean_poisson_deviance": 1.0, "mean_gamma_deviance": 2.0}
_LARGEST, _LARGEST_SCORE = 1e100, 1e300
_LOWEST_LOG = float(np.nextafter(-1.0, 0.0))
_OTHER_KINDS = (
    "_curve",
    "_matrix",
    "_support",
    "_thresholds",
    "_report",
    "consensus_score",
    "homogeneity_completeness_v_measure",
    "class_likelihood_ratios",
    "coverage_error",
    "label_ranking",
    "dcg_score",
)
"""Parts of the names of functions that do not return a number or need several targets."""
FAST: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "accuracy_score": ("accuracy", ()),
    "average_precision_score": ("average_precision", ()),
    "balanced_accuracy_score": ("balanced_accuracy", ()),
    "brier_score_loss": ("brier", ()),
    "f1_score": ("f1", ("average",)),
    "log_loss": ("log_loss", ()),
    "matthews_corrcoef": ("mcc", ()),
    "mean_absolute_error": ("mae", ()),
    "mean_absolute_percentage_error": ("mape", ()),
    "mean_pinball_loss": ("quantile_loss", ("alpha",)),
    "mean_squared_error": ("mse", ()),
    "r2_score": ("r2", ()),
    "roc_auc_score": ("roc_auc", ("average",)),
    "root_mean_squared_error": ("rmse", ()),
    "root_mean_squared_log_error": ("rmsle", ()),
}
"""Function -> the metric of arena with the same number, and the parameters that both take."""
_AVERAGES = ("macro", "micro", "weighted")


@dataclass(frozen=True)
class ScikitLearnMetric:
    """A function of :mod:`sklearn.metrics`, with its sign unchanged.

    Resampling calls the function once per submission and resample.
    """

    name: str
    function: str
    prediction: PredictionKind
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def greater_is_better(self) -> bool:
        """False for functions whose names end in ``_error``, ``_loss`` or ``_deviance``."""
        return not self.function.endswith(("_error", "_loss", "_deviance"))

    @property
    def traits(self) -> MetricTraits:
        """Ranges in which the function accepts every value and does not overflow.

        No loss of numbers is negative.
        """
        parameter_names = _parameters(self.function)
        traits = replace(self._ranges, row_weights="sample_weight" in parameter_names)
        return replace(traits, score_range=(0.0, np.inf)) if self._is_loss_of_numbers else traits

    @property
    def _is_loss_of_numbers(self) -> bool:
        return self.prediction is PredictionKind.VALUE and not self.greater_is_better

    @property
    def _ranges(self) -> MetricTraits:
        probabilities = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)
        if self.prediction in probabilities:
            return MetricTraits(prediction_range=(0.0, 1.0))
        if "log_error" in self.function:
            above = (_LOWEST_LOG, _LARGEST)
            return MetricTraits(prediction_range=above, truth_range=above)
        power = _POWERS.get(self.function, self.parameters.get("power", 0.0))
        if power and ("deviance" in self.function or "tweedie" in self.function):
            # The deviance contains powers up to |power| + 2 of a ratio; none may overflow.
            largest = _LARGEST ** (1.0 / max(1.0, abs(power)))
            positive, not_negative = (1.0 / largest, largest), (0.0, largest)
            if power >= 2:
                return MetricTraits(prediction_range=positive, truth_range=positive)
            any_sign = (-largest, largest)
            return MetricTraits(
                prediction_range=positive, truth_range=not_negative if power > 0 else any_sign
            )
        return MetricTraits()

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the value of the function, with four exceptions.

        Whether a score is finite must not depend on the truth, as this would reveal information
        about labels. Therefore values closer to 0 than 1e-100 count as 0, scores are clipped to
        +-1e300, and the function is given the full list of classes. If it warns that the score is
        undefined, the value that it substitutes is used. A loss of numbers that is negative by
        rounding is 0.

        Raises
        ------
        ValueError
            If the function refuses the rows or its parameters.
        UsageError
            If weights are given and the function does not support them.
        """
        function = _function(self.function)
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if self.prediction is PredictionKind.VALUE:
            truth, prediction = _flushed(truth), _flushed(prediction)
        else:
            truth = as_codes(truth)
        if self.prediction is PredictionKind.LABEL:
            prediction = as_codes(prediction)
        parameter_names = _parameters(self.function)
        keywords = dict(self.parameters)
        if "labels" in parameter_names and self.prediction not in (
            PredictionKind.LABEL,
            PredictionKind.VALUE,
        ):
            keywords.setdefault(
                "labels", np.arange(prediction.shape[1] if prediction.ndim > 1 else 2)
            )
        if weight is not None:
            if "sample_weight" not in parameter_names:
                raise UsageError(f"The metric {self.name!r} takes no weights.")
            keywords["sample_weight"] = weight
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("ignore")
            score = float(function(truth, prediction, **keywords))
        lowest = 0.0 if self._is_loss_of_numbers else -_LARGEST_SCORE
        return float(np.clip(score, lowest, _LARGEST_SCORE))


@dataclass(frozen=True)
class Negative(WrappedMetric):
    """The negative of a loss, as scikit-learn's scorers ``neg_…``: larger is better."""

    @property
    def greater_is_better(self) -> bool:
        """True for a loss."""
        return not self.metric.greater_is_better

    @property
    def traits(self) -> MetricTraits:
        """The traits of the loss, with the range of its negative."""
        low, high = traits_of(self.metric).score_range
        return replace(traits_of(self.metric), score_range=(-high, -low))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return minus the loss."""
        return -self.metric.score(truth, prediction, weight)


class NegativeMean(Negative):
    """The negative of a loss that is a function of a mean over rows."""

    metric: Any

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the row values of the loss."""
        return np.asarray(self.metric.row_values(truth, predictions))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return minus the loss."""
        negative: FloatArray = -np.asarray(self.metric.from_mean(mean))
        return negative


def _flushed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Set values that would overflow as a divisor to 0."""
    return np.where(np.abs(values) < 1.0 / _LARGEST, 0.0, values)


@dataclass(frozen=True)
class ScikitLearn:
    """The family ``sklearn:NAME``, where NAME is a function of :mod:`sklearn.metrics`.

    NAME may also be that of a scorer, such as ``f1_macro`` or ``neg_mean_squared_error``. Where
    arena has the same metric, the result is this one, and fast: see :data:`FAST`.

    Examples
    --------
    >>> metric = ScikitLearn().make("median_absolute_error", {})
    >>> metric.greater_is_better, metric.score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    (False, 1.0)
    >>> ScikitLearn().make("max_eror", {})
    Traceback (most recent call last):
    arena.errors.UnknownNameError: scikit-learn has no metric 'max_eror' that arena can call. \
Did you mean max_error?
    """

    prefix: str = "sklearn"

    def known(self) -> Sequence[str]:
        """Return the names of the functions that compare truth and predictions."""
        return _known()

    def make(self, rest: str, parameters: Mapping[str, Any]) -> Metric:
        """Return the metric.

        Raises
        ------
        UnknownNameError
            If scikit-learn has no such metric; the message suggests similar names.
        UsageError
            If the function does not take one of the parameters.
        """
        if rest not in self.known():
            return self._make_scorer(rest, parameters)
        parameter_names = _parameters(rest)[2:]
        for name in parameters:
            if name not in parameter_names or name == "sample_weight":
                raise UsageError(
                    f"The metric 'sklearn:{rest}' has no parameter {name!r}. "
                    f"Its parameters: {', '.join(parameter_names)}."
                )
        name, shared = FAST.get(rest, ("", ()))
        if name and set(parameters) <= set(shared):
            try:
                return metric_of(name, parameters)
            except UsageError:  # a value that only scikit-learn takes
                pass
        return ScikitLearnMetric(f"{self.prefix}:{rest}", rest, _kind(rest), dict(parameters))

    def _make_scorer(self, name: str, parameters: Mapping[str, Any]) -> Metric:
        function, given = _function_of_scorer(name, self.known())
        if function is None:
            near = difflib.get_close_matches(name, self.known(), n=3)
            guess = f" Did you mean {' or '.join(near)}?" if near else ""
            raise UnknownNameError(
                f"scikit-learn has no metric {name!r} that arena can call.{guess}"
            )
        metric = self.make(function, {**given, **parameters})
        if not name.startswith("neg_"):
            return metric
        return (NegativeMean if isinstance(metric, HasRowValues) else Negative)(metric)


def _function_of_scorer(
    name: str, function_names: Sequence[str]
) -> tuple[str | None, dict[str, Any]]:
    """Return the function of a scorer, None if there is none, and its parameters."""
    base, _, average = name.removeprefix("neg_").rpartition("_")
    parameters: dict[str, Any] = {"average": average}
    if average not in _AVERAGES:
        base, parameters = name.removeprefix("neg_"), {}
    if base == "roc_auc_ovr":  # one class against the rest, as the areas of arena
        base = "roc_auc"
    functions = (base + ending for ending in ("", "_score", "_loss"))
    return next(
        (function for function in functions if function in function_names), None
    ), parameters


@cache
def _known() -> tuple[str, ...]:
    from sklearn import metrics

    return tuple(name for name in sorted(metrics.__all__) if _is_metric(metrics, name))


def _function(name: str) -> Callable[..., Any]:
    from sklearn import metrics

    return cast("Callable[..., Any]", getattr(metrics, name))


@cache
def _parameters(name: str) -> tuple[str, ...]:
    """Return the names of a function's parameters: finding them takes as long as some calls."""
    return tuple(inspect.signature(_function(name)).parameters)


def _is_metric(module: Any, name: str) -> bool:
    function = getattr(module, name)
    if not inspect.isfunction(function) or any(part in name for part in _OTHER_KINDS):
        return False
    first = next(iter(inspect.signature(function).parameters), "")
    return first in ("y_true", "labels_true", "y1")


def _kind(name: str) -> PredictionKind:
    if name in _BY_NAME:
        return _BY_NAME[name]
    number = any(part in name for part in _NUMBERS)
    return PredictionKind.VALUE if number else PredictionKind.LABEL
