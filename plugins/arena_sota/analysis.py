"""The analysis ``sota``: the selection bias of the best score of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import Finding, Vocabulary
from arena.utils.tabular import as_json
from arena_sota.estimate import SotaEstimate
from arena_sota.study import BoardMaximum, best_of_study, interval_of_best
from arena_sota.verdict import HARDLY, who_counts


@dataclass(frozen=True, slots=True)
class Sota:
    """The estimate of the best true performance, with the dependence of the predictions.

    Memory: one byte per submission and row for accuracies, four for AUCs, and 500 MB at most; 3,000
    submissions of 20,000 rows take 60 MB and 240 MB.
    """

    name: str = "sota"

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; ``details`` is a :class:`~arena_sota.study.BoardMaximum`.

        If no model fits the metric or the board, the verdict is based on the row bootstrap alone.
        """
        reason = "The metric is neither an accuracy nor the area under a ROC curve."
        board = None
        if len(study.scores) > 1:
            try:
                board = best_of_study(study, rng)
            except UsageError as error:
                reason = str(error)
        if board is not None:
            document = board_document(board, study)
            counts = who_counts(
                len(study.scores), board.dependence.n_clusters, board.estimate.n_teams
            )
            verdict = f"{_verdict(board.estimate, study.words)} {counts}".rstrip()
            return Finding(self.name, verdict, document, details=board)
        interval = interval_of_best(study)
        document = {"model": None, "reason": reason, "interval_of_best": list(interval)}
        return Finding(self.name, _verdict_without_model(study, interval), as_json(document))


def board_document(board: BoardMaximum, study: Study) -> dict[str, Any]:
    """Return the finding as JSON: the estimate and the dependence of the submissions."""
    document: dict[str, Any] = as_json(
        {
            "model": board.model,
            **board.estimate.to_dict(),
            "rho0": board.rho0,
            "rho0_source": board.rho0_source,
            "assumptions": board.assumptions,
            "rho0_interval": list(board.dependence.rho0_interval),
            "rho_pair": board.dependence.rho_pair,
            "submissions": len(study.submissions),
            "clusters": board.dependence.n_clusters,
            "interval_of_best": list(board.interval),
        }
    )
    return {key: _rounded(value) for key, value in document.items()}


def _rounded(value: Any) -> Any:
    return float(round_significant(np.array(value))) if isinstance(value, float) else value


def _verdict(estimate: SotaEstimate, words: Vocabulary) -> str:
    """Return whether selection explains the best score, without a second corrected score.

    The board itself prints the best score corrected with the predictions.
    """
    if estimate.sota is None:
        return estimate.verdict
    hardly = estimate.observed_maximum - estimate.sota < HARDLY
    return (
        f"Selection among {estimate.n_teams:,} {words.teams} explains "
        f"{'almost nothing' if hardly else 'part'} of the best score."
    )


def _verdict_without_model(study: Study, interval: tuple[float, float]) -> str:
    words = study.words
    if len(study.scores) == 1:
        return f"There is one {words.submission} and nothing to compare it with."
    if not np.isfinite(interval).all():
        return f"The selection bias of the best score cannot be estimated on these {words.rows}."
    better = study.metric.greater_is_better
    worst_end = interval[0] if better else interval[1]
    reached = study.scores > worst_end if better else study.scores < worst_end
    count = int(reached.sum())
    if count <= 1:
        return "No other score is within the interval of the best true score."
    return (
        f"{count:,} scores are within the interval of the best true score, so the first place may "
        f"be due to chance."
    )
