"""The interface of modalities: how what people send becomes the arrays that a metric scores.

A metric declares its modality as its member ``modality``; without one it takes :data:`TABLE`. A
modality inherits from :class:`Modality` and replaces what differs from a plain table. It is sent to
the process that reads a file: it must be importable there, hashable, and know no label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy.typing as npt

from arena.interfaces.faults import FaultList
from arena.types import FloatArray, IntArray, RawTable, SolutionColumns
from arena.utils.text import is_number


class CellFault(NamedTuple):
    """A cell that a participant must change."""

    kind: str
    """Short name of the rule that was broken."""
    row: int
    """The position of the row, from 0."""
    column: int
    """The position of the column, from 0."""
    message: str
    """A sentence: the fault and the remedy. It quotes no cell, which may be a label."""


class ReadFile(NamedTuple):
    """The table that a modality made from a file or folder."""

    table: RawTable
    sha256: str
    """Of what was read."""
    columns: SolutionColumns
    """The roles of the columns; of a solution only."""


@runtime_checkable
class Modality(Protocol):
    """How what people send becomes arrays; what is not replaced is as for a plain table."""

    name: str
    has_rows: bool = True
    """Whether solution and submissions have a row for each case.

    If not, each is one file that only the metric understands: there are no intervals, no public
    board and no sample submission, and readers of plugins are not asked."""
    most_rows: int = 1
    """The largest number of rows of an id; :meth:`arrange` makes one row of them."""
    empty_cells: bool = True
    """Whether a cell of text may be empty."""
    public_columns: tuple[str, ...] = ()
    """Columns of numbers of the solution that participants may know, as sizes of images. They are
    read in ignored rows too: else faults would tell which rows these are."""

    def sent_columns(
        self,
        targets: Sequence[str],  # noqa: ARG002 - the interface
    ) -> tuple[str, ...]:
        """Return the columns of a submission besides the id.

        Empty: those of the kind of prediction, the targets or one column per class.
        """
        return ()

    def read_solution(
        self,
        path: Path,  # noqa: ARG002 - the interface
        columns: SolutionColumns,  # noqa: ARG002
        max_bytes: int,  # noqa: ARG002
        faults: FaultList,  # noqa: ARG002
    ) -> ReadFile | None:
        """Return the table of a solution that is no file with a table; None: it is one."""
        return None

    def read_submission(
        self,
        path: Path,  # noqa: ARG002 - the interface
        ids: Any,  # noqa: ARG002
        columns: Sequence[str],  # noqa: ARG002
        sizes: IntArray | None,  # noqa: ARG002
        max_bytes: int,  # noqa: ARG002
        faults: FaultList,  # noqa: ARG002
    ) -> ReadFile | None:
        """Return the table of a submission that is no file with a table; None: it is one.

        It runs in a process with limits. ``ids`` is the ``pyarrow.StringArray`` of the n ids,
        ``columns`` are the id column and those of a submission, ``sizes`` what :meth:`sizes`
        returned.
        """
        return None

    def arrange(
        self,
        table: RawTable,
        id_column: str,  # noqa: ARG002 - the interface
        faults: FaultList,  # noqa: ARG002
        single: Collection[str] = (),  # noqa: ARG002
    ) -> RawTable:
        """Return a table with one row for each id that occurs.

        In the columns ``single`` all rows of an id must have the same text.
        """
        return table

    def sizes(
        self,
        extra: Mapping[str, FloatArray],  # noqa: ARG002 - the interface
    ) -> IntArray | None:
        """Return ``(n, k)`` of the :attr:`public_columns` of a solution, for the checks."""
        return None

    def faults(
        self,
        values: npt.NDArray[Any],  # noqa: ARG002 - the interface
        sizes: IntArray | None,  # noqa: ARG002
    ) -> Iterable[CellFault]:
        """Return the cells of ``(n, n_columns)`` values without other faults that cannot be scored.

        Of a submission, and of the truth of a solution. ``sizes`` is ``(n, k)``, or None.
        """
        return ()

    def seconds(
        self,
        n_rows: int,  # noqa: ARG002 - the interface
        sizes: IntArray | None,  # noqa: ARG002
    ) -> float:
        """Return the processor seconds that reading may take beyond those of a table."""
        return 0.0

    def sample_cell(self, column: str, truth: Sequence[str]) -> str:  # noqa: ARG002
        """Return a valid text for a column of a submission, the same on every row.

        ``truth`` are cells of the column of the same name, if the solution has one.
        """
        return "0" if truth and all(map(is_number, truth)) else ""


@dataclass(frozen=True)
class PlainTable(Modality):
    """A table with one row per id, whose columns are those of the kind of prediction."""

    empty_cells: bool = True

    name = "table"


TABLE = PlainTable()
"""The modality of a metric that declares none."""
