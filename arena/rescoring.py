"""Scores everything anew after a change of the solution's labels or of the metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from arena.board_run import rows_of
from arena.competition_state import METRIC_CODE, CompetitionState
from arena.config import Settings
from arena.errors import InputError
from arena.execution import Progress
from arena.final_selection import Candidate, board_ranks, choose_finals
from arena.founding import read_settings_solution
from arena.interfaces import HasSource, Metric, kinds_of
from arena.ledger import Ledger
from arena.resampling import full_scores
from arena.row_context import bind
from arena.store import ScoreRecord
from arena.targets import mean_over_targets
from arena.types import FloatArray, Solution

__all__ = ["RankChange", "Rescored", "Scored", "align_solution", "apply", "rescore"]


@dataclass(frozen=True, slots=True)
class RankChange:
    """A team's place on the private board before and after a rescore."""

    team: str
    rank_before: int | None
    """None: the team did not stand on the board."""
    rank_after: int | None
    score_before: float | None
    score_after: float | None

    @property
    def changed(self) -> bool:
        """Whether the rank differs."""
        return self.rank_before != self.rank_after

    @property
    def rescored(self) -> bool:
        """Whether the score differs."""
        return self.score_before != self.score_after


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scores of every submission that may count."""

    submissions: Sequence[int]
    public: FloatArray
    """``(m,)``; NaN without public rows, or where undefined."""
    private: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Rescored:
    """What a rescore would change."""

    solution: Solution
    settings: Settings
    after: Scored
    changes: list[RankChange]
    code: str | None = None
    """Of the metric, if it stands in a file of the organiser."""


def rescore(state: CompetitionState, solution: Path | None, progress: Progress) -> Rescored:
    """Score everything by a corrected solution, or by the wanted metric. Nothing is stored.

    How far a corrected solution differs from the stored one is said first.

    Raises
    ------
    InputError
        If the corrected solution is not of the same rows, columns and classes, or the new metric
        asks for another kind of prediction.
    """
    settings = state.settings.model_copy(update={"metric": state.wanted.metric})
    name = settings.metric.specification
    single: Metric = state.manager.metrics.resolve(name, fresh=True)
    metric = mean_over_targets(single, len(state.solution.targets))
    if state.solution.kind not in kinds_of(single):
        raise InputError(
            f"{name} asks for another kind of prediction ({metric.prediction}) "
            f"than the stored submissions hold ({state.solution.kind})."
        )
    corrected = state.solution
    if solution is not None:
        read = read_settings_solution(solution, settings, state.manager)
        corrected = align_solution(read, state.solution)
        for sentence in _differences(read, corrected, state.solution):
            progress.say(sentence)
    after = _score_all(state.ledger, corrected, metric)
    changes = _compare(
        state.ledger,
        _score_all(state.ledger, state.solution, state.metric),
        after,
        (state.settings, settings),
        (state.metric.greater_is_better, metric.greater_is_better),
    )
    code = single.source_text if isinstance(single, HasSource) else None
    return Rescored(corrected, settings, after, changes, code)


def _differences(read: Solution, corrected: Solution, stored: Solution) -> list[str]:
    """Return what a person should know of a corrected solution, as read and as aligned."""
    other = corrected.truth != stored.truth
    rows = int(other.reshape(stored.n_rows, -1).any(axis=1).sum())
    said = [f"{rows:,} of {stored.n_rows:,} rows have other labels than in the stored solution."]
    # Only the counts of a usage that the file names can differ: without any, all are private.
    if len(np.unique(read.usage)) > 1:
        order = np.array(pc.index_in(stored.ids, value_set=read.ids), dtype=np.intp)
        moved = int((read.usage[order] != stored.usage).sum())
        if moved:
            said.append(f"Usage differs in {moved:,} rows and is ignored: the split stays.")
    return said


def apply(state: CompetitionState, rescored: Rescored) -> None:
    """Store a rescore as the next revision; the state is to be read anew after it."""
    revision, after = state.revision + 1, rescored.after
    payload: dict[str, Any] = {
        "revision": revision,
        "metric": [state.settings.metric.specification, rescored.settings.metric.specification],
        "solution_sha256": [state.solution.sha256, rescored.solution.sha256],
        "ranks_changed": sum(change.changed for change in rescored.changes),
    }
    scores = [
        ScoreRecord(submission, _known(public), None)
        for submission, public in zip(after.submissions, after.public.tolist(), strict=True)
    ]
    with state.store.transaction() as transaction:
        name = rescored.settings.metric.specification
        transaction.put_solution(rescored.solution, name, number=revision)
        transaction.put_all_scores(revision, scores)
        transaction.put_meta("revision", str(revision))
        transaction.put_meta("settings", rescored.settings.model_dump_json())
        if rescored.code is not None:
            transaction.put_meta(METRIC_CODE, rescored.code)
            digest = sha256(rescored.code.encode("utf-8", "surrogatepass")).hexdigest()
            payload["metric_sha256"] = digest
        transaction.append_event("rescored", state.actor, payload, time=state.clock())


def _score_all(ledger: Ledger, solution: Solution, metric: Metric) -> Scored:
    """Score every submission that may count on the public and on the private rows."""
    ids = [record.submission for record in ledger.counting()]

    def scores(split: str) -> FloatArray:
        rows = rows_of(solution, split)
        if not ids or not rows.any():
            return np.full(len(ids), np.nan)
        predictions = ledger.store.predictions(ids, rows=rows)
        bound = bind(metric, solution, rows)
        return full_scores(bound, solution.truth[rows], predictions, failures=[])

    return Scored(ids, scores("public"), scores("private"))


def _compare(
    ledger: Ledger,
    before: Scored,
    after: Scored,
    settings: tuple[Settings, Settings],
    greater_is_better: tuple[bool, bool],
) -> list[RankChange]:
    """Return every team's place on the private board before and after, best first after."""
    boards = [
        _board(ledger, scored, own, better)
        for scored, own, better in zip((before, after), settings, greater_is_better, strict=True)
    ]
    teams = [*boards[1], *(team for team in boards[0] if team not in boards[1])]
    return [
        RankChange(
            team,
            *(board[team][0] if team in board else None for board in boards),
            *(board[team][1] if team in board else None for board in boards),
        )
        for team in teams
    ]


def _board(
    ledger: Ledger, scored: Scored, settings: Settings, better: bool
) -> Mapping[str, tuple[int, float]]:
    """Return rank and private score by team, best first."""
    public = dict(zip(scored.submissions, scored.public.tolist(), strict=True))
    private = dict(zip(scored.submissions, scored.private.tolist(), strict=True))
    candidates = [
        Candidate(record.submission, record.team, _known(public[record.submission]))
        for record in ledger.counting()
        if record.team != settings.competition.baseline and np.isfinite(private[record.submission])
    ]
    finals = choose_finals(
        candidates,
        settings.final.rule,
        greater_is_better=better,
        chosen=ledger.selections(),
        count=settings.final.count,
    )
    sign = -1 if better else 1
    best = {
        team: min((sign * private[submission], submission) for submission in own)
        for team, own in finals.items()
    }
    ordered = sorted(best, key=lambda team: best[team])
    scores = [sign * best[team][0] for team in ordered]
    ranks = board_ranks(scores, settings.final.ties)
    return dict(zip(ordered, zip(ranks, scores, strict=True), strict=True))


def _known(score: float) -> float | None:
    return score if np.isfinite(score) else None


def align_solution(new: Solution, old: Solution) -> Solution:
    """Return a corrected solution with the rows, split, clusters and tasks of the stored one.

    Raises
    ------
    InputError
        If it is not of the same rows, columns and classes: stored predictions would then mean
        something else.
    """
    if (new.kind, new.columns, new.targets) != (old.kind, old.columns, old.targets):
        raise InputError(
            "The corrected solution has other columns or other classes than the stored one, so "
            "that the stored predictions would mean something else. Only labels can be corrected."
        )
    positions: dict[Any, int] = {one: at for at, one in enumerate(new.ids.to_pylist())}
    ids = old.ids.to_pylist()
    if set(positions) != set(ids):
        raise InputError("The corrected solution has other ids than the stored one.")
    order = np.array([positions[one] for one in ids], dtype=np.intp)
    return dataclasses.replace(
        new,
        ids=old.ids,
        truth=new.truth[order],
        usage=old.usage,
        clusters=old.clusters,
        tasks=old.tasks,
        task_names=old.task_names,
        extra={name: values[order] for name, values in new.extra.items()},
        soft_labels=None if new.soft_labels is None else new.soft_labels[order],
    )
