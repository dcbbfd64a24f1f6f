"""From the request of ``arena simulate ranks`` to its result: check, train, score, compare."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from arena.errors import UsageError
from arena.interfaces import Metric
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.plugin.specification import with_parameters
from arena.simulation.data import Sizes, World, synthetic_world
from arena.simulation.ranks.draws import draw_test
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.scores import classes_needed
from arena.simulation.ranks.study import RankSimulation, compare_ranks, with_other_sets
from arena.simulation.ranks.submission import bound_to, check_kinds, shape_for
from arena.simulation.ranks.training import (
    ModelSearch,
    describe_models,
    missing_models,
    train_models,
)
from arena.simulation.requests import RanksRequest
from arena.types import PredictionKind
from arena.utils.engines import Engine
from arena.utils.parallel import Progress, available_workers
from arena.utils.text import plural

_RANKER, _ANALYSIS = "simultaneous", "ranks"
_BYTES = 4


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRanks:
    """A request that was checked, before anything is trained."""

    request: RanksRequest
    world: World
    metric: Metric
    search: ModelSearch
    manager: PluginManager


def prepare(request: RanksRequest, manager: PluginManager | None = None) -> PreparedRanks:
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
        _search(request), suggest=lambda competitor: isinstance(competitor, ModelSearch)
    )
    if not isinstance(search, ModelSearch):
        raise UsageError(
            f"{search.name} trains no models that can be compared; --search takes one "
            f"that does, such as lightgbm."
        )
    sizes, given_sizes = Sizes(4_000, 2_000, 5 * max(request.test_rows)).changed(
        training=request.train_rows,
        validation=request.validation_rows,
        population=request.population,
    )
    _check_population(request, sizes.population)
    if request.data is None:
        world = synthetic_world(sizes, request.seed)
    else:
        from arena.simulation.data_file import read_world

        world = read_world(
            request.data,
            request.target or "",
            sizes,
            request.seed,
            numeric=metric.prediction is PredictionKind.VALUE,
            positive=request.positive,
            given_sizes=given_sizes,
        )
        _check_population(request, world.population.n_rows)
    n_classes = world.rows.n_classes
    shape_for(metric, n_classes)
    with attributed_unquoted(manager.metrics.plugin_of(request.metric), f"binding {metric.name}"):
        for rows in request.test_rows:
            bound_to(metric, rows, world.classes)
            needed = classes_needed(metric, n_classes)
            draw_test(world.population, rows, 0, request.seed, n_classes=needed)
    manager.rankers.resolve(_RANKER)
    manager.analyses.resolve(_ANALYSIS)
    search.check(world.rows)
    return PreparedRanks(request, world, metric=metric, search=search, manager=manager)


def _search(request: RanksRequest) -> str:
    return with_parameters(request.search, grid=None if request.grid is None else str(request.grid))


def _check_population(request: RanksRequest, population: int) -> None:
    if max(request.test_rows) > population:
        raise UsageError(
            f"Tests of {plural(max(request.test_rows), 'row')} need a population of at least as "
            f"many, not {population:,}; request more with --population, or fewer --test-rows."
        )


def _open(prepared: PreparedRanks, folder: Path) -> ModelsFolder:
    about = describe_models(prepared.world, prepared.search, prepared.request.seed)
    return ModelsFolder.open(folder, about, prepared.world.population.n_rows)


def count_models(prepared: PreparedRanks, folder: Path) -> int:
    """Return how many of the models the folder holds."""
    n_wanted = prepared.request.n_models
    return n_wanted - len(missing_models(_open(prepared, folder), n_wanted))


def run(prepared: PreparedRanks, folder: Path, progress: Progress) -> RankSimulation:
    """Train the missing models, then score and compare them; announce the work first.

    Further sets of models are kept in folders ``set-2``, ``set-3``, … of the folder.

    Raises
    ------
    ArenaError
        If the folder, the engine or the metric cannot be used.
    """
    result, request = _run_set(prepared, folder, progress), prepared.request
    others = []
    for number in range(1, request.sets):
        other = replace(request, seed=request.seed + number, boards=0)
        progress.say(f"Set {number + 1} of {request.sets}.")
        again = prepare(other, prepared.manager)
        others.append(_run_set(again, folder / f"set-{number + 1}", progress))
    return with_other_sets(result, others) if others else result


def _run_set(prepared: PreparedRanks, folder: Path, progress: Progress) -> RankSimulation:
    request, world = prepared.request, prepared.world
    model_cache = _open(prepared, folder)
    with request.where.open() as engine:
        for note in world.notes:
            progress.say(note)
        progress.say(describe_study(prepared, model_cache, engine))
        started = time.monotonic()
        train_models(
            world,
            prepared.search,
            model_cache,
            request.n_models,
            seed=request.seed,
            engine=engine,
            progress=progress,
        )
        progress.say(f"Training: {time.monotonic() - started:.0f} s.")
    started = time.monotonic()
    result = compare_ranks(
        world,
        prepared.metric,
        ranker=prepared.manager.rankers.resolve(_RANKER),
        analysis=prepared.manager.analyses.resolve(_ANALYSIS),
        folder=model_cache,
        settings=request,
        workers=request.where.workers or available_workers(),
        progress=progress,
    )
    progress.say(f"Scoring and ranking: {time.monotonic() - started:.0f} s.")
    return result


def describe_study(prepared: PreparedRanks, folder: ModelsFolder, engine: Engine) -> str:
    """Return what is simulated, in one sentence."""
    request, world = prepared.request, prepared.world
    population, training = world.population.n_rows, len(world.rows.training.target)
    kind = shape_for(prepared.metric, world.rows.n_classes).kind
    missing = len(missing_models(folder, request.n_models))
    columns = max(1, (world.rows.n_classes or 1) - 1)
    columns = columns if columns == 1 else columns + 1
    megabytes = request.n_models * population * _BYTES * columns / 1e6
    sizes = " and ".join(f"{n:,}" for n in request.test_rows)
    return (
        f"{prepared.search.name} on {world.name}, predictions of the kind {kind}: {missing:,} of "
        f"{plural(request.n_models, 'model')} to train on {plural(training, 'row')}, "
        f"{engine.workers} at once ({engine.name}); then {plural(request.tests, 'test')} of "
        f"{sizes} rows out of {population:,}, {request.boards:,} analysed as boards. Disk space: "
        f"{megabytes:,.0f} MB in {folder.path}."
    )
