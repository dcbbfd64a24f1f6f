"""Which metrics can score predictions of a kind: probabilities also serve scores and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Metric, kinds_of, traits_of
from arena.types import PredictionKind

Conversion: TypeAlias = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""From a block ``(k, n)`` or ``(k, n, n_classes)`` of predictions to those of another kind."""

_PROBABILITIES = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)
_AS_ARE = (
    *((kind, PredictionKind.SCORE) for kind in _PROBABILITIES),
    _PROBABILITIES,
    _PROBABILITIES[::-1],
)
"""Kinds of predictions and of metrics that have the same arrays; a metric may limit the classes."""


def conversion(
    metric: Metric, kind: PredictionKind, n_classes: int | None, *, scores: bool = False
) -> Conversion | None:
    """Return the conversion of predictions of a kind to those of a metric; None: none is needed.

    A probability of more than one half, or the largest one, is a label. With ``scores``, a metric
    of probabilities takes scores of two classes: it has no value for those outside [0, 1].

    Parameters
    ----------
    metric
        The metric.
    kind
        The content of submissions.
    n_classes
        The number of labels of the target; None: it is a number, or there are several targets.

    Raises
    ------
    UsageError
        If the metric cannot score such predictions.
    """
    kinds, most = kinds_of(metric), traits_of(metric).max_classes
    if kind in kinds:
        return None
    fits = n_classes is not None and (most is None or n_classes <= most)
    if fits and any((kind, other) in _AS_ARE for other in kinds):
        other = next(other for other in kinds if (kind, other) in _AS_ARE)
        if other is not PredictionKind.PROBABILITY or n_classes == 2:
            return None
    if fits and kind in _PROBABILITIES and PredictionKind.LABEL in kinds:
        return labels_of_probabilities
    of_two = scores and n_classes == 2 and kind is PredictionKind.SCORE
    if of_two and any(other in _PROBABILITIES for other in kinds):
        return None
    raise UsageError(
        f"{metric.name} scores {metric.prediction}, but submissions contain {kind}. Choose "
        "another metric."
    )


def common_kind(metrics: Sequence[Metric]) -> tuple[PredictionKind, ...]:
    """Return the kinds of predictions that serve all metrics, in the order of their kinds.

    Raises
    ------
    UsageError
        If there is none.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> metrics = PluginManager().metrics
    >>> common_kind([metrics.resolve("roc_auc"), metrics.resolve("log_loss")])[0].value
    'class probabilities'
    """
    candidates = dict.fromkeys(kind for metric in metrics for kind in kinds_of(metric))
    candidates |= dict.fromkeys(_PROBABILITIES[::-1])
    served = tuple(kind for kind in candidates if all(_serves(kind, metric) for metric in metrics))
    if not served:
        needed = "; ".join(f"{metric.name} scores {metric.prediction}" for metric in metrics)
        raise UsageError(f"No submission serves all of these metrics: {needed}.")
    return served


def _serves(kind: PredictionKind, metric: Metric) -> bool:
    try:
        conversion(metric, kind, 2)
    except UsageError:
        return False
    return True


def labels_of_probabilities(block: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the codes of the most probable labels.

    >>> labels_of_probabilities(np.array([[0.2, 0.5, 0.7]])).tolist()
    [[0, 0, 1]]
    """
    if block.ndim == 2:
        return (block > 0.5).astype(np.intp)
    return np.asarray(block.argmax(axis=2), dtype=np.intp)
