"""The interface of what keeps predictions: a table of the database, or objects elsewhere.

Nothing above it knows which of the two a database has. :mod:`arena.store.prediction_table` is the
default; :mod:`arena.store.prediction_objects` needs a place (``[store] predictions``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import duckdb
import numpy.typing as npt

from arena.types import IntArray, PredictionKind, Solution

CellCounts = Callable[[Sequence[int]], IntArray]
"""Returns the number of cells of each of some submissions, ``(m,)``."""


@dataclass(frozen=True, slots=True)
class CellForm:
    """What the predictions of each submission consist of."""

    n_rows: int
    n_columns: int
    kind: PredictionKind
    """Numbers, label codes or texts."""

    @classmethod
    def of(cls, solution: Solution) -> CellForm:
        """Return the form of the submissions for a solution."""
        return cls(solution.n_rows, len(solution.columns), solution.kind)

    def with_rows(self, n_rows: int) -> CellForm:
        """Return the form of submissions with another number of rows."""
        return replace(self, n_rows=n_rows)


class CellReader(Protocol):
    """Reads the cells of chosen submissions."""

    def read(self, submissions: IntArray, rows: IntArray | None) -> npt.NDArray[Any]:
        """Return ``(k, n, n_columns)`` cells of submissions with ascending ids, a new array.

        float64, also for label codes; objects that are str for texts. ``rows`` is ``(n,)``; None:
        all.

        Raises
        ------
        StoreFormatError
            If the cells of a submission are missing, incomplete or were changed.
        StoreError
            If they cannot be read.
        """

    def for_workers(self) -> CellReader | None:
        """Return a reader that other machines can use, or None if cells must be sent to them."""


class Keeper(Protocol):
    """Keeps the predictions of accepted submissions."""

    @property
    def outside(self) -> str | None:
        """Where predictions are kept outside the database; None: they are in it."""

    def bytes_of(self, values: npt.NDArray[Any]) -> int:
        """Return about how many bytes a submission adds to the database."""

    def insert(
        self, cursor: duckdb.DuckDBPyConnection, values: Mapping[int, npt.NDArray[Any]]
    ) -> Mapping[str, bytes]:
        """Add new submissions by id, inside a transaction.

        Returns
        -------
        Objects by name, which must be written by :meth:`write` before the transaction ends.
        """

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Store objects; when this returns they are durable.

        Raises
        ------
        StoreError
            If that fails.
        """

    def reader(
        self, cursor: duckdb.DuckDBPyConnection, submissions: IntArray, form: CellForm
    ) -> CellReader:
        """Return a reader for these submissions, ``(m,)`` ids."""

    def cells(
        self, cursor: duckdb.DuckDBPyConnection, submission: int, form: CellForm
    ) -> npt.NDArray[Any]:
        """Return the cells of one submission, flat, as seen by the cursor's transaction."""

    def object_names(
        self, cursor: duckdb.DuckDBPyConnection, submissions: Sequence[int]
    ) -> Mapping[int, str]:
        """Return the names of the objects of submissions; empty if they have none."""

    def stored_and_incomplete(
        self, cursor: duckdb.DuckDBPyConnection, cells: CellCounts | None, first: int
    ) -> tuple[set[int], list[int]]:
        """Return the submissions with predictions, and the accepted ones that lack some.

        Parameters
        ----------
        cells
            Returns the number of cells of each; None: as many as the longest one.
        first
            Only submissions from this one on are looked at.
        """

    def misplaced(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """Yield a sentence on predictions in the database that this keeper never wrote."""

    def unused(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:
        """Return the names of objects that belong to no submission, as interruptions leave."""

    def lacking(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:
        """Return the names of objects of submissions that are not at the place; none is read."""

    def remove(self, objects: Sequence[str]) -> None:
        """Remove unused objects, and what interrupted writes have left."""
