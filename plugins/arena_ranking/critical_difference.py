"""The analysis ``task-critical-difference``: mean ranks over tasks or cases, and who differs.

Demšar (2006), *Statistical Comparisons of Classifiers over Multiple Data Sets*, JMLR 7; the groups
by signed-rank tests follow Benavoli, Corani and Mangili (2016), *Should We Really Use Post-Hoc
Tests Based on Mean-Ranks?*, JMLR 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.charts import MOST_TEAMS, Specification, axis_labels
from arena.charts.specification import layered, quantitative, rank_scale, whole_axis
from arena.charts.theme import BLUE, INK, MUTED
from arena.evaluation.case_metrics import ranks_within_cases
from arena.evaluation.combined_metric import CombinedMetric, scores_of_parts
from arena.evaluation.multiplicity import correct_p_values
from arena.evaluation.ranks import doubled_mean_ranks
from arena.evaluation.scores import round_significant, score_under_weights
from arena.interfaces import Study
from arena.types import Chart, Finding, FloatArray, Table
from arena.utils.formatting import level_text
from arena.utils.tabular import as_json
from arena.utils.text import plural
from arena_ranking.challenger.top import case_values
from arena_ranking.challenger.wilcoxon import signed_rank_p_values
from arena_ranking.task_values import MOST_VALUES, has_cases, has_tasks, larger_is_better

_FEWEST_ALGORITHMS, _FEWEST_BLOCKS = 3, 6
"""With five blocks no signed-rank test can have a p-value below .0625."""
_MOST_EXACT = 50
"""Blocks with which signed-rank tests are exact; with more, scipy takes the normal one, too."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanRanks:
    """The comparison of m algorithms by their ranks within N blocks: tasks, or cases."""

    mean_ranks: FloatArray
    """``(m,)``; tied algorithms have the mean of their places."""
    friedman: float
    """Friedman's chi-squared statistic, corrected for ties."""
    p_value: float
    """Of the hypothesis that all algorithms are alike, on m - 1 degrees of freedom."""
    critical_difference: float
    """Of two mean ranks, simultaneous over all pairs (Nemenyi)."""
    adjusted: FloatArray
    """``(m, m)`` two-sided p-values of Wilcoxon's signed-rank tests, adjusted by Holm."""
    level: float
    """The confidence level."""

    def groups(self, *, nemenyi: bool = False) -> list[list[int]]:
        """Return the maximal runs of two or more, by mean rank, in which no pair differs.

        By the signed-rank tests, or by the critical difference.
        """
        differ: npt.NDArray[np.bool_] = self.adjusted <= 1 - self.level
        if nemenyi:
            distance = np.abs(self.mean_ranks[:, np.newaxis] - self.mean_ranks)
            differ = distance >= self.critical_difference
        order = np.argsort(self.mean_ranks, kind="stable")
        runs, reached = [], 1
        for first in range(len(order)):
            end = first + 1
            while end < len(order) and not differ[order[end], order[first:end]].any():
                end += 1
            if end > max(reached, first + 1):
                runs.append([int(j) for j in order[first:end]])
                reached = end
        return runs


def compare_mean_ranks(values: FloatArray, level: float) -> MeanRanks:
    """Compare algorithms by their ranks within blocks.

    Parameters
    ----------
    values
        ``(m, N)`` finite; larger is better. m is at least 3.
    level
        The confidence level, in (0, 1).

    Examples
    --------
    >>> values = np.array([[3.0, 3, 2, 3], [2.0, 2, 3, 2], [1.0, 1, 1, 1]])
    >>> comparison = compare_mean_ranks(values, 0.95)
    >>> comparison.mean_ranks.tolist(), round(comparison.critical_difference, 3)
    ([1.25, 1.75, 3.0], 1.657)
    """
    from scipy.stats import friedmanchisquare, studentized_range

    m, n_blocks = values.shape
    values = round_significant(values)
    ranks = ranks_within_cases(values, greater_is_better=True)
    statistic, p_value = 0.0, 1.0
    if (values != values[0]).any():
        test = friedmanchisquare(*values)
        statistic, p_value = float(test.statistic), float(test.pvalue)
    q = studentized_range.ppf(level, m, np.inf) / np.sqrt(2)
    pairs = list(combinations(range(m), 2))
    adjusted = np.ones((m, m))
    tested = _signed_rank_p_values(values, pairs)
    for (j, k), p in zip(pairs, correct_p_values(tested, "holm"), strict=True):
        adjusted[j, k] = adjusted[k, j] = p
    return MeanRanks(
        mean_ranks=ranks.mean(axis=1),
        friedman=statistic,
        p_value=p_value,
        critical_difference=float(q * np.sqrt(m * (m + 1) / (6 * n_blocks))),
        adjusted=adjusted,
        level=level,
    )


def exact_signed_rank_p_value(differences: FloatArray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, exact also with ties.

    Differences of zero are dropped. ``scipy.stats.wilcoxon`` gives the same without ties; with
    ties it enumerates or samples signs, which took over a second for each pair.

    >>> exact_signed_rank_p_value(np.array([1.0, 2, 2, 3, 4, 0, 5]))
    0.03125
    """
    differences = round_significant(differences[differences != 0])
    sizes = doubled_mean_ranks(np.abs(differences)[np.newaxis])[0]
    counts = np.zeros(int(sizes.sum()) + 1)
    counts[0] = 1.0
    for size in sizes:
        counts[size:] += counts[: len(counts) - size].copy()
    observed = int(sizes[differences > 0].sum())
    tail = min(counts[: observed + 1].sum(), counts[observed:].sum())
    return float(min(1.0, 2 * tail / counts.sum()))


def _signed_rank_p_values(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> list[float]:
    if values.shape[1] <= _MOST_EXACT:
        return [exact_signed_rank_p_value(values[j] - values[k]) for j, k in pairs]
    one_sided = signed_rank_p_values(values)
    return [float(min(1.0, 2 * one_sided[[j, k], [k, j]].min())) for j, k in pairs]


@dataclass(frozen=True, slots=True)
class CriticalDifference:
    """Mean ranks with Friedman's test, Nemenyi's critical difference and signed-rank groups.

    Of three to 50 algorithms on six or more tasks, or on cases where the board has no tasks and
    was made from values per case.
    """

    name: str = "task-critical-difference"

    def suits(self, study: Study) -> bool:
        """Return whether there are enough algorithms and blocks, all with a score."""
        return _blocks(study) is not None

    def run(self, study: Study, rng: np.random.Generator) -> Finding:  # noqa: ARG002 - no chance
        """Return the finding.

        Raises
        ------
        ValueError
            If the analysis does not suit the study.
        """
        blocks = _blocks(study)
        if blocks is None:
            raise ValueError("there are too few algorithms, tasks or cases to compare mean ranks")
        values, what = blocks
        comparison = compare_mean_ranks(values, study.level)
        order = np.argsort(comparison.mean_ranks, kind="stable")
        holm, nemenyi = comparison.groups(), comparison.groups(nemenyi=True)
        teams = study.teams
        title = f"Mean ranks over {values.shape[1]:,} {what}"
        chart = Chart(
            "critical-difference",
            f"{title}: critical-difference diagram",
            f"The mean rank of each {study.words.team}; a bar joins those that do not differ "
            "significantly by Wilcoxon's tests with Holm's correction.",
            diagram([teams[j] for j in order], comparison.mean_ranks[order], comparison, holm),
        )
        rows = tuple(
            (
                teams[j],
                float(round_significant(comparison.mean_ranks[j], 4)),
                _letters(int(j), holm),
                _letters(int(j), nemenyi),
            )
            for j in order
        )
        columns = (study.words.team, "mean rank", "group (Wilcoxon-Holm)", "group (Nemenyi)")
        return Finding(
            analysis=self.name,
            verdict=_verdict(study, comparison, values.shape[1], what),
            document=dict(
                as_json(
                    {
                        "blocks": what,
                        "n_blocks": values.shape[1],
                        "submissions": study.submissions,
                        "mean_ranks": comparison.mean_ranks,
                        "friedman": comparison.friedman,
                        "p_value": comparison.p_value,
                        "critical_difference": comparison.critical_difference,
                        "wilcoxon_holm": comparison.adjusted,
                        "groups": {
                            "wilcoxon_holm": _submissions(study, holm),
                            "nemenyi": _submissions(study, nemenyi),
                        },
                    }
                )
            ),
            tables=(Table(f"{title} (a shared letter: no significant difference)", columns, rows),),
            charts=(chart,),
        )


def _blocks(study: Study) -> tuple[FloatArray, str] | None:
    """Return ``(m, N)`` scores in tasks, or values of cases, larger better; and what they are of.

    None: the analysis does not suit the board.
    """
    m, words = len(study.teams), study.words
    if not _FEWEST_ALGORITHMS <= m <= MOST_TEAMS or m * len(study.truth) > MOST_VALUES:
        return None
    values: FloatArray | None
    if has_tasks(study):
        values, what = _scores_in_tasks(study), "tasks"
    elif has_cases(study):
        values = case_values(study, np.arange(m))
        if values is not None and not larger_is_better(study, values):
            values = -values
        what = words.rows if study.clusters is None else f"groups of {words.rows}"
    else:
        return None
    if values is None or values.shape[1] < _FEWEST_BLOCKS or not np.isfinite(values).all():
        return None
    return values, what


def _scores_in_tasks(study: Study) -> FloatArray:
    """Return ``(m, T)`` scores; larger is better."""
    metric = study.metric
    if isinstance(metric, CombinedMetric) and metric.tasks is not None:
        once = np.ones((len(study.truth), 1), dtype=np.uint8)
        scores = scores_of_parts(metric, study.truth, study.predictions, once)[:, :, 0].T
        signs = [1.0 if part.metric.greater_is_better else -1.0 for part in metric.parts]
        return np.asarray(scores * signs)
    tasks = np.asarray(study.tasks)
    weights = (tasks[:, np.newaxis] == np.unique(tasks)).astype(np.uint8)
    scores = score_under_weights(metric, study.truth, study.predictions, weights)
    return scores if metric.greater_is_better else -scores


def _submissions(study: Study, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[int(study.submissions[j]) for j in group] for group in groups]


def _letters(j: int, groups: Sequence[Sequence[int]]) -> str:
    """Return the groups of an algorithm: a, b, …, or numbers if there are more than 26."""
    group_numbers = [number for number, group in enumerate(groups) if j in group]
    if len(groups) > 26:
        return ", ".join(str(number + 1) for number in group_numbers)
    return "".join(chr(ord("a") + number) for number in group_numbers)


def _verdict(study: Study, comparison: MeanRanks, n_blocks: int, what: str) -> str:
    words, alpha = study.words, 1 - comparison.level
    m = len(study.teams)
    decided = int((comparison.adjusted <= alpha).sum()) // 2
    differ = "differ" if comparison.p_value <= alpha else "do not differ significantly"
    return (
        f"Over {n_blocks:,} {what} the mean ranks of the {words.teams} {differ} (Friedman, p = "
        f"{comparison.p_value:.2g}); the critical difference of two mean ranks is "
        f"{comparison.critical_difference:.2f} (Nemenyi), and Wilcoxon's tests with Holm's "
        f"correction decide {decided:,} of {plural(m * (m - 1) // 2, 'pair')} "
        f"({level_text(comparison.level)} confidence). The rank intervals say more: they are about "
        f"the scores, and give the possible ranks of each {words.team}; a mean rank also depends "
        f"on which other {words.teams} take part."
    )


_ROW = 22


def diagram(
    names: Sequence[str], ranks: FloatArray, comparison: MeanRanks, groups: Sequence[Sequence[int]]
) -> Specification:
    """Draw mean ranks on an axis, each with its name below, and a bar for each group.

    Parameters
    ----------
    names
        m names, by mean rank.
    ranks
        ``(m,)`` ascending mean ranks.
    comparison
        The critical difference and the mean ranks of the groups.
    groups
        Positions in ``comparison``.
    """
    labels, m = axis_labels(names), len(names)
    left = (m + 1) // 2
    depth = 1.0 + 0.5 * len(groups)
    rows: list[dict[str, Any]] = [
        {
            "team": label,
            "mean rank": round(float(rank), 4),
            "edge": 1 if position < left else m,
            "down": -(depth + min(position, m - 1 - position)),
            "top": 0,
        }
        for position, (label, rank) in enumerate(zip(labels, ranks, strict=True))
    ]
    end = min(1 + comparison.critical_difference, m)
    bars = [
        {
            "from": round(float(comparison.mean_ranks[group].min()), 4),
            "to": round(float(comparison.mean_ranks[group].max()), 4),
            "down": -0.5 * (number + 1),
        }
        for number, group in enumerate(groups)
    ]
    lowest, highest = min(row["down"] for row in rows) - 0.5, 1.6
    x = {
        **quantitative("mean rank", scale=rank_scale(m)),
        "axis": {**whole_axis(m), "orient": "top", "grid": False},
    }
    y = {
        "field": "down",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [lowest, highest], "nice": False, "zero": False},
    }
    tips = [
        {"field": "team", "type": "nominal"},
        {"field": "mean rank", "type": "quantitative", "format": ".3f"},
    ]
    thin = {"type": "rule", "color": MUTED, "strokeWidth": 1}
    edge = {"field": "edge", "type": "quantitative"}
    layers: list[Specification] = [
        {"mark": thin, "encoding": {"x": x, "y": y, "y2": {"field": "top"}}},
        {"mark": thin, "encoding": {"x": x, "x2": {"field": "edge"}, "y": y}},
        *(
            {
                "transform": [{"filter": f"datum.edge == {side}"}],
                "mark": {"type": "text", "align": align, "dy": -7, "color": INK, "fontSize": 11},
                "encoding": {
                    "x": edge,
                    "y": y,
                    "text": {"field": "team", "type": "nominal"},
                    "tooltip": tips,
                },
            }
            for side, align in ((1, "left"), (m, "right"))
        ),
        {
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": INK},
            "encoding": {"x": x, "y": {**y, "field": "top"}, "tooltip": tips},
        },
        _bars(bars, y, BLUE, 5),
        _bars([{"from": 1, "to": end, "down": 0.7}], y, MUTED, 3),
        {
            "data": {"values": [{"from": 1, "down": 0.7}]},
            "mark": {"type": "text", "align": "left", "dy": -9, "color": MUTED, "fontSize": 11},
            "encoding": {
                "x": {"field": "from", "type": "quantitative"},
                "y": y,
                "text": {
                    "value": f"critical difference (Nemenyi) {comparison.critical_difference:.2f}"
                },
            },
        },
    ]
    return layered(layers, height=round(_ROW * (highest - lowest)), rows=rows)


def _bars(
    rows: Sequence[dict[str, float]], y: Specification, color: str, width: int
) -> Specification:
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "rule", "color": color, "strokeWidth": width, "strokeCap": "round"},
        "encoding": {
            "x": {"field": "from", "type": "quantitative"},
            "x2": {"field": "to"},
            "y": y,
        },
    }
