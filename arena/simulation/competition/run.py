"""Holds a simulated competition under each of some mechanisms, from its first day to its end."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition import Competition
from arena.competition_state import CompetitionState
from arena.config import Settings
from arena.errors import ArenaError, InputError, UsageError
from arena.execution import Progress
from arena.founding import DATABASE_NAME, SAMPLE_NAME
from arena.intake import read_submission
from arena.intake.faults import plural
from arena.interfaces import ComputesAhead, Participation
from arena.plugin_info import attributed
from arena.plugin_manager import PluginManager
from arena.public_mechanism import public_rows
from arena.score_result import ScoreResult
from arena.simulation.competition.calendar import Visit, calendar, first_day
from arena.simulation.competition.desk import Desk, SimulatedClock, open_desk, submission_table
from arena.simulation.competition.grounds import Grounds
from arena.simulation.competition.kept import KeptResults
from arena.simulation.competition.outcome import Outcome, outcome_of
from arena.simulation.competition.play import Playing, play, player_rng
from arena.simulation.competition.roster import Kind, Participant, enrol
from arena.simulation.competition.venue import Venue, folder_name, open_venue
from arena.store import Store
from arena.types import Solution

__all__ = [
    "Held",
    "Request",
    "hold",
    "open_held",
    "open_request",
    "published",
    "sample_prediction",
    "stored_submissions",
]

_BASELINE_NUMBER = 2**32 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is to be simulated."""

    root: Path
    grounds: Grounds
    settings: Settings
    """Of every competition, but for the mechanism."""
    mechanisms: tuple[str, ...]
    kinds: tuple[Kind, ...]
    baseline: Kind | None
    """Who makes the public baseline; None: it is the sample submission."""
    teams: int = 50
    days: int = 30
    seed: int = 0
    public_share: float = 0.3
    """Of the rows, made public where the data do not say which are; 0: none."""
    wait: float = 0.0
    """Seconds to wait for another process that holds the competition."""

    def __post_init__(self) -> None:
        if min(self.teams, self.days) < 1 or self.seed < 0:
            raise UsageError("At least 1 team, 1 day and a seed from 0 are needed.")
        if not 0 <= self.public_share < 1:
            raise UsageError("The public share must be at least 0 and less than 1.")
        if not self.mechanisms:
            raise UsageError("Name at least one mechanism.")

    def settings_under(self, mechanism: str) -> Settings:
        """Return the settings with a mechanism."""
        public = self.settings.public.model_copy(update={"mechanism": mechanism})
        return self.settings.model_copy(update={"public": public})

    def folder_of(self, mechanism: str) -> Path:
        """Return where the competition under a mechanism stands: one alone in the root itself."""
        alone = len(self.mechanisms) == 1
        return self.root if alone else self.root / folder_name(mechanism)

    def about(self) -> dict[str, Any]:
        """Return what everything is a function of, as JSON."""
        return {
            "seed": self.seed,
            "teams": self.teams,
            "days": self.days,
            "kinds": [[kind.specification, kind.share] for kind in self.kinds],
            "baseline": None if self.baseline is None else self.baseline.specification,
            "data": self.grounds.identity,
            "public_share": self.public_share,
            "folders": "one" if len(self.mechanisms) == 1 else "several",
        }


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A competition that was held."""

    folder: Path
    result: ScoreResult
    outcome: Outcome


def open_request(request: Request) -> Venue:
    """Take up the folder of a simulation, or make it; see :func:`venue.open_venue`."""
    return open_venue(request.root, request.about(), request.grounds)


@contextlib.contextmanager
def open_held(
    venue: Venue, request: Request, mechanism: str, manager: PluginManager
) -> Iterator[tuple[CompetitionState, SimulatedClock]]:
    """Open the competition under a mechanism, on its first day; found it if it is not there."""
    settings = request.settings_under(mechanism)
    clock = SimulatedClock(first_day(settings, request.days))
    folder = request.folder_of(mechanism)
    state = venue.open_competition(
        folder, settings, manager, clock, request.public_share, request.wait
    )
    try:
        yield state, clock
    finally:
        state.store.close()


def hold(
    venue: Venue,
    request: Request,
    mechanism: str,
    manager: PluginManager,
    *,
    workers: int,
    progress: Progress,
) -> Held:
    """Hold the competition under one mechanism, or the rest of it, and look at what was true.

    Raises
    ------
    ArenaError
        If the folder holds something else, or a metric or mechanism fails.
    """
    roster = enrol(request.kinds, request.teams)
    with open_held(venue, request, mechanism, manager) as (state, clock):
        rounds = calendar(roster, state.settings, request.days, request.seed)
        files = Path(tempfile.mkdtemp(prefix="arena-files-"))
        try:
            desk = open_desk(state, clock, files)
            if desk.known:
                found = plural(len(desk.known), "submission")
                progress.say(f"{found} under {mechanism} found from before, going on from there.")
            playing = _start(request, desk, roster, rounds, venue.kept)
            progress.start(f"Submissions under {mechanism} (at most)", sum(map(len, rounds)))
            play(desk, rounds, playing, venue.kept, workers=workers, progress=progress)
        finally:
            shutil.rmtree(files, ignore_errors=True)
        start = first_day(state.settings, request.days)
        competition = Competition(state)
        result = competition.finalize(progress=progress)
        outcome = outcome_of(state, result, competition.leaderboard(), roster, request.days, start)
        return Held(state.folder, result, outcome)


def _start(
    request: Request,
    desk: Desk,
    roster: Sequence[Participant],
    rounds: Sequence[Sequence[Visit]],
    kept: KeptResults,
) -> dict[int, Playing]:
    """Publish the baseline, and let every participant begin with what is public."""
    state = desk.state
    visits = [visit.participant for own in rounds for visit in own]
    baseline = _baseline(request, state, kept)
    part = replace(published(request, state, visits=0), baseline=baseline)
    team = state.settings.competition.baseline
    if team is not None:
        table = submission_table(baseline, state.solution)
        answer = desk.hand_in(table, team, 0, first_day(state.settings, request.days))
        part = replace(part, baseline_score=answer.released)
    playing: dict[int, Playing] = {}
    for one in roster:
        own = replace(part, submissions=max(visits.count(one.number) - 1, 1))
        with attributed(one.kind.plugin, f"starting {one.kind.specification}"):
            player = one.kind.competitor.start(own, player_rng(request.seed, one.number))
        playing[one.number] = Playing(one, player)
    return playing


def published(request: Request, state: CompetitionState, *, visits: int) -> Participation:
    """Return what the organiser publishes: no label, and not which rows are public."""
    solution, settings = state.solution, state.settings
    classes = solution.targets[0].classes
    return Participation(
        metric=state.manager.metrics.resolve(settings.metric.specification),
        n_rows=solution.n_rows,
        n_public=int(public_rows(solution).sum()),
        n_classes=None if classes is None else len(classes),
        submissions=visits,
        training=request.grounds.training,
        test=request.grounds.test,
    )


def _baseline(request: Request, state: CompetitionState, kept: KeptResults) -> npt.NDArray[Any]:
    """Return the predictions of the public baseline, the same under every mechanism."""
    kind = request.baseline
    if kind is None:
        return sample_prediction(state)
    part = published(request, state, visits=1)
    with attributed(kind.plugin, f"making the baseline by {kind.specification}"):
        player = kind.competitor.start(part, player_rng(request.seed, _BASELINE_NUMBER))
        if isinstance(player, ComputesAhead):
            work = player.computation()
            result = kept.get(work.key)
            if result is None:
                result = work.function(*work.arguments)
                kept.put(work.key, result)
            player.take(result)
        return np.asarray(player.submit().prediction)


def sample_prediction(state: CompetitionState) -> npt.NDArray[Any]:
    """Return what the sample submission predicts."""
    values = read_submission(state.folder / SAMPLE_NAME, state.solution).values
    if values is None:
        raise InputError(f"{state.folder / SAMPLE_NAME} cannot be read.")
    flat = values[:, 0] if values.shape[1] == 1 else values
    return _codes(flat, state.solution)


def _codes(values: npt.NDArray[Any], solution: Solution) -> npt.NDArray[Any]:
    return values.astype(np.intp) if solution.kind == "label" else values


def stored_submissions(request: Request) -> int:
    """Return how many submissions of the simulation are stored, for a word on an interruption."""
    found = 0
    for mechanism in request.mechanisms:
        path = request.folder_of(mechanism) / DATABASE_NAME
        with contextlib.suppress(ArenaError):
            if path.exists():
                with Store.open(path, create=False, read_only=True) as store:
                    found += len(store.submissions())
    return found
