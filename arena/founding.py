"""Makes a competition: its database, its settings, and the sample that participants start from."""

from __future__ import annotations

import csv
import secrets
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.admission import is_number, read_truth
from arena.competition_state import METRIC_CODE, metric_code
from arena.config import CONFIG_NAME, Settings, settings_as_toml
from arena.errors import InputError, UsageError
from arena.interfaces import Metric, notes_of, traits_of
from arena.paired_error import standard_error_of_mean
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.public_mechanism import find_mechanism, review_mechanism
from arena.row_context import bind
from arena.score_settings import SolutionColumns
from arena.store import Store
from arena.targets import mean_over_targets
from arena.types import PredictionKind, Solution, Usage

__all__ = [
    "DATABASE_NAME",
    "SAMPLE_NAME",
    "draw_public_rows",
    "found",
    "sample_values",
    "soft_label_warnings",
]

DATABASE_NAME = "arena.duckdb"
SAMPLE_NAME = "sample_submission.csv"
_FOREIGN = 4.0
"""Standard errors by which labels differ too often from the likeliest class of their row."""
_SPLIT_STREAM = (2**32 - 1, 2)


def found(
    folder: Path,
    solution_path: Path,
    settings: Settings,
    public_share: float,
    seed: int | None,
    manager: PluginManager,
    actor: str,
    now: datetime,
) -> None:
    """Write a new competition; ``competition.toml`` comes last, so that it stands for the whole.

    Raises
    ------
    InputError
        If the solution cannot be used, the folder holds a competition or a sample already, or the
        mechanism does not exist or does not suit the metric.
    UsageError
        If the share is not in [0, 1).
    UnknownNameError
        If there is no such metric.
    MetricError
        If the solution lacks something that the metric needs, such as groups.
    """
    if not 0 <= public_share < 1:
        raise UsageError("The public share must be at least 0 and less than 1.")
    if (folder / CONFIG_NAME).exists() or (folder / DATABASE_NAME).exists():
        raise InputError(f"{folder} holds a competition already; choose another folder.")
    if (folder / SAMPLE_NAME).exists():
        raise InputError(f"{folder} has a {SAMPLE_NAME} already: move it, or take another folder.")
    manager = manager.within(folder)
    find_mechanism(settings, manager)
    settings = _settled(settings, manager)
    solution = read_settings_solution(solution_path, settings, manager)
    _check_metric(solution, settings, manager)
    seed = secrets.randbits(63) if seed is None else seed
    if not (solution.usage == Usage.PUBLIC).any() and public_share > 0:
        solution = replace(solution, usage=draw_public_rows(solution, public_share, seed))
    review_mechanism(settings, solution, manager)
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(folder / DATABASE_NAME) as store, store.transaction() as transaction:
        transaction.put_solution(solution, settings.metric.specification, time=now)
        transaction.put_meta("seed", str(seed))
        transaction.put_meta("settings", settings.model_dump_json())
        payload = {"settings": settings.to_document(), "solution_sha256": solution.sha256}
        code = metric_code(settings.metric.specification, manager)
        if code is not None:
            transaction.put_meta(METRIC_CODE, code)
            payload["metric_sha256"] = sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
        transaction.append_event("created", actor, payload, time=now)
    _write_sample(folder / SAMPLE_NAME, solution, settings, manager)
    asked: Metric = manager.metrics.resolve(settings.metric.specification)
    text = settings_as_toml(settings, {"metric": [f"Taken for {one}" for one in notes_of(asked)]})
    (folder / CONFIG_NAME).write_text(text, encoding="utf-8")


def _settled(settings: Settings, manager: PluginManager) -> Settings:
    """Return the settings with a metric that means the same wherever arena is called from."""
    name = manager.metrics.settled(settings.metric.name)
    return settings.model_copy(update={"metric": settings.metric.model_copy(update={"name": name})})


def read_settings_solution(path: Path, settings: Settings, manager: PluginManager) -> Solution:
    """Read a solution file as the settings say."""
    data = settings.data
    columns = SolutionColumns(
        data.id,
        data.target,
        data.usage,
        data.positive,
        data.cluster,
        data.submission_columns,
        data.tasks,
        data.soft_labels,
    )
    return read_truth(path, manager.metrics.resolve(settings.metric.specification), columns)


def _check_metric(solution: Solution, settings: Settings, manager: PluginManager) -> None:
    """Refuse rows that lack what the metric must know of them, before anything is written."""
    name = settings.metric.specification
    metric = mean_over_targets(manager.metrics.resolve(name), len(solution.targets))
    with attributed_unquoted(manager.metrics.plugin_of(name), f"binding {name}"):
        bind(metric, solution, solution.usage != np.uint8(Usage.IGNORED))


def draw_public_rows(solution: Solution, share: float, seed: int) -> npt.NDArray[np.uint8]:
    """Return a usage of each row in which a share of those not ignored is public.

    Drawn within classes where one label is predicted, and by whole clusters where there are any;
    each class or cluster count is rounded to the nearest row.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_SPLIT_STREAM))
    usage = solution.usage.copy()
    rows = np.flatnonzero(usage != Usage.IGNORED)
    if solution.clusters is not None:
        groups = [np.unique(solution.clusters[rows])]
    elif len(solution.targets) == 1 and solution.targets[0].classes is not None:
        codes = solution.truth[rows]
        groups = [rows[codes == code] for code in np.unique(codes)]
    else:
        groups = [rows]
    drawn = [rng.permutation(group)[: round(share * len(group))] for group in groups]
    chosen = np.concatenate(drawn)
    if solution.clusters is not None:
        chosen = rows[np.isin(solution.clusters[rows], chosen)]
    usage[chosen] = Usage.PUBLIC
    return usage


def soft_label_warnings(solution: Solution) -> tuple[str, ...]:
    """Return a sentence if the soft labels do not fit the labels, as those of another class."""
    if solution.soft_labels is None:
        return ()
    ranked = solution.usage != np.uint8(Usage.IGNORED)
    soft, truth = solution.soft_labels[ranked], solution.truth[ranked]
    likeliest = soft >= 0.5 if soft.ndim == 1 else soft.argmax(axis=1)
    doubt = np.minimum(soft, 1 - soft) if soft.ndim == 1 else 1 - soft.max(axis=1)
    differs = (likeliest != truth).astype(np.float64)
    clusters = None if solution.clusters is None else solution.clusters[ranked]
    error = standard_error_of_mean(differs - doubt, clusters)
    if not differs.mean() - doubt.mean() > _FOREIGN * error:
        return ()
    return (
        f"Warning: the soft labels do not fit the labels. {differs.mean():.1%} of the labels are "
        f"not the likeliest class of their row, where {doubt.mean():.1%} were to be expected: see "
        f"whether the columns are those of the other class, or of other rows.",
    )


def sample_values(solution: Solution, prediction_range: tuple[float, float]) -> list[Any]:
    """Return what a valid submission may hold in each column: the same value on every row."""
    if solution.kind is PredictionKind.LABEL:
        return [target.classes[0] for target in solution.targets if target.classes]
    if solution.kind is PredictionKind.CLASS_PROBABILITIES and len(solution.targets) == 1:
        classes = solution.targets[0].classes or ()
        return [1 / max(len(classes), 2)] * len(solution.columns)
    if solution.kind is PredictionKind.TEXT:
        return _sample_texts(solution)
    middle = 0.5 if solution.kind is PredictionKind.PROBABILITY else 0.0
    return [float(np.clip(middle, *prediction_range))] * len(solution.columns)


def _sample_texts(solution: Solution) -> list[str]:
    """Return 0 for each column that is a target of numbers, and an empty cell for any other."""
    ranked = solution.truth[solution.usage != np.uint8(Usage.IGNORED)]
    cells = ranked.reshape(len(ranked), -1).T
    truth = {target.name: own for target, own in zip(solution.targets, cells, strict=True)}
    numbers = {name for name, own in truth.items() if all(map(is_number, own)) and len(own)}
    return ["0" if column in numbers else "" for column in solution.columns]


def _write_sample(
    path: Path, solution: Solution, settings: Settings, manager: PluginManager
) -> None:
    metric = manager.metrics.resolve(settings.metric.specification)
    allowed = traits_of(metric).prediction_range
    values = sample_values(solution, allowed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([solution.id_column, *solution.columns])
        writer.writerows([identifier, *values] for identifier in solution.ids.to_pylist())
