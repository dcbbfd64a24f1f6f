"""Boards over phases, ``[board.NAME]`` with ``phases`` or ``series``: one score of several phases.

The phases are tasks that a board names, or the rounds of a series so far, its season. What a team
predicted in them is one array: on the rows of each phase the predictions of its final file in this
phase. So they are ranked like any board, and combined like tasks, each by its own metric. In a
phase that a team missed, the file of the baseline or the worst score counts for it, or the team is
not ranked: a mean over the phases that a team covered would reward it for leaving out hard ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.competition.record.combined_boards import (
    ABOUT_PHASES,
    finding_of,
    metric_over_phases,
    relative_to,
)
from arena.competition.record.phases import all_rows_in, solution_in
from arena.competition.record.roster import Roster
from arena.config import Settings
from arena.config_sections import CombinedBoardSection
from arena.errors import UsageError
from arena.evaluation.absent import absent_cell
from arena.evaluation.binding import bind
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.evaluation.solution_metric import metric_of_solution
from arena.scoring.board import BoardRun, HoldsPredictions
from arena.scoring.result import ScoreResult
from arena.scoring.splits import rows_of
from arena.types import Finding, IntArray, Solution, SubmissionRecord, Usage
from arena.utils.text import plural

PhaseFiles: TypeAlias = Mapping[str, Mapping[str, int]]
"""Phase -> team -> its final submission in it."""
Rank: TypeAlias = Callable[
    [BoardRun, Mapping[str, Sequence[int]], Sequence[SubmissionRecord], Roster], ScoreResult
]
"""Ranks the final submissions of teams, and lists the records of teams that are not ranked."""
_NEVER = datetime.max.replace(tzinfo=UTC)


def phases_by_board(settings: Settings, phase: str) -> dict[str, tuple[str, ...]]:
    """Return name -> phases of each board over phases that the result of a phase has.

    Those of a series are in the result of each round, over the rounds that end no later. A board
    of named phases is in the result of the one that ends last; of several, of the first one.
    """
    section = settings.phase.get(phase)
    if section is None:
        return {}
    boards = dict[str, tuple[str, ...]]()
    for name, board in settings.board.items():
        if board.series and board.series == section.series:
            boards[name] = rounds_until(settings, phase)
        elif phase in board.phases and phase == _last_of(settings, board.phases):
            boards[name] = board.phases
    return boards


def rounds_until(settings: Settings, phase: str) -> tuple[str, ...]:
    """Return the rounds of the series of a phase that end no later than it: its season so far."""
    series, end = settings.phase[phase].series, _end(settings, phase)
    return tuple(
        name
        for name, section in settings.phase.items()
        if section.series == series and _end(settings, name) <= end
    )


def phases_of_boards(settings: Settings, phase: str) -> tuple[str, ...]:
    """Return the phases on which the boards over phases in the result of a phase depend."""
    boards = phases_by_board(settings, phase).values()
    return tuple(dict.fromkeys(name for names in boards for name in names))


def _last_of(settings: Settings, phases: Collection[str]) -> str:
    in_order = (name for name in settings.phase if name in phases)
    return max(in_order, key=lambda name: _end(settings, name))


def _end(settings: Settings, phase: str) -> datetime:
    return settings.in_phase(phase).competition.deadline or _NEVER


@dataclass(frozen=True, slots=True, eq=False)
class PhaseFinals:
    """The final submissions of phases, and what else boards over them are computed from."""

    settings: Settings
    """The settings of the competition, with all phases."""
    phase: str
    """The phase in whose result they are."""
    solution: Solution
    """The stored solution, whose labels are those that have arrived."""
    files: PhaseFiles
    """The final submissions of their phases."""
    records: Mapping[int, SubmissionRecord]
    """Submission -> its record, for all of these submissions."""
    roster: Roster


@dataclass(frozen=True, slots=True, eq=False)
class _PredictionsOverPhases:
    """The predictions of each team over several phases, each from its file in the phase."""

    store: HoldsPredictions
    phase_of_row: IntArray
    """``(n_rows,)`` the position of the phase of each row."""
    files: Mapping[int, Sequence[int | None]]
    """The submission that stands for all files of a team -> its submission in each phase; None:
    the team has no file in the phase, and its cells are marked as absent."""

    def predictions(
        self, submissions: Sequence[int], rows: npt.NDArray[np.bool_] | None = None
    ) -> ArrayPredictions:
        """Return the predictions of teams, in this order, on the rows of a mask."""
        chosen = np.ones(len(self.phase_of_row), dtype=np.bool_) if rows is None else rows
        phases = self.phase_of_row[chosen]
        values: npt.NDArray[Any] | None = None
        for position in np.unique(phases).tolist():
            numbers = [self.files[submission][position] for submission in submissions]
            different = sorted({number for number in numbers if number is not None})
            in_phase = chosen & (self.phase_of_row == position)
            # Where every team lacks the phase, any file tells the form of the cells.
            different = different or [submissions[0]]
            blocks = self.store.predictions(different, rows=in_phase).blocks(len(different))
            read = np.concatenate([block for _, block in blocks])
            if values is None:
                values = np.empty((len(numbers), len(phases), *read.shape[2:]), dtype=read.dtype)
            of_phase = read[np.searchsorted(different, [number or 0 for number in numbers])]
            of_phase[[number is None for number in numbers]] = absent_cell(read.dtype)
            values[:, phases == position] = of_phase
        return ArrayPredictions(np.empty((len(submissions), 0)) if values is None else values)


@dataclass(frozen=True, slots=True, eq=False)
class _PhaseRows:
    """The rows of the phases of a board that have files and labels."""

    solution: Solution
    """Its tasks are these phases, and its private rows are theirs."""
    empty: tuple[str, ...]
    """The phases to which no file was sent."""
    n_pending: int
    """The private rows without a label."""

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases, in the order of the board."""
        return self.solution.task_names

    @classmethod
    def of(cls, phase_finals: PhaseFinals, names: Sequence[str]) -> _PhaseRows:
        """Return the rows of these phases."""
        phases_with_files = [name for name in names if phase_finals.files[name]]
        split = all_rows_in(
            phase_finals.solution, [phase_finals.settings.phase[name] for name in phases_with_files]
        )
        labelled = np.zeros(split.n_rows, dtype=np.bool_)
        phase_of_row = np.zeros(split.n_rows, dtype=np.intp)
        phases: list[str] = []
        for name in phases_with_files:
            rows = rows_with_labels(phase_finals.settings, name, phase_finals.solution)
            if rows.any():
                phase_of_row[rows] = len(phases)
                labelled |= rows
                phases.append(name)
        solution = replace(
            split,
            usage=np.where(labelled, np.uint8(Usage.PRIVATE), np.uint8(Usage.IGNORED)),
            tasks=phase_of_row,
            task_names=tuple(phases),
        )
        empty = tuple(name for name in names if name not in phases_with_files)
        private = split.usage == np.uint8(Usage.PRIVATE)
        return cls(solution, empty, int((private & split.pending).sum()))


def rows_with_labels(settings: Settings, phase: str, solution: Solution) -> npt.NDArray[np.bool_]:
    """Return the mask ``(n_rows,)`` of the private rows of a phase that have a label."""
    split = all_rows_in(solution, [settings.phase[phase]])
    return np.asarray((split.usage == np.uint8(Usage.PRIVATE)) & ~split.pending)


@dataclass(frozen=True, slots=True, eq=False)
class _PhaseBoard:
    """A board over phases that ranks a team."""

    name: str
    names: tuple[str, ...]
    """Its phases, also those that have no file or no label."""
    rows: _PhaseRows
    files: Mapping[str, tuple[int | None, ...]]
    """Team -> its submission in each phase with files and labels; None: the worst score counts."""
    left_out: Sequence[str]
    """The teams that lack one."""


def _boards(phase_finals: PhaseFinals) -> Iterator[_PhaseBoard]:
    """Yield the boards with two phases that have labels and files, and a team that has all."""
    for name, names in phases_by_board(phase_finals.settings, phase_finals.phase).items():
        rows = _PhaseRows.of(phase_finals, names)
        if len(rows.phases) < 2:
            continue
        files, left_out = files_by_team(name, phase_finals, rows.phases)
        if set(files) - set(phase_finals.roster.unranked):
            yield _PhaseBoard(name, names, rows=rows, files=files, left_out=left_out)


def names_of_boards(phase_finals: PhaseFinals) -> set[str]:
    """Return the boards over phases that :func:`findings_over_phases` yields; raises as that."""
    return {board.name for board in _boards(phase_finals)}


def findings_over_phases(run: BoardRun, phase_finals: PhaseFinals, rank: Rank) -> Iterator[Finding]:
    """Yield the boards over phases.

    There is none before two phases have labels. A phase to which no file was sent counts for no
    team. ``run`` is that of the phase in whose result they are.

    Raises
    ------
    UsageError
        If a weight is for no phase, or the baseline lacks a phase that it fills.
    """
    for board in _boards(phase_finals):
        name, rows, files = board.name, board.rows, board.files
        section = phase_finals.settings.board[name]
        metric = metric_over_phases(
            name,
            section,
            settings=phase_finals.settings,
            solution=rows.solution,
            manager=run.manager,
        )
        missed = {
            phase
            for numbers in files.values()
            for phase, number in zip(rows.phases, numbers, strict=True)
            if number is None
        }
        worst_scores = {phase: _worst_score(run, phase_finals, phase) for phase in missed}
        metric = replace(metric, scores_of_absent=worst_scores)
        # A team is known by its last file; that of the baseline, which may stand for it, is later.
        standing = {
            team: max(phase_finals.files[phase].get(team, 0) for phase in rows.phases)
            for team in files
        }
        roster = phase_finals.roster.among(files)
        reference = phase_finals.settings.competition.reference
        run_over_phases = replace(
            run,
            solution=rows.solution,
            store=_PredictionsOverPhases(
                run.store,
                np.asarray(rows.solution.tasks),
                {standing[team]: numbers for team, numbers in files.items()},
            ),
            secondary={},
            provider=run.manager.metrics.plugin_of(run.specification),
            brackets=roster.boards,
            n_pending=rows.n_pending,
        )
        run_over_phases = relative_to(run_over_phases, metric, standing.get(reference or ""))
        ranked = [team for team in files if team not in roster.unranked]
        result = rank(
            run_over_phases,
            {team: (standing[team],) for team in ranked},
            [phase_finals.records[number] for number in standing.values()],
            roster,
        )
        finding = finding_of(name, result)
        about_phases = note_on_missed_phases(section, board)
        yield replace(
            finding,
            verdict=f"{finding.verdict} {about_phases}",
            document={
                **finding.document,
                ABOUT_PHASES: about_phases,
                "round_files": {key: dict(phase_finals.files[key]) for key in board.names},
            },
        )


def _worst_score(run: BoardRun, phase_finals: PhaseFinals, phase: str) -> float:
    """Return the worst score of a final file on the private rows of a phase.

    Of the files of ranked teams, if there are any.
    """
    files, section = phase_finals.files[phase], phase_finals.settings.phase[phase]
    ranked = [number for team, number in files.items() if team not in phase_finals.roster.unranked]
    solution = solution_in(phase_finals.solution, [section])
    rows = rows_of(solution, "private")
    specification = phase_finals.settings.in_phase(phase).metric.specification
    metric = metric_of_solution(run.manager.metrics.resolve(specification), solution)
    predictions = run.store.predictions(sorted(ranked or files.values()), rows=rows)
    scores = full_scores(bind(metric, solution, rows), solution.truth[rows], predictions)
    return float(scores.min() if metric.greater_is_better else scores.max())


def files_by_team(
    name: str, phase_finals: PhaseFinals, phases: Sequence[str]
) -> tuple[dict[str, tuple[int | None, ...]], list[str]]:
    """Return the file of each team in each phase, and the teams that lack one."""
    missing = phase_finals.settings.board[name].missing
    baseline = phase_finals.settings.competition.reference if missing == "baseline" else None
    files, left_out = dict[str, tuple[int | None, ...]](), list[str]()
    for team in sorted({team for key in phases for team in phase_finals.files[key]}):
        numbers = tuple(phase_finals.files[key].get(team) for key in phases)
        if baseline is not None:
            numbers = tuple(
                phase_finals.files[key].get(baseline) if number is None else number
                for key, number in zip(phases, numbers, strict=True)
            )
            if None in numbers:
                raise UsageError(
                    f"[board.{name}]: the baseline {baseline!r} has no file in the phase "
                    f"{phases[numbers.index(None)]}, in which it stands for teams that missed "
                    f'it: submit one, or set missing to "unranked" or "worst".'
                )
        if None not in numbers or missing == "worst":
            files[team] = numbers
        else:
            left_out.append(team)
    return files, left_out


def note_on_missed_phases(section: CombinedBoardSection, board: _PhaseBoard) -> str:
    """Return how many phases there are, and what a missed one counts."""
    word = "round" if section.series else "phase"
    count = f"{plural(len(board.rows.phases), word)}."
    if empty := board.rows.empty:
        count = f"{count} No file was sent to {', '.join(empty)}: it counts for no team."
    if section.missing == "baseline":
        return f"{count} In a {word} that a team missed, the baseline's file counts for it."
    if section.missing == "worst":
        return (
            f"{count} In a {word} that a team missed, the worst score of a ranked team there "
            f"counts for it, as a number without error."
        )
    if not board.left_out:
        return f"{count} No team missed one."
    are = "is" if len(board.left_out) == 1 else "are"
    return f"{count} {plural(len(board.left_out), 'team')} missed a {word} and {are} not ranked."
