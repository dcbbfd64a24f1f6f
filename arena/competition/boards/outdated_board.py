"""Tells whether and why a stored private board is out of date. Nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from arena.competition.boards.counted_submissions import (
    CountedSubmissions,
    counted_submissions,
    files_in_phases,
    phase_finals,
    phases_of_final_boards,
)
from arena.competition.boards.final_document import final_document
from arena.competition.record.combined_documents import combined_boards, phase_files
from arena.competition.record.rebuild import CAUSES, CHANGES_NOTHING, LABELS_ADDED
from arena.competition.record.roster import BRACKET
from arena.competition.record.teams import Teams
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME
from arena.scoring.result import unranked_rows
from arena.store import Event
from arena.types import Mark

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


def outdated(state: CompetitionState) -> str | None:
    """Return a sentence that says why the stored private board is out of date, or None.

    It is after a rescore, a changed setting of the final rule or the analysis, or a change in
    which submissions count. None as well if no board is stored. Nothing is computed.
    """
    reason = reason_outdated(state, lambda: counted_submissions(state))
    if reason is None:
        return None
    what, _ = reason
    return f"The private board is older than {what}: finalize again."


def final_mark(state: CompetitionState) -> Mark | None:
    """Return since when the last private board is out of date and why, for everybody, or None."""
    cause = reason_outdated(state, lambda: counted_submissions(state))
    return None if cause is None else cause[1]


def marks_of_boards(
    state: CompetitionState,
) -> Callable[[Mapping[str, Any], str], Mark | None]:
    """Return the function of a stored private board and its digest that returns its mark.

    The submissions that count are read when the first mark needs them, and once for all boards.
    """
    count = cache(lambda: counted_submissions(state))

    def mark_of(document: Mapping[str, Any], digest: str) -> Mark | None:
        cause = reason_outdated(state, count, document, digest)
        return None if cause is None else cause[1]

    return mark_of


def reason_outdated(
    state: CompetitionState,
    count: Callable[[], CountedSubmissions],
    document: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> tuple[str, Mark | None] | None:
    """Return what a stored private board is older than, for the organiser and for everybody.

    It has no mark if only names of teams changed, which are shown as they are now.
    """
    events = [
        event
        for event in state.events("finalized", *FINAL_CAUSES)
        if CHANGES_NOTHING not in event.payload
    ]
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
    changed = changed_settings(state, [*recorded, *state.unrecorded])
    if changed := changed or _changed_phases(state, board):
        settings = [event for event in later if event.kind == "configuration"]
        time = settings[0].time if settings else state.clock().isoformat()
        what = f"the change of {', '.join(changed)} in {CONFIG_NAME}"
        return what, Mark(time, FINAL_CAUSES["configuration"])
    counted = count()
    finals = counted.finals_document
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
    only_brackets = same_files and same_unranked
    what = "teams in the brackets" if only_brackets else "submissions that count"
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
    from arena.competition.boards.boards_over_phases import phases_by_board

    now = phases_by_board(state.with_phases, state.phase or "")
    changed = {phase for name, had in stored.items() for phase in had ^ set(now.get(name, ()))}
    return sorted(f"phase.{phase}" for phase in changed)


def _has_same_phase_finals(state: CompetitionState, document: Mapping[str, Any]) -> bool:
    """Return whether the boards over phases in a document are of the files that count now."""
    files = files_in_phases(state)
    if not files:
        return True
    from arena.competition.boards.boards_over_phases import names_of_boards

    teams = state.ledger.teams()
    # As pairs: of teams that were merged since, each has its file.
    if any(
        {(teams.current(team), number) for team, number in of_round.items()}
        != set(files[phase].items())
        for phase, of_round in phase_files(document).items()
    ):
        return False
    return names_of_boards(phase_finals(state, files)) <= combined_boards(document).keys()


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
    final = {key: kept for key, kept in value.get("final", {}).items() if key != "columns"}
    return final, value.get("metric", {}).get("secondary")


def changed_settings(state: CompetitionState, changes: Sequence[Sequence[Any]]) -> list[str]:
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
        and key != "final.columns"  # they show what was computed
        and _of_the_board(now[names[0]].get(names[1])) != _of_the_board(value)
    )
