"""Season boards, ``[board.NAME]`` with ``series``: one score over the rounds of a series.

What a team predicted in a season is one array: on the rows of each round the predictions of its
final file in this round. So a season is ranked like any board, and its rounds are combined like
tasks. A round that a team missed is filled by the baseline, or the team is not ranked: a mean over
the rounds that a team covered would reward it for leaving out hard ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.competition.combined_boards import combined_metric_of, finding_of
from arena.competition.phases import all_rows_in
from arena.competition.roster import Roster
from arena.config import CombinedBoardSection, Settings
from arena.errors import UsageError
from arena.evaluation.predictions import ArrayPredictions
from arena.interfaces.faults import plural
from arena.scoring.board import BoardRun, HoldsPredictions
from arena.scoring.result import ScoreResult
from arena.types import Finding, IntArray, Solution, SubmissionRecord, Usage

RoundFiles: TypeAlias = Mapping[str, Mapping[str, int]]
"""Round -> team -> its final submission in the round."""
Rank: TypeAlias = Callable[
    [BoardRun, Mapping[str, Sequence[int]], Sequence[SubmissionRecord], Roster], ScoreResult
]
"""Ranks the final submissions of teams, and lists the records of teams that are not ranked."""
_NEVER = datetime.max.replace(tzinfo=UTC)


def season_boards(settings: Settings, phase: str) -> dict[str, CombinedBoardSection]:
    """Return the season boards of the series of a phase; none if it is no round."""
    section = settings.phase.get(phase)
    series = "" if section is None else section.series
    return {name: board for name, board in settings.board.items() if series == board.series != ""}


def rounds_until(settings: Settings, phase: str) -> tuple[str, ...]:
    """Return the rounds of the series of a phase that end no later than it: its season so far."""
    ends = {
        name: settings.in_phase(name).competition.deadline or _NEVER
        for name, section in settings.phase.items()
        if section.series == settings.phase[phase].series
    }
    return tuple(name for name, end in ends.items() if end <= ends[phase])


@dataclass(frozen=True, slots=True, eq=False)
class Season:
    """What season boards are computed from."""

    settings: Settings
    """The settings of the competition, with all phases."""
    phase: str
    """The last round that counts."""
    solution: Solution
    """The stored solution, whose labels are those that have arrived."""
    files: RoundFiles
    """The final submissions of the rounds so far."""
    records: Mapping[int, SubmissionRecord]
    """Submission -> its record, for all of these submissions."""
    roster: Roster


@dataclass(frozen=True, slots=True, eq=False)
class _SeasonPredictions:
    """The predictions of each team over the rounds, each from its file in the round."""

    store: HoldsPredictions
    round_of_row: IntArray
    """``(n_rows,)`` the position of the round of each row."""
    files: Mapping[int, Sequence[int]]
    """The submission that stands for a team's season -> its submission in each round."""

    def predictions(
        self, submissions: Sequence[int], rows: npt.NDArray[np.bool_] | None = None
    ) -> ArrayPredictions:
        """Return the predictions of seasons, in this order, on the rows of a mask."""
        chosen = np.ones(len(self.round_of_row), dtype=np.bool_) if rows is None else rows
        rounds = self.round_of_row[chosen]
        values: npt.NDArray[Any] | None = None
        for position in np.unique(rounds).tolist():
            numbers = [self.files[submission][position] for submission in submissions]
            different = sorted(set(numbers))
            of_round = chosen & (self.round_of_row == position)
            blocks = self.store.predictions(different, rows=of_round).blocks(len(different))
            read = np.concatenate([block for _, block in blocks])
            if values is None:
                values = np.empty((len(numbers), len(rounds), *read.shape[2:]), dtype=read.dtype)
            values[:, rounds == position] = read[np.searchsorted(different, numbers)]
        return ArrayPredictions(np.empty((len(submissions), 0)) if values is None else values)


def season_findings(run: BoardRun, season: Season, rank: Rank) -> Iterator[Finding]:
    """Yield the boards of a season.

    There is none before two rounds have labels. A round to which no file was sent counts for no
    team. ``run`` is that of the phase.

    Raises
    ------
    UsageError
        If a weight is for no round, or the baseline lacks a round that it fills.
    """
    sent = [name for name, of_round in season.files.items() if of_round]
    empty = [name for name in season.files if name not in sent]
    split = all_rows_in(season.solution, [season.settings.phase[name] for name in sent])
    private = split.usage == np.uint8(Usage.PRIVATE)
    round_of_row = np.zeros(split.n_rows, dtype=np.intp)
    rounds: list[str] = []
    for name in sent:
        of_round = all_rows_in(season.solution, [season.settings.phase[name]])
        rows = private & (of_round.usage == np.uint8(Usage.PRIVATE)) & ~split.pending
        if rows.any():
            round_of_row[rows] = len(rounds)
            rounds.append(name)
    if len(rounds) < 2:
        return
    labelled = private & ~split.pending
    solution = replace(
        split,
        usage=np.where(labelled, np.uint8(Usage.PRIVATE), np.uint8(Usage.IGNORED)),
        tasks=round_of_row,
        task_names=tuple(rounds),
    )
    for name, board in season_boards(season.settings, season.phase).items():
        files, left_out = _complete(name, board, season, rounds)
        if not set(files) - set(season.roster.unranked):
            continue
        weights = {key: weight for key, weight in board.weights.items() if key in rounds}
        weighted = board.model_copy(update={"weights": weights})
        of_phase = season.settings.in_phase(season.phase)
        combined = combined_metric_of(name, weighted, of_phase, solution, run.manager)
        metric = replace(combined, task_word="rounds")
        # A team is known by its last file, which is in no other season.
        standing = {
            team: max(numbers[team] for numbers in season.files.values() if team in numbers)
            for team in files
        }
        roster = season.roster.among(files)
        season_run = replace(
            run,
            specification=metric.name,
            metric=metric,
            solution=solution,
            store=_SeasonPredictions(
                run.store,
                round_of_row,
                {standing[team]: numbers for team, numbers in files.items()},
            ),
            secondary={},
            provider=run.manager.metrics.plugin_of(run.specification),
            brackets=roster.boards,
            n_pending=int((private & split.pending).sum()),
        )
        ranked = [team for team in files if team not in roster.unranked]
        result = rank(
            season_run,
            {team: (standing[team],) for team in ranked},
            [season.records[number] for number in standing.values()],
            roster,
        )
        finding = finding_of(name, result)
        yield replace(
            finding,
            verdict=f"{finding.verdict} {_about_missing(board, rounds, left_out, empty)}",
            document={
                **finding.document,
                "round_files": {key: dict(numbers) for key, numbers in season.files.items()},
            },
        )


def _complete(
    name: str, board: CombinedBoardSection, season: Season, rounds: Sequence[str]
) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Return the file of each team in each round, and the teams that lack one."""
    baseline = season.settings.competition.reference if board.missing == "baseline" else None
    files, left_out = dict[str, tuple[int, ...]](), list[str]()
    for team in sorted({team for key in rounds for team in season.files[key]}):
        team_files = [season.files[key].get(team) for key in rounds]
        if baseline is not None:
            team_files = [
                season.files[key].get(baseline) if number is None else number
                for key, number in zip(rounds, team_files, strict=True)
            ]
            if None in team_files:
                raise UsageError(
                    f"[board.{name}]: the baseline {baseline!r} has no file in the round "
                    f"{rounds[team_files.index(None)]}, in which it stands for teams that missed "
                    f'it: submit one, or set missing = "unranked".'
                )
        numbers = tuple(number for number in team_files if number is not None)
        if len(numbers) == len(rounds):
            files[team] = numbers
        else:
            left_out.append(team)
    return files, left_out


def _about_missing(
    board: CombinedBoardSection,
    rounds: Sequence[str],
    left_out: Sequence[str],
    empty: Sequence[str],
) -> str:
    """Return how many rounds there are, and what a missed one counts; ``empty``: without files."""
    n_rounds = f"{plural(len(rounds), 'round')}."
    if empty:
        n_rounds = f"{n_rounds} No file was sent to {', '.join(empty)}: it counts for no team."
    if board.missing == "baseline":
        return f"{n_rounds} In a round that a team missed, the baseline's file counts for it."
    if not left_out:
        return f"{n_rounds} No team missed one."
    are = "is" if len(left_out) == 1 else "are"
    return f"{n_rounds} {plural(len(left_out), 'team')} missed a round and {are} not ranked."
