"""Runs a simulated competition under one mechanism, from its first day to its finalization."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.competition import Competition
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME, DATABASE_NAME, SAMPLE_NAME, Settings
from arena.errors import ArenaError, InputError, UsageError
from arena.intake import read_submission
from arena.interfaces import ComputesAhead, Participation
from arena.plugin.info import attributed
from arena.plugin.manager import PluginManager
from arena.plugin.returned import checked_move
from arena.public_board.mechanism import public_rows
from arena.scoring.result import ScoreResult
from arena.simulation.competition.cache import ResultCache, write_file
from arena.simulation.competition.calendar import Visit, calendar, first_day
from arena.simulation.competition.drawn import DRAWN, final_board, play_drawn
from arena.simulation.competition.folder import SimulationFolder, folder_name, open_folder
from arena.simulation.competition.outcome import CompetitionOutcome, outcome_of
from arena.simulation.competition.play import Playing, Publication, play, player_rng
from arena.simulation.competition.sent_programs import write_inputs
from arena.simulation.competition.setup import CompetitionData
from arena.simulation.competition.submit import (
    SimulatedClock,
    Submitter,
    open_submitter,
    submission_table,
)
from arena.simulation.competition.teams import CompetitorKind, Participant, assign_teams
from arena.simulation.past.teams import Defaults, LikePast, PastTeams, typical_board
from arena.simulation.requests import SimulationRequest
from arena.store import Store
from arena.types import PredictionKind, Solution
from arena.utils.parallel import Progress
from arena.utils.text import plural

_BASELINE_NUMBER = 2**32 - 1
_PAST_STREAM = 2**32 - 14


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSimulation:
    """A request whose data were read and that can be run.

    Raises
    ------
    UsageError
        If it has no mechanism.
    """

    request: SimulationRequest
    root: Path
    data: CompetitionData
    settings: Settings
    """Of every competition, except for the mechanism."""
    mechanisms: tuple[str, ...]
    kinds: tuple[CompetitorKind, ...]
    baseline: CompetitorKind | None
    """The competitor whose predictions are the public baseline; None: the sample submission."""
    like: LikePast | None = None
    """Past boards whose teams are imitated; None: a uniform level of activity."""
    public_share: float = 0.3
    """Share of the rows drawn as public, if the data have no usage column; 0: none."""
    notes: tuple[str, ...] = ()
    """For the organiser, in sentences."""

    def __post_init__(self) -> None:
        if not self.mechanisms:
            raise UsageError("Name at least one mechanism.")

    @property
    def metric(self) -> str:
        """The specification of the metric."""
        return self.settings.metric.specification

    def settings_under(self, mechanism: str) -> Settings:
        """Return the settings with a mechanism."""
        public = self.settings.public.model_copy(update={"mechanism": mechanism})
        return self.settings.model_copy(update={"public": public})

    def folder_of(self, mechanism: str) -> Path:
        """Return the folder of a mechanism's competition: the root itself if there is only one."""
        alone = len(self.mechanisms) == 1
        return self.root if alone else self.root / folder_name(mechanism)

    def about(self) -> dict[str, Any]:
        """Return everything that the simulation depends on, as JSON."""
        return {
            "seed": self.request.seed,
            "teams": self.request.teams,
            "days": self.request.days,
            "kinds": [[kind.specification, kind.share] for kind in self.kinds],
            "baseline": None if self.baseline is None else self.baseline.specification,
            "data": self.data.identity,
            "public_share": self.public_share,
            "like": None if self.like is None else self.like.identity(),
            "drawn": True if self.request.drawn else None,
            "notebooks": self.request.notebooks or None,
            "folders": "one" if len(self.mechanisms) == 1 else "several",
        }

    def open_folder(self) -> SimulationFolder:
        """Create the folder of the simulation, or open it to continue.

        Raises
        ------
        InputError
            If it holds something else.
        """
        return open_folder(self.root, self.about(), self.data)


@dataclass(frozen=True, slots=True, eq=False)
class CompetitionRun:
    """A simulated competition that was run to its end."""

    folder: Path
    result: ScoreResult | None
    """The finalized competition; None with drawn predictions, which are not stored."""
    outcome: CompetitionOutcome


@contextlib.contextmanager
def open_competition(
    folder: SimulationFolder, simulation: PreparedSimulation, mechanism: str, manager: PluginManager
) -> Iterator[tuple[CompetitionState, SimulatedClock]]:
    """Open the competition under a mechanism on its first day, or at its last event.

    It is created if it is missing.
    """
    settings = simulation.settings_under(mechanism)
    clock = SimulatedClock(first_day(settings, simulation.request.days))
    mechanism_folder = simulation.folder_of(mechanism)
    if (
        mechanism_folder / CONFIG_NAME
    ).exists():  # what is recorded now must not be older than the record
        wait = simulation.request.wait
        with Store.open(
            mechanism_folder / DATABASE_NAME, create=False, wait=wait, read_only=True
        ) as store:
            times = [datetime.fromisoformat(event.time) for event in store.last_events(1)]
        clock.now = max([clock.now, *times])
    state = folder.open_competition(
        mechanism_folder,
        settings,
        manager,
        clock,
        simulation.public_share,
        simulation.request.wait,
    )
    try:
        yield state, clock
    finally:
        state.store.close()


def run_competition(
    folder: SimulationFolder,
    simulation: PreparedSimulation,
    mechanism: str,
    manager: PluginManager,
    *,
    workers: int,
    progress: Progress,
    report: bool = True,
) -> CompetitionRun:
    """Run the competition under one mechanism, or continue it, and compare it with the truth.

    ``report``: keep with the private board what its report shows.

    Raises
    ------
    ArenaError
        If the folder holds something else, or a metric or mechanism fails.
    """
    if simulation.request.drawn:
        return _run_drawn(simulation, mechanism, manager, progress)
    participants = assign_teams(simulation.kinds, simulation.request.teams)
    past = None if simulation.like is None else _drawn_teams(simulation, simulation.like)
    with open_competition(folder, simulation, mechanism, manager) as (state, clock):
        check_target(simulation.data, state.solution)
        rounds = calendar(
            participants,
            state.settings,
            days=simulation.request.days,
            seed=simulation.request.seed,
            past=past,
        )
        if any(kind.sends_programs for kind in simulation.kinds):
            write_inputs(state.folder, state.settings.programs, state.solution)
        files = Path(tempfile.mkdtemp(prefix="arena-files-"))
        try:
            submitter = open_submitter(state, clock, files)
            if submitter.known:
                stored_text = plural(len(submitter.known), "submission")
                progress.say(f"{stored_text} under {mechanism} found, continuing from there.")
            published = Publication(simulation.request.notebooks, simulation.request.seed)
            players = start_players(
                simulation,
                submitter,
                participants=participants,
                rounds=rounds,
                cache=folder.cache,
                publication=published,
            )
            progress.start(f"Submissions under {mechanism} (maximum)", sum(map(len, rounds)))
            play(
                submitter,
                rounds,
                players,
                folder.cache,
                published=published,
                workers=workers,
                progress=progress,
            )
        finally:
            shutil.rmtree(files, ignore_errors=True)
        start = first_day(state.settings, simulation.request.days)
        unaccepted = kinds_without_accepted(state, participants)
        competition = Competition(state)
        result = competition.finalize(progress=progress, report=report)
        outcome = outcome_of(
            state,
            result,
            public=competition.leaderboard(),
            participants=participants,
            days=simulation.request.days,
            start=start,
            held_out=simulation.data.truth if simulation.data.holds_out else None,
        )
        outcome = replace(outcome, notes=(*outcome.notes, *unaccepted))
        return CompetitionRun(state.folder, result, outcome)


def check_target(data: CompetitionData, solution: Solution) -> None:
    """Check that models predict labels that the metric knows.

    Raises
    ------
    InputError
        If the solution has several targets, or a label of the rows to train on is missing.
    """
    if len(solution.targets) != 1:
        raise InputError("Simulated teams predict one target; this solution has several.")
    classes = solution.targets[0].classes
    if data.training is None or data.classes == classes:
        return
    lacking = sorted(set(data.classes or ()) - set(classes or ()))
    what = f"lack the label {lacking[0]!r}" if lacking else "have other labels"
    raise InputError(
        f"The rows to predict {what}, which is among the rows to train on. Use more rows, or "
        f"remove the label from the file."
    )


def kinds_without_accepted(
    state: CompetitionState, participants: Sequence[Participant]
) -> list[str]:
    """Return a sentence for each kind of teams that has no accepted submission, with its fault.

    Raises
    ------
    InputError
        If no submission of any kind was accepted.
    """
    kind_of = {
        participant.team(account): participant.kind
        for participant in participants
        for account in range(participant.kind.accounts)
    }
    records = [record for record in state.store.submissions() if record.team in kind_of]
    accepted = {kind_of[record.team] for record in records if record.status == "accepted"}
    faults: dict[CompetitorKind, str] = {}
    for record in records:
        kind = kind_of[record.team]
        if kind not in accepted and record.faults:
            faults.setdefault(kind, record.faults[0].message)
    sentences = [
        f"No submission of {kind.specification} ({kind.plugin}) was accepted. The first fault: "
        f"{fault}"
        for kind, fault in faults.items()
    ]
    if sentences and not accepted:
        raise InputError(" ".join(sentences))
    return sentences


def _drawn_teams(simulation: PreparedSimulation, like: LikePast) -> tuple[PastTeams, Defaults]:
    """Return teams like those of past boards, the same under every mechanism."""
    rng = np.random.default_rng(
        np.random.SeedSequence(simulation.request.seed, spawn_key=(_PAST_STREAM,))
    )
    return like.draw(simulation.request.teams, rng), like.defaults


def _run_drawn(
    simulation: PreparedSimulation, mechanism: str, manager: PluginManager, progress: Progress
) -> CompetitionRun:
    """Run the competition in memory; its folder gets the final board in CSV."""
    past = _drawn_teams(simulation, simulation.like or LikePast((typical_board(),)))
    participants = assign_teams([DRAWN], simulation.request.teams)
    root = simulation.folder_of(mechanism)
    with tempfile.TemporaryDirectory(prefix="arena-drawn-") as name:
        trial = replace(simulation, root=Path(name) / "competition", mechanisms=(mechanism,))
        with open_competition(trial.open_folder(), trial, mechanism, manager) as (state, _):
            settings, days = state.settings, simulation.request.days
            rounds = calendar(
                participants,
                settings,
                days=days,
                seed=simulation.request.seed,
                past=past,
                final_visits=False,
            )
            outcome = play_drawn(
                state,
                participants,
                rounds=rounds,
                past=past,
                seed=simulation.request.seed,
                days=days,
                start=first_day(settings, days),
                baseline=sample_prediction(state),
                progress=progress,
            )
    outcome = replace(outcome, folder=str(root))
    write_file(root / "board.csv", final_board(outcome).encode())
    return CompetitionRun(root, None, outcome)


def start_players(
    simulation: PreparedSimulation,
    submitter: Submitter,
    participants: Sequence[Participant],
    rounds: Sequence[Sequence[Visit]],
    cache: ResultCache,
    publication: Publication,
) -> dict[int, Playing]:
    """Submit the baseline and start every player with what the organiser publishes."""
    state = submitter.state
    visits = Counter(visit.participant for round_visits in rounds for visit in round_visits)
    baseline = public_baseline(simulation, state, cache)
    part = published(simulation, state, visits=0)
    part = replace(part, baseline=baseline, notebooks=publication.notebooks)
    team = state.settings.competition.reference
    if team is not None:
        table = submission_table(baseline, state.solution)
        answer = submitter.submit(
            table, team, 0, first_day(state.settings, simulation.request.days)
        )
        part = replace(part, baseline_score=answer.released)
    players: dict[int, Playing] = {}
    for participant in participants:
        round_visits = replace(part, submissions=max(visits[participant.number] - 1, 1))
        with attributed(participant.kind.plugin, f"starting {participant.kind.specification}"):
            player = participant.kind.competitor.start(
                round_visits, player_rng(simulation.request.seed, participant.number)
            )
        players[participant.number] = Playing(participant, player)
    return players


def published(
    simulation: PreparedSimulation, state: CompetitionState, *, visits: int
) -> Participation:
    """Return what participants receive: neither labels nor which rows are public."""
    solution, settings = state.solution, state.settings
    classes = solution.targets[0].classes
    return Participation(
        metric=state.manager.metrics.resolve(settings.metric.specification),
        n_rows=solution.n_rows,
        n_public=int(public_rows(solution).sum()),
        n_classes=None if classes is None else len(classes),
        submissions=visits,
        training=simulation.data.training,
        test=simulation.data.test,
    )


def public_baseline(
    simulation: PreparedSimulation, state: CompetitionState, cache: ResultCache
) -> npt.NDArray[Any]:
    """Return the predictions of the public baseline, the same under every mechanism."""
    kind = simulation.baseline
    if kind is None:
        return sample_prediction(state)
    part = published(simulation, state, visits=1)
    with attributed(kind.plugin, f"making the baseline by {kind.specification}"):
        player = kind.competitor.start(part, player_rng(simulation.request.seed, _BASELINE_NUMBER))
        if isinstance(player, ComputesAhead):
            work = player.computation()
            result = cache.get(work.key)
            if result is None:
                result = work.function(*work.arguments)
                cache.put(work.key, result)
            player.receive_result(result)
        move = checked_move(kind.specification, player.submit(), state.solution.n_rows)
        return np.asarray(move.prediction)


def sample_prediction(state: CompetitionState) -> npt.NDArray[Any]:
    """Return the predictions of the sample submission."""
    path = state.folder / SAMPLE_NAME
    parsed = read_submission(path, state.solution)
    values = parsed.values
    if values is None:
        raise InputError(f"{path} cannot be read: {parsed.faults[0].message}")
    flat = values[:, 0] if values.shape[1] == 1 else values
    return flat.astype(np.intp) if state.solution.kind is PredictionKind.LABEL else flat


def stored_submissions(simulation: PreparedSimulation) -> int:
    """Return how many submissions of the simulation are stored, for the note on an interruption."""
    n_stored = 0
    for mechanism in simulation.mechanisms:
        path = simulation.folder_of(mechanism) / DATABASE_NAME
        with contextlib.suppress(ArenaError):
            if path.exists():
                with Store.open(path, create=False, read_only=True) as store:
                    n_stored += len(store.submissions())
    return n_stored
