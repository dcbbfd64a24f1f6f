"""Plays a competition with drawn predictions, in memory: thousands of teams in minutes.

No model is trained, no file is written and no database is used, but predictions are scored by the
competition's metric and released by its mechanism, one after the other in the order of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.record.final_selection import Candidate, choose_finals, public_board
from arena.competition.state import CompetitionState
from arena.errors import UsageError
from arena.evaluation.binding import bind
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.ranks import minimum_ranks
from arena.evaluation.scores import full_scores
from arena.interfaces import Conduct, Metric
from arena.public_board.instances import MemoryLog
from arena.public_board.mechanism import public_rows
from arena.public_board.releaser import ScoredSubmission, make_releaser
from arena.scoring.splits import rows_of
from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.drawing import Drawing, open_drawing
from arena.simulation.competition.outcome import (
    CompetitionOutcome,
    TeamOutcome,
    agreement_of,
    degenerate_reason,
)
from arena.simulation.competition.teams import CompetitorKind, Participant
from arena.simulation.competition.timeline import timeline
from arena.simulation.competition.true_scores import true_scores, truth_kind
from arena.simulation.past.teams import Defaults, PastTeams
from arena.types import FloatArray, IntArray, Solution
from arena.utils.parallel import Progress

_STREAM = 2**32 - 13
_BLOCK = 64
_REACH_LEVEL, _LEAST_REACH = 0.9, 3.0


@dataclass(frozen=True, slots=True)
class DrawnTeam:
    """A team whose predictions the simulation draws; it takes part in no other competition."""

    name: str = "drawn team"
    conduct: Conduct = "honest"

    def start(self, _participation: Any, _rng: np.random.Generator) -> Any:
        """Refuse: only the simulation plays for it."""
        raise UsageError("The predictions of drawn teams come from the simulation: use --drawn.")


DRAWN = CompetitorKind("drawn team", DrawnTeam(), "arena")


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """All entries of all teams, in the order of time."""

    when: Sequence[datetime]
    team: IntArray
    public_gap: FloatArray
    private_gap: FloatArray
    seeds: Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PlayedSubmission:
    """A submission after its release."""

    number: int
    team: int
    public: float | None
    private: float
    true: float
    shown: float | None


def drawing_for(metric: Metric, solution: Solution, teams: PastTeams, seed: int) -> Drawing:
    """Return the drawing for a competition: 90% of the teams are better than pure noise.

    Raises
    ------
    InputError
        If predictions cannot be drawn for its metric.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))
    return open_drawing(metric, solution, reach_of(teams), rng)


def reach_of(teams: PastTeams) -> float:
    """Return the gap that 90% of the teams' gaps do not exceed, at least 3."""
    gaps = np.concatenate([teams.public_gap, teams.private_gap])
    return max(_LEAST_REACH, float(np.quantile(gaps, _REACH_LEVEL)))


def final_predictions(drawing: Drawing, teams: PastTeams, seed: int) -> Iterator[npt.NDArray[Any]]:
    """Yield each team's last entry only, in blocks of 64."""
    seeds = [
        _seed(seed, int(notebook), position, 0) for position, notebook in enumerate(teams.notebook)
    ]
    for start in range(0, len(seeds), _BLOCK):
        part = slice(start, start + _BLOCK)
        yield drawing.predictions(teams.public_gap[part], teams.private_gap[part], seeds[part])


def play_drawn(
    state: CompetitionState,
    participants: Sequence[Participant],
    rounds: Sequence[Sequence[Visit]],
    past: tuple[PastTeams, Defaults],
    seed: int,
    days: int,
    start: datetime,
    baseline: npt.NDArray[Any],
    progress: Progress,
) -> CompetitionOutcome:
    """Play all visits, and return the outcome without rank intervals and flags.

    Parameters
    ----------
    state
        An empty competition, which stays empty.
    past
        Of the participants, by their numbers.
    baseline
        The predictions of the organiser's baseline.

    Raises
    ------
    InputError
        If predictions cannot be drawn for the metric.
    """
    teams, defaults = past
    entries = drawn_entries(rounds, teams, defaults, seed)
    drawing = drawing_for(state.metric, state.solution, teams, seed)
    progress.start(f"Submissions under {state.settings.public.mechanism}", len(entries.team))
    names = [participant.team() for participant in participants]
    player = SubmissionPlayer(state, names)
    organiser = state.settings.competition.reference
    baseline_row = None
    if organiser is not None:
        (only,) = player.send(baseline[np.newaxis], [organiser], [-1])
        baseline_row = {
            "team": organiser,
            "public_score": only.public,
            "score": only.private,
            "true_score": only.true,
        }
    played: list[PlayedSubmission] = []
    for first in range(0, len(entries.team), _BLOCK):
        part = slice(first, first + _BLOCK)
        drawn = drawing.predictions(
            entries.public_gap[part], entries.private_gap[part], entries.seeds[part]
        )
        team_numbers = [int(team) for team in entries.team[part]]
        played += player.send(drawn, [names[team] for team in team_numbers], team_numbers)
        progress.advance(len(team_numbers))
    return outcome_of_played(
        state,
        participants,
        played=played,
        when=entries.when,
        days=days,
        start=start,
        baseline=baseline_row,
    )


def drawn_entries(
    rounds: Sequence[Sequence[Visit]], teams: PastTeams, defaults: Defaults, seed: int
) -> _Entries:
    """Return every entry; a team's gap approaches that of its last one with their logarithm."""
    visits = sorted((visit.when, visit.participant) for visits in rounds for visit in visits)
    team = np.array([number for _, number in visits], dtype=np.intp)
    total = np.bincount(team, minlength=len(teams.entries))
    count = np.zeros(len(teams.entries), dtype=np.intp)
    turn = np.empty(len(team), dtype=np.intp)
    for position, number in enumerate(team):
        count[number] += 1
        turn[position] = count[number]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM, 1)))
    is_last = turn == total[team]
    left = 1 - np.log(turn) / np.log(np.maximum(total[team], 2))
    more = teams.first_gap[team] * left + rng.exponential(defaults.setback, len(team))
    more = np.where(is_last, 0.0, more)
    seeds = [
        _seed(seed, int(teams.notebook[number]) if last else -1, int(number), int(turn_number))
        for number, turn_number, last in zip(team, turn, is_last, strict=True)
    ]
    return _Entries(
        [when for when, _ in visits],
        team,
        public_gap=teams.public_gap[team] + more,
        private_gap=teams.private_gap[team] + more,
        seeds=seeds,
    )


def _seed(seed: int, notebook: int, team: int, turn: int) -> tuple[int, ...]:
    return (seed, _STREAM, 0, notebook) if notebook >= 0 else (seed, _STREAM, 1, team, turn)


class SubmissionPlayer:
    """Scores predictions and releases their scores, as the competition does."""

    def __init__(self, state: CompetitionState, names: Sequence[str]) -> None:
        self._state, self._names = state, names
        solution, metric = state.solution, state.metric
        self._kind = truth_kind(solution, metric)
        self._public, self._private = public_rows(solution), rows_of(solution, "private")
        self._bound = {split: bind(metric, solution, rows_of(solution, split)) for split in _SPLITS}
        self._log, self._number = MemoryLog(), 0
        self._kept: dict[int, npt.NDArray[Any]] = {}
        self._releaser = None
        if self._public.any():
            self._releaser = make_releaser(
                state.settings, solution, read=self._read, manager=state.manager, seed=state.seed
            )

    def send(
        self, predictions: npt.NDArray[Any], names: Sequence[str], teams: Sequence[int]
    ) -> list[PlayedSubmission]:
        """Score a block of submissions, and release their scores in their order."""
        truth = self._state.solution.truth
        scores: dict[str, FloatArray] = {}
        for split, rows in zip(_SPLITS, (self._public, self._private), strict=True):
            scores[split] = np.full(len(predictions), np.nan)
            if rows.any():
                block = ArrayPredictions(predictions[:, rows])
                scores[split] = full_scores(self._bound[split], truth[rows], block)
        true = scores["private"]
        if self._kind == "exact":
            state = self._state
            true = true_scores(state.metric, state.solution, ArrayPredictions(predictions))
        releases = []
        for position, (name, team) in enumerate(zip(names, teams, strict=True)):
            self._number += 1
            public = float(scores["public"][position])
            released = self._release(name, predictions[position : position + 1], public)
            finite = public if np.isfinite(public) else None
            releases.append(
                PlayedSubmission(
                    self._number,
                    team,
                    public=finite,
                    private=float(scores["private"][position]),
                    true=float(true[position]),
                    shown=released,
                )
            )
        return releases

    def _read(self, submissions: Sequence[int]) -> npt.NDArray[Any]:
        return np.concatenate([self._kept[submission] for submission in submissions])

    def _release(self, team: str, prediction: npt.NDArray[Any], public: float) -> float | None:
        if self._releaser is None:
            return None
        block = prediction[:, self._public]
        scored = ScoredSubmission(self._number, team, block, public)
        released = self._releaser.release(scored, self._log)
        if released is None:
            return None
        if released.release.improved:  # mechanisms compare with improvements only
            compact = np.uint8 if block.dtype == np.intp and block.max() < 256 else block.dtype
            self._kept[self._number] = block.astype(compact)
        return released.release.score


_SPLITS = ("public", "private")


def outcome_of_played(
    state: CompetitionState,
    participants: Sequence[Participant],
    played: Sequence[PlayedSubmission],
    when: Sequence[datetime],
    days: int,
    start: datetime,
    baseline: Mapping[str, Any] | None,
) -> CompetitionOutcome:
    """Return the outcome of a competition whose submissions were all released."""
    settings, metric = state.settings, state.metric
    better = metric.greater_is_better
    kind = truth_kind(state.solution, metric)
    names = [participant.team() for participant in participants]
    candidates = [
        Candidate(
            submission.number,
            names[submission.team],
            public=submission.public,
            private=submission.private,
            shown=submission.shown,
            ranked_by=submission.shown,
        )
        for submission in played
    ]
    n_sent = Counter(names[submission.team] for submission in played)
    board = public_board(
        candidates, greater_is_better=better, ties=settings.final.ties, n_sent=n_sent
    )
    public_of = {row["team"]: row for row in board}
    # A team that may choose takes the submission with its best released score.
    chosen = {row["team"]: [row["submission"]] for row in board}
    finals = choose_finals(candidates, settings.final.rule, greater_is_better=better, chosen=chosen)
    by_number = {submission.number: submission for submission in played}
    sign = 1 if better else -1
    counted = {
        team: max(
            (by_number[number] for number in numbers), key=lambda number: sign * number.private
        )
        for team, numbers in finals.items()
    }
    order = sorted(counted, key=lambda team: (-sign * counted[team].private, counted[team].number))
    private = np.array([counted[team].private for team in order])
    true = np.array([counted[team].true for team in order])
    ranks = minimum_ranks(private, greater_is_better=better)
    true_ranks = minimum_ranks(true, greater_is_better=better)
    teams = tuple(
        TeamOutcome(
            team=team,
            kind=DRAWN.specification,
            conduct=DRAWN.conduct,
            submissions=n_sent[team],
            public_rank=public_of.get(team, {}).get("rank"),
            shown=public_of.get(team, {}).get("score"),
            public_score=counted[team].public,
            rank=int(rank),
            rank_low=None,
            rank_high=None,
            score=counted[team].private,
            true_rank=int(true_rank),
            true_score=counted[team].true,
        )
        for team, rank, true_rank in zip(order, ranks, true_ranks, strict=True)
    )
    scores = (
        (time, submission.shown, submission.true)
        for time, submission in zip(when, played, strict=True)
        if submission.shown is not None
    )
    error, by_day = timeline(scores, days, start, greater_is_better=better)
    return CompetitionOutcome(
        mechanism=settings.public.mechanism,
        scope=settings.public.scope,
        folder=str(state.folder),
        truth=kind,
        greater_is_better=better,
        submissions=len(played),
        turned_away=0,
        teams=teams,
        days=by_day,
        leaderboard_error=error,
        agreement=agreement_of(teams, kind),
        flags=(),
        floor_checked=False,
        level=settings.analysis.level,
        best_score={"estimate": None, "low": None, "high": None},
        baseline=baseline,
        notes=(),
        degenerate=degenerate_reason(state, teams),
    )


def final_board(outcome: CompetitionOutcome) -> str:
    """Return the final board as CSV, in the form that past boards are read in."""
    lines = ["team,private_rank,private_score,public_rank,public_score,entries"]
    for team in outcome.teams:
        public = ["", ""] if team.public_rank is None else [str(team.public_rank), repr(team.shown)]
        cells = [team.team, str(team.rank), repr(team.score), *public, str(team.submissions)]
        lines.append(",".join(cells))
    return "\n".join([*lines, ""])
