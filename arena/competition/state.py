"""The state of an open competition: its store, current settings, solution and metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arena.competition.record.adopted_settings import adopt_settings, current_epoch, view_settings
from arena.competition.record.answers import ANSWER_EVENTS, ANSWERED, Answers
from arena.competition.record.final_selection import public_board
from arena.competition.record.ledger import Ledger
from arena.competition.record.phases import (
    all_rows_in,
    current_phase,
    known_phase,
    solution_in,
    with_all_rows,
    with_rows,
)
from arena.competition.record.programs import RERUN, figures_in
from arena.competition.record.quota import count_interrupted
from arena.competition.record.roster import ROSTER_EVENTS, Roster
from arena.config import SAMPLE_NAME, Settings
from arena.errors import ArenaError
from arena.evaluation.solution_metric import scoring_metric
from arena.interfaces import Metric, source_of
from arena.phase_section import PhaseSection
from arena.plugin.manager import PluginManager
from arena.public_board.clipping import bounded_name
from arena.public_board.mechanism import clip_of, find_mechanism
from arena.scoring.splits import rows_of
from arena.store import Event, Store
from arena.store.events import INEXACT
from arena.types import PredictionKind, Solution, Usage
from arena.utils.pending_labels import PendingLabels
from arena.utils.strict_json import parse_json

if TYPE_CHECKING:
    from arena.intake import ReadSubmission, SubmissionFile

METRIC_CODE = "metric_code"
"""The key in the store for the code of a metric from a file of the organiser."""


@dataclass(frozen=True, slots=True, eq=False)
class CompetitionState:
    """The store and the objects read from it; read again after a rescore."""

    folder: Path
    store: Store
    manager: PluginManager
    clock: Callable[[], datetime]
    actor: str
    """The name that events record as their author."""
    wanted: Settings
    """The settings as written in ``competition.toml``."""
    settings: Settings
    """The current settings: a new metric applies after a rescore."""
    notes: tuple[str, ...]
    """Notes on the settings, for the organiser."""
    solution_number: int
    """The number of the solution: the latest one when the state was read."""
    seed: int
    """The secret random seed of everything random in the competition."""
    revision: int
    """The revision of the scores; each rescore starts a new one."""
    unrecorded: tuple[list[Any], ...] = ()
    """``[key, before, after]`` of settings that a read-only view applies but does not record."""
    later: tuple[Event, ...] = ()
    """Events that are not stored: those of a decision, to see what it would change."""
    event_fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of every event besides its payload: the request of a served competition."""
    phase: str | None = None
    """The phase whose settings, rows and submissions these are; None: those of all phases."""
    every_phase: Settings | None = None
    """The settings of the competition with all phases, where these are those of one; else None."""
    _solutions: list[Solution] = field(default_factory=list, init=False, repr=False)
    _metrics: list[Metric] = field(default_factory=list, init=False, repr=False)
    _sendable: list[tuple[tuple[str, ...], ...] | None] = field(
        default_factory=list, init=False, repr=False
    )

    @property
    def solution(self) -> Solution:
        """The solution, read when it is used first: a look at the board needs no row of it.

        Its usage is that of the phase, or of all phases: a row is public if it is so in any. Rows
        whose labels are to arrive are ignored.
        """
        if not self._solutions:
            self._solutions.append(self.with_split(self.stored_solution))
        return self._solutions[0]

    def with_split(self, solution: Solution) -> Solution:
        """Return a stored or corrected solution with the usage of the phase, or of all phases."""
        return solution_in(solution, self._phases)

    @property
    def _phases(self) -> list[PhaseSection]:
        phases = self.with_phases.phase
        return [phases[self.phase]] if self.phase else [*phases.values()]

    def pending_labels(self, split: str) -> PendingLabels | None:
        """Return how many ``public`` or ``private`` rows have no label yet; None: all have one.

        The rows are those of the phase, or of all phases.
        """
        if not self.with_phases.data.pending_labels:
            return None
        solution = all_rows_in(self.stored_solution, self._phases)
        rows = rows_of(solution, split)
        pending = int((rows & solution.pending).sum())
        return PendingLabels(pending, int(rows.sum()) - pending) if pending else None

    @property
    def stored_solution(self) -> Solution:
        """The solution with the usage of its file, which phases divide further."""
        return self.store.solution(self.solution_number)

    @property
    def with_phases(self) -> Settings:
        """The settings of the competition with all phases."""
        return self.settings if self.every_phase is None else self.every_phase

    @property
    def of_all_phases(self) -> CompetitionState:
        """The state of the whole competition, for decisions that concern every phase."""
        if self.every_phase is None:
            return self
        return replace(self, phase=None, settings=self.every_phase, every_phase=None)

    def in_phase(self, name: str | None = None) -> CompetitionState:
        """Return the state of a phase; None: of the current one, if this is not of one already.

        Without phases it is this state itself.

        Raises
        ------
        UsageError
            If there is no such phase.
        """
        settings = self.with_phases
        if name is None:
            if self.phase is not None or not settings.phase:
                return self
            name = current_phase(settings, self.clock())
        if not known_phase(settings, name):
            return self
        return replace(self, phase=name, settings=settings.in_phase(name), every_phase=settings)

    @property
    def metric(self) -> Metric:
        """The metric of the settings, averaged over the targets of the solution."""
        if not self._metrics:
            self._metrics.append(resolve_metric(self.settings, self.solution, self.manager))
        return self._metrics[0]

    @property
    def greater_is_better(self) -> bool:
        """The direction of the metric."""
        single: Metric = self.manager.metrics.resolve(self.settings.metric.specification)
        return single.greater_is_better

    @property
    def epoch(self) -> int:
        """The epoch of the releases that the public board shows; a decision can start a new one."""
        return current_epoch(self.store)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the current revision and epoch."""
        return Ledger(
            self.store, self.revision, epoch=self.epoch, later=self.later, phase=self.phase
        )

    @property
    def roster(self) -> Roster:
        """The baselines, the brackets and who is not ranked."""
        return self.roster_at(None)

    def roster_at(self, until: datetime | None) -> Roster:
        """Return the roster without answers that came after a time; None: with all of them."""
        events = self.events(*ROSTER_EVENTS) if self.settings.brackets else ()
        return Roster.of(self.settings, _answered_until(events, until))

    def answers_at(self, until: datetime | None) -> Answers:
        """Return the answers to the questions without those that came after a time."""
        events = self.events(*ANSWER_EVENTS) if self.settings.public_questions else ()
        return Answers.of(self.settings, _answered_until(events, until))

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Return the events of some kinds, in order, and those that are not stored.

        Without those that belong to another phase.
        """
        events = (
            *self.store.events(*kinds),
            *(event for event in self.later if event.kind in kinds),
        )
        return tuple(
            event
            for event in events
            if self.phase in (None, event.payload.get("phase", self.phase))
        )

    def name_of(self, value: str) -> str:
        """Return the name in the store of a value of the phase; without phases the given name."""
        return f"{value} {self.phase}" if self.phase else value

    @property
    def phase_fields(self) -> dict[str, str]:
        """The field of an event that belongs to the phase; none where there are no phases."""
        return {"phase": self.phase} if self.phase else {}

    @property
    def sendable(self) -> tuple[tuple[str, ...], ...] | None:
        """The labels of each target that submissions may have; None: all.

        Declared labels are all of them; otherwise those of the public rows and of the sample. So a
        refusal does not tell which labels only private rows have. Where no row is public, nothing
        else is known than the labels of all rows.
        """
        solution = self.solution
        public = solution.usage == np.uint8(Usage.PUBLIC)
        named = [target.classes or () for target in solution.targets]
        if self.settings.data.classes or not any(named) or not public.any():
            return None
        if len(solution.columns) > len(named):  # each label is the name of a column
            return None
        truth = solution.truth.reshape(solution.n_rows, -1)
        codes = [set(column[public].tolist()) for column in truth.T]
        if all(
            len(codes_of_column) == len(names)
            for codes_of_column, names in zip(codes, named, strict=True)
        ):
            return None
        if solution.kind is PredictionKind.LABEL and (path := self.folder / SAMPLE_NAME).is_file():
            from arena.intake import read_submission

            values = read_submission(path, solution).values
            for codes_of_column, column in zip(
                codes, () if values is None else values.T, strict=False
            ):
                codes_of_column |= set(column.tolist())
        return tuple(
            tuple(name for code, name in enumerate(names) if code in codes_of_column)
            for codes_of_column, names in zip(codes, named, strict=True)
        )

    def examine(
        self, files: Sequence[SubmissionFile], *, workers: int = 1
    ) -> Iterator[tuple[SubmissionFile, ReadSubmission]]:
        """Yield each file of a participant with its predictions or its faults, in order.

        A file of a phase has the rows of the phase, and of those into which files are carried. It
        may have those of all phases, or all rows of the solution; a file of a round also those of
        any other rounds of the series, and those of no round.
        """
        if not self.phase:
            yield from self._examine(files, self.solution, workers)
            return
        if series := self.with_phases.phase[self.phase].series:
            for file in files:
                yield file, self.in_round(file, self.read_rounds(file, series)[0])
            return
        smallest, *larger = self._rows_of_a_file(self.phase)
        for file, first in self._examine(files, with_rows(self.solution, smallest), workers):
            read, rows = first, smallest
            for others in larger:
                if read.values is not None or not any(
                    fault.kind == "unknown id" for fault in read.faults
                ):
                    break
                read, rows = (
                    next(self._examine([file], with_rows(self.solution, others), 1))[1],
                    others,
                )
            if read.values is None:
                yield file, first
                continue
            values = with_all_rows(read.values, rows, self._cells_of_other_rows())
            yield file, replace(read, values=values)

    def read_rounds(
        self, file: SubmissionFile, series: str
    ) -> tuple[ReadSubmission, tuple[str, ...]]:
        """Read a file, and return it with the rounds of a series of which it has the rows.

        The rows of a round stand together, and so do those of no round: a fault tells neither
        which rows of a round are public nor which rows are Ignored.
        """
        from arena.scoring.submissions import header_of, read_row_sets

        stored, phases = self.stored_solution, self.with_phases.phase
        rounds = [name for name, phase in phases.items() if phase.series == series]
        round_of_row = np.zeros(stored.n_rows, dtype=np.uint16)
        for number, name in enumerate(rounds, start=1):
            usage = all_rows_in(stored, [phases[name]]).usage
            round_of_row[usage != np.uint8(Usage.IGNORED)] = number
        read, sets = read_row_sets(
            file,
            replace(stored, usage=round_of_row),
            self._first_round(series).metric,
            self.manager,
            **self._limits_of_a_file,
            header=header_of(stored, self.settings.data.no_header),
        )
        return read, tuple(name for number, name in enumerate(rounds, start=1) if number in sets)

    def _first_round(self, series: str) -> CompetitionState:
        """Return the state of the round by whose metric the files of a series are read."""
        phases = self.with_phases.phase.items()
        return self.in_phase(next(name for name, phase in phases if phase.series == series))

    def in_round(self, file: SubmissionFile, read: ReadSubmission) -> ReadSubmission:
        """Return a file as this round takes it, which was read for the rounds of its series.

        It is checked by the metric of the round. If this is not that of the first round, or the
        file lacks rows of the round, it is read again.
        """
        from arena.scoring.submissions import check_predictions

        if read.values is None:
            return read
        phase = self.with_phases.phase[self.phase or ""]
        first = self._first_round(phase.series)
        of_round = all_rows_in(self.stored_solution, [phase]).usage != np.uint8(Usage.IGNORED)
        is_sent = np.ones(len(of_round), dtype=np.bool_)
        if read.values.dtype != object:
            is_sent = ~np.isnan(read.values).all(axis=1)
        rows = of_round | is_sent
        solution = with_rows(self.solution, rows)
        if is_sent[of_round].all() and self.settings.metric == first.settings.metric:
            values = read.values[rows]
            read = check_predictions(
                replace(read, values=values), solution, self.metric, self.manager, file=file.name
            )
        else:
            ((_, read),) = self._examine([file], solution, 1)
        if read.values is None:
            return read
        return replace(read, values=with_all_rows(read.values, rows, self._cells_of_other_rows()))

    def _rows_of_a_file(self, name: str) -> list[npt.NDArray[np.bool_]]:
        """Return the masks ``(n_rows,)`` of the rows that a file of a phase may have.

        The smallest comes first.
        """
        phases = self.with_phases.phase
        targets = [phase for phase in phases.values() if phase.carry and phase.after == name]
        sets = ([phases[name], *targets], [*phases.values()])
        splits = (all_rows_in(self.stored_solution, some_phases) for some_phases in sets)
        masks = [split.usage != np.uint8(Usage.IGNORED) for split in splits]
        masks.append(np.ones(self.solution.n_rows, dtype=np.bool_))
        larger = [mask for before, mask in pairwise(masks) if mask.sum() > before.sum()]
        return [masks[0], *larger]

    def _cells_of_other_rows(self) -> list[Any]:
        """Return valid cells for the rows that a file leaves out: no score depends on them."""
        from arena.competition.record.samples import sample_values

        if self.solution.kind is PredictionKind.LABEL:
            return [0] * len(self.solution.columns)
        single = self.manager.metrics.resolve(self.settings.metric.specification)
        return sample_values(self.solution, single)

    def _examine(
        self, files: Sequence[SubmissionFile], solution: Solution, workers: int
    ) -> Iterator[tuple[SubmissionFile, ReadSubmission]]:
        from arena.scoring.submissions import examine

        return examine(
            files,
            solution,
            self.metric,
            self.manager,
            workers=workers,
            no_header=self.settings.data.no_header,
            **self._limits_of_a_file,
        )

    @property
    def _limits_of_a_file(self) -> dict[str, Any]:
        """The largest size of a file, and the labels that it may have."""
        if not self._sendable:
            self._sendable.append(self.sendable)
        return {"max_bytes": self.settings.limits.max_bytes, "sendable": self._sendable[0]}

    def record(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Append an event in a separate transaction."""
        with self.store.transaction() as transaction:
            transaction.append_event(
                kind, self.actor, {**payload, **self.event_fields}, time=self.clock()
            )


def public_standings(
    state: CompetitionState, *, live: bool = False, until: datetime | None = None
) -> list[dict[str, Any]]:
    """Return the public standings, best first, computed from released scores only.

    They are empty while scores are not shown on the board; while it is frozen, they are those at
    the freeze. ``live``: the current ones in either case, for the organiser. ``until``: only of
    what was received until then.
    """
    state = state.in_phase()
    ledger, better, public = state.ledger, state.greater_is_better, state.settings.public
    if public.scores != "board" and not live:
        return []
    frozen = None if live else frozen_since(state)
    until = min((time for time in (until, frozen) if time is not None), default=None)
    rows = public_board(
        ledger.standings(greater_is_better=better, until=until),
        greater_is_better=better,
        ties=state.settings.final.ties,
        roster=state.roster_at(until),
        n_sent=ledger.sent(until),
    )
    if state.settings.programs.sandbox:
        kinds = (state.store.each_event("submission"), state.store.each_event(RERUN))
        figures = figures_in(*kinds, state.settings)
        rows = [{**row, **figures.get(row["submission"], {})} for row in rows]
    return with_answers(state, rows, until)


def board_metric(state: CompetitionState) -> str:
    """Return the metric of the public board in words: bounded, if the mechanism bounds its values.

    That of the phase of the state.
    """
    mechanism = find_mechanism(state.settings, state.manager)
    return bounded_name(state.settings.metric.specification, clip_of(mechanism))


def with_answers(
    state: CompetitionState, rows: list[dict[str, Any]], until: datetime | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a board with the answers to the questions of the settings, if any."""
    if not state.settings.public_questions:
        return rows
    return state.answers_at(until).added_to(rows, state.settings, state.ledger.teams())


def _answered_until(events: Sequence[Event], until: datetime | None) -> Iterator[Event]:
    """Yield the events but answers after a time: they would tell that a file came in."""
    for event in events:
        if event.kind != ANSWERED or until is None or datetime.fromisoformat(event.time) <= until:
            yield event


def late_files(state: CompetitionState) -> list[dict[str, Any]]:
    """Return the accepted late files with their released scores, the last one first.

    They are empty while the board does not show every score.
    """
    late = state.ledger.late() if state.settings.competition.late_until else frozenset()
    if not late or state.settings.public.scores != "board" or frozen_since(state) is not None:
        return []
    return [
        {
            "team": row["team"],
            "score": row["released"],
            "submission": row["submission"],
            "received": row["received"],
        }
        for row in reversed(state.ledger.submissions())
        if row["submission"] in late and row["status"] == "accepted"
    ]


def frozen_since(state: CompetitionState) -> datetime | None:
    """Return when the public board was frozen; None if it is not."""
    freeze = state.in_phase().settings.public.freeze
    return freeze if freeze is not None and state.clock() >= freeze else None


def read_state(
    folder: Path,
    store: Store,
    manager: PluginManager,
    new_settings: Settings,
    actor: str,
    clock: Callable[[], datetime],
    *,
    view: bool = False,
) -> CompetitionState:
    """Read the state from a store and record changed settings; a view records nothing.

    A relative path of a metric file is resolved from the folder.

    Raises
    ------
    InputError
        If this change of the settings is not allowed, or the mechanism does not suit them.
    """
    manager = manager.within(folder, new_settings.plugins.required)
    # Nothing below changes these values but the settings, of which the metric before is needed.
    text, code, seed, revision = store.metas(["settings", METRIC_CODE, "seed", "revision"])
    stored_specification = Settings.model_validate(parse_json(text or "{}")).metric.specification
    if code is not None:
        manager.metrics.pin(stored_specification, code)
    unrecorded: tuple[list[Any], ...] = ()
    if view:
        settings, notes, unrecorded = view_settings(store, manager, new_settings)
    else:
        settings, notes = adopt_settings(
            store, manager, new_settings=new_settings, actor=actor, now=clock()
        )
        notes += count_interrupted(store, settings, actor, clock())
    notes += _changed_code(stored_specification, code, manager)
    back = clock_set_back(store, clock())
    if not back and not view:  # else the same would be said twice
        store.watch_times()
    state = CompetitionState(
        folder=folder,
        store=store,
        manager=manager,
        clock=clock,
        actor=actor,
        wanted=new_settings,
        settings=settings,
        notes=(*notes, *back),
        solution_number=store.latest_solution(),
        seed=int(seed or 0),
        revision=int(revision or 1),
        unrecorded=unrecorded,
    )
    if not view:
        state.metric.greater_is_better  # noqa: B018 - refuses a metric that cannot score
    return state


def resolve_metric(settings: Settings, solution: Solution, manager: PluginManager) -> Metric:
    """Return the metric of the settings, averaged over the targets of a solution."""
    single: Metric = manager.metrics.resolve(settings.metric.specification)
    return scoring_metric(single, solution.outline())


def metric_code(specification: str, manager: PluginManager) -> str | None:
    """Return the current code of a metric from a file of the organiser; None for others."""
    metric: Metric = manager.metrics.resolve(specification, fresh=True)
    return source_of(metric)


def clock_set_back(store: Store, now: datetime) -> list[str]:
    """Return a note if the clock is before the last event of the record."""
    last = next(
        (datetime.fromisoformat(last_event.time) for last_event in store.last_events(1)), now
    )
    if last - now <= INEXACT:
        return []
    return [
        f"The clock of this machine shows {now:%Y-%m-%d %H:%M} UTC, but the last event of the "
        f"record is of {last:%Y-%m-%d %H:%M} UTC: set the clock. The deadline and the limits of a "
        f"day follow it."
    ]


def _changed_code(specification: str, stored_code: str | None, manager: PluginManager) -> list[str]:
    """Return a note if the file of the metric differs from the code that gave the scores."""
    if stored_code is None:
        return []
    try:
        code = metric_code(specification, manager)
    except ArenaError as error:
        return [f"{error} The scores use the stored copy of its code."]
    if code == stored_code:
        return []
    return [
        f"The code of {specification} has changed. The scores use the previous code until you run "
        f"arena rescore --apply."
    ]
