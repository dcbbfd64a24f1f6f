"""Finalizes a competition: computes and stores the private board of the final submissions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.competition.boards.counted_submissions import (
    CountedSubmissions,
    counted_submissions,
    files_in_phases,
    phase_finals,
)
from arena.competition.boards.final_document import FINAL_RESULT, final_document
from arena.competition.boards.kept_board import KEPT, restored, to_keep
from arena.competition.boards.outdated_board import outdated, reason_outdated
from arena.competition.judging_plugins import record_plugins
from arena.competition.programs.program_runs import require_no_waiting
from arena.competition.record.final_selection import board_ranks
from arena.competition.record.named_settings import require_plugins
from arena.competition.record.roster import Roster
from arena.competition.record.secondary import secondary_metrics
from arena.competition.state import CompetitionState
from arena.config import Settings
from arena.errors import UsageError
from arena.interfaces import Metric, notes_of
from arena.scoring.board import BoardRun, BoardStudy
from arena.scoring.result import ScoreResult
from arena.scoring.settings import BoardSettings
from arena.scoring.submissions import competition_info
from arena.store.digests import document_digest, text_digest
from arena.store.events import DATED
from arena.types import SubmissionRecord
from arena.utils.parallel import NoProgress, Progress

if TYPE_CHECKING:
    from arena.competition.boards.boards_over_phases import PhaseFinals


_ANALYSIS_STREAM = (2**32 - 1, 3)
_RULE_NOTES: Mapping[str, str] = {
    "best_private": (
        "Each team is ranked by its best submission on these same rows. This makes every score "
        "optimistic, more so the more submissions a team has."
    ),
    "chosen": "A team that selected several is ranked by the best of them on these rows.",
}


def analysis_seed(secret: int) -> int:
    """Return the public seed of a board's resamples, derived from the secret seed.

    >>> analysis_seed(1) == analysis_seed(1) != analysis_seed(2)
    True
    """
    return int(np.random.SeedSequence(secret, spawn_key=_ANALYSIS_STREAM).generate_state(1)[0])


def finalize(
    state: CompetitionState,
    progress: Progress,
    *,
    workers: int = 0,
    intervals: bool | None = None,
    report: bool = True,
) -> ScoreResult:
    """Rank the final submissions on the private rows, store the board and announce it.

    ``report``: keep with the board what its report shows, unless ``intervals`` is given.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    PluginError
        If a plugin that the settings require could not be loaded.
    """
    require_plugins(state.manager)
    require_no_waiting(state)
    record_plugins(state)
    counted = counted_submissions(state)
    result = _evaluate(state, counted, progress=progress, workers=workers, intervals=intervals)
    result = keep_board(state, result, counted, with_report=report and intervals is None)
    state.manager.competition_finalized(result, competition_info(state.metric, state.solution))
    return result


def evaluate(state: CompetitionState, progress: Progress, *, workers: int = 0) -> ScoreResult:
    """Rank the final submissions on the private rows. Nothing is stored.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    """
    return _evaluate(
        state, counted_submissions(state), progress=progress, workers=workers, intervals=None
    )


def study(state: CompetitionState, progress: Progress, *, workers: int = 0) -> BoardStudy:
    """Return what :func:`evaluate` ranks; nothing is computed from it but scores and resamples.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    """
    counted = counted_submissions(state)
    return _run(state, counted, progress=progress, workers=workers, intervals=None).study(
        counted.records
    )


_TOGETHER = 64
"""Submissions whose predictions are in memory at a time."""


def private_scores(state: CompetitionState) -> dict[int, float]:
    """Return the score on the private rows of each submission that counts and has one."""
    counted = counted_submissions(state)
    run = _run(state, counted, NoProgress(), 1, intervals=False)
    records, scores = state.ledger.counting(), dict[int, float]()
    for start in range(0, len(records), _TOGETHER):
        batch = records[start : start + _TOGETHER]
        numbers = [record.submission for record in batch]
        scored = zip(numbers, run.scores_of(batch).tolist(), strict=True)
        scores |= {number: score for number, score in scored if np.isfinite(score)}
    return scores


def _evaluate(
    state: CompetitionState,
    counted: CountedSubmissions,
    progress: Progress,
    workers: int,
    intervals: bool | None,
) -> ScoreResult:
    run = _run(state, counted, progress=progress, workers=workers, intervals=intervals)

    def rank(board_run: BoardRun) -> ScoreResult:
        board = evaluate_finals(board_run, counted.finals, counted.records, state.settings)
        return with_roster(board_run, board, counted.unranked, counted.roster)

    result = with_combined_boards(run, state.settings, rank)
    if files := files_in_phases(state):
        result = with_boards_over_phases(run, result, state.settings, phase_finals(state, files))
    metric: Metric = state.manager.metrics.resolve(run.specification)
    return replace(result, notes=(*notes_of(metric), *result.notes, *counted.notes))


def _run(
    state: CompetitionState,
    counted: CountedSubmissions,
    progress: Progress,
    workers: int,
    intervals: bool | None,
) -> BoardRun:
    if state.phase and not state.with_phases.phase[state.phase].private_usages:
        raise UsageError(
            f"The phase {state.phase} has no private rows, so that it has no final board: name "
            f"another one by --phase."
        )
    if not counted.finals:
        raise UsageError("There is no accepted submission to rank.")
    pending = state.pending_labels("private")
    if pending is not None and not pending.n_rows:
        raise UsageError("No private row has a label yet: add labels with arena labels add.")
    settings = final_board_settings(state.settings, analysis_seed(state.seed))
    if intervals is not None:
        settings = replace(settings, intervals=intervals)
    return BoardRun(
        specification=state.settings.metric.specification,
        metric=state.metric,
        solution=state.solution,
        split="private",
        settings=replace(settings, workers=workers),
        store=state.store,
        manager=state.manager,
        progress=progress,
        secondary=secondary_metrics(state.settings, state.solution, state.manager),
        brackets=counted.roster.boards,
        n_pending=0 if pending is None else pending.pending,
    )


def keep_board(
    state: CompetitionState, result: ScoreResult, counted: CountedSubmissions, *, with_report: bool
) -> ScoreResult:
    """Store the board, and what its report needs; return it with the sections of the report."""
    document = result.to_dict()
    digest = document_digest(document)
    earlier = state.events("finalized")
    if (
        earlier
        and earlier[-1].payload["sha256"] == digest
        and reason_outdated(state, lambda: counted) is None
    ):
        return result
    report = None
    if with_report:
        result = replace(result, sections=state.manager.provide_report_sections(result))
        report = to_keep(result, state.manager)
    payload = {
        "sha256": digest,
        "rule": state.settings.final.rule,
        "finals": counted.finals_document,
        **state.phase_fields,
        **({} if report is None else {"report": text_digest(report)}),
        # Its time is that of the request, which has an event of its own.
        **({DATED: "request"} if state.event_fields else {}),
    }
    with state.store.transaction() as transaction:
        text = json.dumps(document, allow_nan=False)
        transaction.put_meta(state.name_of(FINAL_RESULT), text, computed=True)
        if report is not None:
            transaction.put_meta(state.name_of(KEPT), report, computed=True)
        transaction.append_event("finalized", state.actor, payload, time=state.clock())
    return result


def as_finalized(state: CompetitionState) -> ScoreResult | None:
    """Return the finalized board for a report, without computing it again.

    None if it must be computed: it is out of date, was stored by other software, or is not the one
    that the record says.

    Raises
    ------
    UsageError
        If the competition was not finalized.
    """
    document = final_document(state)
    digest = document_digest(document)
    recorded = state.events("finalized")
    if not recorded or recorded[-1].payload["sha256"] != digest or outdated(state) is not None:
        return None
    return restored(state, document, recorded[-1].payload.get("report"))


def evaluate_finals(
    run: BoardRun,
    finals: Mapping[str, Sequence[int]],
    records: Sequence[SubmissionRecord],
    settings: Settings,
) -> ScoreResult:
    """Return the private board of each team's final submissions. Nothing is stored.

    Parameters
    ----------
    run
        The board run on the private rows.
    finals
        Submissions by team; the best counts, selected again in every resample.
    records
        Records of these submissions; others are ignored.
    settings
        The settings of the final rule and of ties.
    """
    counting = {submission for team_finals in finals.values() for submission in team_finals}
    several = any(len(team_finals) > 1 for team_finals in finals.values())
    notes = [_RULE_NOTES[settings.final.rule]] if several else []
    result = run.result(
        [record for record in records if record.submission in counting], notes=notes
    )
    return _break_ties(result, settings, run.secondary)


def with_combined_boards(
    run: BoardRun, settings: Settings, rank: Callable[[BoardRun], ScoreResult]
) -> ScoreResult:
    """Return the board of a run, with the combined boards; ``rank`` returns that of any run."""
    result = rank(run)
    if not settings.board:
        return result
    # Few competitions have one.
    from arena.competition.record.combined_boards import combined_findings

    reference = None if result.baseline is None else result.baseline["submission"]
    findings = combined_findings(run, settings, rank, reference)
    return replace(result, findings=(*result.findings, *findings))


def with_boards_over_phases(
    run: BoardRun, result: ScoreResult, settings: Settings, phase_finals: PhaseFinals
) -> ScoreResult:
    """Return the board of a phase with those over phases; ``settings`` are those of the phase."""
    from arena.competition.boards.boards_over_phases import findings_over_phases

    def rank(
        run_over_phases: BoardRun,
        finals: Mapping[str, Sequence[int]],
        records: Sequence[SubmissionRecord],
        roster: Roster,
    ) -> ScoreResult:
        board = evaluate_finals(run_over_phases, finals, records, settings)
        unranked = [record for record in records if record.team not in finals]
        return with_roster(run_over_phases, board, unranked, roster)

    findings = findings_over_phases(run, phase_finals, rank)
    return replace(result, findings=(*result.findings, *findings))


def with_roster(
    run: BoardRun, result: ScoreResult, records: Sequence[SubmissionRecord], roster: Roster
) -> ScoreResult:
    """Return the board with its brackets, and the scores of teams that are not ranked.

    ``records`` are the submissions of these teams.
    """
    rows = {record.team: run.unranked(record) for record in records}
    reference = rows.pop(roster.baselines[0], None) if roster.baselines else None
    return replace(
        result,
        baseline=reference,
        unranked=tuple({**row, "baseline": team in roster.baselines} for team, row in rows.items()),
        brackets=roster.brackets,
    )


def final_board_settings(settings: Settings, seed: int) -> BoardSettings:
    """Return the settings of the private board of a competition."""
    section = settings.analysis
    return BoardSettings(
        section.resamples,
        section.level,
        seed,
        intervals=section.intervals,
        ranker=section.ranker,
        full_bootstrap=section.full_bootstrap,
    )


def _break_ties(
    result: ScoreResult, settings: Settings, secondary: Mapping[str, Metric]
) -> ScoreResult:
    """Order tied submissions as the settings say; rank intervals and tiers stay as they are.

    They share a rank, or the first secondary metric or the time of submission decides. Those that
    share a rank are listed in the order of submission.
    """
    ties = settings.final.ties
    name, other = next(iter(secondary.items()), ("", None))

    def key(row: Mapping[str, Any]) -> tuple[tuple[bool, float], ...]:
        """Return what ranks a submission; one without a score by the other metric comes last."""
        score = (False, -row["score"] if result.greater_is_better else row["score"])
        if ties != "secondary" or other is None:
            return (score,)
        value = row[name]
        if value is None:
            return score, (True, 0.0)
        return score, (False, -value if other.greater_is_better else value)

    ordered = sorted(result.standings, key=lambda row: (key(row), row["submission"]))
    ranks = board_ranks([key(row) for row in ordered], ties)
    ranked = [{**row, "rank": rank} for row, rank in zip(ordered, ranks, strict=True)]
    return replace(result, standings=tuple(ranked), display=settings.display(public=False))
