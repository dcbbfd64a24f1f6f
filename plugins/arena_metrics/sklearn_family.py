"""``sklearn:NAME``: any metric of scikit-learn that compares a truth with predictions."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from arena.errors import UnknownNameError, UsageError
from arena.types import MetricTraits, PredictionKind
from arena_metrics.rows import as_codes, drawn_rows

__all__ = ["ScikitLearn", "ScikitLearnMetric"]

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
"""What is neither a label nor a number."""
_NUMBERS = ("_error", "_deviance", "r2_score", "d2_", "explained_variance", "_pinball_")
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
"""Parts of the names of what returns no number, or takes no single target."""


@dataclass(frozen=True)
class ScikitLearnMetric:
    """A function of :mod:`sklearn.metrics`, in its natural sign.

    Scored as a whole, so resampling calls the function once per submission and resample.
    """

    name: str
    function: str
    prediction: PredictionKind
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def greater_is_better(self) -> bool:
        """False for names that end in ``_error``, ``_loss`` or ``_deviance``."""
        return not self.function.endswith(("_error", "_loss", "_deviance"))

    @property
    def traits(self) -> MetricTraits:
        """Probabilities lie in [0, 1]."""
        probabilities = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)
        if self.prediction in probabilities:
            return MetricTraits(prediction_range=(0.0, 1.0))
        return MetricTraits()

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return what the function returns; NaN where it warns that it is undefined.

        Raises
        ------
        ValueError
            If the function refuses the rows or its parameters.
        UsageError
            If there are weights and the function takes none.
        """
        function = _function(self.function)
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if self.prediction is not PredictionKind.VALUE:
            truth = as_codes(truth)
        if self.prediction is PredictionKind.LABEL:
            prediction = as_codes(prediction)
        keywords = dict(self.parameters)
        if weight is not None:
            if "sample_weight" not in inspect.signature(function).parameters:
                raise UsageError(f"The metric {self.name!r} takes no weights.")
            keywords["sample_weight"] = weight
        return _call(function, truth, prediction, keywords)


@dataclass(frozen=True)
class ScikitLearn:
    """The family ``sklearn:NAME``, where NAME is a function of :mod:`sklearn.metrics`.

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
        """Return the names of the functions that compare a truth with predictions."""
        from sklearn import metrics

        return tuple(name for name in sorted(metrics.__all__) if _is_metric(metrics, name))

    def make(self, rest: str, parameters: Mapping[str, Any]) -> ScikitLearnMetric:
        """Return the metric.

        Raises
        ------
        UnknownNameError
            If scikit-learn has no such metric; the message holds the nearest names.
        UsageError
            If the function does not take one of the parameters.
        """
        if rest not in self.known():
            near = difflib.get_close_matches(rest, self.known(), n=3)
            guess = f" Did you mean {' or '.join(near)}?" if near else ""
            raise UnknownNameError(
                f"scikit-learn has no metric {rest!r} that arena can call.{guess}"
            )
        taken = list(inspect.signature(_function(rest)).parameters)[2:]
        for name in parameters:
            if name not in taken or name == "sample_weight":
                raise UsageError(
                    f"The metric 'sklearn:{rest}' has no parameter {name!r}. "
                    f"It takes: {', '.join(taken)}."
                )
        return ScikitLearnMetric(f"{self.prefix}:{rest}", rest, _kind(rest), dict(parameters))


def _call(
    function: Callable[..., Any],
    truth: npt.NDArray[Any],
    prediction: npt.NDArray[Any],
    keywords: Mapping[str, Any],
) -> float:
    from sklearn.exceptions import UndefinedMetricWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", UndefinedMetricWarning)
        try:
            return float(function(truth, prediction, **keywords))
        except UndefinedMetricWarning:
            return np.nan


def _function(name: str) -> Callable[..., Any]:
    from sklearn import metrics

    return cast("Callable[..., Any]", getattr(metrics, name))


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
