"""Public, private and true scores of every submission."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

TruthKind = Literal["exact", "held_out", "private"]
"""``exact``: label probabilities are known. ``held_out``: scores on rows that are neither public
nor private. ``private``: the truth is not known, and the private scores stand in its place."""

_BLOCK = 16


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of m submissions, natural sign, full precision; NaN where undefined."""

    public: FloatArray
    private: FloatArray
    true: FloatArray
    """By :func:`true_scores`, on held-out rows, or the private scores: as ``kind`` says."""
    kind: TruthKind


def truth_kind(solution: Solution, metric: Metric, *, held_out: bool = False) -> TruthKind:
    """Return what true scores are: exact with soft labels and a metric that takes weights.

    ``held_out`` tells whether the ignored rows of the solution were held out for the truth.
    """
    has_soft_labels = solution.soft_labels is not None and len(solution.targets) == 1
    if has_soft_labels and not isinstance(metric, NeedsRowContext):
        return "exact"
    return "held_out" if held_out else "private"


def scores_of_submissions(
    state: CompetitionState,
    submissions: npt.NDArray[np.intp],
    held_out: npt.NDArray[np.generic] | None = None,
) -> Scores:
    """Return the scores of stored submissions on both splits, and their true scores.

    Holds 16 submissions at a time.

    Parameters
    ----------
    held_out
        ``(n,)`` truth of all rows of the solution, whose ignored rows were held out; None: none
        were.
    """
    solution, metric = state.solution, state.metric

    def scores_on(rows: npt.NDArray[np.bool_], labelled: Solution = solution) -> FloatArray:
        if not (rows.any() and len(submissions)):
            return np.full(len(submissions), np.nan)
        predictions = state.store.predictions(submissions, rows=rows)
        return full_scores(bind(metric, labelled, rows), labelled.truth[rows], predictions)

    private = scores_on(rows_of(solution, "private"))
    kind, true = truth_kind(solution, metric, held_out=held_out is not None), private
    if kind == "exact":
        true = true_scores(metric, solution, state.store.predictions(submissions))
    elif held_out is not None:
        true = scores_on(~rows_of(solution, "all"), replace(solution, truth=held_out))
    return Scores(scores_on(rows_of(solution, "public")), private, true, kind)


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
        block_of_rows = np.concatenate([block[:, rows]] * n_labels, axis=1)
        scores.append(resample_block(metric, target, block_of_rows, weights)[:, 0])
    return round_significant(np.concatenate(scores)) if scores else np.empty(0)


def _every_label(soft: Any, rows: npt.NDArray[np.intp]) -> tuple[Any, Any]:
    """Return ``(k n,)`` labels, each row with each of k, and ``(k n, 1)`` weights."""
    chances = np.asarray(soft)[rows]
    if chances.ndim == 1:
        chances = np.stack([1 - chances, chances], axis=1)
    weights = np.round(HUNDRED * chances).astype(np.uint8)
    target = np.repeat(np.arange(weights.shape[1]), len(rows))
    return target, weights.T.reshape(-1, 1)
