"""The submissions of a competition as studies: the final ones, or every one that was accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from arena.competition.boards.final_document import final_document
from arena.competition.boards.finalize import analysis_seed
from arena.competition.state import CompetitionState
from arena.competition.view import open_state
from arena.errors import UsageError
from arena.evaluation.binding import bind
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Study
from arena.scoring.board import ranked_rows
from arena.scoring.splits import rows_of
from arena.types import IntArray, SubmissionRecord


@contextmanager
def open_studies(
    folder: Path,
    splits: Sequence[str] = ("private",),
    *,
    every: bool,
    wait: float,
) -> Iterator[tuple[Study, ...]]:
    """Yield a study of the stored submissions on the rows of each split, while the store is open.

    All are of the same submissions. Those without a finite score on one of the splits and the
    organiser's baseline are excluded.

    Parameters
    ----------
    folder
        The folder of the competition.
    splits
        ``private`` or ``public``, each.
    every
        Use every accepted submission, not only those on the private board.
    wait
        Seconds to wait for another process that holds the competition.

    Raises
    ------
    UsageError
        If there are fewer than two submissions, or the private board is asked for before the
        competition was finalized.
    """
    state = open_state(folder, None, wait, view=True).in_phase()
    with state.store:
        yield studies_of_splits(state, splits, every=every)


def studies_of_splits(
    state: CompetitionState, splits: Sequence[str], *, every: bool
) -> tuple[Study, ...]:
    """Return the studies of all splits on the submissions with a score on each."""
    unranked = state.roster.unranked
    records = [record for record in state.ledger.counting() if record.team not in unranked]
    if not every:
        board = {row["submission"] for row in final_document(state)["standings"]}
        records = [record for record in records if record.submission in board]
    ids = [record.submission for record in records]
    if len(ids) < 2:
        raise UsageError(f"At least two submissions that count are needed, not {len(ids)}.")
    studies = [_study(state, records, split) for split in splits]
    defined = np.flatnonzero(np.isfinite([study.scores for study in studies]).all(axis=0))
    return tuple(_of_submissions(study, defined) for study in studies)


def _study(state: CompetitionState, records: Sequence[SubmissionRecord], split: str) -> Study:
    mask = rows_of(state.solution, split)
    if not mask.any():
        of_phase = f" of the phase {state.phase}" if state.phase else ""
        raise UsageError(f"No {split} row{of_phase} has a label, so that there are no such scores.")
    rows = ranked_rows(state.solution, split)
    ids = [record.submission for record in records]
    metric = bind(state.metric, state.solution, mask)
    predictions = state.store.predictions(ids, rows=mask)
    resamples = draw_resamples(
        len(rows.truth),
        state.settings.analysis.resamples,
        analysis_seed(state.seed),
        clusters=rows.clusters,
    )
    return Study(
        metric=metric,
        truth=rows.truth,
        teams=tuple(record.team for record in records),
        submissions=np.array(ids, dtype=np.intp),
        predictions=predictions,
        scores=full_scores(metric, rows.truth, predictions),
        resampled=score_under_weights(metric, rows.truth, predictions, resamples.weights),
        level=state.settings.analysis.level,
        clusters=rows.clusters,
        classes=rows.classes,
    )


def _of_submissions(study: Study, positions: IntArray) -> Study:
    return replace(
        study,
        teams=tuple(study.teams[position] for position in positions),
        submissions=study.submissions[positions],
        predictions=study.predictions.subset(positions),
        scores=study.scores[positions],
        resampled=study.resampled[positions],
    )
