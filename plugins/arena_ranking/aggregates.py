"""The analysis ``task-aggregates``: interquartile means, profiles, chances of improvement.

Agarwal, Schwarzer, Castro, Courville and Bellemare (2021), *Deep Reinforcement Learning at the Edge
of the Statistical Precipice*, NeurIPS 34 (rliable). Their intervals are those of each algorithm;
these hold for all algorithms at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arena.charts import MOST_TEAMS, Bars, Points, Specification, axis_labels, ranges_chart
from arena.charts.specification import layered, quantitative
from arena.charts.theme import BLUE, PALE
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.ranks import best_first
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import Chart, Finding, FloatArray, IntArray, Table, WeightArray
from arena.utils.formatting import level_text
from arena.utils.tabular import as_json
from arena_ranking.challenger.encodings import team_colors, tooltip
from arena_ranking.task_values import has_cases, has_tasks, values_of_cases

_FEWEST_UNITS = 20
_MOST_VALUES, _MOST_CASES, _FEWEST_RESAMPLES = 250_000, 25_000, 200
_THRESHOLDS, _PROFILES = 51, 3


@dataclass(frozen=True, slots=True, eq=False)
class AggregateScores:
    """Aggregates of t algorithms; each of the three kinds of interval holds at once for all."""

    iqm: FloatArray
    """``(t,)`` interquartile means: of the values without the lowest and highest quarter."""
    iqm_error: FloatArray
    """``(t,)`` half widths of their intervals."""
    thresholds: FloatArray
    """``(K,)`` ascending values."""
    profiles: FloatArray
    """``(t, K)`` shares of the cases whose value is larger than the threshold."""
    profile_error: float
    """Half width of the band, for all algorithms and thresholds."""
    improvement: FloatArray
    """``(t, t)`` shares of the cases on which j is better than k, ties by half."""
    improvement_error: float
    """Half width of the intervals of all pairs."""


def interquartile_means(ascending: FloatArray, weights: WeightArray) -> FloatArray:
    """Return ``(B,)`` means of the middle half of ``(n,)`` ascending values, drawn so often.

    As ``scipy.stats.trim_mean(values, 0.25)``, whose trimmed numbers are rounded down.

    Parameters
    ----------
    ascending
        ``(n,)`` values.
    weights
        ``(n, B)`` how often each value counts; no column is empty.

    Examples
    --------
    >>> weights = np.array([[1, 0], [1, 2], [1, 2], [1, 0]], dtype=np.uint8)
    >>> interquartile_means(np.array([0.0, 1, 2, 9]), weights).tolist()
    [1.5, 1.5]
    """
    reached = np.cumsum(weights, axis=0, dtype=np.int64)
    total = reached[-1]
    low = total // 4
    within = np.clip(reached, low, total - low)
    counts = np.diff(within, axis=0, prepend=low[np.newaxis])
    return np.asarray(ascending @ counts / (total - 2 * low))


def aggregate_scores(
    values: FloatArray,
    weights: WeightArray,
    level: float,
    *,
    n_units: int | None = None,
    n_tasks: int = 1,
) -> AggregateScores:
    """Return the aggregates of algorithms with intervals from joint resamples of the cases.

    The interval of an interquartile mean is a multiple of its standard error: the quantile of the
    largest studentised error of any algorithm, taken from a normal distribution to Student's t with
    half of the degrees of freedom, as the middle half of the values decides. Shares have bands of
    one width, the quantile of the largest error: with a standard error of 0 a band could be too
    narrow.

    Parameters
    ----------
    values
        ``(t, n)`` finite; larger is better.
    weights
        ``(n, B)`` how often each case was drawn.
    level
        The confidence level, in (0, 1).
    n_units
        The number of cases or groups that were drawn; None: n.
    n_tasks
        The number h of tasks within which they were drawn. Resamples of N units have variances
        that are too small by 1 - h / N: that is corrected.
    """
    from scipy.special import ndtr, stdtrit

    t, n = values.shape
    freedom = (n_units or n) - n_tasks
    spread = np.sqrt((n_units or n) / freedom)
    values = round_significant(values)
    totals = weights.sum(axis=0, dtype=np.float64)
    thresholds = np.unique(np.quantile(values, np.linspace(0, 1, _THRESHOLDS)))
    once = np.ones((n, 1), dtype=np.uint8)
    iqm, drawn = np.empty(t), np.empty((t, weights.shape[1]))
    profiles, profile_errors = np.empty((t, len(thresholds))), np.zeros(weights.shape[1])
    improvement, pair_errors = np.full((t, t), 0.5), np.zeros(weights.shape[1])
    floats = weights.astype(np.float32)
    for j in range(t):
        order = np.argsort(values[j], kind="stable")
        ascending, ordered = values[j][order], weights[order]
        iqm[j] = interquartile_means(ascending, once)[0]
        drawn[j] = interquartile_means(ascending, ordered)
        places = np.searchsorted(ascending, thresholds, side="right")
        profiles[j] = 1 - places / n
        reached = np.concatenate(
            [np.zeros((1, weights.shape[1])), np.cumsum(ordered, axis=0, dtype=np.int64)]
        )[places]
        errors = np.abs(1 - reached / totals - profiles[j][:, np.newaxis])
        profile_errors = np.maximum(profile_errors, errors.max(axis=0))
        others = values[j + 1 :]
        if not len(others):
            continue
        wins = np.where(values[j] > others, 1.0, np.where(values[j] == others, 0.5, 0.0))
        share = wins.mean(axis=1)
        improvement[j, j + 1 :], improvement[j + 1 :, j] = share, 1 - share
        errors = np.abs(wins.astype(np.float32) @ floats / totals - share[:, np.newaxis])
        pair_errors = np.maximum(pair_errors, errors.max(axis=0))
    deviations = np.abs(drawn - iqm[:, np.newaxis])
    errors_of_iqm = drawn.std(axis=1, ddof=1)
    has_error = errors_of_iqm > 0
    studentised = deviations[has_error] / errors_of_iqm[has_error, np.newaxis]
    normal = _quantile(studentised.max(axis=0), level) if has_error.any() else 0.0
    critical = -stdtrit(freedom / 2, ndtr(-normal))
    return AggregateScores(
        iqm=iqm,
        iqm_error=spread * critical * errors_of_iqm,
        thresholds=thresholds,
        profiles=profiles,
        profile_error=float(spread) * _quantile(profile_errors, level),
        improvement=improvement,
        improvement_error=float(spread) * _quantile(pair_errors, level),
    )


def _quantile(errors: FloatArray, level: float) -> float:
    return float(np.quantile(errors, level, method="higher"))


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Interquartile means, performance profiles and chances of improvement over cases.

    Of boards with tasks or made from values per case, if the values are more than right and wrong.
    """

    name: str = "task-aggregates"

    def suits(self, study: Study) -> bool:
        """Return whether there are two algorithms, values of cases, and enough of them."""
        return _values(study) is not None

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding.

        Raises
        ------
        ValueError
            If the analysis does not suit the study.
        """
        compared = _values(study)
        if compared is None:
            raise ValueError("there are too few algorithms or values of cases to aggregate")
        positions, values, larger = compared
        sign = 1.0 if larger else -1.0
        weights = _resamples(study, int(rng.integers(2**32)))
        scores = aggregate_scores(
            sign * values,
            weights,
            study.level,
            n_units=_n_units(study),
            n_tasks=_n_tasks(study) or 1,
        )
        order = np.argsort(-scores.iqm, kind="stable")
        iqm = sign * scores.iqm
        low, high = iqm - scores.iqm_error, iqm + scores.iqm_error
        interval = Bars(f"{level_text(study.level)} interval", low[order], high[order], PALE, 6)
        teams = [study.teams[j] for j in positions]
        first = int(order[0])
        chance = scores.improvement[first]
        chances = _clipped(chance, scores.improvement_error)
        words = study.words
        against = f"chance that {teams[first]} is better"
        table = Table(
            f"Interquartile means over {values.shape[1]:,} {words.rows}",
            (words.team, "IQM", "low", "high", against, "from", "to"),
            tuple(
                (teams[j], *map(_short, (iqm[j], low[j], high[j])), *_chances(j, first, chances))
                for j in order
            ),
        )
        return Finding(
            analysis=self.name,
            verdict=_verdict(
                study, values.shape[1], teams=teams, order=order, scores=scores, chances=chances
            ),
            document=dict(
                as_json(
                    {
                        "n_cases": values.shape[1],
                        "resamples": weights.shape[1],
                        "submissions": study.submissions[positions],
                        "iqm": iqm,
                        "iqm_low": low,
                        "iqm_high": high,
                        "thresholds": sign * scores.thresholds,
                        "profiles": scores.profiles,
                        "profile_error": scores.profile_error,
                        "improvement": scores.improvement,
                        "improvement_error": scores.improvement_error,
                    }
                )
            ),
            tables=(table,),
            charts=(
                Chart(
                    "aggregates-iqm",
                    f"Interquartile means of the {words.teams}",
                    f"The interquartile mean of each {words.team} with its interval.",
                    ranges_chart(
                        [teams[j] for j in order],
                        [interval, Points("IQM", iqm[order], BLUE)],
                        "interquartile mean",
                    ),
                ),
                Chart(
                    "aggregates-profiles",
                    f"Performance profiles of the first {words.teams}",
                    f"The share of the {words.rows} on which each {words.team} is better than a "
                    "value, with bands.",
                    profiles_chart(
                        [teams[j] for j in order[:_PROFILES]],
                        scores,
                        order[:_PROFILES],
                        sign=sign,
                        share=f"share of the {words.rows} with a better value",
                    ),
                ),
            ),
        )


def _values(study: Study) -> tuple[IntArray, FloatArray, bool] | None:
    """Return positions ``(t,)`` of the first, values ``(t, n)``, and whether larger is better.

    None: the analysis does not suit the board.
    """
    n, m = len(study.truth), len(study.teams)
    if not (has_tasks(study) or has_cases(study)) or m < 2 or n > _MOST_CASES:
        return None
    if _n_units(study) < _FEWEST_UNITS or _n_tasks(study) is None:
        return None
    order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
    positions = order[: min(MOST_TEAMS, _MOST_VALUES // n)]
    of_cases = values_of_cases(study, positions)
    if of_cases is None or len(np.unique(of_cases[0])) < 3:
        return None
    return positions, *of_cases


def _n_units(study: Study) -> int:
    return len(study.truth) if study.clusters is None else len(np.unique(study.clusters))


def _n_tasks(study: Study) -> int | None:
    """Return the number of tasks within which cases are drawn; None: one has a single case."""
    if study.clusters is not None or study.tasks is None:
        return 1
    sizes = np.unique(study.tasks, return_counts=True)[1]
    return len(sizes) if sizes.min() > 1 else None


def _resamples(study: Study, seed: int) -> WeightArray:
    """Return ``(n, B)`` weights; B is smaller if there are many cases."""
    n = len(study.truth)
    affordable = _MOST_CASES * _FEWEST_RESAMPLES // n
    drawn = min(max(study.resampled.shape[1], _FEWEST_RESAMPLES), affordable)
    strata = study.tasks if study.clusters is None else None
    return draw_resamples(n, drawn, seed, strata=strata, clusters=study.clusters).weights


def _clipped(share: FloatArray, error: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    return share, np.maximum(share - error, 0), np.minimum(share + error, 1)


def _chances(
    j: int, first: int, chances: tuple[FloatArray, FloatArray, FloatArray]
) -> tuple[float | None, ...]:
    return tuple(None if j == first else _short(shares[j]) for shares in chances)


def _short(value: float) -> float:
    return float(round_significant(value, 4))


def _verdict(
    study: Study,
    n: int,
    teams: Sequence[str],
    order: IntArray,
    scores: AggregateScores,
    chances: tuple[FloatArray, FloatArray, FloatArray],
) -> str:
    words, (first, second) = study.words, order[:2]
    low = scores.iqm - scores.iqm_error
    apart = int((scores.iqm + scores.iqm_error < low[first]).sum())
    share, share_low, share_high = (shares[second] for shares in chances)
    alone = (
        f"does not overlap with those of {apart:,} of {len(teams) - 1:,} other {words.teams}"
        if apart
        else "overlaps with that of every other"
    )
    return (
        f"By the mean of the middle half of the values on {n:,} {words.rows} (IQM), "
        f"{teams[first]} is first, and its interval {alone}. It is better than {teams[second]} "
        f"on {share:.0%} of the {words.rows} ({share_low:.0%} to {share_high:.0%}, ties by half; "
        f"{level_text(study.level)} confidence, all {words.teams} together)."
    )


def profiles_chart(
    names: Sequence[str], scores: AggregateScores, rows: IntArray, *, sign: float, share: str
) -> Specification:
    """Draw the performance profiles of some algorithms with their bands."""
    labels = axis_labels(names)
    points = [
        {
            "team": label,
            "value": float(round_significant(sign * threshold, 6)),
            "share": round(float(above), 4),
            "low": round(max(0.0, float(above) - scores.profile_error), 4),
            "high": round(min(1.0, float(above) + scores.profile_error), 4),
        }
        for label, j in zip(labels, rows, strict=True)
        for threshold, above in zip(scores.thresholds, scores.profiles[j], strict=True)
    ]
    x = quantitative("value", scale={"zero": False, "nice": False})
    legend = {"orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
    color = {**team_colors(labels), "legend": legend}
    layers: list[Specification] = [
        {
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {
                "x": x,
                "y": quantitative("low", share, scale={"domain": [0, 1]}),
                "y2": {"field": "high"},
                "color": color,
            },
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "x": x,
                "y": quantitative("share", share),
                "color": color,
                "tooltip": tooltip("team", "value", "share", "low", "high"),
            },
        },
    ]
    return layered(layers, height=320, rows=points)
