"""Scores every submission again after labels change or arrive, or with another metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from arena.competition.arrivals import Arrival, read_labels, with_arrived_labels
from arena.competition.boards.consequences import Consequences
from arena.competition.boards.results import unmarked_versions
from arena.competition.create import read_settings_solution
from arena.competition.record.adopted_settings import with_metrics_of
from arena.competition.record.final_selection import Candidate, board_ranks, choose_finals
from arena.competition.record.ledger import Ledger
from arena.competition.record.phases import check_metrics
from arena.competition.record.rebuild import CHANGES_NOTHING, LABELS_ADDED, board_facts, rebuilding
from arena.competition.record.secondary import secondary_metrics
from arena.competition.state import METRIC_CODE, CompetitionState
from arena.config import Settings, errors_name_setting
from arena.errors import InputError, MetricError, says_that_nothing_changed
from arena.evaluation.binding import bind
from arena.evaluation.domain import check_truth
from arena.evaluation.scores import full_scores
from arena.evaluation.solution_metric import scoring_metric
from arena.intake import SolutionSource
from arena.interfaces import Metric, source_of
from arena.interfaces.faults import show
from arena.plugin.manager import PluginManager
from arena.scoring.board import within_range
from arena.scoring.splits import rows_of
from arena.store import ScoreRecord
from arena.store.solutions import fingerprint
from arena.types import ROW_WEIGHTS, FloatArray, Solution, usage_names
from arena.utils.lazy import pc
from arena.utils.parallel import Progress, available_workers
from arena.utils.text import plural


@dataclass(frozen=True, slots=True)
class RankChange:
    """A team's rank and score on the private board before and after a rescore."""

    team: str
    rank_before: int | None
    """None: the team was not on the board."""
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    phase: str = field(default="", kw_only=True)
    """The phase of the board; empty where a competition has no phases."""

    @property
    def changed(self) -> bool:
        """Whether the rank differs."""
        return self.rank_before != self.rank_after

    @property
    def rescored(self) -> bool:
        """Whether the score differs."""
        return self.score_before != self.score_after


def sentence_of(changes: Sequence[RankChange], *, preview: bool = False) -> str:
    """Return how many teams change, each once, although it can be on the boards of several phases.

    >>> first, second = (RankChange("Owls", 2, 1, 0.5, 0.6, phase=name) for name in ("a", "b"))
    >>> sentence_of([first, second])
    'Of 1 team, 1 changes its rank on a private board, and 1 its score.'
    """
    teams, ranks, scores = (
        {change.team for change in changes if chosen(change)}
        for chosen in (
            lambda _: True,
            lambda change: change.changed,
            lambda change: change.rescored,
        )
    )
    verb = "would change" if preview else "changes" if len(ranks) == 1 else "change"
    of_ranked, of_rescored = ("its" if len(group) == 1 else "their" for group in (ranks, scores))
    board = "a private board" if any(change.phase for change in changes) else "the private board"
    return (
        f"Of {plural(len(teams), 'team')}, {len(ranks):,} {verb} {of_ranked} rank on {board}, and "
        f"{len(scores):,} {of_rescored} score."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scores of every submission that counts."""

    submissions: Sequence[int]
    public: FloatArray
    """``(m,)``; NaN without public rows, or where undefined."""
    private: FloatArray
    tied: FloatArray
    """``(m,)``: orders teams with the same private score, smaller first; NaN is last."""

    @property
    def public_scores(self) -> dict[int, float | None]:
        """The public score of each submission by its id; None where there is none."""
        pairs = zip(self.submissions, self.public.tolist(), strict=True)
        return {submission: _known(public) for submission, public in pairs}


@dataclass(frozen=True, slots=True, eq=False)
class Rescored:
    """The changes that a rescore makes."""

    solution: Solution
    settings: Settings
    public_scores: Mapping[int, float | None]
    """The public score of each submission after it; None where there is none."""
    changes: list[RankChange]
    consequences: Consequences
    """What it releases again and marks."""
    code: str | None = None
    """The code of the metric, if it is in a file of the organiser."""
    arrival: Arrival | None = None
    """The labels that arrived; None: labels are corrected, or the metric is another."""
    changes_nothing: bool = False
    """Whether labels, metrics and scores are those of the record."""

    @property
    def kind(self) -> str:
        """The kind of its event."""
        return "rescored" if self.arrival is None else LABELS_ADDED


def rescore(
    state: CompetitionState,
    solution: SolutionSource | None,
    progress: Progress,
    workers: int = 0,
) -> Rescored:
    """Score every submission with a corrected solution or a new metric. Nothing is stored.

    ``progress`` first reports how a corrected solution differs from the stored one.

    Raises
    ------
    InputError
        If the corrected solution has other rows, columns or classes, or the new metric needs
        another kind of prediction.
    MetricError
        If the metric is not defined on one of the splits.
    """
    settings = with_metrics_of(state.wanted, state.with_phases)
    check_metrics(settings, state.stored_solution, state.manager)
    corrected = state.stored_solution
    if solution is not None:
        read = read_settings_solution(solution, settings, state.manager)
        corrected = align_solution(read, corrected)
        for sentence in _differences(read, corrected, state.stored_solution):
            progress.say(sentence)
    return _scored_again(state, settings, corrected, workers)


@says_that_nothing_changed()
def score_with_labels(
    state: CompetitionState, source: SolutionSource, progress: Progress, workers: int = 0
) -> Rescored:
    """Score every submission with labels that arrived. Nothing is stored.

    ``progress`` first reports how many labels are new, and how many rows lack one still.

    Raises
    ------
    UsageError
        If labels of this competition do not arrive later.
    InputError
        If the file cannot be used, or the labels are too few for the metric.
    """
    settings, stored = state.with_phases, state.stored_solution
    metric: Metric = state.manager.metrics.resolve(settings.metric.specification)
    arrival = with_arrived_labels(stored, read_labels(source, stored, settings, metric))
    progress.say(arrival.sentence)
    try:
        rescored = _scored_again(state, settings, arrival.solution, workers, arrival=arrival)
    except MetricError as error:
        raise InputError(f"{error} Add these labels together with the next ones.") from error
    return rescored


def _scored_again(
    state: CompetitionState,
    settings: Settings,
    solution: Solution,
    workers: int,
    *,
    arrival: Arrival | None = None,
) -> Rescored:
    """Score every submission with a solution and the metrics of the settings.

    Where only labels arrived, the scores of phases without any of them stay, and a metric from a
    file is its stored copy, not the code that the file has now.
    """
    new_code = arrival is None
    main: Metric = state.manager.metrics.resolve(settings.metric.specification, fresh=new_code)
    workers = workers or available_workers()
    unranked = state.roster.unranked
    changes: list[RankChange] = []
    public_scores: dict[int, float | None] = {}
    before = {record.submission: record.public for record in state.store.scores(state.revision)}
    for board in [state.in_phase(phase) for phase in settings.phase] or [state]:
        if arrival is not None and not arrival.concerns(settings.phase.get(board.phase or "")):
            of_phase = before.keys() & board.ledger.accepted_teams().keys()
            public_scores |= {number: before[number] for number in of_phase}
            continue
        after_settings = settings.in_phase(board.phase or "")
        split = board.with_split(solution)
        metric = _metric_of(after_settings, split, state.manager, new_code=new_code)
        check_truth(metric, split)
        after = _score_all(board, split, metric=metric, settings=after_settings, workers=workers)
        public_scores |= after.public_scores
        of_board = _compare(
            board.ledger,
            _score_all(
                board, board.solution, metric=board.metric, settings=board.settings, workers=workers
            ),
            after=after,
            settings=(board.settings, after_settings),
            greater_is_better=(board.metric.greater_is_better, metric.greater_is_better),
            unranked=unranked,
        )
        changes += [replace(change, phase=board.phase or "") for change in of_board]
    facts = board_facts(
        state.ledger, state.manager, settings=settings, solution=solution, new_scores=public_scores
    )
    code = source_of(main)
    changes_nothing = (
        arrival is None
        and settings == state.with_phases
        and fingerprint(solution) == fingerprint(state.stored_solution)
        and code == state.store.meta(METRIC_CODE)
        and all(
            before[number] == public_scores[number]
            for number in before.keys() & public_scores.keys()
        )
    )
    marks = () if changes_nothing else unmarked_versions(state)
    return Rescored(
        solution,
        settings,
        public_scores=public_scores,
        changes=changes,
        consequences=Consequences(rebuilding(facts), marks),
        code=code,
        arrival=arrival,
        changes_nothing=changes_nothing,
    )


def _metric_of(
    settings: Settings, solution: Solution, manager: PluginManager, *, new_code: bool
) -> Metric:
    """Return the metric of settings, by the code that its file has now or by the stored copy.

    Raises
    ------
    InputError
        If it needs another kind of prediction.
    """
    single: Metric = manager.metrics.resolve(settings.metric.specification, fresh=new_code)
    with errors_name_setting("[metric] name"):  # others were checked before
        return scoring_metric(single, solution.outline())


def _differences(read: Solution, corrected: Solution, stored: Solution) -> list[str]:
    """Return how a corrected solution, as read and as aligned, differs from the stored one."""
    other = corrected.truth != stored.truth
    rows = int(other.reshape(stored.n_rows, -1).any(axis=1).sum())
    notes = [
        f"Labels differ from the stored solution in {rows:,} of {plural(stored.n_rows, 'row')}."
    ]
    # Compared only if the file has a usage column: without one, all rows are read as private.
    if len(np.unique(read.usage)) > 1:
        order = np.array(pc.index_in(stored.ids, value_set=read.ids), dtype=np.intp)
        # By name: where rows were added, the codes of the two are in another order.
        usages, stored_usages = (np.array(usage_names(part.row_sets)) for part in (read, stored))
        moved = int((usages[read.usage[order]] != stored_usages[stored.usage]).sum())
        if moved:
            notes.append(
                f"Usage differs in {plural(moved, 'row')} and is ignored: the split is not changed."
            )
    return notes


def apply(state: CompetitionState, rescored: Rescored) -> None:
    """Store a rescore as the next revision; read the state again afterwards."""
    revision = state.revision + 1
    payload: dict[str, Any] = {
        "revision": revision,
        "metric": [state.settings.metric.specification, rescored.settings.metric.specification],
        "solution_sha256": [state.solution.sha256, rescored.solution.sha256],
        **_changed_in_phases(state.with_phases, rescored.settings),
        "ranks_changed": sum(change.changed for change in rescored.changes),
        **rescored.consequences.fields,
    }
    if rescored.arrival is not None:
        payload |= {"labels": rescored.arrival.labels, "sha256": rescored.arrival.solution.sha256}
    if rescored.changes_nothing:
        payload[CHANGES_NOTHING] = True
    with state.store.transaction() as transaction:
        name = rescored.settings.metric.specification
        transaction.put_solution(rescored.solution, name, number=revision)
        scores = rescored.public_scores.items()
        transaction.put_all_scores(
            revision, [ScoreRecord(submission, public, None) for submission, public in scores]
        )
        transaction.put_meta("revision", str(revision))
        transaction.put_meta("settings", rescored.settings.model_dump_json())
        if rescored.code is not None:
            transaction.put_meta(METRIC_CODE, rescored.code)
            digest = sha256(rescored.code.encode("utf-8", "surrogatepass")).hexdigest()
            payload["metric_sha256"] = digest
        fields = {**payload, **state.event_fields}
        transaction.append_event(rescored.kind, state.actor, fields, time=state.clock())
        rescored.consequences.store(transaction, state, rescored.kind)


def _changed_in_phases(before: Settings, after: Settings) -> dict[str, Any]:
    """Return the field of the event with the metrics of phases before and after, if one changed."""
    metrics = {
        name: [side.in_phase(name).metric.specification for side in (before, after)]
        for name, phase in after.phase.items()
        if "name" in {**before.phase[name].metric, **phase.metric}
    }
    changed = {name: pair for name, pair in metrics.items() if pair[0] != pair[1]}
    return {"phase_metrics": changed} if changed else {}


def _score_all(
    state: CompetitionState, solution: Solution, metric: Metric, settings: Settings, workers: int
) -> Scored:
    """Score every accepted submission on the public and on the private rows.

    Where the first secondary metric breaks ties, also by that metric on the private rows.
    """
    ids = list(state.ledger.accepted_teams())

    def scores(by: Metric, split: str) -> FloatArray:
        rows = rows_of(solution, split)
        scores_of_ids = np.full(len(ids), np.nan)
        if not ids or not rows.any():
            return scores_of_ids
        predictions = state.store.predictions(ids, rows=rows)
        valid = np.arange(len(ids))
        if by is not metric:
            valid = np.flatnonzero(within_range(by, predictions, solution, metric))
            predictions = predictions.subset(valid)
        bound, truth = bind(by, solution, rows), solution.truth[rows]
        if valid.size:
            scores_of_ids[valid] = full_scores(
                bound, truth, predictions, workers=workers, failures=[]
            )
        return scores_of_ids

    tied = np.zeros(len(ids))
    if settings.final.ties == "secondary":
        other = next(iter(secondary_metrics(settings, solution, state.manager).values()))
        tied = scores(other, "private") * (-1 if other.greater_is_better else 1)
    return Scored(ids, scores(metric, "public"), scores(metric, "private"), tied)


def _compare(
    ledger: Ledger,
    before: Scored,
    after: Scored,
    settings: tuple[Settings, Settings],
    greater_is_better: tuple[bool, bool],
    unranked: Collection[str],
) -> list[RankChange]:
    """Return every team's rank on the private board before and after, sorted by rank after."""
    boards = [
        _board(ledger, scored, settings=settings_of_board, better=better, unranked=unranked)
        for scored, settings_of_board, better in zip(
            (before, after), settings, greater_is_better, strict=True
        )
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
    ledger: Ledger, scored: Scored, settings: Settings, better: bool, unranked: Collection[str]
) -> Mapping[str, tuple[int, float]]:
    """Return rank and private score by team, best first."""
    public = dict(zip(scored.submissions, scored.public.tolist(), strict=True))
    private = dict(zip(scored.submissions, scored.private.tolist(), strict=True))
    tied = dict(zip(scored.submissions, scored.tied.tolist(), strict=True))
    candidates = [
        Candidate(record.submission, record.team, _known(public[record.submission]))
        for record in ledger.counting()
        if record.team not in unranked and np.isfinite(private[record.submission])
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
        team: min((sign * private[submission], submission) for submission in team_finals)
        for team, team_finals in finals.items()
    }

    def key(team: str) -> tuple[float, float]:
        score, submission = best[team]
        return score, tied[submission] if np.isfinite(tied[submission]) else np.inf

    ordered = sorted(best, key=lambda team: (key(team), best[team]))
    scores = [sign * best[team][0] for team in ordered]
    ranks = board_ranks([key(team) for team in ordered], settings.final.ties)
    return dict(zip(ordered, zip(ranks, scores, strict=True), strict=True))


def _known(score: float) -> float | None:
    return score if np.isfinite(score) else None


def align_solution(new: Solution, old: Solution) -> Solution:
    """Return a corrected solution with the rows, split, clusters and tasks of the stored one.

    Raises
    ------
    InputError
        If its ids, columns or classes differ: the stored predictions would not match them. Or if a
        row that was not ranked because of its weight 0 has another weight.
    """
    if (new.kind, new.columns, new.targets) != (old.kind, old.columns, old.targets):
        raise InputError(
            "The columns or classes of the corrected solution differ from the stored one, so the "
            "stored predictions do not match it. Only labels can be corrected."
        )
    positions: dict[Any, int] = {
        row_id: position for position, row_id in enumerate(new.ids.to_pylist())
    }
    ids = old.ids.to_pylist()
    if set(positions) != set(ids):
        raise InputError(
            "The ids of the corrected solution differ from the stored ones: use the same ids. Only "
            "labels can be corrected."
        )
    order = np.array([positions[row_id] for row_id in ids], dtype=np.intp)
    if (new.pending[order] != old.pending).any():
        raise InputError(
            "The corrected solution has labels for other rows than the stored one. A rescore "
            "corrects labels; add those that arrived by arena labels add."
        )
    if ROW_WEIGHTS in old.extra and ROW_WEIGHTS in new.extra:
        raised = (old.extra[ROW_WEIGHTS] == 0) & (new.extra[ROW_WEIGHTS][order] > 0)
        count = int(raised.sum())
        if count:
            raise InputError(
                f"The corrected solution has a weight above 0 for {plural(count, 'row')} "
                f"of weight 0, such as id {show(ids[int(raised.argmax())])}. These rows are in "
                "neither split: keep their weight at 0."
            )
    return replace(
        new,
        ids=old.ids,
        truth=new.truth[order],
        usage=old.usage,
        row_sets=old.row_sets,
        clusters=old.clusters,
        tasks=old.tasks,
        task_names=old.task_names,
        extra={name: values[order] for name, values in new.extra.items()},
        soft_labels=None if new.soft_labels is None else new.soft_labels[order],
    )
