"""The report section on the selection bias of the best score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from arena.types import Chart, Section, Table
from arena.utils.formatting import BoardDisplay, Show, level_text, score_format, span
from arena.utils.text import plural
from arena_sota.charts import estimate_chart, histograms, report_chart, simulated_scores
from arena_sota.maximum import SampleMaximum
from arena_sota.study import BoardMaximum

_MEANING = (
    "The first of many teams is usually both good and lucky, so its score is too high on average: "
    "this is selection bias. The estimate asks how good the best team must be for the best score "
    "to be as high as it was; near-duplicate submissions count once. It uses the scores alone. The "
    "corrected best score of the board also uses the predictions, and is the one to report."
)
_TITLE = "Selection bias of the best score"
_FEW_TEAMS = 10
"""Fewer scores have no histogram."""
_ALIKE = 1e-9


def sota_sections(result: Any) -> Iterable[Section]:
    """Return the sections for a result that holds the finding of the analysis ``sota``."""
    findings = [
        finding for finding in getattr(result, "findings", ()) if finding.analysis == "sota"
    ]
    standings = getattr(result, "standings", ())
    display = getattr(result, "display", BoardDisplay())
    if len(standings) == 1:
        return  # nothing was selected
    for finding in findings:
        board = finding.details
        if not isinstance(board, BoardMaximum):
            yield Section(_TITLE, finding.verdict)
            continue
        yield Section(
            _TITLE,
            f"{finding.verdict}\n\n{_MEANING}",
            tables=(_table(board, score_format(standings, display)),),
            charts=_charts(board, getattr(result, "seed", 0), display),
        )
        yield Section("How the selection bias was computed", _method(board), technical=True)


def _table(board: BoardMaximum, score: Show) -> Table:
    estimate = board.estimate
    low, high = estimate.interval
    best_low, best_high = board.interval
    rows = [
        (
            f"best true score, from the predictions ({level_text(estimate.level)} interval)",
            span(best_low, best_high, score),
        ),
        ("best score on the leaderboard", score(estimate.observed_maximum)),
        ("teams counted, near-duplicates once", estimate.n_teams),
        ("expected best score under the estimate", score(estimate.expected_maximum)),
        (f"{level_text(estimate.level)} range of that best score", span(low, high, score)),
    ]
    return Table("The best score and its selection", ("what", "value"), tuple(rows))


def _charts(board: BoardMaximum, seed: int, display: BoardDisplay) -> tuple[Chart, ...]:
    estimate = board.estimate
    best = report_chart(estimate.maximum, estimate.observed_maximum, display)
    if len(estimate.observed) < _FEW_TEAMS:
        return (best,)
    shrunk = estimate_chart(estimate, mark_best=False, display=display)
    if not isinstance(estimate.maximum, SampleMaximum):
        return (shrunk, best)
    scores = simulated_scores(
        estimate.performances, board.n_rows, board.rho0, np.random.default_rng(seed)
    )
    another = Chart(
        "another-board",
        "A leaderboard simulated from the estimate",
        "Histograms of the scores on the leaderboard and of scores simulated from the estimate; "
        "the upper ends should look alike.",
        histograms(
            {"scores on the leaderboard": estimate.observed, "simulated scores": scores},
            {"best score on the leaderboard": estimate.observed_maximum},
            display,
        ),
    )
    true, seen = np.sort(estimate.performances), np.sort(estimate.observed)
    if len(true) == len(seen) and np.abs(true - seen).max() < _ALIKE:
        return (another, best)  # nothing was shrunk: both histograms are the same
    return (shrunk, another, best)


def _method(board: BoardMaximum) -> str:
    dependence, estimate = board.dependence, board.estimate
    low, high = dependence.rho0_interval
    common = (
        "The correlation of each submission with a common cause that makes rows easy for all is "
        f"{board.rho0:.3f} ({level_text(estimate.level)} interval {low:.3f} to {high:.3f}), from "
        f"the mean pairwise correlation of submissions, {dependence.rho_pair:.3f}. "
        f"{plural(len(dependence.clusters), 'submission', 'form')} "
        f"{plural(dependence.n_clusters, 'cluster')}; submissions with a correlation above 0.95 "
        "share one."
    )
    if estimate.left_out:
        common += (
            f" {estimate.left_out:,.4g} teams have scores that are too low for this correlation: "
            "they are taken to have no chance of the first place."
        )
    if estimate.at_or_below_chance:
        common += (
            f" {plural(estimate.at_or_below_chance, 'score', 'are')} no better than guessing and "
            "left out."
        )
    if board.model == "accuracy":
        return common + (
            " The distribution of the best score is computed exactly from the model of Møllersen "
            "and Holsbø (sections 4 and 5): scores are shrunk toward guessing until the expected "
            "best score equals the observed one. True performances are resampled with replacement; "
            "the computation is exact and uses no simulation."
        )
    return common + (
        " Scores are binormal with a common component within each class, shrunk toward 0.5; the "
        "distribution of the best area under the ROC curve is simulated."
    )
