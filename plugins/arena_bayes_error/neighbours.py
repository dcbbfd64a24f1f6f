"""Bounds of the Bayes error from features and hard labels, by nearest neighbours.

Cover and Hart (1967), "Nearest neighbor pattern classification": with enough rows the error E of
the nearest neighbour satisfies beta <= E <= beta (2 - K/(K-1) beta). These are bounds, not an
estimate: they hold in the limit of many rows, and unsuitable distances only widen them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.evaluation.levels import check_level
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.tabular import Tabular

_ASSUMPTIONS = (
    "The bounds hold in the limit of many rows; with few, neighbours are far away and both bounds "
    "are too high.",
    "The rows are sampled independently from the population that classifiers are evaluated on, and "
    "none is a copy of another.",
    "Classifiers use these features only; a classifier with more information may do better.",
)


@dataclass(frozen=True, slots=True)
class CoverHartBounds(Tabular):
    """Bounds of the Bayes error in the limit of many rows."""

    lower: float
    """(K-1)/K (1 - sqrt(1 - K/(K-1) E)), with E the neighbours' error."""
    upper: float
    """The neighbours' error E, at most the error of guessing, (K-1)/K."""
    lower_end: float
    """The lower bound at the lower end of an interval for E."""
    upper_end: float
    """The upper end of that interval: a Wilson interval, which assumes independent rows."""
    error: float
    """The share of rows whose label is not the one that their neighbours predict."""
    neighbours: int
    """Number of neighbours that vote."""
    n: int
    """Number of rows."""
    n_classes: int
    """Number of classes."""
    level: float
    """Confidence level of the limits, in (0, 1)."""
    copies: int
    """Rows with the same features as another row; copies make both bounds too low."""
    assumptions: tuple[str, ...]
    """Assumptions of the bounds, one sentence each."""


def cover_hart(
    features: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    neighbours: int = 1,
    level: float = DEFAULT_LEVEL,
    standardised: bool = True,
) -> CoverHartBounds:
    """Return the bounds from the error of each row's nearest neighbours, itself left out.

    For two classes any odd number of neighbours is valid: in the limit their error lies between
    beta and that of one neighbour, and the lower bound grows with it. For more classes, one.
    Distances are Euclidean. The time grows with n² for more than about 15 features.

    Parameters
    ----------
    features
        ``(n, n_features)`` finite numbers. One copy is held.
    labels
        ``(n,)`` of at least two values.
    neighbours
        How many vote; the majority is the prediction.
    level
        Confidence level of the ends, in (0, 1).
    standardised
        Whether each feature is scaled to mean 0 and standard deviation 1; otherwise its unit
        determines its weight.

    Raises
    ------
    InputError
        If a feature is not a finite number, or there is only one class.
    UsageError
        If shapes, the level or the number of neighbours do not fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.5
    >>> x = rng.normal(y * 2.0, 1.0)[:, None]  # beta = Phi(-1) = 0.159
    >>> found = cover_hart(x, y)
    >>> found.lower_end < 0.159 < found.upper_end, found.lower < found.upper
    (True, True)
    """
    from scipy.stats import binomtest
    from sklearn.preprocessing import StandardScaler

    x, classes, codes = _checked(features, labels, neighbours, level)
    alike = np.unique(x, axis=0, return_counts=True)[1]
    x = StandardScaler().fit_transform(x) if standardised else x
    wrong = int((_majority(x, codes, len(classes), neighbours) != codes).sum())
    error, guessing = wrong / len(codes), 1 - 1 / len(classes)
    ends = binomtest(wrong, len(codes)).proportion_ci(level, method="wilson")
    return CoverHartBounds(
        lower=_lower(error, len(classes)),
        upper=min(error, guessing),
        lower_end=_lower(float(ends.low), len(classes)),
        upper_end=min(float(ends.high), guessing),
        error=error,
        neighbours=neighbours,
        n=len(codes),
        n_classes=len(classes),
        level=level,
        copies=int(alike[alike > 1].sum()),
        assumptions=_ASSUMPTIONS,
    )


def _checked(
    features: npt.ArrayLike, labels: npt.ArrayLike, neighbours: int, level: float
) -> tuple[FloatArray, npt.NDArray[Any], IntArray]:
    x, y = np.asarray(features, dtype=np.float64), np.asarray(labels)
    if x.ndim != 2 or y.shape != (len(x),):
        raise UsageError("Features are (n, n_features) and labels (n,), of the same n.")
    check_level(level)
    if not np.isfinite(x).all():
        raise InputError("A feature is not a finite number: fill it in, or remove such rows.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError("There is only one class, so no classifier makes an error.")
    if not 1 <= neighbours < len(x):
        raise UsageError(
            f"The number of neighbours must be from 1 to {len(x) - 1}, one less than the rows."
        )
    if neighbours > 1 and (len(classes) > 2 or neighbours % 2 == 0):
        raise UsageError(
            "More than one neighbour is available for two classes and odd numbers only."
        )
    return x, classes, codes


def _majority(x: FloatArray, codes: IntArray, n_classes: int, neighbours: int) -> IntArray:
    from sklearn.neighbors import NearestNeighbors

    # Without query rows, scikit-learn excludes each row from its own neighbours.
    neighbour_rows = (
        NearestNeighbors(n_neighbors=neighbours).fit(x).kneighbors(return_distance=False)
    )
    votes = np.stack(
        [(codes[neighbour_rows] == code).sum(axis=1) for code in range(n_classes)], axis=1
    )
    return np.asarray(votes.argmax(axis=1))


def _lower(error: float, n_classes: int) -> float:
    """Return the bound from below; an error beyond that of guessing counts as guessing.

    >>> round(_lower(0.18, 2), 6), _lower(0.7, 2)
    (0.1, 0.5)
    """
    ratio = n_classes / (n_classes - 1)
    return (1 - float(np.sqrt(max(1 - ratio * error, 0.0)))) / ratio
