"""The standard errors of a score, and of the difference between two scores on the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import influence_values, is_mean_of_rows, score_under_weights
from arena.interfaces import Metric
from arena.types import FloatArray, IntArray
from arena.utils.read_only import read_only

_RESAMPLES = 200
_LARGEST_EXPONENT = 400
_NO_MEAN = 1e-6


def standard_error(
    metric: Metric,
    truth: npt.NDArray[Any],
    block: npt.NDArray[Any],
    seed: int,
    clusters: IntArray | None = None,
) -> float:
    """Return the standard error of a score, or of the first score minus the second.

    With row or influence values it is ``s / sqrt(n)``, where s is the sample standard deviation of
    the values or of their differences (Blum and Hardt 2015, Figure 2), summed by cluster if there
    are clusters. For a black-box metric it is estimated from 200 joint resamples. Their random
    numbers depend only on the seed and the predictions: sending the same predictions again gives
    the same value.

    Parameters
    ----------
    metric
        Any metric, bound to the rows if it needs that.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    block
        ``(k, n)`` or ``(k, n, n_columns)`` predictions, with k = 1 for a score and 2 for a
        difference.
    seed
        Secret, not negative.
    clusters
        ``(n,)`` codes from 0 of the group of each row.

    Returns
    -------
    NaN for a single row or cluster.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> accuracy = PluginManager().metrics.resolve("accuracy")
    >>> truth, pair = np.array([1, 1, 0, 0]), np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
    >>> standard_error(accuracy, truth, pair, 0), standard_error(accuracy, truth, pair[:1], 0)
    (0.25, 0.0)
    """
    values = comparable_values(metric, truth, block)
    if values is None:
        return _bootstrapped(metric, truth, block=block, seed=seed, clusters=clusters)
    return standard_error_of_mean(np.subtract.reduce(values), clusters)


def comparable_values(
    metric: Metric, truth: npt.NDArray[Any], block: npt.NDArray[Any]
) -> FloatArray | None:
    """Return ``(k, n)`` values whose mean changes as the score does; None for a black-box metric.

    These are the row values if the score is their mean, and influence values otherwise.
    """
    # A mean needs no numerical slope, so that an exact tie stays exact.
    if is_mean_of_rows(metric):
        return metric.row_values(*read_only((truth, block)))
    return influence_values(metric, truth, block)


def class_means_are_removed(
    values: FloatArray, truth: npt.NDArray[Any], classes: Sequence[str] | None
) -> bool:
    """Return whether the influence values of each class sum to 0, and are not all 0.

    So do those of a balanced accuracy and a ROC AUC. The rows of the rarest class are then the
    units that an error rests on.

    Parameters
    ----------
    values
        ``(k, n)``.
    truth
        ``(n,)`` codes, or ``(n, n_targets)``.
    classes
        The names of the codes; None: the target is a number.

    Examples
    --------
    >>> values, truth = np.array([[0.2, -0.2, 0.1, -0.1]]), np.array([0, 0, 1, 1])
    >>> class_means_are_removed(values, truth, ("no", "yes"))
    True
    >>> class_means_are_removed(values, truth[[0, 2, 1, 3]], ("no", "yes"))
    False
    >>> class_means_are_removed(np.append(values, np.zeros((1, 4)), axis=0), truth, ("no", "yes"))
    True
    """
    if classes is None or truth.ndim > 1:
        return False
    centred = values - values.mean(axis=1, keepdims=True)
    least = _NO_MEAN * np.abs(centred).sum(axis=1)
    sums = (centred[:, truth == code].sum(axis=1) for code in np.unique(truth))
    return bool(least.any()) and all((np.abs(class_sums) <= least).all() for class_sums in sums)


def standard_error_of_mean(values: FloatArray, clusters: IntArray | None = None) -> float:
    """Return the standard error of the mean of ``(n,)`` values, clustered if codes are given.

    NaN for a single row or cluster.

    >>> standard_error_of_mean(np.array([0.0, 1.0, 0.0, 0.0]))
    0.25
    """
    centred = values - np.add.reduce(values) / len(values)
    if clusters is not None:
        centred = np.asarray(np.bincount(clusters, weights=centred), dtype=np.float64)
    units = len(centred)
    if units < 2:
        return float("nan")
    with np.errstate(over="ignore"):
        total = np.add.reduce(np.square(centred))
    if total < 4.0**_LARGEST_EXPONENT:
        return float(np.sqrt(total * units / (units - 1))) / len(values)
    # Scaling by a power of two is exact and keeps the squares from overflowing.
    scale = 2.0 ** max(0, int(np.frexp(np.abs(centred).max())[1]) - _LARGEST_EXPONENT)
    centred /= scale
    squares = np.square(centred, out=centred)
    return float(np.sqrt(squares.sum() * units / (units - 1))) * scale / len(values)


def _bootstrapped(
    metric: Metric,
    truth: npt.NDArray[Any],
    block: npt.NDArray[Any],
    seed: int,
    clusters: IntArray | None,
) -> float:
    if len(truth) < 2:
        return float("nan")
    own_seed = _seed_of(block, seed)
    weights = draw_resamples(len(truth), _RESAMPLES, own_seed, clusters=clusters).weights
    scores = score_under_weights(metric, truth, ArrayPredictions(block), weights)
    return float(np.nanstd(np.subtract.reduce(scores), ddof=1))


def _seed_of(block: npt.NDArray[Any], seed: int) -> int:
    """Return a seed that depends only on the secret and the predictions."""
    content = repr(block.tolist()).encode() if block.dtype == object else block.tobytes()
    digest = hashlib.blake2b(content, digest_size=8, key=seed.to_bytes(16, "little"))
    return int.from_bytes(digest.digest(), "little") >> 1
