"""The significance map: one-sided paired tests of all ordered pairs of submissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.evaluation.multiplicity import correct_p_values
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.pair_charts import pairs_chart
from arena_ranking.challenger.wilcoxon import signed_rank_p_values

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class SignificanceMap:
    """One-sided paired tests of all m (m - 1) ordered pairs, corrected by Holm (1979)."""

    p_values: FloatArray
    """``(m, m)`` uncorrected p-values: small where the first is better; 1 on the diagonal."""
    adjusted: FloatArray
    """``(m, m)`` p-values adjusted by Holm over all ordered pairs, at most 1."""
    better: npt.NDArray[np.bool_]
    """``(m, m)``: True where the adjusted p-value is at most 1 - level."""
    level: float
    """The confidence level, over all pairs at once."""
    test: str
    """``signed-rank`` or ``t``."""

    def to_frame(self, teams: Sequence[str] | None = None) -> pd.DataFrame:
        """Return one row per ordered pair: better, worse, p_value, adjusted, shown."""
        import pandas as pd

        first, second = np.nonzero(~np.eye(len(self.better), dtype=bool))
        names = np.asarray(teams if teams is not None else range(len(self.better)), dtype=object)
        columns = {"better": names[first], "worse": names[second]}
        matrices = {"p_value": self.p_values, "adjusted": self.adjusted, "shown": self.better}
        return pd.DataFrame(
            columns | {name: matrix[first, second] for name, matrix in matrices.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the level, the test, and the pairs that are decided, as JSON.

        ``better`` holds ``[j, k]`` positions: j is significantly better than k.
        """
        pairs = np.argwhere(self.better)
        document = {"level": self.level, "test": self.test, "better": pairs}
        return dict(as_json(document))

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a chart of the significant pairs; ``teams`` are m names."""
        from arena.charts import as_altair

        return as_altair(pairs_chart(teams, self.better))


def significance_map(
    values: FloatArray,
    level: float = DEFAULT_LEVEL,
    *,
    greater_is_better: bool = True,
    workers: int = 1,
) -> SignificanceMap:
    """Test every submission against every other one by the values of the cases.

    Wilcoxon's signed-rank tests (:func:`~arena_ranking.challenger.wilcoxon.signed_rank_p_values`),
    corrected by Holm over all ordered pairs: the significance map of Wiesenfarth et al. (2021).
    The test uses the number of cases on which one is better, and the ranks of the differences. The
    result can differ from the order of the scores, which are means: a submission that is slightly
    better on most cases and much worse on a few can be significantly better and still have the
    worse score.

    Parameters
    ----------
    values
        ``(m, n)`` values of n independent cases (rows; with clusters, means of clusters), finite.
    level
        1 less the familywise error over all m (m - 1) tests, in (0, 1).
    greater_is_better
        The direction of the values.
    workers
        Threads.

    Returns
    -------
    A :class:`SignificanceMap`. Memory: two copies of the values and seven times ``(m, m)``.

    Raises
    ------
    UsageError
        If the values are not a matrix of finite numbers, or the level is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.random((3, 200)) + np.array([[0.3], [0.25], [0.0]])
    >>> significance_map(values).better.astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    signed = values if greater_is_better else -values
    return _corrected(signed_rank_p_values(signed, workers=workers), level, "signed-rank")


def significance_map_from_errors(
    scores: FloatArray,
    standard_errors: FloatArray,
    degrees_of_freedom: int,
    level: float = DEFAULT_LEVEL,
    *,
    greater_is_better: bool = True,
) -> SignificanceMap:
    """Test every submission against every other one by the differences of their scores.

    One-sided paired t tests for metrics that are not a mean of row values: the standard errors of
    the differences come from influence values, or from resampled scores
    (:func:`~arena_ranking.evidence.pairwise_evidence`). Holm over all ordered pairs.

    Parameters
    ----------
    scores
        ``(m,)`` natural sign.
    standard_errors
        ``(m, m)`` of the differences; a pair with 0 is tied.
    degrees_of_freedom
        Rows less 1, or clusters less 1, at least 1.
    level, greater_is_better
        As for :func:`significance_map`.

    Raises
    ------
    UsageError
        If the shapes do not fit, the level is out of range, or there are no degrees of freedom.

    Examples
    --------
    >>> found = significance_map_from_errors(np.array([0.9, 0.8]), np.full((2, 2), 0.03), 99)
    >>> found.better.astype(int).tolist(), found.adjusted.round(4).tolist()
    ([[0, 1], [0, 0]], [[1.0, 0.0012], [0.9994, 1.0]])
    """
    from scipy.special import stdtr

    m = len(scores)
    if standard_errors.shape != (m, m):
        raise UsageError("The standard errors must be one row and one column per submission.")
    if degrees_of_freedom < 1:
        raise UsageError("A paired test needs at least two rows, or two clusters of rows.")
    signed = scores if greater_is_better else -scores
    differences = signed[:, np.newaxis] - signed
    compared = (standard_errors > 0) & ~np.eye(m, dtype=bool)
    statistic = np.full((m, m), -np.inf)
    np.divide(differences, standard_errors, out=statistic, where=compared)
    return _corrected(np.asarray(stdtr(degrees_of_freedom, -statistic)), level, "t")


def _corrected(p_values: FloatArray, level: float, test: str) -> SignificanceMap:
    check_level(level)
    pairs = ~np.eye(len(p_values), dtype=bool)
    adjusted = np.ones_like(p_values)
    adjusted[pairs] = correct_p_values(p_values[pairs], "holm")
    return SignificanceMap(
        p_values, adjusted, better=pairs & (adjusted <= 1 - level), level=level, test=test
    )
