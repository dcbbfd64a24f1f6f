"""P-values of several comparisons, corrected for their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray

_METHODS = ("bonferroni", "holm", "benjamini_hochberg")


def correct_p_values(p_values: npt.ArrayLike, method: str) -> FloatArray:
    """Correct p-values for their number.

    The numbers are those of ``statsmodels.stats.multitest.multipletests``, which is not used: it
    is a large installation, and takes a second to import.

    Parameters
    ----------
    p_values
        ``(k,)`` p-values of all comparisons of the family.
    method
        ``bonferroni``, ``holm`` or ``benjamini_hochberg``.

    Returns
    -------
    ``(k,)`` corrected p-values, at most 1.

    Raises
    ------
    UsageError
        If the method is unknown.

    Examples
    --------
    >>> correct_p_values([0.01, 0.04, 0.5], "holm").round(2).tolist()
    [0.03, 0.08, 0.5]
    """
    if method not in _METHODS:
        raise UsageError(f"Unknown correction {method!r}: choose one of {', '.join(_METHODS)}.")
    values = np.asarray(p_values, dtype=np.float64)
    if not values.size:
        return values
    k, order = len(values), np.argsort(values)
    ascending, corrected = values[order], np.empty_like(values)
    if method == "bonferroni":
        stepped = ascending * k
    elif method == "holm":
        stepped = np.maximum.accumulate(ascending * np.arange(k, 0, -1))
    else:
        shares = ascending / (np.arange(1, k + 1) / k)
        stepped = np.minimum.accumulate(shares[::-1])[::-1]
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
