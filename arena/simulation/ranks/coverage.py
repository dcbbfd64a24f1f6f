"""How often rank intervals and bootstrap rank ranges of one test hold the true ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arena.errors import PluginError
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.ranks import best_first, minimum_ranks
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Analysis, Metric, Ranker, Study, traits_of
from arena.simulation.data import World
from arena.simulation.ranks.draws import draw_test
from arena.simulation.ranks.model_cache import FolderPredictions, ModelsFolder
from arena.simulation.ranks.outcome import covers
from arena.simulation.ranks.scores import classes_needed, population_for
from arena.simulation.ranks.submission import bound_to, shape_for
from arena.types import FloatArray, IntArray

_RANGES = {
    "intervals": ("rank_low", "rank_high"),
    "spread": ("bootstrap_rank_low", "bootstrap_rank_high"),
}
_RESAMPLE_STREAM = 2**32 - 5


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often one kind of range held the true ranks."""

    test_rows: int
    """Rows of the test."""
    competitors: int
    """Number of competing models."""
    kind: str
    """``intervals``: simultaneous; ``spread``: bootstrap rank range, no confidence interval."""
    level: float
    """Nominal level of the intervals, and share of resamples within the percentiles."""
    boards: int
    """Number of boards with intervals."""
    all_ranks: float
    """Share of the boards on which every true rank was held."""
    best: float
    """Share of the boards on which the truly best one's rank was held."""
    each: float
    """Share of all ranks that were held."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleBoard:
    """The board of one test as an organiser sees it, and the true ranks."""

    test_rows: int
    """Rows of the test."""
    competitors: int
    """Number of competing models."""
    models: IntArray
    """``(M,)`` as the board ranks them."""
    true_ranks: IntArray
    """``(m,)`` ranks by the true scores."""
    ranks: IntArray
    """``(m,)`` ranks on the test."""
    ranges: Mapping[str, tuple[IntArray, IntArray]]
    """``intervals`` and ``spread``: lowest and highest rank, ``(M,)`` each."""


@dataclass(frozen=True, slots=True)
class Boards:
    """How boards are analysed."""

    boards: int
    resamples: int
    level: float
    seed: int
    workers: int


def coverage(
    world: World,
    metric: Metric,
    ranker: Ranker,
    analysis: Analysis,
    folder: ModelsFolder,
    true: FloatArray,
    test_rows: int,
    settings: Boards,
) -> tuple[tuple[Coverage, ...], SingleBoard]:
    """Analyse the first tests as private boards, and compare with the true ranks.

    Parameters
    ----------
    ranker
        Delivers the intervals.
    analysis
        Delivers the columns ``bootstrap_rank_low`` and ``bootstrap_rank_high``.
    true
        ``(M,)`` true scores of the models 0 … M-1 that take part.

    Returns
    -------
    The coverage of the intervals and of the bootstrap range, and the first board.

    Raises
    ------
    PluginError
        If the analysis lacks these columns.
    MetricError
        If a class is too rare.
    """
    greater = metric.greater_is_better
    ranks = minimum_ranks(true, greater_is_better=greater)
    best = best_first(true, greater_is_better=greater)[0]
    held: dict[str, list[Any]] = {kind: [] for kind in _RANGES}
    first = None
    for number in range(settings.boards):
        study = _study(
            world,
            metric,
            folder=folder,
            competitors=len(true),
            test_rows=test_rows,
            number=number,
            settings=settings,
        )
        sets = ranker.rank(study)
        study = replace(study, ranks=sets)
        columns = {
            **sets.columns(),
            **analysis.run(study, np.random.default_rng((settings.seed, number))).columns,
        }
        missing = {name for ends in _RANGES.values() for name in ends} - set(columns)
        if missing:
            raise PluginError(f"The analysis {analysis.name!r} delivers no {min(missing)}.")
        for low, high in _RANGES.values():
            columns[low] = _with_withheld(columns[low], 1)
            columns[high] = _with_withheld(columns[high], len(true))
        for kind, (low, high) in _RANGES.items():
            held[kind].append(covers(columns[low], columns[high], ranks))
        first = first or _single(study, columns, ranks, test_rows)
    assert first is not None  # noqa: S101 - there is at least one board
    coverages = [
        Coverage(
            test_rows=test_rows,
            competitors=len(true),
            kind=kind,
            level=settings.level,
            boards=settings.boards,
            all_ranks=float(np.mean([contained.all() for contained in held_of_kind])),
            best=float(np.mean([contained[best] for contained in held_of_kind])),
            each=float(np.mean(held_of_kind)),
        )
        for kind, held_of_kind in held.items()
    ]
    return tuple(coverages), first


def _with_withheld(ranks: Sequence[int | None], end: int) -> list[int]:
    """Return ends of ranges; a range that is withheld excludes no rank, up to this end."""
    return [end if rank is None else rank for rank in ranks]


def _study(
    world: World,
    metric: Metric,
    folder: ModelsFolder,
    competitors: int,
    test_rows: int,
    number: int,
    settings: Boards,
) -> Study:
    """Return the study of one test that an analysis receives."""
    n_classes = world.rows.n_classes
    needed = classes_needed(metric, n_classes)
    population = population_for(metric, world.population)
    test = draw_test(population, test_rows, number, settings.seed, n_classes=needed)
    shape = shape_for(metric, n_classes)
    bound = bound_to(metric, test_rows, world.classes)
    models = np.arange(competitors)
    predictions = FolderPredictions(folder, models, test.rows, shape)
    stratify = traits_of(metric).stratify_by_class and n_classes is not None
    codes = test.target.astype(np.intp) if n_classes is not None else None
    weights = draw_resamples(
        test_rows,
        settings.resamples,
        _RESAMPLE_STREAM + settings.seed * 1_000 + number,
        strata=codes if stratify else None,
        required=codes if needed else None,
        workers=settings.workers,
    ).weights
    return Study(
        metric=bound,
        truth=test.target,
        teams=tuple(f"model {model}" for model in models),
        submissions=models,
        predictions=predictions,
        scores=full_scores(bound, test.target, predictions, workers=settings.workers),
        resampled=score_under_weights(
            bound, test.target, predictions, weights, workers=settings.workers
        ),
        level=settings.level,
        classes=world.classes,
    )


def _single(
    study: Study, columns: Mapping[str, Sequence[Any]], true_ranks: IntArray, test_rows: int
) -> SingleBoard:
    greater = study.metric.greater_is_better
    order = best_first(study.scores, greater_is_better=greater)
    ranges = {
        kind: (np.asarray(columns[low])[order], np.asarray(columns[high])[order])
        for kind, (low, high) in _RANGES.items()
    }
    ranks = minimum_ranks(study.scores, greater_is_better=greater)[order]
    return SingleBoard(
        test_rows,
        len(order),
        models=study.submissions[order],
        true_ranks=true_ranks[order],
        ranks=ranks,
        ranges=ranges,
    )
