"""From the options of ``arena simulate ranks`` to its result: check, train, score, compare."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from arena.errors import UsageError
from arena.interfaces import Metric
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.simulation.data import Sizes, World, synthetic_world
from arena.simulation.ranks.draws import draw_test
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.scores import classes_needed
from arena.simulation.ranks.study import RankSettings, RankSimulation, simulate_ranks
from arena.simulation.ranks.submission import bound_to, check_kinds, shape_for
from arena.simulation.ranks.training import (
    ModelSearch,
    describe_models,
    missing_models,
    train_models,
)
from arena.types import PredictionKind
from arena.utils.engines import Engine, open_engine
from arena.utils.parallel import Progress, available_workers

_RANKER, _ANALYSIS = "simultaneous", "ranks"
_BYTES = 4


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command."""

    data: Path | None
    target: str
    positive: str | None
    metric: str
    search: str
    train_rows: int | None
    """A number of rows that is given is not made smaller to fit ``data``."""
    validation_rows: int | None
    population: int | None
    settings: RankSettings
    workers: int
    engine: str
    address: str | None

    def sizes(self) -> tuple[Sizes, tuple[str, ...]]:
        """Return the numbers of rows, and the names of those that were given."""
        return Sizes(4_000, 2_000, 5 * max(self.settings.test_rows)).changed(
            training=self.train_rows,
            validation=self.validation_rows,
            population=self.population,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A request that was checked, before anything is trained."""

    request: Request
    world: World
    metric: Metric
    search: ModelSearch
    manager: PluginManager


def prepare(request: Request, manager: PluginManager | None = None) -> Prepared:
    """Read the data and check everything that can be checked without training.

    Without a manager the installed plugins are used.

    Raises
    ------
    ArenaError
        If the request cannot be carried out.
    """
    manager = PluginManager() if manager is None else manager
    metric = manager.metrics.resolve(request.metric)
    check_kinds(metric)
    search = manager.competitors.resolve(
        request.search, suggest=lambda one: isinstance(one, ModelSearch)
    )
    if not isinstance(search, ModelSearch):
        raise UsageError(
            f"{search.name} trains no models that can be compared; --search takes one "
            f"that does, such as lightgbm."
        )
    settings = request.settings
    sizes, given = request.sizes()
    _check_population(settings, sizes.population)
    if request.data is None:
        world = synthetic_world(sizes, settings.seed)
    else:
        from arena.simulation.data_file import read_world

        world = read_world(
            request.data,
            request.target,
            sizes,
            settings.seed,
            numeric=metric.prediction is PredictionKind.VALUE,
            positive=request.positive,
            given=given,
        )
        _check_population(settings, world.population.n_rows)
    n_classes = world.rows.n_classes
    shape_for(metric, n_classes)
    with attributed_unquoted(manager.metrics.plugin_of(request.metric), f"binding {metric.name}"):
        for rows in settings.test_rows:
            bound_to(metric, rows, world.classes)
            needed = classes_needed(metric, n_classes)
            draw_test(world.population, rows, 0, settings.seed, n_classes=needed)
    manager.rankers.resolve(_RANKER)
    manager.analyses.resolve(_ANALYSIS)
    search.check(world.rows)
    return Prepared(request, world, metric, search, manager)


def _check_population(settings: RankSettings, population: int) -> None:
    if max(settings.test_rows) > population:
        raise UsageError(
            f"Tests of {max(settings.test_rows):,} rows need a population of at least as many, "
            f"not {population:,}; request more with --population, or fewer --test-rows."
        )


def _open(prepared: Prepared, folder: Path) -> ModelsFolder:
    about = describe_models(prepared.world, prepared.search, prepared.request.settings.seed)
    return ModelsFolder.open(folder, about, prepared.world.population.n_rows)


def count_models(prepared: Prepared, folder: Path) -> int:
    """Return how many of the models the folder holds."""
    wanted = prepared.request.settings.n_models
    return wanted - len(missing_models(_open(prepared, folder), wanted))


def run(prepared: Prepared, folder: Path, progress: Progress) -> RankSimulation:
    """Train the missing models, then score and compare them; announce the work first.

    Raises
    ------
    ArenaError
        If the folder, the engine or the metric cannot be used.
    """
    request, world = prepared.request, prepared.world
    kept = _open(prepared, folder)
    settings = request.settings
    with open_engine(request.engine, request.address, request.workers) as engine:
        for note in world.notes:
            progress.say(note)
        progress.say(_announcement(prepared, kept, engine))
        started = time.monotonic()
        train_models(
            world,
            prepared.search,
            kept,
            settings.n_models,
            seed=settings.seed,
            engine=engine,
            progress=progress,
        )
        progress.say(f"Training: {time.monotonic() - started:.0f} s.")
    started = time.monotonic()
    result = simulate_ranks(
        world,
        prepared.metric,
        prepared.manager.rankers.resolve(_RANKER),
        prepared.manager.analyses.resolve(_ANALYSIS),
        kept,
        settings,
        workers=request.workers or available_workers(),
        progress=progress,
    )
    progress.say(f"Scoring and ranking: {time.monotonic() - started:.0f} s.")
    return result


def _announcement(prepared: Prepared, folder: ModelsFolder, engine: Engine) -> str:
    settings, world = prepared.request.settings, prepared.world
    population, training = world.population.n_rows, len(world.rows.training.target)
    kind = shape_for(prepared.metric, world.rows.n_classes).kind
    missing = len(missing_models(folder, settings.n_models))
    columns = max(1, (world.rows.n_classes or 1) - 1)
    columns = columns if columns == 1 else columns + 1
    megabytes = settings.n_models * population * _BYTES * columns / 1e6
    sizes = " and ".join(f"{n:,}" for n in settings.test_rows)
    return (
        f"{prepared.search.name} on {world.name}, predictions of the kind {kind}: {missing:,} of "
        f"{settings.n_models:,} models to train on {training:,} rows, {engine.workers} at once "
        f"({engine.name}); then {settings.tests:,} tests of {sizes} rows out of {population:,}, "
        f"{settings.boards:,} analysed as boards. Disk space: {megabytes:,.0f} MB in {folder.path}."
    )
