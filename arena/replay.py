"""What the same history would have released under another mechanism; nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arena.competition_state import CompetitionState
from arena.config import PublicSection, Settings
from arena.execution import Progress
from arena.final_selection import Candidate, public_board
from arena.public_mechanism import public_rows, review_mechanism
from arena.releasing import Past, Releaser, release_again, releaser_of
from arena.scopes import Scope
from arena.types import Release

__all__ = ["CAUTION", "Replay", "ReplayedBoard", "replay"]

CAUTION = (
    "The boards differ by the mechanism alone only where participants did not react: shown other "
    "scores, they would have sent other submissions."
)


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedBoard:
    """What a mechanism released, or would have, for one history."""

    mechanism: str
    scope: Scope
    releases: Mapping[int, Release]
    """By submission; one whose score is not finite is left out."""
    standings: Sequence[Mapping[str, Any]]
    """The public board after the last submission, as :meth:`Competition.leaderboard` has it."""

    @property
    def improvements(self) -> int:
        """How many submissions were shown as better than what was shown before."""
        return sum(release.improved for release in self.releases.values())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "mechanism": self.mechanism,
            "scope": self.scope,
            "improvements": self.improvements,
            "standings": [dict(row) for row in self.standings],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What was released, and what other mechanisms would have released for the same files."""

    title: str
    metric: str
    greater_is_better: bool
    released: ReplayedBoard
    replayed: tuple[ReplayedBoard, ...]
    history: tuple[Past, ...]
    """The submissions in the order of their releases."""
    notes: tuple[str, ...]
    """What a person should know of the mechanisms."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON: scores of submissions stand in the order of ``replayed``."""
        return {
            "title": self.title,
            "metric": self.metric,
            "greater_is_better": self.greater_is_better,
            "caution": CAUTION,
            "notes": list(self.notes),
            "released": self.released.to_dict(),
            "replayed": [board.to_dict() for board in self.replayed],
            "submissions": [
                {
                    "submission": past.submission,
                    "team": past.team,
                    "released": _score(self.released, past),
                    "replayed": [_score(board, past) for board in self.replayed],
                }
                for past in self.history
            ],
        }


def _score(board: ReplayedBoard, past: Past) -> float | None:
    release = board.releases.get(past.submission)
    return None if release is None else release.score


def replay(
    state: CompetitionState, mechanisms: Sequence[str], scope: Scope | None, progress: Progress
) -> Replay:
    """Release the history of the epoch in force anew by each of some mechanisms.

    Disqualified submissions are released like any other, since they were; on no board they stand.

    Parameters
    ----------
    mechanisms
        Such as ``ladder(eta=0.01)``.
    scope
        None: the one in force.

    Raises
    ------
    UnknownNameError, UsageError
        If there is no such mechanism, or it refuses its parameters.
    InputError
        If a mechanism does not suit the metric or the settings.
    """
    settings, notes = [], []
    for name in mechanisms:
        state.manager.mechanisms.resolve(name)
        own = _with_mechanism(state.settings, name, scope)
        settings.append(own)
        notes += review_mechanism(own, state.solution, state.manager)
    records = state.store.releases(state.settings.public.epoch)
    teams = {record.submission: record.team for record in state.store.submissions()}
    history = tuple(Past(record.submission, teams[record.submission]) for record in records)
    shown = {record.submission: record.release for record in records}
    releases = _release(state, [_releaser(state, own) for own in settings], history, progress)
    return Replay(
        title=state.settings.competition.title,
        metric=state.settings.metric.name,
        greater_is_better=state.metric.greater_is_better,
        released=_board(state, state.settings.public, shown),
        replayed=tuple(
            _board(state, own.public, each) for own, each in zip(settings, releases, strict=True)
        ),
        history=history,
        notes=tuple(notes),
    )


def _with_mechanism(settings: Settings, mechanism: str, scope: Scope | None) -> Settings:
    update = {"mechanism": mechanism, "scope": scope or settings.public.scope}
    return settings.model_copy(update={"public": settings.public.model_copy(update=update)})


def _releaser(state: CompetitionState, settings: Settings) -> Releaser:
    return releaser_of(settings, state.solution, state.store, state.manager, state.seed)


def _release(
    state: CompetitionState,
    releasers: Sequence[Releaser],
    history: Sequence[Past],
    progress: Progress,
) -> list[dict[int, Release]]:
    """Return the releases of each mechanism, by submission."""
    releases: list[dict[int, Release]] = [{} for _ in releasers]
    if not public_rows(state.solution).any():
        return releases
    progress.start("Releasing anew", len(history))
    for past, placed in release_again(releasers, history, state.store, state.solution):
        for own, one in zip(releases, placed, strict=True):
            if one is not None:
                own[past.submission] = one.release
        progress.advance()
    return releases


def _board(
    state: CompetitionState, public: PublicSection, releases: Mapping[int, Release]
) -> ReplayedBoard:
    standings = public_board(
        [_as_released(one, releases.get(one.submission)) for one in state.ledger.candidates()],
        greater_is_better=state.metric.greater_is_better,
        ties=state.settings.final.ties,
        baseline=state.settings.competition.baseline,
        sent=state.ledger.sent(),
    )
    return ReplayedBoard(public.mechanism, public.scope, releases, standings)


def _as_released(candidate: Candidate, release: Release | None) -> Candidate:
    if release is None:
        return replace(candidate, shown=None, ranked_by=None)
    ranked_by = release.score if release.ranked_by is None else release.ranked_by
    return replace(candidate, shown=release.score, ranked_by=ranked_by)
