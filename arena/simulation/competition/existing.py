"""Simulates an existing competition: reads its solution and settings and leaves it unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.competition.view import CompetitionView
from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError
from arena.plugin.manager import PluginManager
from arena.simulation.competition.folder import is_simulation
from arena.simulation.competition.setup import CompetitionData
from arena.simulation.data import LabelledRows, TrainingRows
from arena.simulation.data_file import check_classes, features_of, read_frame
from arena.types import (
    ROW_TIMES,
    ROW_WEIGHTS,
    FloatArray,
    IntArray,
    PredictionKind,
    Solution,
    Usage,
)
from arena.utils.text import is_number, printable

if TYPE_CHECKING:
    import pandas as pd

_SPLIT_STREAM = (2**32 - 2, 2)
_VALIDATION_SHARE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class OwnCompetition:
    """What a simulation uses of a real competition."""

    title: str
    settings: Settings
    solution: Solution


def is_own_competition(folder: Path) -> bool:
    """Whether a folder holds a competition that is no simulation."""
    return (folder / CONFIG_NAME).is_file() and not is_simulation(folder)


def read_own_competition(folder: Path, manager: PluginManager) -> OwnCompetition:
    """Read settings and solution of a competition without submissions.

    Raises
    ------
    InputError
        If a team other than the organiser's baseline has submitted.
    """
    with CompetitionView.open(folder, manager=manager) as competition:
        settings = competition.settings
        others = {record.team for record in competition.records()}
        others.difference_update(settings.competition.baselines)
        if others:
            raise InputError(
                f"{printable(str(folder))} holds submissions of real teams, so no simulation is "
                f"run there. Simulate in a new folder."
            )
        return OwnCompetition(settings.competition.title, settings, competition.solution)


def data_from_solution(
    own_competition: OwnCompetition, rows: tuple[TrainingRows, FloatArray] | None
) -> CompetitionData:
    """Return the data of a competition with this solution, public rows and training rows.

    Parameters
    ----------
    rows
        As :func:`read_rows` returns them.

    Raises
    ------
    InputError
        If it has several targets.
    """
    solution, data = own_competition.solution, own_competition.settings.data
    if len(solution.targets) != 1:
        raise InputError("Simulated teams predict one target; this solution has several.")
    (target,) = solution.targets
    columns: dict[str, Any] = {solution.id_column: solution.ids, target.name: _cells(solution)}
    columns[data.usage] = [Usage(int(usage)).name.capitalize() for usage in solution.usage]
    if data.cluster and solution.clusters is not None:
        columns[data.cluster] = [f"group {code}" for code in solution.clusters]
    if data.tasks and solution.tasks is not None:
        columns[data.tasks] = [solution.task_names[code] for code in solution.tasks]
    if solution.soft_labels is not None:
        columns |= soft_label_columns(data.soft_labels, solution.soft_labels)
    named = {ROW_WEIGHTS: data.weight, ROW_TIMES: data.time}
    for name, values in solution.extra.items():
        columns[named.get(name) or name] = values
    about = {**data.model_dump(), "id": solution.id_column, "target": [target.name]}
    if target.classes and len(target.classes) == 2:
        about["positive"] = target.classes[1]
    training, test = rows or (None, None)
    name = f"the solution of {own_competition.title or 'a competition'}"
    classes = None if training is None else target.classes
    return CompetitionData(
        name, pa.table(columns), columns=about, training=training, test=test, classes=classes
    )


def _cells(solution: Solution) -> list[Any]:
    """Return the target as in the organiser's file."""
    (target,) = solution.targets
    cells: list[Any] = solution.truth.reshape(-1).tolist()
    return cells if target.classes is None else [target.classes[code] for code in cells]


def soft_label_columns(names: tuple[str, ...], soft: FloatArray) -> dict[str, npt.NDArray[Any]]:
    """Return ``(n,)`` columns of ``(n,)`` or ``(n, 2)`` soft labels by their names."""
    if len(names) == 1:
        return {names[0]: soft if soft.ndim == 1 else soft[:, 1]}
    both = np.stack([1 - soft, soft], axis=1) if soft.ndim == 1 else soft
    return {name: both[:, position] for position, name in enumerate(names)}


def read_rows(
    training: Path, test: Path, target: str, solution: Solution, most: int, seed: int
) -> tuple[TrainingRows, FloatArray]:
    """Read training rows, and the features of the rows to predict.

    A quarter of the training rows is used for early stopping. Numeric columns are used unchanged;
    text columns become categories.

    Parameters
    ----------
    training
        CSV or Parquet with the target and the features.
    test
        CSV or Parquet with the ids of the solution and the same features, in any order.
    most
        The maximum number of training rows, drawn by the seed.

    Returns
    -------
    The rows, and ``(n, d)`` in the order of the solution.

    Raises
    ------
    InputError
        If a file cannot be read, or they do not go together.
    """
    import pandas as pd

    labelled, unlabelled = read_frame(training), read_frame(test)
    ids = solution.id_column
    for frame, path, column in ((labelled, training, target), (unlabelled, test, ids)):
        if column not in frame.columns:
            raise InputError(f"{path} has no column {column!r}; it has: {_names(frame)}.")
    features = labelled.drop(columns=[name for name in (target, ids) if name in labelled.columns])
    missing = [name for name in features.columns if name not in unlabelled.columns]
    if missing:
        raise InputError(f"{test} lacks {missing[0]!r}, a column of {training}.")
    unlabelled = _in_order(unlabelled, ids, solution, test)[list(features.columns)]
    order = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=_SPLIT_STREAM)
    ).permutation(len(labelled))[:most]
    values = _target(labelled.iloc[order], target, training, solution)
    # Encoded together, so that categories have the same codes in both.
    both, categorical = features_of(
        pd.concat([features.iloc[order], unlabelled], ignore_index=True), training
    )
    split = len(order) - int(len(order) * _VALIDATION_SHARE)
    parts = [
        LabelledRows(both[part], values[part]) for part in (slice(split), slice(split, len(order)))
    ]
    classes = solution.targets[0].classes
    check_classes(classes, parts[0], parts[1], training)
    rows = TrainingRows(parts[0], parts[1], len(classes) if classes else None, categorical)
    return rows, both[len(order) :]


def _names(frame: pd.DataFrame) -> str:
    return ", ".join(map(str, frame.columns))


def _in_order(frame: pd.DataFrame, ids: str, solution: Solution, path: Path) -> pd.DataFrame:
    """Return the rows of a frame in the order of the solution's ids."""
    by_id = frame.set_index(frame[ids].astype(str))
    if by_id.index.has_duplicates:
        raise InputError(f"{path} has an id of the column {ids!r} twice.")
    row_ids = solution.ids.to_pylist()
    lacking = next((row_id for row_id in row_ids if row_id not in by_id.index), None)
    if lacking is not None:
        raise InputError(f"{path} lacks the id {printable(str(lacking))!r} of the solution.")
    ordered: pd.DataFrame = by_id.loc[row_ids]
    return ordered


def _target(
    frame: pd.DataFrame, target: str, path: Path, solution: Solution
) -> npt.NDArray[np.generic]:
    """Return codes of the solution's labels, or numbers."""
    import pandas as pd

    classes = solution.targets[0].classes
    if classes is None or solution.kind is PredictionKind.VALUE:
        values = pd.to_numeric(frame[target], errors="coerce").to_numpy(dtype=np.float64)
        bad = ~np.isfinite(values)
    else:
        values = _codes(frame[target].astype(str), classes)
        bad = values < 0
    if len(values) < 8 or bad.all():
        raise InputError(f"{path} has too few rows with a {target} of this competition.")
    if bad.any():
        row = int(frame.index[np.flatnonzero(bad)[0]])
        raise InputError(f"{path}: {target} in data row {row + 1} does not occur in the solution.")
    if len(np.unique(values)) < 2:
        raise InputError(
            f"The target {target} of {path} has one value only, so there is nothing to predict."
        )
    return np.asarray(values)


def _codes(labels: pd.Series, classes: tuple[str, ...]) -> IntArray:
    """Return codes, -1 for another label; 1 and 1.0 are one label, as in the solution."""
    import pandas as pd

    if all(map(is_number, classes)):
        numbers = pd.to_numeric(labels, errors="coerce").to_numpy(dtype=np.float64)
        class_index = pd.Index(np.array(classes, dtype=np.float64))
        return np.asarray(class_index.get_indexer(pd.Index(numbers)), dtype=np.intp)
    return np.asarray(pd.Index(list(classes)).get_indexer(pd.Index(labels)), dtype=np.intp)
