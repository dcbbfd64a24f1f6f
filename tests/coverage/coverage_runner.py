"""Counts how often intervals hold on simulated boards."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import pyarrow as pa

from arena.evaluation.binding import bind
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.evaluation.solution_metric import metric_of_solution
from arena.interfaces import Candidates, Metric, Study, traits_of
from arena.plugin.manager import PluginManager
from arena.scoring.private_board import RankedRows, study_of
from arena.scoring.settings import BoardSettings
from arena.types import PredictionKind, Solution, Target
from coverage_boards import Board, Cell, MetricOfBoard
from coverage_counts import Count
from coverage_procedures import PROCEDURES, Drawn, Outcome, Procedure, counting_submissions

__all__ = ["count_cell", "drawn_boards"]

_DRAWINGS = 20
"""Resamples do not depend on predictions: a few drawings serve all boards of a cell."""


@cache
def _metrics() -> PluginManager:
    return PluginManager()


@lru_cache(maxsize=2 * _DRAWINGS)
def _weights(n: int, resamples: int, seed: int, strata: bytes, clusters: bytes, required: bytes):
    arrays = {
        name: np.frombuffer(codes, dtype=np.intp) if codes else None
        for name, codes in (("strata", strata), ("clusters", clusters), ("required", required))
    }
    return draw_resamples(n, resamples, seed, **arrays).weights


def _codes(values: np.ndarray | None) -> bytes:
    return b"" if values is None else values.astype(np.intp).tobytes()


@dataclass(frozen=True, slots=True)
class _Opaque:
    """A metric of which nothing is known but how to call it, as for ``module:function``."""

    metric: Metric

    @property
    def name(self) -> str:
        return f"opaque {self.metric.name}"

    @property
    def greater_is_better(self) -> bool:
        return self.metric.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        return self.metric.prediction

    def score(
        self, truth: np.ndarray, prediction: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        return self.metric.score(truth, prediction, weight)


def _solution(board: Board, metric: Metric | MetricOfBoard) -> Solution:
    """Return a board's rows as a solution file has them."""
    n, truth = len(board.truth), board.truth
    classes = None
    if np.issubdtype(truth.dtype, np.integer):
        labels = np.issubdtype(board.predictions.dtype, np.integer)
        largest = max(1, truth.max(), board.predictions.max() if labels else 1)
        classes = tuple(str(code) for code in range(int(largest) + 1))
    names = tuple(f"y{number}" for number in range(truth.shape[1] if truth.ndim > 1 else 1))
    return Solution(
        id_column="id",
        targets=tuple(Target(name, classes) for name in names),
        columns=names,
        kind=metric.prediction,
        ids=pa.array(np.arange(n).astype(str)),
        truth=truth,
        usage=np.ones(n, dtype=np.uint8),
        sha256="",
        clusters=board.clusters,
        extra=board.extra,
        tasks=board.tasks,
        task_names=()
        if board.tasks is None
        else tuple(f"task {code}" for code in range(int(board.tasks.max()) + 1)),
    )


def drawn_boards(
    cell: Cell, boards: int, *, first: int = 0, seed: int = 0, resamples: int = 300
) -> Iterator[Drawn]:
    """Draw boards of a cell from number ``first`` on, and score and resample each."""
    named = isinstance(cell.metric, str)
    metric = _metrics().metrics.resolve(cell.metric) if named else cell.metric
    if cell.opaque:
        metric = _Opaque(metric)
    for number in range(first, first + boards):
        board = cell.draw(np.random.default_rng([seed, zlib.crc32(cell.name.encode()), number]))
        yield _drawn(cell, metric, board, number % _DRAWINGS, resamples)


def _drawn(
    cell: Cell, metric: Metric | MetricOfBoard, board: Board, seed: int, resamples: int
) -> Drawn:
    solution = _solution(board, metric)
    if isinstance(metric, MetricOfBoard):
        metric = metric.metric_of(board, solution)
    metric = metric_of_solution(metric, solution)
    metric = bind(metric, solution, np.ones(len(board.truth), dtype=np.bool_))
    if isinstance(metric, CombinedMetric):
        return _drawn_by_arena(cell, metric, board, solution, seed, resamples)
    traits = traits_of(metric)
    stratified = cell.stratified or traits.stratify_by_class
    weights = _weights(
        len(board.truth),
        resamples,
        seed,
        _codes(board.truth if stratified and board.clusters is None else None),
        _codes(board.clusters),
        _codes(board.truth if traits.needs_every_class else None),
    )
    predictions = ArrayPredictions(board.predictions)
    scores = full_scores(metric, board.truth, predictions)
    resampled = score_under_weights(metric, board.truth, predictions, weights)
    resampled = resampled[:, np.isfinite(resampled).all(axis=0)]
    best = counting_submissions(board, scores, resampled, metric.greater_is_better)
    study = Study(
        metric=metric,
        truth=board.truth,
        teams=tuple(f"team {number}" for number in range(len(best.positions))),
        submissions=best.positions + 1,
        predictions=predictions.subset(best.positions),
        scores=best.scores,
        resampled=best.resampled,
        level=cell.level,
        clusters=board.clusters,
        classes=solution.targets[0].classes,
        candidates=(
            None
            if board.teams is None
            else Candidates(scores, resampled, predictions, best.positions, board.teams)
        ),
    )
    return Drawn(study, board, best.positions)


def _drawn_by_arena(
    cell: Cell,
    metric: Metric,
    board: Board,
    solution: Solution,
    seed: int,
    resamples: int,
) -> Drawn:
    """Return a board that draws its resamples itself: within the tasks, or by shared groups."""
    predictions, m = ArrayPredictions(board.predictions), len(board.predictions)
    study, _ = study_of(
        metric,
        RankedRows(board.truth, solution.targets[0].classes, board.clusters),
        tuple(f"team {number}" for number in range(m)),
        np.arange(1, m + 1),
        predictions,
        full_scores(metric, board.truth, predictions),
        BoardSettings(resamples, cell.level, seed, workers=1),
    )
    return Drawn(study, board, np.arange(m))


def count_cell(
    cell: Cell,
    boards: int,
    *,
    first: int = 0,
    seed: int = 0,
    resamples: int = 300,
    procedures: Iterable[Procedure] = PROCEDURES,
) -> dict[str, Count]:
    """Run every procedure that suits the cell on the same boards; counts by procedure."""
    chosen = [procedure for procedure in procedures if procedure.suits(cell)]
    outcomes: dict[str, list[Outcome]] = {procedure.name: [] for procedure in chosen}
    for drawn in drawn_boards(cell, boards, first=first, seed=seed, resamples=resamples):
        for procedure in chosen:
            outcomes[procedure.name].append(procedure.run(drawn))
    return {name: Count.of(own) for name, own in outcomes.items()}
