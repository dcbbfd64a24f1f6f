"""The data of a simulated competition: the organiser's file and the participants' rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import InputError
from arena.simulation.data import HUNDRED, TrainingRows, World
from arena.simulation.drift import divide_with_drift
from arena.types import USAGE_COLUMN, FloatArray
from arena.utils.file_errors import reason_of
from arena.utils.text import is_number, plural

CHANCE = "chance_of_positive"
_ID = "id"
_DRIFT_STREAM = 2**32 - 16
_HELD_OUT_STREAM = 2**32 - 17


@dataclass(frozen=True, slots=True, eq=False)
class CompetitionData:
    """The organiser's and the participants' data.

    Participants receive ``training`` and ``test`` only.
    """

    name: str
    """Description for reports."""
    solution: pa.Table
    """The organiser's file, labels included."""
    columns: Mapping[str, Any]
    """The roles of its columns, as in ``[data]`` of competition.toml."""
    training: TrainingRows | None = None
    """None: there are no training rows."""
    test: FloatArray | None = None
    """``(n, d)`` features in the order of the solution's rows."""
    classes: tuple[str, ...] | None = None
    """The labels in the order of the codes in ``training``; None: numbers, or no training."""
    notes: tuple[str, ...] = ()
    """For the organiser, in sentences."""
    truth: npt.NDArray[np.generic] | None = None
    """``(n,)`` codes or numbers, also of ignored rows, which a competition does not store; None:
    not known."""
    holds_out: bool = False
    """Whether the ignored rows are held out, so that true scores are those on them."""
    identity: str = field(init=False)
    """A hash of everything."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", _identity(self))

    def write(self, path: Path) -> None:
        """Write the organiser's file.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        from pyarrow import csv

        try:
            csv.write_csv(self.solution, path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {reason_of(error)}.") from error


def _identity(data: CompetitionData) -> str:
    digest = hashlib.sha256(repr(sorted(data.columns.items())).encode())
    for name in data.solution.column_names:
        digest.update(repr((name, data.solution[name].to_pylist())).encode())
    arrays: list[npt.NDArray[Any]] = [] if data.test is None else [data.test]
    if data.training is not None:
        parts = (data.training.training, data.training.validation)
        arrays += [array for part in parts for array in (part.features, part.target)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def data_from_world(world: World, target: str = "y") -> CompetitionData:
    """Return the data of a competition on a world: its population has the rows to predict.

    Known label probabilities become soft labels in the organiser's file.

    >>> from arena.simulation.data import Sizes, synthetic_world
    >>> data = data_from_world(synthetic_world(Sizes(50, 20, 30), 0))
    >>> data.solution.column_names, data.solution.num_rows
    (['id', 'y', 'chance_of_positive'], 30)
    """
    world = _in_order_of_value(world)
    population = world.population
    names = np.array(world.classes) if world.classes else None
    truth = population.target if names is None else names[population.target.astype(np.intp)]
    name = _ID if target != _ID else "row"
    columns: dict[str, Any] = {
        name: [f"row-{number:06d}" for number in range(population.n_rows)],
        target: truth,
    }
    about: dict[str, Any] = {"id": name, "target": [target]}
    if world.classes and len(world.classes) == 2:
        about["positive"] = world.classes[1]
    if population.chance is not None:
        columns[CHANCE] = population.chance / HUNDRED
        about["soft_labels"] = [CHANCE]
    table = pa.table(columns)
    return CompetitionData(
        name=world.name,
        solution=table,
        columns=about,
        training=world.rows,
        test=population.features,
        classes=world.classes,
        notes=world.notes,
        truth=population.target,
    )


def with_drift(
    data: CompetitionData, public_share: float, drift: float, seed: int
) -> CompetitionData:
    """Return the data with a usage column: the features of public and private rows differ.

    Parameters
    ----------
    data
        With features of the rows to predict.
    public_share
        Of the rows, in [0, 1).
    drift
        In [0, 1]; see :func:`~arena.simulation.drift.divide_with_drift`.
    """
    assert data.test is not None  # noqa: S101 - data of a world have them
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_DRIFT_STREAM,)))
    n_public = round(public_share * len(data.test))
    public, _ = divide_with_drift(data.test, n_public, drift, rng)
    usage = np.full(len(data.test), "Private")
    usage[public] = "Public"
    return replace(data, solution=data.solution.append_column(USAGE_COLUMN, [usage.tolist()]))


def with_held_out_rows(data: CompetitionData, public_share: float, seed: int) -> CompetitionData:
    """Return the data with half of the rows held out for the truth: they count on no board.

    Parameters
    ----------
    data
        Whose label probabilities are not known.
    public_share
        Of the rows that are left, in [0, 1), unless the data have a usage column.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_HELD_OUT_STREAM,)))
    solution, n = data.solution, data.solution.num_rows
    order = rng.permutation(n)
    if USAGE_COLUMN in solution.column_names:
        usage = np.array(solution[USAGE_COLUMN].to_pylist())
        solution = solution.drop_columns(USAGE_COLUMN)
        private = order[usage[order] == "Private"]
        held_out = private[: len(private) // 2]
    else:
        held_out, left = order[: n // 2], order[n // 2 :]
        usage = np.full(n, "Private")
        usage[left[: round(public_share * len(left))]] = "Public"
    usage[held_out] = "Ignored"
    solution = solution.append_column(USAGE_COLUMN, [usage.tolist()])
    note = (
        f"{len(held_out):,} of the {plural(n, 'row')} to predict are held out: they count on no "
        "board, and true scores are those on them, so a true score has an error of its own."
    )
    return replace(data, solution=solution, holds_out=True, notes=(*data.notes, note))


def _in_order_of_value(world: World) -> World:
    """Return the world with more than two numeric labels sorted by value, as intake sorts them."""
    classes = world.classes or ()
    if len(classes) < 3 or not all(map(is_number, classes)):
        return world
    order = np.array(sorted(range(len(classes)), key=lambda code: float(classes[code])))
    codes = np.argsort(order)

    def recoded(target: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return codes[target.astype(np.intp)]

    rows = world.rows
    parts = (
        replace(part, target=recoded(part.target)) for part in (rows.training, rows.validation)
    )
    training, validation = parts
    return replace(
        world,
        rows=replace(rows, training=training, validation=validation),
        population=replace(world.population, target=recoded(world.population.target)),
        classes=tuple(classes[code] for code in order),
    )
