"""Replays the submissions of a competition under other mechanisms; nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from arena.competition.record.final_selection import Candidate, public_board
from arena.competition.record.phases import group_of
from arena.competition.state import CompetitionState
from arena.config import Settings
from arena.config_sections import PublicSection
from arena.interfaces import Scope
from arena.public_board.mechanism import public_rows, review_mechanism
from arena.public_board.releaser import (
    Releaser,
    SubmissionRef,
    make_releaser,
    read_public_rows,
    release_again,
)
from arena.types import Release
from arena.utils.collection import collection_paused
from arena.utils.parallel import Progress

CAUTION = (
    "The comparison assumes that participants did not react to the scores they saw: with other "
    "scores they would have sent other submissions."
)


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedBoard:
    """The releases of a mechanism, real or replayed, for one history."""

    mechanism: str
    scope: Scope
    releases: Mapping[int, Release]
    """The releases by submission; a submission without a finite score is left out."""
    standings: Sequence[Mapping[str, Any]]
    """The public board after the last submission, as :meth:`Competition.leaderboard` returns it."""

    @property
    def improvements(self) -> int:
        """The number of submissions that were released as an improvement."""
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
    """The released board, and what other mechanisms would have released for the same files."""

    title: str
    metric: str
    greater_is_better: bool
    released: ReplayedBoard
    replayed: tuple[ReplayedBoard, ...]
    history: tuple[SubmissionRef, ...]
    """The submissions in the order of their releases."""
    notes: tuple[str, ...]
    """Notes on the mechanisms, for the organiser."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, with the scores of each submission in the order of ``replayed``."""
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
                    "submission": ref.submission,
                    "team": ref.team,
                    "released": _score(self.released, ref),
                    "replayed": [_score(board, ref) for board in self.replayed],
                }
                for ref in self.history
            ],
        }


def _score(board: ReplayedBoard, ref: SubmissionRef) -> float | None:
    release = board.releases.get(ref.submission)
    return None if release is None else release.score


@collection_paused()
def replay(
    state: CompetitionState, mechanisms: Sequence[str], scope: Scope | None, progress: Progress
) -> Replay:
    """Release the history of the current epoch again with each of the given mechanisms.

    The phases that share the public rows are replayed together, and the result is the phase's.
    Disqualified submissions are released too, as they originally were, but are on no board. See
    :meth:`arena.competition.view.CompetitionView.replay`.
    """
    settings, notes = [], []
    group = group_of(state.with_phases, state.phase or "")
    for name in mechanisms:
        state.manager.mechanisms.resolve(name)
        phase_settings = _with_mechanism(group.settings, name, scope)
        settings.append(phase_settings)
        notes += review_mechanism(
            phase_settings, state.solution.outline, lambda: state.solution, state.manager
        )
    teams = {
        record.submission: record.team
        for record in state.of_all_phases.ledger.records()
        if group.phases is None or record.phase in group.phases
    }
    records = [
        release for release in state.store.releases(state.epoch) if release.submission in teams
    ]
    sequence = [SubmissionRef(record.submission, teams[record.submission]) for record in records]
    releasers = [_releaser(state, group_settings, group.prefix) for group_settings in settings]
    again = _release(state, releasers, sequence, progress)
    own_records = {record.submission for record in state.ledger.records()}
    history = tuple(ref for ref in sequence if ref.submission in own_records)
    recorded_releases, *releases = (
        {number: release for number, release in of_group.items() if number in own_records}
        for of_group in ({record.submission: record.release for record in records}, *again)
    )
    return Replay(
        title=state.settings.competition.title,
        metric=state.settings.metric.name,
        greater_is_better=state.metric.greater_is_better,
        released=_board(state, state.settings.public, recorded_releases),
        replayed=tuple(
            _board(state, phase_settings.public, each)
            for phase_settings, each in zip(settings, releases, strict=True)
        ),
        history=history,
        notes=tuple(notes),
    )


def _with_mechanism(settings: Settings, mechanism: str, scope: Scope | None) -> Settings:
    update = {"mechanism": mechanism, "scope": scope or settings.public.scope}
    return settings.model_copy(update={"public": settings.public.model_copy(update=update)})


def _releaser(state: CompetitionState, settings: Settings, prefix: str) -> Releaser:
    read = partial(read_public_rows, state.store, public_rows(state.solution))
    return make_releaser(
        settings, state.solution, read=read, manager=state.manager, seed=state.seed, prefix=prefix
    )


def _release(
    state: CompetitionState,
    releasers: Sequence[Releaser],
    history: Sequence[SubmissionRef],
    progress: Progress,
) -> list[dict[int, Release]]:
    """Return the releases of each mechanism, by submission."""
    releases: list[dict[int, Release]] = [{} for _ in releasers]
    if not public_rows(state.solution).any():
        return releases
    progress.start("Releasing again", len(history))
    teams = state.ledger.teams()
    history = [SubmissionRef(ref.submission, teams.stored(ref.team)) for ref in history]
    # As when they were submitted: a mechanism that bounds the values of rows scores them itself.
    scores = {score.submission: score.public for score in state.store.scores(state.revision)}
    for ref, released in release_again(
        releasers, history, store=state.store, solution=state.solution, scores=scores
    ):
        for released_scores, release in zip(releases, released, strict=True):
            if release is not None:
                released_scores[ref.submission] = release.release
        progress.advance()
    return releases


def _board(
    state: CompetitionState, public: PublicSection, releases: Mapping[int, Release]
) -> ReplayedBoard:
    standings = public_board(
        [
            _as_released(candidate, releases.get(candidate.submission))
            for candidate in state.ledger.candidates()
        ],
        greater_is_better=state.metric.greater_is_better,
        ties=state.settings.final.ties,
        roster=state.roster,
        n_sent=state.ledger.sent(),
    )
    return ReplayedBoard(public.mechanism, public.scope, releases, standings)


def _as_released(candidate: Candidate, release: Release | None) -> Candidate:
    if release is None:
        return replace(candidate, shown=None, ranked_by=None)
    ranked_by = release.score if release.ranked_by is None else release.ranked_by
    return replace(candidate, shown=release.score, ranked_by=ranked_by)
