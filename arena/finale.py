"""The end of a competition: the private board of the final submissions, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arena.admission import competition_info
from arena.board_run import BoardRun
from arena.competition_state import CompetitionState
from arena.config import CONFIG_NAME, Settings
from arena.errors import UsageError
from arena.execution import Progress
from arena.final_selection import board_ranks, choose_finals
from arena.interfaces import Metric, notes_of
from arena.private_board import BoardSettings
from arena.score_result import STANDING_COLUMNS, ScoreResult
from arena.store import Event, Store
from arena.text import printable
from arena.types import SubmissionRecord

__all__ = [
    "analysis_seed",
    "board_settings",
    "final_document",
    "finalize",
    "fingerprint",
    "judge",
    "judge_finals",
    "outdated",
    "private_standings",
]

_ANALYSIS_STREAM = (2**32 - 1, 3)

_SECTIONS_OF_THE_BOARD = {"final", "analysis"}

_RULE_NOTES: Mapping[str, str] = {
    "best_private": (
        "Each team stands with the best of its submissions on these very rows, which makes every "
        "score too good; the more a team sent, the more so."
    ),
    "chosen": "A team that chose several stands with the best of them on these rows.",
}


def analysis_seed(secret: int) -> int:
    """Return the seed of a board's resamples, which may be shown, from the secret one.

    >>> analysis_seed(1) == analysis_seed(1) != analysis_seed(2)
    True
    """
    return int(np.random.SeedSequence(secret, spawn_key=_ANALYSIS_STREAM).generate_state(1)[0])


def finalize(state: CompetitionState, progress: Progress) -> ScoreResult:
    """Judge the final submissions on the private rows, keep the board and announce it.

    Raises
    ------
    UsageError
        If no submission can count.
    """
    result = judge(state, progress)
    _keep(state, result)
    state.manager.competition_finalized(result, competition_info(state.metric, state.solution))
    return result


def judge(state: CompetitionState, progress: Progress) -> ScoreResult:
    """Judge the final submissions on the private rows. Nothing is stored.

    Raises
    ------
    UsageError
        If no submission can count.
    """
    finals, notes = _final_submissions(state)
    if not finals:
        raise UsageError("There is no accepted submission to rank.")
    run = BoardRun(
        specification=state.settings.metric.specification,
        metric=state.metric,
        solution=state.solution,
        split="private",
        settings=board_settings(state.settings, analysis_seed(state.seed)),
        store=state.store,
        manager=state.manager,
        progress=progress,
    )
    result = judge_finals(run, finals, state.ledger.counting(), state.settings)
    asked: Metric = state.manager.metrics.resolve(run.specification)
    told = (*notes_of(asked), *result.notes, *notes)
    return replace(result, notes=told, baseline=_baseline(state, run))


def _final_submissions(
    state: CompetitionState,
) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Return the submissions of each team that count, and a note on choices that were too many."""
    baseline, final = state.settings.competition.baseline, state.settings.final
    candidates = [one for one in state.ledger.candidates() if one.team != baseline]
    chosen = state.ledger.selections()
    finals = choose_finals(
        candidates,
        final.rule,
        greater_is_better=state.metric.greater_is_better,
        chosen=chosen,
        count=final.count,
    )
    known = {one.submission for one in candidates}
    notes = [
        f"The team {printable(team)} chose {len(known & set(own)):,} submissions while more were "
        f"allowed; the best {final.count:,} of them on the public rows count."
        for team, own in sorted(chosen.items())
        if final.rule == "chosen" and len(known & set(own)) > final.count
    ]
    return finals, notes


def _baseline(state: CompetitionState, run: BoardRun) -> dict[str, Any] | None:
    """Return how the organiser's baseline, the best on public of it, does on the private rows."""
    record = _baseline_record(state)
    return None if record is None else run.unranked(record)


def _baseline_record(state: CompetitionState) -> SubmissionRecord | None:
    name = state.settings.competition.baseline
    own = [one for one in state.ledger.candidates() if one.team == name]
    if not own:
        return None
    better = state.metric.greater_is_better
    (best,) = choose_finals(own, "best_public", greater_is_better=better, chosen={}).values()
    (record,) = (one for one in state.ledger.counting() if one.submission in best)
    return record


def _keep(state: CompetitionState, result: ScoreResult) -> None:
    document = result.to_dict()
    digest = fingerprint(document)
    earlier = state.store.events("finalized")
    if earlier and earlier[-1].payload["sha256"] == digest and outdated(state) is None:
        return
    payload = {
        "sha256": digest,
        "rule": state.settings.final.rule,
        "finals": _counting(state),
    }
    with state.store.transaction() as transaction:
        transaction.put_meta("final_result", json.dumps(document, allow_nan=False))
        transaction.append_event("finalized", state.actor, payload, time=state.clock())


def _counting(state: CompetitionState) -> dict[str, list[int]]:
    finals, _ = _final_submissions(state)
    return {team: list(own) for team, own in finals.items()}


def outdated(state: CompetitionState) -> str | None:
    """Return a sentence on what the kept private board is older than, or None. Judges nothing.

    That is a rescore, another setting of the final rule or of the analysis, or a submission that
    counts now and did not, or the other way round. None as well where no board is kept.
    """
    events = state.store.events()
    kept = next((event for event in reversed(events) if event.kind == "finalized"), None)
    if kept is None:
        return None
    later = events[kept.sequence :]
    if any(event.kind == "rescored" for event in later):
        what = "the last rescore"
    elif changed := _changed_settings(
        state.settings, [*_recorded_changes(later), *state.unrecorded]
    ):
        what = f"the change of {', '.join(changed)} in {CONFIG_NAME}"
    elif kept.payload["finals"] != _counting(state) or _other_baseline(state):
        what = "what decides which submissions count"
    else:
        return None
    return f"The private board is older than {what}: run arena finalize again."


def _recorded_changes(events: Sequence[Event]) -> Iterator[Sequence[Any]]:
    for event in events:
        yield from event.payload.get("changes", ())


def _changed_settings(settings: Settings, changes: Sequence[Sequence[Any]]) -> list[str]:
    """Return the keys the board rests on that differ from what they were before these changes."""
    # Of several changes of a key the first one says what it was.
    before = {key: value for key, value, _ in reversed(changes)}
    now = settings.to_document()
    return sorted(
        key
        for key, value in before.items()
        if (names := key.split("."))[0] in _SECTIONS_OF_THE_BOARD
        and now[names[0]][names[1]] != value
    )


def _other_baseline(state: CompetitionState) -> bool:
    """Tell whether the baseline's submission is not the one of the kept board."""
    kept, now = final_document(state.store).get("baseline"), _baseline_record(state)
    return (kept and kept["submission"]) != (now and now.submission)


def final_document(store: Store) -> dict[str, Any]:
    """Return the document of the private board as it was last finalized.

    Raises
    ------
    UsageError
        If it was not.
    """
    kept = store.meta("final_result")
    if kept is None:
        raise UsageError("There is no private board yet: run arena finalize first.")
    document: dict[str, Any] = json.loads(kept)
    return document


def private_standings(document: Mapping[str, Any], sent: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the standings of a document for a board, the baseline last and without a rank."""
    rows = [{**row, "baseline": False} for row in document["standings"]]
    baseline = document.get("baseline")
    if baseline is not None:
        columns = rows[0] if rows else STANDING_COLUMNS
        rows.append({**dict.fromkeys(columns), **baseline, "baseline": True})
    return [{**row, "n_submissions": sent.get(row["team"], 0)} for row in rows]


def judge_finals(
    run: BoardRun,
    finals: Mapping[str, Sequence[int]],
    records: Sequence[SubmissionRecord],
    settings: Settings,
) -> ScoreResult:
    """Return the private board of each team's final submissions. Nothing is stored.

    Parameters
    ----------
    run
        Over the private rows.
    finals
        Submissions by team; of several the best counts, found anew in every resample.
    records
        Of these submissions, and perhaps of others.
    settings
        For the rule's note and the ties.
    """
    counting = {submission for own in finals.values() for submission in own}
    several = any(len(own) > 1 for own in finals.values())
    notes = [_RULE_NOTES[settings.final.rule]] if several else []
    result = run.result([one for one in records if one.submission in counting], notes=notes)
    return _break_ties(result, settings)


def board_settings(settings: Settings, seed: int) -> BoardSettings:
    """Return how the private board of a competition is judged."""
    return BoardSettings(settings.analysis.resamples, settings.analysis.level, seed)


def _break_ties(result: ScoreResult, settings: Settings) -> ScoreResult:
    """Put the earlier of two tied submissions ahead, and let them share a rank or not."""
    sign = -1 if result.greater_is_better else 1
    ordered = sorted(result.standings, key=lambda row: (sign * row["score"], row["submission"]))
    ranks = board_ranks([row["score"] for row in ordered], settings.final.ties)
    ranked = [{**row, "rank": rank} for row, rank in zip(ordered, ranks, strict=True)]
    return replace(result, standings=tuple(ranked))


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return the sha256 of a JSON document, whatever the order of its keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
