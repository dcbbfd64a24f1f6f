"""What a simulated competition is held on: the organiser's file, and the participants' rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.admission import is_number
from arena.errors import InputError
from arena.simulation.data import HUNDRED, TrainingRows, World
from arena.types import FloatArray

__all__ = ["CHANCE", "Grounds", "grounds_of_world"]

CHANCE = "chance_of_positive"
_ID = "id"


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The data of a competition, the organiser's and the participants'.

    Participants receive ``training`` and ``test`` and nothing else of it.
    """

    name: str
    """What the data are, for people."""
    solution: pa.Table
    """The organiser's file, labels included."""
    columns: Mapping[str, Any]
    """Which column of it is what, as ``[data]`` of competition.toml has it."""
    training: TrainingRows | None = None
    """None: there are no rows to learn from."""
    test: FloatArray | None = None
    """``(n, d)`` features in the order of the solution's rows."""
    classes: tuple[str, ...] | None = None
    """The labels in the order of the codes in ``training``; None: numbers, or no training."""
    identity: str = field(init=False)
    """A hash of all of it."""

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
            raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def _identity(grounds: Grounds) -> str:
    digest = hashlib.sha256(repr(sorted(grounds.columns.items())).encode())
    for name in grounds.solution.column_names:
        digest.update(repr((name, grounds.solution[name].to_pylist())).encode())
    arrays: list[npt.NDArray[Any]] = [] if grounds.test is None else [grounds.test]
    if grounds.training is not None:
        parts = (grounds.training.training, grounds.training.validation)
        arrays += [array for part in parts for array in (part.features, part.target)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def grounds_of_world(world: World, target: str = "y") -> Grounds:
    """Return a world as a competition: its population is what is to be predicted.

    Where chances are known they stand in the organiser's file as soft labels.

    >>> from arena.simulation.data import Sizes, synthetic_world
    >>> grounds = grounds_of_world(synthetic_world(Sizes(50, 20, 30), 0))
    >>> grounds.solution.column_names, grounds.solution.num_rows
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
    return Grounds(world.name, table, about, world.rows, population.features, world.classes)


def _in_order_of_value(world: World) -> World:
    """Return the world with several labels that are numbers in the order of intake: by value."""
    classes = world.classes or ()
    if len(classes) < 3 or not all(map(is_number, classes)):
        return world
    order = np.array(sorted(range(len(classes)), key=lambda code: float(classes[code])))
    codes = np.argsort(order)

    def recoded(target: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return codes[target.astype(np.intp)]

    rows = world.rows
    parts = (replace(one, target=recoded(one.target)) for one in (rows.training, rows.validation))
    training, validation = parts
    return replace(
        world,
        rows=replace(rows, training=training, validation=validation),
        population=replace(world.population, target=recoded(world.population.target)),
        classes=tuple(classes[code] for code in order),
    )
