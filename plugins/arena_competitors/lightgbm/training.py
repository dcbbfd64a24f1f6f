"""Trains LightGBM models on rows that are binned once for all of them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.simulation.data import LabelledRows, TrainingRows
from arena.types import FloatArray
from arena_competitors.lightgbm.grid import Grid

_ALWAYS = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_col_wise": True}
_OF_DATASET = {"feature_pre_filter": False}
"""The Dataset is shared by all values of ``min_data_in_leaf`` and must not drop features."""
_CHECK_ROWS = 200
_PLACE_IN_SOURCE = re.compile(r" at /.*$")
_MOST_BYTES = 2**28
"""Of the features whose Datasets a process keeps."""
kept_training_sets: dict[str, tuple[Any, Any, int]] = {}
"""Training and validation Dataset by key, and the bytes of their features; the last used last."""


def objective_of(n_classes: int | None) -> dict[str, Any]:
    """Return the parameters that follow from the target.

    >>> objective_of(3)["num_class"]
    3
    """
    if n_classes is None:
        return {"objective": "regression", "metric": "l2"}
    if n_classes == 2:
        return {"objective": "binary", "metric": "binary_logloss"}
    return {"objective": "multiclass", "metric": "multi_logloss", "num_class": n_classes}


def binned(rows: TrainingRows, key: str) -> tuple[Any, Any]:
    """Return the binned training and validation rows, made once per process.

    Teams take turns, each with rows of its own, so several Datasets are kept: those used last, up
    to 256 MB of features, and at least one.
    """
    if key in kept_training_sets:
        kept_training_sets[key] = kept_training_sets.pop(key)
    else:
        size = rows.training.features.nbytes + rows.validation.features.nbytes
        while (
            kept_training_sets
            and size + sum(data[2] for data in kept_training_sets.values()) > _MOST_BYTES
        ):
            del kept_training_sets[next(iter(kept_training_sets))]
        kept_training_sets[key] = (*_bin(rows), size)
    return kept_training_sets[key][:2]


def _bin(rows: TrainingRows) -> tuple[Any, Any]:
    import lightgbm

    parameters = {**_ALWAYS, **_OF_DATASET, **objective_of(rows.n_classes)}
    training = lightgbm.Dataset(
        rows.training.features,
        rows.training.target,
        categorical_feature=list(rows.categorical),
        params=parameters,
        free_raw_data=False,
    ).construct()
    validation = training.create_valid(
        rows.validation.features, rows.validation.target, params=parameters
    )
    return training, validation.construct()


def train(
    rows: TrainingRows, key: str, settings: Mapping[str, Any], *, rounds: int, patience: int
) -> Any:
    """Return a ``lightgbm.Booster``, stopped at the smallest validation loss.

    One thread; the same settings give the same model on any number of workers.
    """
    import lightgbm

    training, validation = binned(rows, key)
    return lightgbm.train(
        {**_OF_DATASET, **settings, **_ALWAYS, **objective_of(rows.n_classes)},
        training,
        num_boost_round=rounds,
        valid_sets=[validation],
        callbacks=[lightgbm.early_stopping(patience, verbose=False)],
    )


def predict(model: Any, features: FloatArray) -> npt.NDArray[np.float32]:
    """Return ``(n,)`` or ``(n, n_classes)`` predictions, computed on one thread."""
    return np.asarray(model.predict(features, num_threads=1), dtype=np.float32)


def check_grid(grid: Grid, rows: TrainingRows) -> None:
    """Train one tree with every value of the grid, on few rows.

    Raises
    ------
    InputError
        If LightGBM rejects a value; the message names it.
    """
    few = TrainingRows(
        first_rows_of_every_class(rows.training),
        first_rows_of_every_class(rows.training),
        rows.n_classes,
        rows.categorical,
    )
    common = {**grid.fixed, **{name: values[0] for name, values in grid.search.items()}}
    tried = [{**common, name: value} for name, values in grid.search.items() for value in values]
    for settings in tried:
        reason = _refusal(few, settings)
        if reason is not None:
            raise InputError(f"In the grid LightGBM refuses {_blamed(few, settings)}: {reason}.")


def _refusal(rows: TrainingRows, settings: Mapping[str, Any]) -> str | None:
    """Return why LightGBM does not train with these settings; None: it does."""
    import lightgbm

    training, _ = _bin(rows)
    parameters = {**_OF_DATASET, **settings, **_ALWAYS, **objective_of(rows.n_classes)}
    try:
        with _silent_stderr():
            lightgbm.train(parameters, training, 1)
    except (lightgbm.basic.LightGBMError, TypeError, ValueError) as error:
        return _PLACE_IN_SOURCE.sub("", str(error).splitlines()[0]).rstrip(". ")
    return None


def _blamed(rows: TrainingRows, settings: Mapping[str, Any]) -> str:
    """Return the settings that cause the error: without any one of them LightGBM would train."""
    blamed = [
        f"{name} = {value!r}"
        for name, value in settings.items()
        if _refusal(rows, {setting: settings[setting] for setting in settings if setting != name})
        is None
    ]
    return " with ".join(blamed) if blamed else "several values"


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discard what LightGBM writes to stderr: its exceptions contain the same text."""
    descriptor = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(descriptor, 2)
        os.close(descriptor)


def first_rows_of_every_class(rows: LabelledRows) -> LabelledRows:
    """Return a few rows that include every class."""
    _, first = np.unique(rows.target, return_index=True)
    chosen = np.union1d(first[:_CHECK_ROWS], np.arange(min(_CHECK_ROWS, len(rows.target))))
    return LabelledRows(rows.features[chosen], rows.target[chosen])
