"""Bounds of the Bayes error from features and hard labels, by nearest neighbours.

Cover and Hart (1967), "Nearest neighbor pattern classification": with enough rows the error E of
the nearest neighbour satisfies beta <= E <= beta (2 - K/(K-1) beta). Bounds, not an estimate: they
hold in the limit of many rows, and distances that suit the features badly only widen them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.results import Tabular
from arena.types import FloatArray, IntArray

if TYPE_CHECKING:
    import altair as alt

__all__ = ["CoverHartBounds", "cover_hart"]

_ASSUMPTIONS = (
    "The bounds hold for very many rows; with few, the neighbours are far away and both are too "
    "high.",
    "The rows are drawn independently from those that classifiers are judged on, and none is a "
    "copy of another.",
    "Classifiers know these features only; who knows more may err less.",
)


@dataclass(frozen=True, slots=True)
class CoverHartBounds(Tabular):
    """Between which errors the Bayes error lies, in the limit of many rows."""

    lower: float
    """(K-1)/K (1 - sqrt(1 - K/(K-1) E)), with E the neighbours' error."""
    upper: float
    """The neighbours' error E, but never more than that of guessing, (K-1)/K."""
    lower_end: float
    """The lower bound at the lower end of an interval for E."""
    upper_end: float
    """The upper end of that interval: Wilson's, which takes rows for independent."""
    error: float
    """The share of rows whose label is not the one that their neighbours predict."""
    neighbours: int
    n: int
    n_classes: int
    level: float
    copies: int
    """Rows whose features are those of another row: their neighbours are no other rows at all."""
    assumptions: tuple[str, ...]

    def chart(self) -> alt.LayerChart:
        """Return a picture of the bounds, and of their outer ends."""
        from arena.charts import as_altair
        from arena_bayes_error.pictures import bounds_specification

        return as_altair(bounds_specification(self))


def cover_hart(
    features: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    neighbours: int = 1,
    level: float = 0.95,
    standardised: bool = True,
) -> CoverHartBounds:
    """Return the bounds from the error of each row's nearest neighbours, itself left out.

    For two classes any odd number of neighbours will do: in the limit their error lies between
    beta and that of one neighbour, and the lower bound grows with it. For more classes, one.
    Distances are Euclidean. The time grows with n² where there are more than some 15 features.

    Parameters
    ----------
    features
        ``(n, n_features)`` finite numbers. One copy is held.
    labels
        ``(n,)`` of at least two values.
    neighbours
        How many are asked; the majority is the prediction.
    level
        Confidence level of the ends, in (0, 1).
    standardised
        Whether each feature is brought to mean 0 and standard deviation 1; if not, the unit of
        each decides how much it counts.

    Raises
    ------
    InputError
        If a feature is no finite number, or there is one class only.
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
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not be {level:g}.")
    if not np.isfinite(x).all():
        raise InputError("A feature is no finite number: fill in or leave out such rows.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError("There is one class only, which everybody predicts without an error.")
    if not 1 <= neighbours < len(x):
        raise UsageError(f"Neighbours must be from 1 to {len(x) - 1}, the rows less one.")
    if neighbours > 1 and (len(classes) > 2 or neighbours % 2 == 0):
        raise UsageError(
            "More than one neighbour gives bounds for two classes only, and for an odd number."
        )
    return x, classes, codes


def _majority(x: FloatArray, codes: IntArray, n_classes: int, neighbours: int) -> IntArray:
    from sklearn.neighbors import NearestNeighbors

    # Asked without rows, each of its own rows is left out of its neighbours.
    found = NearestNeighbors(n_neighbors=neighbours).fit(x).kneighbors(return_distance=False)
    votes = np.stack([(codes[found] == code).sum(axis=1) for code in range(n_classes)], axis=1)
    return np.asarray(votes.argmax(axis=1))


def _lower(error: float, n_classes: int) -> float:
    """Return the bound from below; an error beyond that of guessing counts as guessing.

    >>> round(_lower(0.18, 2), 6), _lower(0.7, 2)
    (0.1, 0.5)
    """
    ratio = n_classes / (n_classes - 1)
    return (1 - float(np.sqrt(max(1 - ratio * error, 0.0)))) / ratio
