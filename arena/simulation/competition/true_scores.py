"""Public, private and true scores of every submission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from arena.competition.state import CompetitionState
from arena.evaluation.binding import bind
from arena.evaluation.scores import full_scores, resample_block, round_significant
from arena.interfaces import Metric, NeedsRowContext, PredictionBlocks
from arena.scoring.splits import rows_of
from arena.simulation.data import HUNDRED
from arena.types import FloatArray, Solution

TruthKind = Literal["exact", "private"]
"""``exact``: label probabilities are known. ``private``: scores on private rows are used."""

_BLOCK = 16


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of m submissions, natural sign, full precision; NaN where undefined."""

    public: FloatArray
    private: FloatArray
    true: FloatArray
    """See :func:`true_scores`; the private scores if label probabilities are not known."""
    kind: TruthKind


def truth_kind(solution: Solution, metric: Metric) -> TruthKind:
    """Return whether true scores are exact: with soft labels and a metric that takes weights."""
    known = solution.soft_labels is not None and len(solution.targets) == 1
    return "exact" if known and not isinstance(metric, NeedsRowContext) else "private"


def scores_of_submissions(state: CompetitionState, submissions: npt.NDArray[np.intp]) -> Scores:
    """Return the scores of stored submissions on both splits, and their true scores.

    Holds 16 submissions at a time.
    """
    solution, metric = state.solution, state.metric
    stored = state.store.predictions(submissions)
    by_split = []
    for split in ("public", "private"):
        rows = rows_of(solution, split)
        own = state.store.predictions(submissions, rows=rows)
        scores = np.full(len(submissions), np.nan)
        if rows.any() and len(submissions):
            scores = full_scores(bind(metric, solution, rows), solution.truth[rows], own)
        by_split.append(scores)
    public, private = by_split
    kind = truth_kind(solution, metric)
    true = true_scores(metric, solution, stored) if kind == "exact" else private
    return Scores(public, private, true, kind)


def true_scores(metric: Metric, solution: Solution, predictions: PredictionBlocks) -> FloatArray:
    """Return ``(m,)`` expected scores over new draws of the labels of all scored rows.

    Each row enters once per label, weighted by the label's probability in hundredths. So the score
    is exact, and does not depend on the labels that were drawn.

    Parameters
    ----------
    solution
        With soft labels; its public and private rows are scored.
    predictions
        Of all rows of the solution.
    """
    rows = np.flatnonzero(rows_of(solution, "all"))
    target, weights = _every_label(solution.soft_labels, rows)
    n_labels = len(target) // len(rows)
    scores: list[FloatArray] = []
    for _, block in predictions.blocks(_BLOCK):
        own = np.concatenate([block[:, rows]] * n_labels, axis=1)
        scores.append(resample_block(metric, target, own, weights)[:, 0])
    return round_significant(np.concatenate(scores)) if scores else np.empty(0)


def _every_label(soft: Any, rows: npt.NDArray[np.intp]) -> tuple[Any, Any]:
    """Return ``(k n,)`` labels, each row with each of k, and ``(k n, 1)`` weights."""
    chances = np.asarray(soft)[rows]
    if chances.ndim == 1:
        chances = np.stack([1 - chances, chances], axis=1)
    weights = np.round(HUNDRED * chances).astype(np.uint8)
    target = np.repeat(np.arange(weights.shape[1]), len(rows))
    return target, weights.T.reshape(-1, 1)
