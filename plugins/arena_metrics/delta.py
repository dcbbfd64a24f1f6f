"""The delta method: standard errors of smooth functions of means, without a formula for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

__all__ = ["gradient"]

_STEP = 1e-100


def gradient(
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    means: FloatArray,
    coordinates: Iterable[int] | None = None,
) -> FloatArray:
    """Return the partial derivatives of a function at the means, exact to rounding.

    The imaginary part of ``function(means + ih) / h`` has no subtraction in it, so h can be so
    small that it leaves no error (Squire and Trapp 1998). The function must be analytic around
    the means: no absolute values, comparisons of real parts only.

    Parameters
    ----------
    function
        Maps ``(q, m)`` means to ``(m,)`` values.
    means
        ``(q, m)``.
    coordinates
        Those of the q to differentiate by; the other derivatives are returned as 0.

    Returns
    -------
    ``(q, m)`` derivatives.

    Examples
    --------
    >>> gradient(lambda means: means[0] / means[1], np.array([[1.0], [2.0]]))
    array([[ 0.5 ],
           [-0.25]])
    """
    derivatives = np.zeros_like(means)
    point = means.astype(np.complex128)
    for q in range(len(means)) if coordinates is None else coordinates:
        point[q] += 1j * _STEP
        derivatives[q] = function(point).imag / _STEP
        point[q] = means[q]
    return derivatives
