"""Small simulated competitions without models, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import arena_competitors
import arena_mechanisms
import arena_metrics
from arena.config import Settings
from arena.hookspecs import hookimpl
from arena.interfaces import Competitor, Feedback, Move, Participation
from arena.plugin.manager import PluginManager
from arena.simulation.competition.run import CompetitionRun, PreparedSimulation, run_competition
from arena.simulation.competition.setup import CompetitionData, data_from_world
from arena.simulation.competition.teams import kind_of, read_kinds
from arena.simulation.data import Sizes, World, synthetic_world
from arena.simulation.requests import SimulationRequest
from arena.utils.parallel import NoProgress

SMALL_PLUGINS = (arena_metrics, arena_mechanisms, arena_competitors)
WORLD = synthetic_world(Sizes(200, 100, 240), seed=5)
NO_MODELS = "copycat(share=0.1)=2, random-search=2, block-flip(rows=5)=1"


def few_plugins(*competitors: Competitor) -> PluginManager:
    """Return a manager with competitors of a stranger, and no analyses, which take time."""
    manager = PluginManager(entry_points=False)
    for plugin in SMALL_PLUGINS:
        manager.register(plugin, plugin.__name__)
    manager.register(Plugin(competitors), "a stranger's")
    return manager


def request(
    root: Path,
    manager: PluginManager,
    *,
    kinds: str = NO_MODELS,
    mechanisms: Sequence[str] = ("full",),
    data: CompetitionData | None = None,
    baseline: str | None = None,
    changes: Mapping[str, Any] | None = None,
    **settings: Any,
) -> PreparedSimulation:
    """Return a simulation of 5 teams in 4 days on 240 rows, with changes of its request."""
    data = data or data_from_world(WORLD)
    document: dict[str, Any] = {
        "competition": {"title": "SIMULATED", "baseline": "simulated baseline"},
        "data": dict(data.columns),
        "metric": {"name": "accuracy"},
        "limits": {"per_day": 2},
        "analysis": {"resamples": 50},
        **settings,
    }
    return PreparedSimulation(
        request=SimulationRequest(
            directory=root, **{"teams": 5, "days": 4, "seed": 1, **(changes or {})}
        ),
        root=root,
        data=data,
        settings=Settings.model_validate(document),
        mechanisms=tuple(mechanisms),
        kinds=read_kinds(kinds, manager.competitors),
        baseline=kind_of(baseline, manager.competitors) if baseline else None,
    )


def held(
    simulation: PreparedSimulation, manager: PluginManager, **options: Any
) -> list[CompetitionRun]:
    """Hold it under each mechanism."""
    folder = simulation.open_folder()
    settings = {"workers": 1, "progress": NoProgress(), **options}
    return [
        run_competition(folder, simulation, mechanism, manager, **settings)
        for mechanism in simulation.mechanisms
    ]


def with_usage(world: World, public: np.ndarray) -> CompetitionData:
    """Return a world whose public rows are given."""
    data = data_from_world(world)
    usage = np.where(public, "Public", "Private")
    return replace(data, solution=data.solution.append_column("Usage", [usage]))


@dataclass
class Plugin:
    """A plugin that provides competitors."""

    competitors: Sequence[Competitor]

    @hookimpl
    def provide_competitors(self) -> Sequence[Competitor]:
        return self.competitors


class Spy:
    """Sends noise that depends on what it heard, and keeps everything that it was given."""

    name = "spy"

    def __init__(self) -> None:
        self.seen: list[Participation] = []
        self.feedback: list[Feedback] = []

    def start(self, participation: Participation, rng: np.random.Generator) -> _SpyPlayer:
        self.seen.append(participation)
        return _SpyPlayer(self, participation, rng)


class _SpyPlayer:
    def __init__(self, spy: Spy, participation: Participation, rng: np.random.Generator) -> None:
        self._spy, self._n_rows, self._rng = spy, participation.n_rows, rng
        self._last = 0.0

    def submit(self) -> Move:
        return Move((self._rng.random(self._n_rows) < 0.3 + self._last / 3).astype(np.intp))

    def receive(self, feedback: Feedback) -> None:
        self._spy.feedback.append(feedback)
        self._last = feedback.score

    def finish(self) -> Move:
        return self.submit()
