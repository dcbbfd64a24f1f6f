"""The first teams of a board and the comparisons that its metric allows."""

from __future__ import annotations

from dataclasses import dataclass

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import FloatArray, Section
from arena.utils.formatting import level_text
from arena.utils.text import plural
from arena_ranking.challenger.methods import RankingMethods, compare_ranking_methods
from arena_ranking.challenger.significance import (
    SignificanceMap,
    significance_map,
    significance_map_from_errors,
)
from arena_ranking.challenger.task_sections import task_technical
from arena_ranking.challenger.top import TopOfBoard

_MOST_STEPS = 500_000_000
_FEWEST_RESAMPLES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """The input of every section: the study and its first teams."""

    study: Study
    top: TopOfBoard
    seed: int
    workers: int

    @property
    def teams(self) -> list[str]:
        """The t names, best first."""
        return [self.study.teams[position] for position in self.top.positions]

    @property
    def larger(self) -> bool:
        """Whether a larger score is a better one."""
        return self.study.metric.greater_is_better

    @property
    def scores(self) -> FloatArray:
        """``(t,)`` scores of these teams, signed so that larger is better."""
        scores = round_significant(self.study.scores[self.top.positions])
        return scores if self.larger else -scores

    @property
    def values(self) -> FloatArray | None:
        """``(t, n)`` values of the cases, signed so that larger is better."""
        values = self.top.values
        return values if values is None or self.top.values_greater_is_better else -values

    @property
    def case(self) -> str:
        """The word for one case."""
        words = self.study.words
        return f"group of {words.rows}" if self.top.clustered else words.row

    @property
    def cases(self) -> str:
        """The word for several cases."""
        words = self.study.words
        return f"groups of {words.rows}" if self.top.clustered else words.rows

    @property
    def first(self) -> str:
        """A sentence with the number of teams shown; empty if all are shown."""
        words = self.study.words
        n_shown, m = len(self.top.positions), len(self.study.teams)
        return (
            f" Only the first {n_shown:,} of {m:,} {words.teams} are shown." if n_shown < m else ""
        )

    def pairs(self) -> SignificanceMap:
        """Compare all pairs of the teams, by the values of the cases if there are any."""
        values, level, top = self.values, self.study.level, self.top
        if values is not None:
            return significance_map(values, level, workers=self.workers)
        return significance_map_from_errors(
            self.scores, top.standard_errors, top.n_cases - 1, level
        )

    def methods(self, pairs: SignificanceMap) -> RankingMethods:
        """Rank the teams by every method, on all cases and on bootstrap samples of them."""
        values, weights = self.values, None
        if values is not None:
            affordable = max(_FEWEST_RESAMPLES, _MOST_STEPS // values.size)
            drawn = min(self.study.resampled.shape[1], affordable)
            weights = draw_resamples(
                values.shape[1], drawn, self.seed, workers=self.workers
            ).weights
        return compare_ranking_methods(
            self.scores,
            values,
            pairs.p_values,
            self.study.level,
            weights=weights,
            workers=self.workers,
        )


def technical_section(board: Board, pairs: SignificanceMap, methods: RankingMethods) -> Section:
    """Return the section that documents the methods, for the end of a report."""
    words = board.study.words
    top, study = board.top, board.study
    unit = f"cluster means of {words.row} values" if top.clustered else f"{words.row} values"
    tests = (
        f"One-sided Wilcoxon signed-rank tests on {top.n_cases:,} {unit}, normal approximation "
        "with the corrections for ties and continuity, differences of zero dropped"
        if pairs.test == "signed-rank"
        else f"One-sided paired t tests on {top.n_cases - 1:,} degrees of freedom, with standard "
        f"errors from {top.source}"
    )
    m = len(top.positions)
    lines = [
        f"Significance map: {tests}; Holm over all {plural(m * (m - 1), 'ordered pair')} of the "
        f"{words.teams} shown; significant at a level of {level_text(1 - study.level)}.",
        'Ranking method "tests": the number of these tests won, before the correction.',
        f"Stability: minimum ranks over {plural(study.resampled.shape[1], 'joint resample')} of "
        f"the {words.rows}; percentiles interpolated (R's type 7).",
        f"Agreement: Kendall's tau-b of minimum ranks on all {words.rows} and on the resamples.",
    ]
    n_drawn = [len(agreement.tau) for agreement in methods.agreement.values()]
    if n_drawn:
        lines.append(
            f"The ranking methods other than the score were repeated on {n_drawn[0]:,} bootstrap "
            f"samples of the {board.cases} (seed {board.seed}). A case drawn k times counts k "
            "times. The tests were not resampled."
        )
    if top.tasks is not None:
        lines.append(task_technical(top.tasks, words))
    lines.append(
        "After Wiesenfarth, Reinke, Landman, Eisenmann, Saiz, Cardoso, Maier-Hein and "
        "Kopp-Schneider (2021), Methods and open-source toolkit for analyzing and visualizing "
        "challenge results, Scientific Reports 11."
    )
    return Section("Methods of the ranking analyses", "\n\n".join(lines), technical=True)
