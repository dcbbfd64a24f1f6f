"""Finalizes a competition: computes and stores the private board of the final submissions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.competition.combined_boards import combined_boards, phase_files
from arena.competition.final_selection import board_ranks, choose_finals
from arena.competition.judging_plugins import record_plugins
from arena.competition.kept_board import KEPT, restored, to_keep
from arena.competition.ledger import Ledger
from arena.competition.program_runs import require_no_waiting
from arena.competition.rebuild import CAUSES, LABELS_ADDED
from arena.competition.roster import BRACKET, Roster
from arena.competition.secondary import secondary_metrics
from arena.competition.state import CompetitionState
from arena.competition.teams import Teams
from arena.config import CONFIG_NAME, Settings
from arena.errors import UsageError
from arena.interfaces import Metric, notes_of
from arena.scoring.board import BoardRun, BoardStudy
from arena.scoring.result import STANDING_COLUMNS, ScoreResult, unranked_rows
from arena.scoring.settings import BoardSettings
from arena.scoring.submissions import competition_info
from arena.store import Event
from arena.store.digests import document_digest, text_digest
from arena.store.events import DATED
from arena.types import Mark, SubmissionRecord
from arena.utils.bracket_rows import COLUMNS_IN_BRACKETS, with_brackets
from arena.utils.parallel import NoProgress, Progress
from arena.utils.strict_json import parse_json
from arena.utils.text import printable

if TYPE_CHECKING:
    from arena.competition.boards_over_phases import PhaseFinals

FINAL_RESULT = "final_result"
"""The name in the store of the private board as it was last finalized."""
_ANALYSIS_STREAM = (2**32 - 1, 3)

_SECTIONS_OF_THE_BOARD = {"final", "analysis", "bracket", "board"}

FINAL_CAUSES: Mapping[str, str] = {
    **CAUSES,
    "configuration": "a setting of the final board was changed",
    "selection": "other submissions count",
    "withdrawal": "a team withdrew a submission",
    BRACKET: "a team is in another bracket",
}
"""The kind of an event after which a stored result can change -> what happened, for everybody."""

_OLDER_THAN: Mapping[str, str] = {
    "rescored": "the last rescore",
    LABELS_ADDED: "labels that arrived",
}
"""The kind of an event after which every score is another -> what a stored result is older than."""

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
    state: CompetitionState, progress: Progress, *, workers: int = 0, intervals: bool | None = None
) -> ScoreResult:
    """Rank the final submissions on the private rows, store the board and announce it.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    PluginError
        If a plugin that the settings require could not be loaded.
    """
    state.manager.require_plugins()
    require_no_waiting(state)
    record_plugins(state)
    counted = _counted(state)
    result = _evaluate(state, counted, progress=progress, workers=workers, intervals=intervals)
    result = _keep(state, result, counted, with_report=intervals is None)
    state.manager.competition_finalized(result, competition_info(state.metric, state.solution))
    return result


def evaluate(
    state: CompetitionState, progress: Progress, *, workers: int = 0, intervals: bool | None = None
) -> ScoreResult:
    """Rank the final submissions on the private rows. Nothing is stored.

    ``intervals`` is whether to compute intervals; None: as the settings say.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    """
    return _evaluate(
        state, _counted(state), progress=progress, workers=workers, intervals=intervals
    )


def study(state: CompetitionState, progress: Progress, *, workers: int = 0) -> BoardStudy:
    """Return what :func:`evaluate` ranks; nothing is computed from it but scores and resamples.

    Raises
    ------
    UsageError
        If there is no accepted submission that is not disqualified.
    """
    counted = _counted(state)
    return _run(state, counted, progress=progress, workers=workers, intervals=None).study(
        counted.records
    )


_TOGETHER = 64
"""Submissions whose predictions are in memory at a time."""


def private_scores(state: CompetitionState) -> dict[int, float]:
    """Return the score on the private rows of each submission that counts and has one."""
    counted = _counted(state)
    run = _run(state, counted, NoProgress(), 1, intervals=False)
    records, scores = state.ledger.counting(), dict[int, float]()
    for start in range(0, len(records), _TOGETHER):
        batch = records[start : start + _TOGETHER]
        numbers = [record.submission for record in batch]
        scored = zip(numbers, run.scores_of(batch).tolist(), strict=True)
        scores |= {number: score for number, score in scored if np.isfinite(score)}
    return scores


@dataclass(frozen=True, slots=True)
class _CountedSubmissions:
    """The submissions that count, read once: with a long history this takes seconds."""

    records: Sequence[SubmissionRecord]
    """Of the final submissions."""
    finals: Mapping[str, tuple[int, ...]]
    """The final submissions of each team."""
    unranked: Sequence[SubmissionRecord]
    """Of each team that is not ranked its best submission on public, the reference first."""
    roster: Roster
    """The brackets, with the teams that have a submission that counts."""
    notes: Sequence[str]
    """On selections above the limit."""


def _counted(state: CompetitionState) -> _CountedSubmissions:
    roster, final = state.roster, state.settings.final
    unranked = roster.unranked
    better = state.metric.greater_is_better
    every = state.ledger.candidates()
    candidates = [candidate for candidate in every if candidate.team not in unranked]
    chosen = state.ledger.selections()
    finals = choose_finals(
        candidates, final.rule, greater_is_better=better, chosen=chosen, count=final.count
    )
    candidate_ids = {candidate.submission for candidate in candidates}
    notes = [
        f"The team {printable(team)} selected {len(candidate_ids & set(team_finals)):,} "
        f"submissions when the limit was higher, or before it was merged; the best {final.count:,} "
        f"of them on the public rows count."
        for team, team_finals in sorted(chosen.items())
        if final.rule == "chosen" and len(candidate_ids & set(team_finals)) > final.count
    ]
    others = [candidate for candidate in every if candidate.team in unranked]
    best = choose_finals(others, "best_public", greater_is_better=better, chosen={})
    final_submissions = {
        submission for team_finals in finals.values() for submission in team_finals
    }
    # Records of the others would take 1.5 kB each while the board is computed.
    best_public = [number for team in unranked for number in best.get(team, ())]
    records = {
        record.submission: record
        for record in state.ledger.records(numbers={*final_submissions, *best_public})
    }
    return _CountedSubmissions(
        [record for number, record in records.items() if number in final_submissions],
        finals,
        unranked=[records[number] for number in best_public],
        roster=roster.among({*finals, *best}),
        notes=notes,
    )


def _evaluate(
    state: CompetitionState,
    counted: _CountedSubmissions,
    progress: Progress,
    workers: int,
    intervals: bool | None,
) -> ScoreResult:
    run = _run(state, counted, progress=progress, workers=workers, intervals=intervals)

    def rank(board_run: BoardRun) -> ScoreResult:
        board = evaluate_finals(board_run, counted.finals, counted.records, state.settings)
        return with_roster(board_run, board, counted.unranked, counted.roster)

    result = with_combined_boards(run, state.settings, rank)
    if files := _phase_files(state):
        result = with_boards_over_phases(run, result, state.settings, _phase_finals(state, files))
    metric: Metric = state.manager.metrics.resolve(run.specification)
    return replace(result, notes=(*notes_of(metric), *result.notes, *counted.notes))


def _phase_files(state: CompetitionState) -> dict[str, dict[str, int]]:
    """Return phase -> team -> final submission of the boards over phases; empty without one."""
    counted_in = {name: _counted(state.in_phase(name)) for name in phases_of_final_boards(state)}
    return {
        name: {
            **{team: numbers[0] for team, numbers in counted.finals.items()},
            **{record.team: record.submission for record in counted.unranked},
        }
        for name, counted in counted_in.items()
    }


def phases_of_final_boards(state: CompetitionState) -> tuple[str, ...]:
    """Return the phases on which the boards over phases depend; few competitions have one."""
    if not state.with_phases.board:
        return ()
    from arena.competition.boards_over_phases import phases_of_boards

    return phases_of_boards(state.with_phases, state.phase or "")


def _phase_finals(state: CompetitionState, files: Mapping[str, Mapping[str, int]]) -> PhaseFinals:
    from arena.competition.boards_over_phases import PhaseFinals

    numbers = {number for of_round in files.values() for number in of_round.values()}
    records = state.of_all_phases.ledger.records(numbers=numbers)
    return PhaseFinals(
        settings=state.with_phases,
        phase=state.phase or "",
        solution=state.stored_solution,
        files=files,
        records={record.submission: record for record in records},
        roster=state.roster,
    )


def _run(
    state: CompetitionState,
    counted: _CountedSubmissions,
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


def _keep(
    state: CompetitionState, result: ScoreResult, counted: _CountedSubmissions, *, with_report: bool
) -> ScoreResult:
    """Store the board, and what its report needs; return it with the sections of the report."""
    document = result.to_dict()
    digest = document_digest(document)
    earlier = state.events("finalized")
    if (
        earlier
        and earlier[-1].payload["sha256"] == digest
        and _outdated(state, lambda: counted) is None
    ):
        return result
    report = None
    if with_report:
        result = replace(result, sections=state.manager.provide_report_sections(result))
        report = to_keep(result, state.manager)
    payload = {
        "sha256": digest,
        "rule": state.settings.final.rule,
        "finals": _listed(counted.finals),
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


def _listed(finals: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    return {team: list(team_finals) for team, team_finals in finals.items()}


def outdated(state: CompetitionState) -> str | None:
    """Return a sentence that says why the stored private board is out of date, or None.

    It is after a rescore, a changed setting of the final rule or the analysis, or a change in
    which submissions count. None as well if no board is stored. Nothing is computed.
    """
    reason = _outdated(state, lambda: _counted(state))
    if reason is None:
        return None
    what, _ = reason
    return f"The private board is older than {what}: finalize again."


def final_mark(state: CompetitionState) -> Mark | None:
    """Return since when the last private board is out of date and why, for everybody, or None."""
    cause = _outdated(state, lambda: _counted(state))
    return None if cause is None else cause[1]


def marks_of_boards(
    state: CompetitionState,
) -> Callable[[Mapping[str, Any], str], Mark | None]:
    """Return the function of a stored private board and its digest that returns its mark.

    The submissions that count are read when the first mark needs them, and once for all boards.
    """
    count = cache(lambda: _counted(state))

    def mark_of(document: Mapping[str, Any], digest: str) -> Mark | None:
        cause = _outdated(state, count, document, digest)
        return None if cause is None else cause[1]

    return mark_of


def _outdated(
    state: CompetitionState,
    count: Callable[[], _CountedSubmissions],
    document: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> tuple[str, Mark | None] | None:
    """Return what a stored private board is older than, for the organiser and for everybody.

    It has no mark if only names of teams changed, which are shown as they are now.
    """
    events = state.events("finalized", *FINAL_CAUSES)
    boards = (event for event in reversed(events) if event.kind == "finalized")
    kept_board = next(
        (board for board in boards if digest in (None, board.payload["sha256"])), None
    )
    if kept_board is None:
        return None
    later = [event for event in events if event.sequence > kept_board.sequence]
    recorded = [change for event in later for change in event.payload.get("changes", ())]
    for event in later:
        if event.kind == "rescored" or _adds_labels_of(state, event):
            return _OLDER_THAN[event.kind], Mark(event.time, FINAL_CAUSES[event.kind])
    board = final_document(state) if document is None else document
    changed = _changed_settings(state, [*recorded, *state.unrecorded])
    if changed := changed or _changed_phases(state, board):
        settings = [event for event in later if event.kind == "configuration"]
        time = settings[0].time if settings else state.clock().isoformat()
        what = f"the change of {', '.join(changed)} in {CONFIG_NAME}"
        return what, Mark(time, FINAL_CAUSES["configuration"])
    counted = count()
    finals = _listed(counted.finals)
    same_files = sorted(kept_board.payload["finals"].values()) == sorted(finals.values())
    same_phase_finals = _has_same_phase_finals(state, board)
    same_brackets = _brackets_of(board, state.ledger.teams()) == counted.roster.brackets
    unranked = [row["submission"] for row in unranked_rows(board)]
    same_unranked = unranked == [record.submission for record in counted.unranked]
    same_files &= same_phase_finals
    if same_brackets and same_unranked and same_phase_finals:
        if kept_board.payload["finals"] == finals:
            return None
        if same_files:
            return "a change of a team's name", None
    decision = next((event for event in later if _can_change_finals(event)), None)
    if decision is None:  # files were sent since
        received_times = (record.received for record in (*counted.records, *counted.unranked))
        first = min(
            (time for time in received_times if time > kept_board.time),
            default=state.clock().isoformat(),
        )
        mark = Mark(first, FINAL_CAUSES["selection"])
    else:
        mark = Mark(decision.time, FINAL_CAUSES[decision.kind])
    what = "teams in the brackets" if same_files else "submissions that count"
    return f"a change of the {what}", mark


def _changed_phases(state: CompetitionState, document: Mapping[str, Any]) -> list[str]:
    """Return the phases that a board over phases had and has no more, or the other way round.

    They follow from the ends of phases.
    """
    stored = {
        name: set(board["round_files"])
        for name, board in combined_boards(document).items()
        if "round_files" in board
    }
    if not stored:
        return []
    from arena.competition.boards_over_phases import phases_by_board

    now = phases_by_board(state.with_phases, state.phase or "")
    changed = {phase for name, had in stored.items() for phase in had ^ set(now.get(name, ()))}
    return sorted(f"phase.{phase}" for phase in changed)


def _has_same_phase_finals(state: CompetitionState, document: Mapping[str, Any]) -> bool:
    """Return whether the boards over phases in a document are of the files that count now."""
    files = _phase_files(state)
    if not files:
        return True
    from arena.competition.boards_over_phases import names_of_boards

    teams = state.ledger.teams()
    # As pairs: of teams that were merged since, each has its file.
    if any(
        {(teams.current(team), number) for team, number in of_round.items()}
        != set(files[phase].items())
        for phase, of_round in phase_files(document).items()
    ):
        return False
    return names_of_boards(_phase_finals(state, files)) <= combined_boards(document).keys()


def _adds_labels_of(state: CompetitionState, event: Event) -> bool:
    """Return whether labels of the rows of the phase arrived; without phases, of any row.

    The rows of a phase with boards over phases are those of all of these.
    """
    if event.kind != LABELS_ADDED or not state.phase:
        return event.kind == LABELS_ADDED
    names = {state.phase, *phases_of_final_boards(state)}
    phases = [state.with_phases.phase[name] for name in names]
    usages = frozenset().union(*(phase.public_usages | phase.private_usages for phase in phases))
    return not usages.isdisjoint(event.payload["labels"])


def _brackets_of(document: Mapping[str, Any], names: Teams) -> dict[str, tuple[str, ...]]:
    """Return the brackets of a board, with the current names of their teams."""
    return {
        bracket: tuple(sorted({names.current(team) for team in teams}))
        for bracket, teams in document.get("brackets", {}).items()
    }


def _can_change_finals(event: Event) -> bool:
    changes = event.payload.get("changes", ())
    if event.kind == "configuration":
        return "competition.baseline" in [key for key, *_ in changes]
    # Neither finalizing again nor labels of other phases change which submissions count.
    return event.kind in FINAL_CAUSES and event.kind != LABELS_ADDED


def _of_the_board(value: Any) -> Any:
    """Return what the board follows from in the value of a setting.

    Of a phase it is its final rule and its secondary metrics; another metric is a rescore.
    """
    if not isinstance(value, dict) or "private_rows" not in value:
        return value
    return value.get("final"), value.get("metric", {}).get("secondary")


def _changed_settings(state: CompetitionState, changes: Sequence[Sequence[Any]]) -> list[str]:
    """Return the settings of the board that differ from their values before these changes."""
    # If a key changed several times, the first change has the original value.
    before = {key: value for key, value, _ in reversed(changes)}
    now = state.with_phases.to_document()
    phases = {f"phase.{name}" for name in (state.phase, *phases_of_final_boards(state))}
    return sorted(
        key
        for key, value in before.items()
        if (
            (names := key.split(".", 1))[0] in _SECTIONS_OF_THE_BOARD
            or key in {"metric.secondary", *phases}
        )
        and _of_the_board(now[names[0]].get(names[1])) != _of_the_board(value)
    )


def ended_by_finalizing(state: CompetitionState) -> datetime | None:
    """Return when a served competition that no date ends was finalized last: this ends it.

    None if a date ends it, also that of a phase, or nothing is finalized.
    """
    dated = state.with_phases.phase or state.settings.competition.deadline is not None
    if dated or state.store.meta(state.name_of(FINAL_RESULT)) is None:
        return None
    return datetime.fromisoformat(state.events("finalized")[-1].time)


def final_document(state: CompetitionState) -> dict[str, Any]:
    """Return the document of the private board as it was last finalized.

    Raises
    ------
    UsageError
        If the competition was not finalized.
    """
    stored = state.store.meta(state.name_of(FINAL_RESULT))
    if stored is None:
        raise UsageError("There is no private board yet: finalize first.")
    document: dict[str, Any] = parse_json(stored)
    return document


def private_standings(document: Mapping[str, Any], ledger: Ledger) -> list[dict[str, Any]]:
    """Return the standings of a document by score, teams without a rank included.

    Teams have the names of the document. A team that was renamed or merged since has the number of
    submissions of its current name.
    """
    rows = [{**row, "baseline": False} for row in document["standings"]]
    columns = rows[0] if rows else STANDING_COLUMNS
    rows += [{**dict.fromkeys(columns), **row} for row in unranked_rows(document)]
    if "brackets" in document:
        rows = with_brackets(rows, document["brackets"], columns_in_brackets(document))
    sign = -1 if document["greater_is_better"] else 1

    def place(row: Mapping[str, Any]) -> tuple[bool, float]:
        return row["score"] is None, sign * (row["score"] or 0.0)

    n_sent, teams = ledger.sent(), ledger.teams()
    return [
        {**row, "n_submissions": n_sent[teams.current(row["team"])]}
        for row in sorted(rows, key=place)
    ]


def columns_in_brackets(document: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return bracket -> team -> the columns that the analysis of the brackets computed."""
    findings = document.get("findings", ())
    documents = [finding["document"] for finding in findings if finding["analysis"] == "brackets"]
    return {
        name: {
            row["team"]: {key: row[key] for key in COLUMNS_IN_BRACKETS if key in row}
            for row in rows
        }
        for boards in documents
        for name, rows in boards.items()
    }


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
    from arena.competition.combined_boards import combined_findings  # few competitions have one

    reference = None if result.baseline is None else result.baseline["submission"]
    findings = combined_findings(run, settings, rank, reference)
    return replace(result, findings=(*result.findings, *findings))


def with_boards_over_phases(
    run: BoardRun, result: ScoreResult, settings: Settings, phase_finals: PhaseFinals
) -> ScoreResult:
    """Return the board of a phase with those over phases; ``settings`` are those of the phase."""
    from arena.competition.boards_over_phases import findings_over_phases

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


_PUBLIC_KEYS = ("metric", "greater_is_better", "level", "resamples")
_PUBLIC_KEYS_OF_SOME = ("n_rows", "n_pending")
"""Only where labels are to arrive."""
_PUBLIC_COLUMNS = (
    "rank", "team", "submission", "score", "score_low", "score_high", "rank_low", "rank_high",
    "tier", "possible_winner", "rank_median", "win_rate", "public_score", "public_rank",
    "n_submissions", "baseline", "brackets", "answers", "verification", "verification_note",
)  # fmt: skip


def for_everybody(
    document: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    also: Collection[str] = (),
) -> dict[str, Any]:
    """Return the public parts of a private board and its rows; ``also`` names more columns.

    Only the parts named here are published. The documents of the analyses are not: they have
    counts of labels (``effective_units``) and name copied submissions, as the notes and file names
    may.
    """
    corrected = document.get("best_score_corrected")
    return {
        **{key: document[key] for key in _PUBLIC_KEYS},
        **{key: document[key] for key in _PUBLIC_KEYS_OF_SOME if document.get("n_pending")},
        "verdicts": [
            finding["verdict"] for finding in document["findings"] if finding["analysis"] == "ranks"
        ],
        **({"brackets": list(document["brackets"])} if "brackets" in document else {}),
        "best_score_corrected": corrected
        and {key: corrected[key] for key in ("estimate", "low", "high")},
        "leaderboard": [
            {column: row[column] for column in (*_PUBLIC_COLUMNS, *also) if column in row}
            for row in rows
        ],
    }
