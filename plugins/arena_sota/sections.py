"""The section of a report on how much of the best score is luck."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from arena.types import Chart, Section, Table
from arena_sota.maximum import SampleMaximum
from arena_sota.of_study import BoardMaximum
from arena_sota.pictures import (
    histogram_picture,
    maximum_picture,
    outcomes_of,
    probabilities_picture,
)
from arena_sota.verdict import per_cent

__all__ = ["sota_sections"]

_MEANING = (
    "Among many teams, the one that comes first is good and lucky, and its score is too high on "
    "average. The estimate asks how good the best team has to be for the best score to come out as "
    "high as it did; teams that sent nearly the same predictions count once."
)


def sota_sections(result: Any) -> Iterable[Section]:
    """Return the sections for a result that holds the finding of the analysis ``sota``."""
    findings = [one for one in getattr(result, "findings", ()) if one.analysis == "sota"]
    for finding in findings:
        board = finding.details
        if not isinstance(board, BoardMaximum):
            yield Section("Skill and luck of the winner", finding.verdict)
            continue
        yield Section(
            "Skill and luck of the winner",
            f"{finding.verdict}\n\n{_MEANING}",
            tables=(_table(board),),
            charts=_charts(board, getattr(result, "seed", 0)),
        )
        yield Section("How the luck of the winner was computed", _method(board), technical=True)


def _table(board: BoardMaximum) -> Table:
    estimate = board.estimate
    low, high = estimate.interval
    rows = [
        ("best score on the board", estimate.observed_maximum),
        ("estimated worth of the best team", estimate.sota),
        ("teams that count, near-copies once", estimate.n_teams),
        ("teams with a score above that worth", estimate.n_above),
        ("best score that luck would give, on average", estimate.expected_maximum),
        (f"the same, in {per_cent(estimate.level)} of all cases", f"{low:.4f} to {high:.4f}"),
    ]
    return Table("The best score, taken apart", ("what", "value"), tuple(rows))


def _charts(board: BoardMaximum, seed: int) -> tuple[Chart, ...]:
    estimate = board.estimate
    lines = {"best score on the board": estimate.observed_maximum}
    shrunk = histogram_picture(
        "scores-and-worth",
        "Scores, and what they may be worth",
        "Histograms of the scores of the board and of the estimated worth of the teams, which lies "
        "lower; lines mark the best of each.",
        {"scores on the board": estimate.observed, "estimated worth": estimate.performances},
        {**lines, "estimated worth of the best": float(estimate.performances.max())},
    )
    if isinstance(estimate.maximum, SampleMaximum):
        drawn = outcomes_of(
            estimate.performances, board.n_rows, board.rho0, np.random.default_rng(seed)
        )
        one = histogram_picture(
            "another-board",
            "Another board that teams of that worth might have had",
            "Histograms of the scores of the board and of one drawn at random from the estimate; "
            "the two should look alike at the upper end.",
            {"scores on the board": estimate.observed, "drawn at random": drawn},
            lines,
        )
        return (shrunk, one, maximum_picture(estimate.maximum, estimate.observed_maximum))
    draws = estimate.maximum.draws
    counts, edges = np.histogram(draws, 30)
    spread = probabilities_picture(
        "best-score-by-luck",
        "The best score that luck would give",
        "A curve of how probable each best score is, if the estimate holds; a line marks the best "
        "score of the board.",
        {"probability": ((edges[1:] + edges[:-1]) / 2, counts / counts.sum())},
        lines,
    )
    return (shrunk, spread)


def _method(board: BoardMaximum) -> str:
    dependence, estimate = board.dependence, board.estimate
    low, high = dependence.rho0_interval
    common = (
        f"The correlation of each submission with what makes rows easy for all is {board.rho0:.3f} "
        f"({low:.3f} to {high:.3f} at {per_cent(estimate.level)}), from the mean correlation of "
        f"two submissions, {dependence.rho_pair:.3f}. {len(dependence.clusters):,} submissions are "
        f"{dependence.n_clusters:,} clusters of a correlation of at most 0.95. "
        f"{estimate.left_out:,.4g} of the teams score too low to have that much in common with the "
        f"best, and are taken never to come first; {estimate.at_or_below_chance:,} of the scores "
        f"are no better than guessing, and are left out."
    )
    if board.model == "accuracy":
        return common + (
            " The distribution of the best score is computed exactly from the model of Møllersen "
            "and Holsbø (sections 4 and 5): scores are shrunk toward guessing until the expected "
            "best score is the observed one. Performances are drawn with replacement, both without "
            "any drawing of numbers."
        )
    return common + (
        " Scores are binormal with that common part within each class, shrunk toward 0.5; the "
        "distribution of the best area under the ROC curve is drawn."
    )
