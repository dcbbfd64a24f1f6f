"""What a command or a decision changes besides its own fact: released scores and marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    restored: tuple[int, ...] = ()
    """The versions of those whose mark it removes."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the event of the decision."""
        teams = 0 if self.rebuilding is None else len(self.rebuilding.teams)
        restored = {"unmarks": list(self.restored)} if self.restored else {}
        return {"rebuilds": teams, "marks": list(self.results), **restored}

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
    >>> consequences_text({"rebuilds": 1, "marks": [2], "unmarks": [1]})
    'This releases the scores of 1 team again, marks result 2 and removes the mark of result 1.'
    """
    teams, marks, unmarks = (fields.get(key, ()) for key in ("rebuilds", "marks", "unmarks"))
    parts = []
    if teams:
        parts.append(
            f"{'released' if past else 'releases'} the scores of {plural(teams, 'team')} again"
        )
    if marks:
        parts.append(f"{'marked' if past else 'marks'} {_named(marks)}")
    if unmarks:
        mark = f"the mark{'s' if len(unmarks) > 1 else ''}"
        parts.append(f"{'removed' if past else 'removes'} {mark} of {_named(unmarks)}")
    if not parts:
        what = "changed" if past else "changes"
        return f"This {what} no released score and no published result."
    first = ", ".join(parts[:-1])
    return f"This {first}{' and ' if first else ''}{parts[-1]}."


def _named(versions: Sequence[int]) -> str:
    return f"result{'s' if len(versions) > 1 else ''} {', '.join(map(str, versions))}"


def changed_marks(
    before: CompetitionState, after: CompetitionState
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the versions of published results that a change marks, and whose mark it removes."""
    return _changed(_has_mark(before), _has_mark(after))


def _changed(before: Mapping[int, bool], after: Mapping[int, bool]) -> tuple[Any, Any]:
    both = sorted(before.keys() & after.keys())
    changed = [version for version in both if before[version] != after[version]]
    marks = tuple(version for version in changed if after[version])
    return marks, tuple(version for version in changed if before[version])


def _has_mark(state: CompetitionState) -> dict[int, bool]:
    """Return whether each published result of any phase has a mark, by its version.

    Retracted results have no mark and are left out.
    """
    if not state.store.results():
        return {}
    from arena.competition.boards.results import published_results  # which imports scipy

    results = published_results(state.of_all_phases)
    return {
        result.version: result.mark is not None for result in results if result.state != "retracted"
    }


def consequences_since(state: CompetitionState) -> Callable[[CompetitionState], str | None]:
    """Return a function of a later state that says what was released again and marked since.

    It returns None if nothing was.
    """
    had_mark, last = _has_mark(state), state.store.last_sequence()

    def changed(after: CompetitionState) -> str | None:
        if after.store.last_sequence() == last:
            return None
        events = after.store.each_event(*CAUSES, after=last)
        rebuilds = sum(event.payload.get("rebuilds", 0) for event in events)
        marks, unmarks = _changed(had_mark, _has_mark(after))
        fields = {"rebuilds": rebuilds, "marks": marks, "unmarks": unmarks}
        return consequences_text(fields, past=True) if any(fields.values()) else None

    return changed


def with_marks_of_settings(state: CompetitionState, recorded: str) -> CompetitionState:
    """Return the state with a note on the published results that new settings have marked.

    ``recorded``: the settings before, as they are stored.
    """
    if recorded == state.store.meta("settings") or not state.store.results():
        return state
    before = Settings.model_validate(parse_json(recorded))
    note = text_of_changed_marks(replace(state, settings=before), state, past=True)
    if not note:
        return state
    return replace(state, notes=(*state.notes, f"{CONFIG_NAME} was changed. {note}"))


def text_of_changed_marks(
    before: CompetitionState, after: CompetitionState, *, past: bool = False
) -> str:
    """Return which published results a change marks, as a sentence; empty: none."""
    marks, unmarks = changed_marks(before, after)
    if not marks and not unmarks:
        return ""
    return consequences_text({"marks": marks, "unmarks": unmarks}, past=past)
