"""The analysis ``sota``: the selection bias of the best score of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import Finding
from arena.utils.tabular import as_json
from arena.utils.text import plural
from arena_sota.study import BoardMaximum, best_of_study, interval_of_best
from arena_sota.verdict import who_counts


@dataclass(frozen=True, slots=True)
class Sota:
    """The estimate of the best true performance, with the dependence of the predictions.

    Memory: one byte per submission and row for accuracies, four for AUCs, and 500 MB at most; 3,000
    submissions of 20,000 rows take 60 MB and 240 MB.
    """

    name: str = "sota"

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; ``details`` is a :class:`~arena_sota.study.BoardMaximum`.

        The rows are compared, so the verdict says nothing about who is first, or by how much: the
        ranks and the corrected best score do.
        """
        words = study.words
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
            every = f"The model of selection counts all {plural(len(study.scores), 'score')}."
            return Finding(self.name, counts or every, document, details=board)
        verdict = f"The best score is corrected for selection by the {words.rows} alone."
        if len(study.scores) == 1:
            verdict = f"There is one {words.submission} and nothing to compare it with."
        interval = interval_of_best(study)
        document = {"model": None, "reason": reason, "interval_of_best": list(interval)}
        return Finding(self.name, verdict, as_json(document))


def board_document(board: BoardMaximum, study: Study) -> dict[str, Any]:
    """Return the finding as JSON: the estimate and the dependence of the submissions."""
    estimate = board.estimate.to_dict()
    del estimate["verdict"]  # which compares no rows
    document: dict[str, Any] = as_json(
        {
            "model": board.model,
            **estimate,
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
