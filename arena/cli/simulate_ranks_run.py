"""From the options of ``arena simulate ranks`` to its result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from arena.engines import Engine, open_engine
from arena.errors import UsageError
from arena.execution import Progress, available_workers
from arena.interfaces import Metric
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.simulation.data import Sizes, World, synthetic_world
from arena.simulation.draws import draw_test
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.ranks import RankSettings, RankSimulation, simulate_ranks
from arena.simulation.scores import classes_needed
from arena.simulation.search import ModelSearch
from arena.simulation.submission import bound_to, check_kinds, shape_for
from arena.simulation.training import describe_models, missing_models, train_models
from arena.types import PredictionKind

__all__ = ["Prepared", "Request", "carry_out", "count_models", "prepare"]

_JUDGE = "ranks"
_BYTES = 4


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for."""

    data: Path | None
    target: str
    positive: str | None
    metric: str
    search: str
    sizes: Sizes
    settings: RankSettings
    workers: int
    engine: str
    address: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A request that was found possible, before anything is trained."""

    request: Request
    world: World
    metric: Metric
    search: ModelSearch
    manager: PluginManager


def prepare(request: Request) -> Prepared:
    """Read the data and try everything that can be tried without training.

    Raises
    ------
    ArenaError
        If something of it cannot be.
    """
    manager = PluginManager()
    metric = manager.metrics.resolve(request.metric)
    check_kinds(metric)
    search = manager.competitors.resolve(
        request.search, fitting=lambda one: isinstance(one, ModelSearch)
    )
    if not isinstance(search, ModelSearch):
        raise UsageError(
            f"{search.name} trains no models that can be compared; --search takes lightgbm or "
            f"another competitor that does."
        )
    settings, sizes = request.settings, request.sizes
    if max(settings.test_rows) > sizes.population:
        raise UsageError(
            f"Tests of {max(settings.test_rows):,} rows need a population of at least as many; "
            f"ask for more with --population, or for fewer --test-rows."
        )
    world = _world(request, metric)
    n_classes = world.rows.n_classes
    shape_for(metric, n_classes)
    with attributed_unquoted(manager.metrics.plugin_of(request.metric), f"binding {metric.name}"):
        for rows in settings.test_rows:
            bound_to(metric, rows, world.classes)
            needed = classes_needed(metric, n_classes)
            draw_test(world.population, rows, 0, settings.seed, n_classes=needed)
    manager.analyses.resolve(_JUDGE)
    search.check(world.rows)
    return Prepared(request, world, metric, search, manager)


def _world(request: Request, metric: Metric) -> World:
    if request.data is None:
        return synthetic_world(request.sizes, request.settings.seed)
    from arena.simulation.own_data import read_world

    return read_world(
        request.data,
        request.target,
        request.sizes,
        request.settings.seed,
        numeric=metric.prediction is PredictionKind.VALUE,
        positive=request.positive,
    )


def _open(prepared: Prepared, folder: Path) -> ModelsFolder:
    about = describe_models(prepared.world, prepared.search, prepared.request.settings.seed)
    return ModelsFolder.open(folder, about, prepared.world.population.n_rows)


def count_models(prepared: Prepared, folder: Path) -> int:
    """Return how many of the models are there."""
    wanted = prepared.request.settings.n_models
    return wanted - len(missing_models(_open(prepared, folder), wanted))


@contextlib.contextmanager
def _stage(progress: Progress, what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    progress.say(f"{what}: {time.monotonic() - started:.0f} s.")


def carry_out(prepared: Prepared, folder: Path, progress: Progress) -> RankSimulation:
    """Train what is missing, then score and compare; the plan is said first.

    Raises
    ------
    ArenaError
        If the folder, the engine or the metric cannot be used.
    """
    request, world = prepared.request, prepared.world
    kept = _open(prepared, folder)
    settings = request.settings
    with open_engine(request.engine, request.address, request.workers) as engine:
        progress.say(_plan(prepared, kept, engine))
        with _stage(progress, "Training"):
            train_models(
                world,
                prepared.search,
                kept,
                settings.n_models,
                seed=settings.seed,
                engine=engine,
                progress=progress,
            )
    with _stage(progress, "Scoring and judging"):
        return simulate_ranks(
            world,
            prepared.metric,
            prepared.manager.analyses.resolve(_JUDGE),
            kept,
            settings,
            workers=request.workers or available_workers(),
            progress=progress,
        )


def _plan(prepared: Prepared, folder: ModelsFolder, engine: Engine) -> str:
    settings, sizes = prepared.request.settings, prepared.request.sizes
    missing = len(missing_models(folder, settings.n_models))
    columns = max(1, (prepared.world.rows.n_classes or 1) - 1)
    columns = columns if columns == 1 else columns + 1
    megabytes = settings.n_models * sizes.population * _BYTES * columns / 1e6
    return (
        f"{prepared.search.name} on {prepared.world.name}: {missing:,} of {settings.n_models:,} "
        f"models to train on {sizes.training:,} rows, {engine.workers} at once ({engine.name}); "
        f"then {settings.tests:,} tests of {' and '.join(f'{n:,}' for n in settings.test_rows)} "
        f"rows out of {sizes.population:,}, {settings.boards:,} judged as boards. On the disk "
        f"{megabytes:,.0f} MB in {folder.path}."
    )
