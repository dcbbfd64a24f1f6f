"""Reads an organiser's own data for a simulation: CSV or Parquet with a target column."""

from __future__ import annotations

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
from arena.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_classes", "features_of", "read_frame", "read_world"]

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
) -> World:
    """Read a file and deal its rows, shuffled, into training, validation and population.

    Columns of numbers are features as they are, an empty cell unknown; columns of text become
    categories. The file is trusted: it is the organiser's own.

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
        By which option so many rows were asked for, for the message where there are fewer.

    Raises
    ------
    InputError
        If the file cannot be read, lacks the target or rows, or the target has one value only.
    """
    frame = read_frame(path)
    if target not in frame.columns:
        known = ", ".join(map(str, frame.columns[:_MOST_NAMED]))
        more = ", …" if len(frame.columns) > _MOST_NAMED else "."
        split = " Its cells must be split by commas." if ";" in str(frame.columns[0]) else ""
        raise InputError(f"{path} has no column {target!r}, but {known}{more}{split}")
    if frame[target].isna().any():
        row = int(np.flatnonzero(frame[target].isna())[0])
        raise InputError(f"{path} has no {target} in data row {row + 1}; every row needs one.")
    if len(frame) < sizes.total:
        raise InputError(
            f"{path} has {len(frame):,} rows, but {sizes.training:,} for training, "
            f"{sizes.validation:,} for validation and a population of {sizes.population:,} are "
            f"asked for. Ask for fewer with --train-rows, --validation-rows and "
            f"{population_option}."
        )
    values, classes = _target(frame, target, path, numeric, positive)
    features, categorical = features_of(frame.drop(columns=target), path)
    order = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=_SPLIT_STREAM)
    ).permutation(len(frame))[: sizes.total]
    parts = np.split(order, [sizes.training, sizes.training + sizes.validation])
    training, validation = (LabelledRows(features[part], values[part]) for part in parts[:2])
    check_classes(classes, training, validation, path)
    rows = TrainingRows(training, validation, len(classes) if classes else None, categorical)
    population = Population(features[parts[2]], values[parts[2]])
    return World(path.name, rows, population, classes, fingerprint(rows, population))


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
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
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
                f"needs it. For a target of labels take another --metric, such as log_loss."
            )
        return values, None
    texts = column.astype(str)
    classes = tuple(sorted(texts.unique()))
    if len(classes) > _MOST_CLASSES:
        raise InputError(
            f"The target {target} of {path} has {len(classes):,} different values, too many for "
            f"labels, which this metric needs. For numbers take another --metric, such as rmse."
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
    for at, name in enumerate(frame.columns):
        if pd.api.types.is_numeric_dtype(frame[name]):
            columns.append(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            categorical.append(at)
            codes, _ = pd.factorize(frame[name].astype(object), sort=False)
            columns.append(np.where(codes < 0, np.nan, codes).astype(np.float64))
    return np.ascontiguousarray(np.stack(columns, axis=1)), tuple(categorical)


def check_classes(
    classes: tuple[str, ...] | None, training: LabelledRows, validation: LabelledRows, path: Path
) -> None:
    """Refuse a class that nothing can be learnt of."""
    if classes is None:
        return
    for rows, name in ((training, "training"), (validation, "validation")):
        counts = np.bincount(rows.target.astype(np.intp), minlength=len(classes))
        if (counts == 0).any():
            label = classes[int(np.flatnonzero(counts == 0)[0])]
            raise InputError(
                f"None of the {len(rows.target):,} {name} rows of {path} has the label {label!r}. "
                f"Take more rows of this kind, or leave the label out of the file."
            )
