"""Scikit-learn estimators on a board: out-of-fold predictions, and metrics as scorers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import UsageError
from arena.evaluation.binding import BoundMetric
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.intake.memory import describe_data
from arena.intake.targets import class_order
from arena.interfaces import Metric, kinds_of
from arena.plugin.manager import PluginManager
from arena.scoring.result import ScoreResult
from arena.scoring.score import score
from arena.types import PredictionKind, Solution, Target, Usage
from arena.utils.parallel import Progress
from arena.utils.progress import shown

_METHODS = {
    PredictionKind.LABEL: ("predict",),
    PredictionKind.VALUE: ("predict",),
    PredictionKind.PROBABILITY: ("predict_proba",),
    PredictionKind.CLASS_PROBABILITIES: ("predict_proba",),
    PredictionKind.SCORE: ("predict_proba", "decision_function"),
}
"""What a submission holds -> methods of an estimator that predict it, the best first."""


def from_estimators(
    estimators: Mapping[str, Any] | Iterable[Any],
    X: Any,  # noqa: N803 - as in scikit-learn
    y: Any,
    *,
    metric: str,
    cv: Any = 5,
    groups: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
    **keywords: Any,
) -> ScoreResult:
    """Rank scikit-learn models by their out-of-fold predictions, with rank intervals.

    All models are trained on the same folds, and each row is predicted by models that were not
    trained on it. The intervals are those of a board: they describe how the ranks of *these
    predictions* vary with the rows on which they are scored. How a model varies with its training
    rows is not part of them, so small differences are less certain than the intervals say.

    Parameters
    ----------
    estimators
        Models by name, or several models, which are named after their classes.
    X
        ``(n, n_features)`` features, as the models take them.
    y
        ``(n,)`` labels or numbers.
    metric
        A specification such as ``roc_auc``.
    cv
        The number of folds, a splitter of scikit-learn, or pairs of training and test rows. Folds
        are shuffled with the seed, and stratified for labels.
    groups
        ``(n,)`` groups of rows: none is in two folds, and resamples draw them whole.
    seed
        Of the folds and of the resamples.
    n_jobs
        Processes that train folds; see scikit-learn.
    manager, progress, keywords
        As for :func:`arena.score`, such as ``level`` and ``resamples``.

    Raises
    ------
    UsageError
        If a model cannot predict what the metric needs, the folds are no partition of the rows, y
        has several columns, or y is text and the metric compares numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(120, random_state=0)
    >>> models = {"logistic": LogisticRegression(), "constant": DummyClassifier()}
    >>> board = from_estimators(models, X, y, metric="roc_auc", cv=3, resamples=50)
    >>> board.to_frame()["team"].tolist()
    ['logistic', 'constant']
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    manager = manager or PluginManager()
    kind = _kind(manager.metrics.resolve(metric))
    named = _named(estimators)
    truth = np.asarray(y)
    if truth.ndim != 1:
        raise UsageError(f"y is an array of shape {truth.shape}, but must have the shape (n,).")
    if kind is PredictionKind.VALUE:
        _numbers(truth, "y is")
    classes = None if kind is PredictionKind.VALUE else np.unique(truth)
    positive = keywords.get("positive")
    columns = None if classes is None else _order(classes, positive)
    folds = _folds(cv, X, y=truth, groups=groups, seed=seed, stratified=classes is not None)
    predicted: dict[str, Any] = {}
    with shown(progress) as display:
        display.start("Training models", len(named))
        for name, model in named.items():
            method = _method(model, kind, name, metric)
            try:
                values = cross_val_predict(
                    clone(model), X, y, cv=folds, method=method, n_jobs=n_jobs
                )
            except ValueError as error:
                if "partitions" not in str(error):
                    raise
                raise UsageError("cv must put each row into exactly one test fold.") from error
            predicted[name] = _as_submission(values, kind, columns)
            display.advance()
        solution = {
            "id": np.arange(len(truth)).astype(str),
            "target": truth if classes is None else _texts(truth),
        }
        if groups is not None:
            solution["group"] = _texts(np.asarray(groups))
            keywords.setdefault("cluster", "group")
        return score(
            solution,
            predicted,
            metric=metric,
            target="target",
            seed=seed,
            manager=manager,
            progress=display,
            **keywords,
        )


def make_scorer(metric: str, *, positive: str | float | None = None) -> MetricScorer:
    """Return a metric of arena as a scorer of scikit-learn: ``scorer(estimator, X, y)``.

    As always in scikit-learn a larger value is better: losses are returned with a minus sign.

    Parameters
    ----------
    metric
        A specification such as ``roc_auc`` or ``f1(average=macro)``.
    positive
        The positive one of two labels; None: the last in sorted order.

    Raises
    ------
    UnknownNameError
        If no plugin provides the metric.
    UsageError
        If the metric takes texts, which no estimator predicts.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(120, random_state=0)
    >>> scores = cross_val_score(LogisticRegression(), X, y, scoring=make_scorer("brier"), cv=3)
    >>> bool((scores < 0).all())
    True
    """
    _kind(_installed_metric(metric))
    return MetricScorer(metric, positive)


@dataclass(frozen=True, slots=True)
class MetricScorer:
    """A metric of arena as a scorer of scikit-learn; see :func:`make_scorer`."""

    metric: str
    positive: str | float | None = None
    __name__: str = field(default="MetricScorer", init=False, repr=False)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:  # noqa: N803 - as in scikit-learn
        """Return the score of a fitted estimator, larger is better.

        Raises
        ------
        UsageError
            If the estimator cannot predict what the metric needs, or y is text and the metric
            compares numbers.
        MetricError
            If the metric is not defined on these rows.
        """
        metric = _installed_metric(self.metric)
        kind = _kind(metric)
        truth = np.asarray(y)
        classes = None
        if kind is PredictionKind.VALUE:
            truth = _numbers(truth, "y is")
        else:
            classes = np.asarray(getattr(estimator, "classes_", np.unique(truth)))
        columns = None if classes is None else _order(classes, self.positive)
        method = _method(estimator, kind, type(estimator).__name__, self.metric)
        values = _as_submission(getattr(estimator, method)(X), kind, columns)
        names: tuple[str, ...] | None = None
        if columns is not None:
            names = tuple(columns)
            truth = _codes(_texts(truth), names)
            values = _codes(values, names) if kind is PredictionKind.LABEL else values
        several = names is not None and values.ndim == 2
        solution = Solution(
            id_column="id",
            targets=(Target("target", names),),
            columns=names if several and names else ("target",),
            kind=kind,
            ids=pa.array(np.arange(len(truth)).astype(str)),
            truth=truth,
            usage=np.full(len(truth), Usage.PRIVATE, dtype=np.uint8),
            sha256="",
        )
        bound = BoundMetric(metric, solution).for_rows(np.ones(len(truth), dtype=np.bool_))
        scores = full_scores(bound, truth, ArrayPredictions(np.ascontiguousarray(values)[None]))[0]
        return float(scores) if metric.greater_is_better else -float(scores)


@lru_cache(maxsize=32)
def _installed_metric(name: str) -> Metric:
    return PluginManager().metrics.resolve(name)


def _kind(metric: Metric) -> PredictionKind:
    """Return the first kind of prediction of a metric that estimators make."""
    for kind in kinds_of(metric):
        if kind in _METHODS:
            return kind
    raise UsageError(f"{metric.name} takes texts, which no estimator predicts.")


def _named(estimators: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    else:
        if hasattr(estimators, "fit") or isinstance(estimators, str):
            raise UsageError(
                f"The estimators are {describe_data(estimators)}: give several models, by name."
            )
        named = {}
        for model in estimators:
            stem, count = type(model).__name__, 1
            name = stem
            while name in named:
                count += 1
                name = f"{stem} {count}"
            named[name] = model
    if not named:
        raise UsageError("There are no estimators.")
    return named


def _folds(
    cv: Any,
    X: Any,  # noqa: N803
    y: Any,
    groups: Any,
    seed: int,
    *,
    stratified: bool,
) -> list[Any]:
    """Return pairs of training and test rows, the same for all models."""
    from sklearn import model_selection as selection

    if isinstance(cv, int):
        if groups is not None:
            kinds = selection.StratifiedGroupKFold if stratified else selection.GroupKFold
        else:
            kinds = selection.StratifiedKFold if stratified else selection.KFold
        cv = kinds(cv, shuffle=True, random_state=seed)
    if hasattr(cv, "get_n_splits"):
        return list(cv.split(X, y, groups))
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise UsageError(
            f"cv is {describe_data(cv)}: give a number of folds, a splitter, or pairs of rows."
        )
    return list(cv)


def _method(model: Any, kind: PredictionKind, name: str, metric: str) -> str:
    for method in _METHODS[kind]:
        if hasattr(model, method):
            return method
    raise UsageError(
        f"{name} has no {' or '.join(_METHODS[kind])}, which {metric} needs: choose another model, "
        "or wrap it in sklearn.calibration.CalibratedClassifierCV."
    )


def _numbers(values: npt.NDArray[Any], what: str) -> npt.NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"The metric compares numbers, but {what} text: choose a metric of labels, such as "
            "accuracy."
        ) from error


def _texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as text, as they are written to a file."""
    return np.array([str(value) for value in values.tolist()], dtype=object)


def _order(classes: npt.NDArray[Any], positive: str | float | None) -> dict[str, int]:
    """Return label -> column of the predictions, in the order of a solution."""
    column_of = {str(label): column for column, label in enumerate(classes.tolist())}
    labels = class_order(list(column_of), None if positive is None else str(positive))
    return {label: column_of[label] for label in labels}


def _as_submission(
    values: Any, kind: PredictionKind, columns: Mapping[str, int] | None
) -> npt.NDArray[Any]:
    """Return predictions of an estimator as those of a submission."""
    predictions: npt.NDArray[Any] = np.asarray(values)
    if columns is None:
        return _numbers(predictions, "the predictions are")
    if kind is PredictionKind.LABEL:
        return _texts(predictions)
    order = list(columns.values())
    if len(order) > 2:
        return predictions[:, order]
    if predictions.ndim == 2:
        return np.ascontiguousarray(predictions[:, order[-1]])
    return predictions if order[-1] == 1 else -predictions  # a decision function of two classes


def _codes(labels: npt.NDArray[Any], names: tuple[str, ...]) -> npt.NDArray[np.intp]:
    code_of = {name: code for code, name in enumerate(names)}
    unknown = sorted({label for label in labels.tolist() if label not in code_of})
    if unknown:
        raise UsageError(
            f"The estimator was trained without these labels: {', '.join(map(str, unknown[:5]))}."
        )
    return np.array([code_of[label] for label in labels.tolist()], dtype=np.intp)
