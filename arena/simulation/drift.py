"""Divides rows into two parts whose features differ, as those of another hospital or year do."""

from __future__ import annotations

import numpy as np

from arena.errors import UsageError
from arena.types import FloatArray, IntArray


def divide_with_drift(
    features: FloatArray, n_first: int, drift: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the positions of ``n_first`` rows and of the others, each in their order.

    The rows are ordered by ``drift`` times their rank along a random direction of the features plus
    ``1 - drift`` times a uniform number: 0 divides them at random, 1 at a threshold.

    Parameters
    ----------
    features
        ``(n, d)``; NaN counts as the mean.
    drift
        In [0, 1].

    Raises
    ------
    UsageError
        If the drift is out of its range.

    Examples
    --------
    >>> rows = np.arange(6.0)[:, np.newaxis]
    >>> one, other = divide_with_drift(rows, 2, 1.0, np.random.default_rng(0))
    >>> one.tolist() in ([0, 1], [4, 5]), len(other)
    (True, 4)
    """
    if not 0 <= drift <= 1:
        raise UsageError(f"A drift must be from 0 (none) to 1, not {drift:g}.")
    n_rows, n_features = features.shape
    is_finite = np.isfinite(features)
    count = np.maximum(is_finite.sum(axis=0), 1)
    centred = features - np.where(is_finite, features, 0).sum(axis=0) / count
    centred = np.where(is_finite, centred, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    along = (centred / np.where(deviation > 0, deviation, 1.0)) @ rng.standard_normal(n_features)
    ranks = np.argsort(np.argsort(along, kind="stable")) / n_rows
    order = np.argsort(drift * ranks + (1 - drift) * rng.random(n_rows), kind="stable")
    return np.sort(order[:n_first]), np.sort(order[n_first:])
