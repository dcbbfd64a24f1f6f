"""The public function that compares ranks on tests with true ranks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from arena.plugin.manager import PluginManager
from arena.simulation.ranks.prepare import prepare, run
from arena.simulation.ranks.study import RankSimulation
from arena.simulation.requests import RanksRequest
from arena.types import DEFAULT_LEVEL
from arena.utils.arguments import several
from arena.utils.parallel import Progress
from arena.utils.progress import shown
from arena.utils.requests import EngineChoice


def simulate_ranks(
    test_rows: int | Sequence[int] = (1_000, 10_000),
    competitors: int | Sequence[int] = (10, 40),
    *,
    data: str | Path | None = None,
    target: str | None = None,
    positive: str | None = None,
    metric: str = "roc_auc",
    tests: int = 50,
    sets: int = 1,
    boards: int = 10,
    resamples: int = 500,
    level: float = DEFAULT_LEVEL,
    train_rows: int | None = None,
    validation_rows: int | None = None,
    population: int | None = None,
    search: str = "lightgbm",
    grid: str | Path | None = None,
    models: str | Path | None = None,
    seed: int = 0,
    workers: int = 0,
    engine: str = "local",
    address: str | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> RankSimulation:
    """Train many models, and compare their ranks on tests with their true ranks.

    Parameters
    ----------
    test_rows, competitors
        Sizes of tests, and numbers of models.
    data, target, positive
        Own data, its target column and the positive class; None: synthetic rows, whose true
        scores are exact.
    metric
        The metric of the ranks.
    tests, boards
        Number of tests of each size, and how many of them get rank intervals, for their coverage.
    sets
        Sets of models, each trained on rows of its own, with the seeds ``seed``, ``seed + 1``, ….
        With several, intervals include the choice of models and rows, and ranks, boards and rows
        needed are those of the first.
    resamples, level
        Bootstrap resamples of each of these boards, and the level of the intervals.
    train_rows, validation_rows, population
        Training rows, rows for early stopping, and rows that tests are drawn from; None: 4,000,
        2,000 and 5 times the largest test, fewer if ``data`` is small.
    search, grid
        The competitor that trains the models, and a TOML file of the settings it draws from.
    models
        A folder that keeps the models, so that none is trained twice; None: a temporary one.
    seed
        The random seed.
    workers, engine, address
        Processes (0: one per processor), and ``local``, ``dask`` or ``ray`` with the address of
        its cluster.
    manager
        The plugins; None: those installed.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested.

    Examples
    --------
    >>> result = simulate_ranks([1_000, 10_000], [10, 40], tests=50)  # doctest: +SKIP
    >>> result.win_frequency[0].frequency  # doctest: +SKIP
    """
    request = RanksRequest(
        data=None if data is None else Path(data),
        target=target,
        positive=positive,
        metric=metric,
        test_rows=several(test_rows),
        competitors=several(competitors),
        tests=tests,
        sets=sets,
        boards=boards,
        resamples=resamples,
        level=level,
        train_rows=train_rows,
        validation_rows=validation_rows,
        population=population,
        search=search,
        grid=None if grid is None else Path(grid),
        models=None if models is None else Path(models),
        seed=seed,
        where=EngineChoice(engine, address, workers),
    )
    prepared = prepare(request, manager)
    with shown(progress) as display:
        if request.models is not None:
            return run(prepared, request.models, display)
        with tempfile.TemporaryDirectory(prefix="arena-models-") as folder:
            return run(prepared, Path(folder), display)
