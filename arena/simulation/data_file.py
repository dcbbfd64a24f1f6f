"""Reads an organiser's data for a simulation: CSV or Parquet with a target column."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.simulation.data import (
    LabelledRows,
    Population,
    Sizes,
    TrainingRows,
    World,
    fingerprint,
)
from arena.simulation.drift import divide_with_drift
from arena.types import FloatArray
from arena.utils.file_errors import unreadable
from arena.utils.text import plural

if TYPE_CHECKING:
    import pandas as pd

_ALL_SIZES = ("training", "validation", "population")
_MOST_CLASSES = 1_000
_MOST_NAMED = 20
_SPLIT_STREAM = (2**32 - 2, 1)


def read_world(
    path: Path,
    target: str,
    sizes: Sizes,
    seed: int,
    *,
    numeric: bool,
    positive: str | None = None,
    population_option: str = "--population",
    given_sizes: Collection[str] = _ALL_SIZES,
    drift: float = 0.0,
) -> World:
    """Read a file and deal its rows, shuffled, into training, validation and population.

    Numeric columns are used unchanged, with NaN for empty cells; text columns become categories.
    The file is trusted: it is the organiser's own.

    Parameters
    ----------
    path
        CSV or Parquet.
    target
        The column to predict.
    sizes
        How many rows of each kind; rows that are left are not used.
    seed
        Of the shuffle; not negative.
    numeric
        Whether the target is a number; otherwise its values are labels.
    positive
        The positive label of two; None: the second in sorted order.
    population_option
        The option that sets the population, for error messages.
    given_sizes
        Names of the sizes that must not be made smaller to fit the file; the others are, with a
        note.
    drift
        How far the features of the population are from those of the training rows, in [0, 1]; see
        :func:`~arena.simulation.drift.divide_with_drift`.

    Raises
    ------
    InputError
        If the file cannot be read, lacks the target or rows, or the target has one value only.
    """
    frame = read_frame(path)
    if target not in frame.columns:
        column_names = ", ".join(map(str, frame.columns[:_MOST_NAMED]))
        more = ", …" if len(frame.columns) > _MOST_NAMED else "."
        split = " Its cells must be separated by commas." if ";" in str(frame.columns[0]) else ""
        raise InputError(f"{path} has no column {target!r}, but {column_names}{more}{split}")
    if frame[target].isna().any():
        row = int(np.flatnonzero(frame[target].isna())[0])
        raise InputError(f"{path} has no {target} in data row {row + 1}; every row needs one.")
    notes: tuple[str, ...] = ()
    fitting = sizes.shrunk(len(frame), given_sizes) if len(frame) < sizes.total else sizes
    if fitting is not None and fitting != sizes:
        sizes = fitting
        notes = (
            f"{path} has {plural(len(frame), 'row')}, so the defaults are made smaller: "
            f"{plural(sizes.training, 'row')} for training, {sizes.validation:,} for validation "
            f"and {sizes.population:,} to predict.",
        )
    if fitting is None:
        raise InputError(
            f"{path} has {plural(len(frame), 'row')}, but {sizes.training:,} for training, "
            f"{sizes.validation:,} for validation and a population of {sizes.population:,} are "
            f"requested. Request fewer with --train-rows, --validation-rows and "
            f"{population_option}."
        )
    values, classes = _target(frame, target, path=path, numeric=numeric, positive=positive)
    features, categorical = features_of(frame.drop(columns=target), path)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_SPLIT_STREAM))
    order = rng.permutation(len(frame))[: sizes.total]
    if drift:
        n_known = sizes.training + sizes.validation
        order = order[np.concatenate(divide_with_drift(features[order], n_known, drift, rng))]
    parts = np.split(order, [sizes.training, sizes.training + sizes.validation])
    training, validation = (LabelledRows(features[part], values[part]) for part in parts[:2])
    check_classes(classes, training, validation, path)
    rows = TrainingRows(training, validation, len(classes) if classes else None, categorical)
    population = Population(features[parts[2]], values[parts[2]])
    return World(
        path.name,
        rows,
        population=population,
        classes=classes,
        identity=fingerprint(rows, population),
        notes=notes,
    )


def read_frame(path: Path) -> pd.DataFrame:
    """Read CSV or Parquet of the organiser.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    import pandas as pd

    read = pd.read_parquet if path.suffix.lower() in {".parquet", ".pq"} else pd.read_csv
    try:
        return read(path)
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is neither CSV nor Parquet that can be read: {reason}") from error


def _target(
    frame: pd.DataFrame, target: str, path: Path, numeric: bool, positive: str | None
) -> tuple[npt.NDArray[np.generic], tuple[str, ...] | None]:
    import pandas as pd

    column = frame[target]
    if column.nunique() < 2:
        raise InputError(
            f"The target {target} of {path} has one value only, so there is nothing to predict."
        )
    if numeric:
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(
                f"{path}: {target} in data row {row + 1} is not a finite number, as this metric "
                f"needs it. For a target of labels use another --metric, such as log_loss."
            )
        return values, None
    texts = column.astype(str)
    classes = tuple(sorted(texts.unique()))
    if len(classes) > _MOST_CLASSES:
        raise InputError(
            f"The target {target} of {path} has {plural(len(classes), 'different value')}, too "
            "many for labels, which this metric needs. For numbers use another --metric, such as "
            "rmse."
        )
    if positive is not None:
        if len(classes) != 2 or positive not in classes:
            raise InputError(f"{positive!r} is not one of two labels of {target}: {classes[:5]}.")
        classes = tuple(sorted(classes, key=lambda label: label == positive))
    codes = pd.Categorical(texts, categories=list(classes)).codes
    return np.asarray(codes, dtype=np.intp), classes


def features_of(frame: pd.DataFrame, path: Path) -> tuple[FloatArray, tuple[int, ...]]:
    """Return ``(n, d)`` features, NaN where unknown, and the columns that are categories.

    Raises
    ------
    InputError
        If there is no column.
    """
    import pandas as pd

    if not len(frame.columns):
        raise InputError(f"{path} has no column besides the target to predict from.")
    columns, categorical = [], []
    for position, name in enumerate(frame.columns):
        if pd.api.types.is_numeric_dtype(frame[name]):
            columns.append(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            categorical.append(position)
            codes, _ = pd.factorize(frame[name].astype(object), sort=False)
            columns.append(np.where(codes < 0, np.nan, codes).astype(np.float64))
    return np.ascontiguousarray(np.stack(columns, axis=1)), tuple(categorical)


def check_classes(
    classes: tuple[str, ...] | None, training: LabelledRows, validation: LabelledRows, path: Path
) -> None:
    """Refuse a class without training or validation rows."""
    if classes is None:
        return
    for rows, name in ((training, "training"), (validation, "validation")):
        counts = np.bincount(rows.target.astype(np.intp), minlength=len(classes))
        if (counts == 0).any():
            label = classes[int(np.flatnonzero(counts == 0)[0])]
            raise InputError(
                f"None of the {len(rows.target):,} {name} rows of {path} has the label {label!r}. "
                f"Use more rows of this kind, or remove the label from the file."
            )
