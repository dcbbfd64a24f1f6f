"""The outcome of a simulated competition under one mechanism, compared with the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.state import CompetitionState
from arena.evaluation.binding import bind
from arena.evaluation.ranks import minimum_ranks
from arena.scoring.result import ScoreResult
from arena.scoring.splits import rows_of
from arena.simulation.competition.flags import Flag, flags_of, floor_was_checked
from arena.simulation.competition.teams import Participant
from arena.simulation.competition.timeline import Day, timeline
from arena.simulation.competition.true_scores import Scores, TruthKind, scores_of_submissions
from arena.simulation.degenerate import best_constant_score, degenerate_board
from arena.types import FloatArray
from arena.utils.tabular import as_json

PublicBoard = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TeamOutcome:
    """A team's result by its final submission. Natural sign, full precision."""

    team: str
    kind: str
    conduct: str
    submissions: int
    """Number of accepted submissions."""
    public_rank: int | None
    """On the public board at the end."""
    shown: float | None
    """The released score on that leaderboard."""
    public_score: float | None
    """Of the final submission, at full precision; not released."""
    rank: int
    """On the private board."""
    rank_low: int | None
    rank_high: int | None
    """The ends of its rank interval; None: none was computed."""
    score: float
    true_rank: int
    true_score: float


@dataclass(frozen=True, slots=True, eq=False)
class CompetitionOutcome:
    """A simulated competition under one mechanism."""

    mechanism: str
    scope: str
    folder: str
    truth: TruthKind
    greater_is_better: bool
    submissions: int
    """Accepted ones, without the baseline's."""
    turned_away: int
    """Refused by a limit or the deadline, or rejected for their faults."""
    teams: tuple[TeamOutcome, ...]
    """In the order of the private board."""
    days: tuple[Day, ...]
    leaderboard_error: float | None
    """Blum and Hardt (2015), Equation 3; None: nothing was released."""
    agreement: Mapping[str, float | None]
    """Kendall's tau-b of the ranks: ``public_private``, ``private_true``, ``public_true``; None:
    the ranks are all equal, or the truth is not known."""
    flags: tuple[Flag, ...]
    floor_checked: bool
    """Whether an analysis compared error rates with the Bayes error."""
    level: float
    """Of the intervals."""
    best_score: Mapping[str, float | None]
    """The best score corrected for selection: ``estimate``, ``low`` and ``high``."""
    baseline: Mapping[str, Any] | None
    """``team``, ``public_score``, ``score`` and ``true_score`` of the organiser's baseline."""
    notes: tuple[str, ...]
    degenerate: str | None = None
    """Why a ranking of the final submissions has no meaning, in a sentence; None: it has one."""

    @property
    def winner(self) -> TeamOutcome:
        """The first on the private board; of several, the truly best."""
        return min(self.teams, key=lambda team: (team.rank, team.true_rank))

    @property
    def shared_by(self) -> int:
        """How many teams share the first place of the private board."""
        return sum(team.rank == self.winner.rank for team in self.teams)

    @property
    def knows_truth(self) -> bool:
        """Whether true scores are known, exactly or from held-out rows."""
        return self.truth != "private"

    @property
    def best(self) -> TeamOutcome:
        """The truly best team; of several, the first on the private board."""
        return min(self.teams, key=lambda team: (team.true_rank, team.rank))

    @property
    def best_won(self) -> bool | None:
        """Whether the truly best team won or shared the win.

        None: the truth is not known, or the ranking has no meaning.
        """
        if not self.knows_truth or self.degenerate is not None:
            return None
        return self.best.rank == 1

    @property
    def loss(self) -> float | None:
        """By how much the winner is truly worse than the best, from 0; None: as above."""
        if self.best_won is None:
            return None
        return 0.0 if self.best_won else abs(self.best.true_score - self.winner.true_score)

    @property
    def leaderboard_error_mean(self) -> float | None:
        """The difference of the top score shown and the best true score, mean over the days."""
        if not self.days:
            return None
        return float(np.mean([abs(day.true_best - day.shown_best) for day in self.days]))

    @property
    def rank_intervals(self) -> dict[str, Any] | None:
        """How many rank intervals hold the true rank; None: no intervals, or no exact truth.

        Ranks on held-out rows have an error of their own, which the intervals do not cover.
        """
        ranged = [team for team in self.teams if team.rank_low and team.rank_high]
        if self.truth != "exact" or not ranged:
            return None
        held = sum(
            (team.rank_low or 0) <= team.true_rank <= (team.rank_high or 0) for team in ranged
        )
        return {"level": self.level, "teams": len(ranged), "held": held}

    @property
    def best_score_held(self) -> bool | None:
        """Whether the interval of the best true score holds it; None as above."""
        low, high = self.best_score["low"], self.best_score["high"]
        if self.truth != "exact" or low is None or high is None:
            return None
        return low <= self.best.true_score <= high

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        knows_truth = self.knows_truth
        document: dict[str, Any] = as_json(
            {
                "mechanism": self.mechanism,
                "scope": self.scope,
                "folder": self.folder,
                "truth": self.truth,
                "submissions": self.submissions,
                "turned_away": self.turned_away,
                "winner": self.winner.team,
                "best": self.best.team if knows_truth else None,
                "best_won": self.best_won,
                "loss": self.loss,
                "leaderboard_error": self.leaderboard_error,
                "leaderboard_error_mean": self.leaderboard_error_mean,
                "agreement": dict(self.agreement),
                "days": [asdict(day) for day in self.days],
                "standings": [_row(team, knows_truth) for team in self.teams],
                "flags": [asdict(flag) for flag in self.flags],
                "floor_checked": self.floor_checked,
                "rank_intervals": self.rank_intervals,
                "best_score": {**self.best_score, "held": self.best_score_held},
                "baseline": self.baseline,
                "notes": list(self.notes),
                "degenerate": self.degenerate,
            }
        )
        return document


def _row(team: TeamOutcome, knows_truth: bool) -> dict[str, Any]:
    row = asdict(team)
    return row if knows_truth else {**row, "true_rank": None, "true_score": None}


def outcome_of(
    state: CompetitionState,
    result: ScoreResult,
    public: PublicBoard,
    participants: Sequence[Participant],
    days: int,
    start: datetime,
    held_out: npt.NDArray[np.generic] | None = None,
) -> CompetitionOutcome:
    """Compare the results of a finalized competition with the truth.

    Parameters
    ----------
    result
        As ``Competition.finalize`` returns it.
    public
        As ``Competition.leaderboard`` returns it.
    start
        The first day's midnight.
    held_out
        See :func:`~arena.simulation.competition.true_scores.scores_of_submissions`.
    """
    counting = state.ledger.counting()
    numbers = np.array([record.submission for record in counting], dtype=np.intp)
    scores = scores_of_submissions(state, numbers, held_out)
    place = {int(number): position for position, number in enumerate(numbers)}
    participant_of = {
        team: participant for participant in participants for team in _accounts(participant)
    }
    teams = _teams(
        state, result, public=public, scores=scores, place=place, participant_of=participant_of
    )
    settings = state.settings
    released = {
        record.submission: record.release.score for record in state.store.releases(state.epoch)
    }
    released_scores = (
        (datetime.fromisoformat(record.received), released[record.submission], true)
        for record, true in zip(counting, scores.true.tolist(), strict=True)
        if record.submission in released and record.team not in settings.competition.baselines
    )
    better = state.metric.greater_is_better
    error, by_day = timeline(released_scores, days, start, greater_is_better=better)
    return CompetitionOutcome(
        mechanism=settings.public.mechanism,
        scope=settings.public.scope,
        folder=str(state.folder),
        truth=scores.kind,
        greater_is_better=better,
        submissions=sum(record.team in participant_of for record in counting),
        turned_away=sum(
            record.status != "accepted" and record.team in participant_of
            for record in state.store.submissions()
        ),
        teams=teams,
        days=by_day,
        leaderboard_error=error,
        agreement=agreement_of(teams, scores.kind),
        flags=flags_of(result.findings, result.standings, participant_of, state.ledger.similar()),
        floor_checked=floor_was_checked(result.findings),
        level=result.level,
        best_score={end: result.best_score_corrected[end] for end in ("estimate", "low", "high")},
        baseline=_baseline(result, scores, place),
        notes=result.notes,
        degenerate=degenerate_reason(state, teams),
    )


def degenerate_reason(state: CompetitionState, teams: Sequence[TeamOutcome]) -> str | None:
    """Return why the private board has no meaning, as a sentence; None: it has one."""
    solution = state.solution
    if len(solution.targets) != 1:
        return None
    rows = rows_of(solution, "private")
    classes = solution.targets[0].classes
    constant = best_constant_score(
        bind(state.metric, solution, rows),
        solution.truth[rows],
        None if classes is None else len(classes),
        kind=solution.kind,
    )
    scores = np.array([team.score for team in teams])
    return degenerate_board(scores, constant, greater_is_better=state.metric.greater_is_better)


def _accounts(participant: Participant) -> list[str]:
    return [participant.team(account) for account in range(participant.kind.accounts)]


def _teams(
    state: CompetitionState,
    result: ScoreResult,
    public: PublicBoard,
    scores: Scores,
    place: Mapping[int, int],
    participant_of: Mapping[str, Participant],
) -> tuple[TeamOutcome, ...]:
    rows = [row for row in result.standings if row["team"] in participant_of]
    rows_of = np.array([place[row["submission"]] for row in rows], dtype=np.intp)
    true_ranks = minimum_ranks(
        scores.true[rows_of], greater_is_better=state.metric.greater_is_better
    )
    public_row_of = {row["team"]: row for row in public}
    n_sent = state.ledger.sent()
    return tuple(
        TeamOutcome(
            team=row["team"],
            kind=participant_of[row["team"]].kind.competitor.name,
            conduct=participant_of[row["team"]].kind.conduct,
            submissions=n_sent[row["team"]],
            public_rank=public_row_of.get(row["team"], {}).get("rank"),
            shown=public_row_of.get(row["team"], {}).get("score"),
            public_score=_or_none(scores.public[position]),
            rank=row["rank"],
            rank_low=row.get("rank_low"),
            rank_high=row.get("rank_high"),
            score=row["score"],
            true_rank=int(rank),
            true_score=float(scores.true[position]),
        )
        for row, position, rank in zip(rows, rows_of, true_ranks, strict=True)
    )


def _or_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def agreement_of(teams: Sequence[TeamOutcome], truth: TruthKind) -> dict[str, float | None]:
    """Return how far the rankings agree, over the teams on the public board.

    None for the true ranks if the truth is not known: private ranks would agree with themselves.
    """
    both = [team for team in teams if team.public_rank is not None]
    ranks = {
        "public": np.array([team.public_rank for team in both], dtype=np.float64),
        "private": np.array([team.rank for team in both], dtype=np.float64),
        "true": np.array([team.true_rank for team in both], dtype=np.float64),
    }
    pairs = (("public", "private"), ("private", "true"), ("public", "true"))
    return {
        f"{first}_{other}": None
        if "true" in (first, other) and truth == "private"
        else _tau(ranks[first], ranks[other])
        for first, other in pairs
    }


def _tau(ranks: FloatArray, other: FloatArray) -> float | None:
    from scipy.stats import kendalltau

    if len(ranks) < 2 or np.ptp(ranks) == 0 or np.ptp(other) == 0:
        return None
    return float(round(kendalltau(ranks, other).statistic, 12))


def _baseline(
    result: ScoreResult, scores: Scores, place: Mapping[int, int]
) -> dict[str, Any] | None:
    if result.baseline is None:
        return None
    true = scores.true[place[result.baseline["submission"]]]
    document = {key: result.baseline[key] for key in ("team", "public_score", "score")}
    return {**document, "true_score": _or_none(true)}
