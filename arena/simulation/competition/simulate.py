"""The public function that simulates competitions, with one seed or several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.interfaces import kinds_of
from arena.plugin.manager import PluginManager
from arena.simulation.competition.comparison import MechanismComparison, Story, compare_mechanisms
from arena.simulation.competition.prepare import prepare, without_what_cannot_play
from arena.simulation.competition.run import CompetitionRun, PreparedSimulation, run_competition
from arena.simulation.competition.seeds import request_of_seed, run_seeds
from arena.simulation.competition.summary import summarize_seeds
from arena.simulation.competition.teams import assign_teams
from arena.simulation.requests import SimulationRequest
from arena.types import DEFAULT_LEVEL
from arena.utils.arguments import several
from arena.utils.engines import Engine
from arena.utils.parallel import Progress
from arena.utils.progress import shown
from arena.utils.representation import short_repr
from arena.utils.requests import EngineChoice
from arena.utils.text import plural


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Simulated competitions, compared with the truth."""

    __repr__ = short_repr

    folder: Path
    """Where they are stored."""
    mechanisms: tuple[str, ...]
    """Under which each seed was run."""
    stories: tuple[Story, ...]
    """The result of each seed; ``outcomes`` has a JSON object for each mechanism."""
    comparison: MechanismComparison | None
    """Means, spread and paired differences over the seeds; None with a single one."""
    notes: tuple[str, ...]
    """For the organiser, in sentences."""

    def sentences(self) -> list[str]:
        """Return the comparison in sentences; empty with one seed."""
        return [] if self.comparison is None else summarize_seeds(self.comparison)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "folder": str(self.folder),
            "mechanisms": list(self.mechanisms),
            "seeds": [
                {"seed": story.seed, "folder": story.folder, "outcomes": list(story.outcomes)}
                for story in self.stories
            ],
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, eq=False)
class FinishedSimulation:
    """A simulation with what its reports and its document need."""

    simulation: Simulation
    prepared: PreparedSimulation
    """What was run; with several seeds, that of the first."""
    runs: tuple[CompetitionRun, ...] = ()
    """With one seed, the competition under each mechanism."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document of the command.

        It is ``arena/simulate-competition/1`` or, with several seeds, ``arena/simulate-seeds/1``.
        """
        prepared, request = self.prepared, self.prepared.request
        comparison = self.simulation.comparison
        shared = {
            "folder": str(self.simulation.folder),
            "data": prepared.data.name,
            "metric": prepared.metric,
            "teams": request.teams,
            "days": request.days,
        }
        kinds = [
            {"competitor": kind.specification, "conduct": kind.conduct} for kind in prepared.kinds
        ]
        if comparison is not None:
            shares = [
                {**kind_document, "share": kind.share}
                for kind_document, kind in zip(kinds, prepared.kinds, strict=True)
            ]
            return {
                "schema": "arena/simulate-seeds/1",
                **shared,
                "kinds": shares,
                "mechanisms": list(self.simulation.mechanisms),
                **comparison.to_dict(),
            }
        counts = teams_by_kind(prepared)
        return {
            "schema": "arena/simulate-competition/1",
            **shared,
            "greater_is_better": self.runs[0].outcome.greater_is_better,
            "seed": request.seed,
            "kinds": [
                {**kind_document, "teams": count}
                for kind_document, count in zip(kinds, counts, strict=True)
            ],
            "mechanisms": [run.outcome.to_dict() for run in self.runs],
        }


def simulate(
    folder: str | Path,
    mechanisms: str | Sequence[str] = (),
    *,
    teams: int = 50,
    days: int = 30,
    kinds: str | None = None,
    baseline: str | None = None,
    metric: str | None = None,
    per_day: int | None = None,
    data: str | Path | None = None,
    target: str | None = None,
    test: str | Path | None = None,
    positive: str | None = None,
    rows: int | None = None,
    public_share: float | None = None,
    train_rows: int | None = None,
    validation_rows: int | None = None,
    like: str | Path | None = None,
    drawn: bool = False,
    notebooks: float = 0.0,
    drift: float = 0.0,
    training_drift: float = 0.0,
    seed: int = 0,
    seeds: int = 1,
    level: float = DEFAULT_LEVEL,
    wait: float = 0.0,
    workers: int = 0,
    engine: str = "local",
    address: str | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Run competitions with simulated teams, and compare their outcome with the truth.

    Finished seeds are read from the folder, and an interrupted simulation continues. One seed is
    one possible outcome: use 20 or more before you decide anything.

    Parameters
    ----------
    folder
        A new folder, that of a simulation to continue, or a competition without submissions.
    mechanisms
        Such as ``"full"`` or ``["full", "ladder-free(minimum_step=0.002)"]``; the same seeds under
        each. Empty: the default, as ``arena simulate competition`` prints it.
    teams, days
        Number of participants, and length of the competition.
    kinds
        Competitors and their shares, such as ``"lightgbm-climber=3, copycat=1"``; None: the
        default mixture.
    baseline
        Competitor that makes the public baseline; ``"none"``: the sample submission.
    metric
        None: accuracy.
    per_day
        Submissions per team and day; None: 2.
    data, target, test, positive
        Own data, its target column, the features of the rows to predict if ``folder`` holds a
        competition, and the positive class; None: synthetic rows.
    rows, public_share, train_rows, validation_rows
        Rows to predict, the share of them that is public, training rows and rows for early
        stopping; None: 6,000, 0.3, 3,000 and 1,000, fewer if ``data`` is small.
    like
        A past leaderboard in CSV or a folder of them, which the teams imitate; see
        :func:`arena.simulation.past.boards.read_boards`.
    drawn
        Whether predictions are drawn in memory, without ``kinds``: for thousands of teams.
    notebooks
        Share of the honest teams' submissions that become public, for others to blend and copy.
    drift, training_drift
        How far the features of the private rows are from those of the public ones, and those of the
        rows to predict from those of the training rows: from 0 (at random) to 1 (divided at a
        threshold).
    seed, seeds
        The first random seed, and the number of seeds.
    level
        Of the intervals and tests with several seeds.
    wait
        Seconds to wait while another process has the competition open.
    workers, engine, address
        Processes (0: one per processor), and ``local``, ``dask`` or ``ray`` with the address of
        its cluster.
    manager
        Plugins, such as those of a notebook. The seeds then run one after the other in this
        process. None: those installed.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested, or the folder holds something else.

    Examples
    --------
    >>> simulation = simulate("rehearsals", ["full", "ladder-free"], seeds=20)  # doctest: +SKIP
    >>> for sentence in simulation.sentences():  # doctest: +SKIP
    ...     print(sentence)
    """
    request = SimulationRequest(
        directory=Path(folder),
        mechanisms=", ".join(several(mechanisms)) or None,
        teams=teams,
        days=days,
        kinds=kinds,
        baseline=baseline,
        metric=metric,
        per_day=per_day,
        data=None if data is None else Path(data),
        target=target,
        test=None if test is None else Path(test),
        positive=positive,
        rows=rows,
        public_share=public_share,
        train_rows=train_rows,
        validation_rows=validation_rows,
        like=None if like is None else Path(like),
        drawn=drawn,
        notebooks=notebooks,
        drift=drift,
        training_drift=training_drift,
        seed=seed,
        seeds=seeds,
        level=level,
        where=EngineChoice(engine, address, workers),
        wait=wait,
    )
    plugins = PluginManager() if manager is None else manager
    with shown(progress) as display:
        prepared = prepare_simulation(request, plugins)
        finished = run_simulation(prepared, plugins, display, installed=manager is None)
    return finished.simulation


def prepare_simulation(request: SimulationRequest, manager: PluginManager) -> PreparedSimulation:
    """Check everything that can be checked without training, for the first of several seeds.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested.
    """
    first = request if request.seeds == 1 else request_of_seed(request, request.seed)
    return replace(prepare(first, manager), request=request)


def run_simulation(
    prepared: PreparedSimulation,
    manager: PluginManager,
    progress: Progress,
    *,
    installed: bool = True,
) -> FinishedSimulation:
    """Run a simulation that was prepared, or continue it; announce the work first.

    Parameters
    ----------
    installed
        Whether the manager holds the installed plugins: other processes then find the same ones,
        and several seeds run side by side.

    Raises
    ------
    ArenaError
        If the folder holds something else, or a metric or mechanism fails.
    """
    request = prepared.request
    with request.where.open() as engine:
        progress.say(describe_simulation(prepared, engine, manager))
        if request.seeds > 1:
            return _several_seeds(prepared, engine, None if installed else manager, progress)
        return _one_seed(prepared, engine, manager, progress)


def _several_seeds(
    prepared: PreparedSimulation,
    engine: Engine,
    manager: PluginManager | None,
    progress: Progress,
) -> FinishedSimulation:
    request = prepared.request
    stories = run_seeds(without_what_cannot_play(prepared), engine, progress, manager)
    notes = dict.fromkeys(note for story in stories for note in story.notes)
    comparison = compare_mechanisms(prepared.mechanisms, stories, request.level)
    simulation = Simulation(
        folder=request.directory,
        mechanisms=prepared.mechanisms,
        stories=tuple(stories),
        comparison=comparison,
        notes=(*prepared.notes, *notes),
    )
    return FinishedSimulation(simulation, prepared)


def _one_seed(
    prepared: PreparedSimulation, engine: Engine, manager: PluginManager, progress: Progress
) -> FinishedSimulation:
    folder, runs = prepared.open_folder(), []
    for mechanism in prepared.mechanisms:
        started = time.monotonic()
        run = run_competition(
            folder, prepared, mechanism, manager, workers=engine.workers, progress=progress
        )
        runs.append(run)
        progress.say(f"{mechanism}: {time.monotonic() - started:.0f} s.")
    outcomes = tuple(run.outcome.to_dict() for run in runs)
    failures = tuple(map(str, manager.failures))
    story = Story(prepared.request.seed, str(prepared.root), outcomes, failures)
    simulation = Simulation(
        folder=prepared.root,
        mechanisms=prepared.mechanisms,
        stories=(story,),
        comparison=None,
        notes=(*prepared.notes, *failures),
    )
    return FinishedSimulation(simulation, prepared, tuple(runs))


def teams_by_kind(prepared: PreparedSimulation) -> list[int]:
    """Return the number of teams of each kind."""
    participants = assign_teams(prepared.kinds, prepared.request.teams)
    return [
        sum(participant.kind is kind for participant in participants) for kind in prepared.kinds
    ]


def describe_simulation(
    prepared: PreparedSimulation, engine: Engine, manager: PluginManager
) -> str:
    """Return what is simulated, in one sentence."""
    request = prepared.request
    counts = zip(prepared.kinds, teams_by_kind(prepared), strict=True)
    kinds = ", ".join(f"{count:,} {kind.specification}" for kind, count in counts if count)
    predictions = " or ".join(kinds_of(manager.metrics.resolve(prepared.metric)))
    seeds = f"{plural(request.seeds, 'seed')}, " if request.seeds > 1 else ""
    return (
        f"{seeds}{plural(request.teams, 'team')} ({kinds}) in {plural(request.days, 'day')} on "
        f"{prepared.data.name}, predictions of the kind {predictions}, under "
        f"{' and '.join(prepared.mechanisms)}; {plural(engine.workers, 'worker')} ({engine.name})."
    )
