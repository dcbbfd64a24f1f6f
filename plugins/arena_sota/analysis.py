"""The analysis ``sota``: whether the best score of a board can be luck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Study
from arena.resampling import round_significant
from arena.results import as_json
from arena.types import Finding
from arena_sota.of_study import BoardMaximum, best_of_study, interval_of_best
from arena_sota.verdict import per_cent, who_counts

__all__ = ["Sota", "board_document"]


@dataclass(frozen=True, slots=True)
class Sota:
    """The estimate of the best true score, with the dependence that the predictions show.

    For accuracies it holds one byte per submission and row, for AUCs sixteen; 3,000 submissions of
    20,000 rows take 60 MB and 1 GB.
    """

    name: str = "sota"

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; ``details`` is a :class:`~arena_sota.of_study.BoardMaximum`.

        Where no model fits the metric or the board, the verdict rests on the rows alone.
        """
        reason = "The metric counts no right rows and is no area under a ROC curve."
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
            verdict = f"{board.estimate.verdict} {counts}".rstrip()
            return Finding(self.name, verdict, document, details=board)
        interval = interval_of_best(study)
        document = {"model": None, "reason": reason, "interval_of_best": list(interval)}
        return Finding(self.name, _verdict_without_model(study, interval), as_json(document))


def board_document(board: BoardMaximum, study: Study) -> dict[str, Any]:
    """Return the finding as JSON: the estimate, the dependence, and the near-copies."""
    groups = board.dependence.clusters
    sizes = np.bincount(groups)
    copies = [study.submissions[groups == one].tolist() for one in np.flatnonzero(sizes > 1)]
    document: dict[str, Any] = as_json(
        {
            "model": board.model,
            **board.estimate.to_dict(),
            "rho0": board.rho0,
            "rho0_interval": list(board.dependence.rho0_interval),
            "rho_pair": board.dependence.rho_pair,
            "submissions": len(study.submissions),
            "clusters": board.dependence.n_clusters,
            "near_copies": copies,
            "interval_of_best": list(board.interval),
        }
    )
    return {key: _rounded(value) for key, value in document.items()}


def _rounded(value: Any) -> Any:
    return float(round_significant(np.array(value))) if isinstance(value, float) else value


def _verdict_without_model(study: Study, interval: tuple[float, float]) -> str:
    better = study.metric.greater_is_better
    worst_end = interval[0] if better else interval[1]
    reached = study.scores > worst_end if better else study.scores < worst_end
    count = int(reached.sum())
    first = (
        f"The best true score of this board lies between {interval[0]:.4g} and {interval[1]:.4g}, "
        f"at {per_cent(study.level)} confidence"
    )
    if count <= 1:
        return f"{first}, and no other score reaches into that range."
    return f"{first}; {count:,} scores reach into that range, so the first may be the luckiest."
