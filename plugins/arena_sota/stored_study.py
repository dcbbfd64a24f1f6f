"""The submissions of a competition as a study: the final ones, or every one that was accepted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from arena.competition.finalize import analysis_seed, final_document
from arena.competition.state import CompetitionState
from arena.competition.view import open_state
from arena.errors import UsageError
from arena.evaluation.binding import bind
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.scoring.board import ranked_rows
from arena.scoring.splits import rows_of


@contextmanager
def open_study(
    folder: Path, *, every: bool, manager: PluginManager | None = None, wait: float = 0.0
) -> Iterator[Study]:
    """Yield the stored submissions on the private rows while the store is open.

    Submissions without a finite score and the organiser's baseline are excluded.

    Parameters
    ----------
    folder
        The folder of the competition.
    every
        Use every accepted submission, not only those on the private board.
    manager
        The plugins.
    wait
        Seconds to wait for another process that holds the competition.

    Raises
    ------
    UsageError
        If there are fewer than two submissions, or the private board is asked for before the
        competition was finalized.
    """
    state = open_state(folder, manager, wait, view=True).in_phase()
    with state.store:
        yield _study(state, every)


def _study(state: CompetitionState, every: bool) -> Study:
    unranked = state.roster.unranked
    records = [one for one in state.ledger.counting() if one.team not in unranked]
    if not every:
        board = {row["submission"] for row in final_document(state)["standings"]}
        records = [record for record in records if record.submission in board]
    mask = rows_of(state.solution, "private")
    rows = ranked_rows(state.solution, "private")
    ids = [record.submission for record in records]
    if len(ids) < 2:
        raise UsageError(f"There are {len(ids)} submissions to count; at least two are needed.")
    metric = bind(state.metric, state.solution, mask)
    predictions = state.store.predictions(ids, rows=mask)
    scores = full_scores(metric, rows.truth, predictions)
    defined = np.flatnonzero(np.isfinite(scores))
    chosen = predictions.subset(defined)
    drawn = draw_resamples(
        len(rows.truth),
        state.settings.analysis.resamples,
        analysis_seed(state.seed),
        clusters=rows.clusters,
    )
    return Study(
        metric=metric,
        truth=rows.truth,
        teams=tuple(records[at].team for at in defined),
        submissions=np.array(ids, dtype=np.intp)[defined],
        predictions=chosen,
        scores=scores[defined],
        resampled=score_under_weights(metric, rows.truth, chosen, drawn.weights),
        level=state.settings.analysis.level,
        clusters=rows.clusters,
        classes=rows.classes,
    )
