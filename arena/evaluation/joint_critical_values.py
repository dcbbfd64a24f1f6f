"""Critical values that hold for several scores at once, by the correlations of their resamples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from arena.types import FloatArray

_FEWEST_RESAMPLES = 100
"""With fewer, correlations are not estimated, and critical values are Bonferroni's."""
_NODES = 4_000
"""Draws of jointly normal errors, of which critical values are quantiles."""
_FEWEST_NODES = 10
"""In the tail; with fewer a quantile of the nodes may be much too small."""
_BLOCK = 256


def standardised_errors(
    resampled: FloatArray, sign: float = 1.0
) -> tuple[FloatArray, FloatArray | None]:
    """Return ``(m,)`` standard deviations over resamples and ``(m, B)`` errors of norm 1.

    The errors are None with too few resamples, and 0 for a submission whose score is the same in
    all resamples. ``sign`` is a factor of the errors. Memory: one array of ``(m, B)`` float64.
    """
    defined = np.isfinite(resampled).all(axis=0)
    if defined.sum() < _FEWEST_RESAMPLES:
        return np.full(len(resampled), np.nan), None
    usable = resampled.copy(order="F") if defined.all() else resampled[:, defined]
    usable *= sign
    still = usable.max(axis=1) == usable.min(axis=1)
    centred = usable  # the same memory: all candidates of a large board take much
    centred -= usable.mean(axis=1, keepdims=True)
    centred[still] = 0.0  # exactly, despite rounding
    norms = np.sqrt(np.einsum("jb,jb->j", centred, centred))
    centred /= np.where(norms > 0, norms, 1.0)[:, np.newaxis]
    return norms / np.sqrt(usable.shape[1] - 1), centred


def joint_critical_values(
    correlated: FloatArray | None, families: Sequence[npt.NDArray[np.bool_]], tail: float
) -> list[float]:
    """Return, for each family of the m jointly normal errors, the upper quantile of the largest.

    ``families`` are ``(m,)`` masks. The random normal numbers are fixed, like the nodes of a
    quadrature, so that the interval of a board is reproducible. A submission with errors 0 counts
    as independent. It is Bonferroni's value without errors, if that is smaller, and at levels above
    0.995, of which the nodes show too little.
    """
    bonferroni = [float(-ndtri(tail / int(family.sum()))) for family in families]
    if correlated is None or all(family.sum() == 1 for family in families):
        return bonferroni
    if tail * _NODES < _FEWEST_NODES:
        return bonferroni
    nodes, rng = _nodes(correlated.shape[1]), np.random.default_rng(1)
    used = np.flatnonzero(np.any(families, axis=0))
    largest = np.full((len(families), _NODES), -np.inf, dtype=np.float32)
    for start in range(0, len(used), _BLOCK):
        rows = used[start : start + _BLOCK]
        block = correlated[rows].astype(np.float32)
        errors = block @ nodes
        still = ~block.any(axis=1)
        errors[still] = rng.standard_normal((int(still.sum()), _NODES), dtype=np.float32)
        for family, largest_of_family in zip(families, largest, strict=True):
            np.maximum(
                largest_of_family,
                errors[family[rows]].max(axis=0, initial=-np.inf),
                out=largest_of_family,
            )
    return [
        limit if family.sum() == 1 else min(limit, float(np.quantile(largest_of_family, 1 - tail)))
        for limit, family, largest_of_family in zip(bonferroni, families, largest, strict=True)
    ]


@lru_cache(maxsize=1)
def _nodes(resamples: int) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((resamples, _NODES), dtype=np.float32)
