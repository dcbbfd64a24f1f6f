"""Numerical derivatives for the delta method: no hand-derived formula per metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

_STEP = 1e-100
_VALUES_AT_ONCE = 1 << 16


def gradient(
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    means: FloatArray,
    coordinates: npt.NDArray[np.intp],
) -> FloatArray:
    """Return the partial derivatives of a function at the means, exact to rounding.

    Complex-step differentiation (Squire and Trapp 1998): the imaginary part of
    ``function(means + ih) / h`` involves no subtraction, so h can be tiny and the truncation error
    vanishes. The function must be analytic at the means: no absolute values, and comparisons of
    real parts only. It is called with many points at once, in blocks of 1 MB.

    Parameters
    ----------
    function
        Maps the ``(q, m)`` means of m points to ``(m,)`` values.
    means
        ``(q,)`` point at which to differentiate.
    coordinates
        Indices of the means to differentiate by; the other derivatives are returned as 0.

    Returns
    -------
    ``(q,)`` derivatives.

    Examples
    --------
    >>> gradient(lambda means: means[0] / means[1], np.array([1.0, 2.0]), np.array([0, 1]))
    array([ 0.5 , -0.25])
    """
    derivatives = np.zeros_like(means)
    at_once = max(1, _VALUES_AT_ONCE // len(means))
    for start in range(0, len(coordinates), at_once):
        moved = coordinates[start : start + at_once]
        points = np.repeat(means[:, np.newaxis].astype(np.complex128), len(moved), axis=1)
        points[moved, np.arange(len(moved))] += 1j * _STEP
        derivatives[moved] = function(points).imag / _STEP
    return derivatives
