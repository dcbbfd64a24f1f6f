"""What a command or a decision changes besides its own fact: released scores and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from arena.competition.record.rebuild import CAUSES, Rebuilding
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME, Settings
from arena.store import Transaction
from arena.utils.strict_json import parse_json
from arena.utils.text import plural


@dataclass(frozen=True, slots=True, eq=False)
class Consequences:
    """What a decision releases again and marks."""

    rebuilding: Rebuilding | None
    """None: no released score changes."""
    results: tuple[int, ...]
    """The versions of the published results that it marks."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the event of the decision."""
        teams = 0 if self.rebuilding is None else len(self.rebuilding.teams)
        return {"rebuilds": teams, "marks": list(self.results)}

    def store(self, transaction: Transaction, state: CompetitionState, cause: str) -> None:
        """Store what is released again; ``cause`` is the kind of the event of the decision."""
        if self.rebuilding is not None:
            self.rebuilding.store(
                transaction,
                cause=cause,
                actor=state.actor,
                now=state.clock(),
                by_request=bool(state.event_fields),
            )


def consequences_text(fields: Mapping[str, Any], *, past: bool = False) -> str:
    """Return the consequences of a decision as a sentence, from the fields of its event.

    >>> consequences_text({"rebuilds": 3, "marks": [1]})
    'This releases the scores of 3 teams again and marks result 1.'
    >>> consequences_text({"rebuilds": 0, "marks": []}, past=True)
    'This changed no released score and no published result.'
    """
    teams, marks = fields.get("rebuilds", 0), fields.get("marks", ())
    parts = []
    if teams:
        parts.append(
            f"{'released' if past else 'releases'} the scores of {plural(teams, 'team')} again"
        )
    if marks:
        named = f"result{'s' if len(marks) > 1 else ''} {', '.join(map(str, marks))}"
        parts.append(f"{'marked' if past else 'marks'} {named}")
    if not parts:
        what = "changed" if past else "changes"
        return f"This {what} no released score and no published result."
    return f"This {' and '.join(parts)}."


def newly_marked(before: CompetitionState, after: CompetitionState) -> tuple[int, ...]:
    """Return the versions of published results that are marked after a change only."""
    unmarked = _unmarked(before)
    return tuple(sorted(unmarked - _unmarked(after))) if unmarked else ()


def _unmarked(state: CompetitionState) -> set[int]:
    """Return the versions of the published results of all phases that have no mark."""
    if not state.store.results():
        return set()
    from arena.competition.boards.results import unmarked_versions  # which imports scipy

    return set(unmarked_versions(state.of_all_phases))


def consequences_since(state: CompetitionState) -> Callable[[CompetitionState], str | None]:
    """Return a function of a later state that says what was released again and marked since.

    It returns None if nothing was.
    """
    unmarked, last = _unmarked(state), _last_sequence(state)

    def changed(after: CompetitionState) -> str | None:
        if _last_sequence(after) == last:
            return None
        events = [event for event in after.store.events(*CAUSES) if event.sequence > last]
        rebuilds = sum(event.payload.get("rebuilds", 0) for event in events)
        marks = sorted(unmarked - _unmarked(after)) if unmarked else []
        if not rebuilds and not marks:
            return None
        return consequences_text({"rebuilds": rebuilds, "marks": marks}, past=True)

    return changed


def with_marks_of_settings(state: CompetitionState, recorded: str) -> CompetitionState:
    """Return the state with a note on the published results that new settings have marked.

    ``recorded``: the settings before, as they are stored.
    """
    if recorded == state.store.meta("settings") or not state.store.results():
        return state
    before = Settings.model_validate(parse_json(recorded))
    marks = newly_marked(replace(state, settings=before), state)
    if not marks:
        return state
    note = consequences_text({"rebuilds": 0, "marks": list(marks)}, past=True)
    return replace(state, notes=(*state.notes, f"{CONFIG_NAME} was changed. {note}"))


def _last_sequence(state: CompetitionState) -> int:
    return max((event.sequence for event in state.store.last_events(1)), default=0)
