"""Modalities other than plain tables: sets of rows, boxes, masks, and whole files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy.typing as npt

from arena.intake import SHAPE_COLUMNS, SPACING_COLUMNS, rows_of_cells
from arena.interfaces import CellFault, Modality, ReadFile
from arena.interfaces.faults import FaultList
from arena.types import FloatArray, IntArray, RawTable, SolutionColumns

CROWD = "iscrowd"
"""A column of a solution of boxes: 1 for a box around several objects."""
_SCORE = "score"


@dataclass(frozen=True)
class RowSets(Modality):
    """Sets of rows: an id has any number of rows, and each cell is the JSON list of their texts."""

    name = "row sets"
    most_rows = 10_000

    def arrange(
        self, table: RawTable, id_column: str, faults: FaultList, single: Collection[str] = ()
    ) -> RawTable:
        """Return one row for each id; see :func:`arena.intake.row_sets.fold_rows`."""
        from arena.intake.row_sets import fold_rows

        return fold_rows(table, id_column, faults, single=single)

    def sample_cell(self, column: str, truth: Sequence[str]) -> str:
        """Return 0 if all texts of the sets that are not blank are numbers."""
        texts = chain.from_iterable(rows_of_cells(truth)[0])
        return super().sample_cell(column, [text for text in texts if text.strip()])


@dataclass(frozen=True)
class Boxes(RowSets):
    """The boxes of an image: a submission has a score for each, a solution may mark crowds."""

    name = "boxes"

    def sent_columns(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of the solution but the crowds, and the score."""
        return (*(target for target in targets if target.lower() != CROWD), _SCORE)

    def sample_cell(self, column: str, truth: Sequence[str]) -> str:
        """Return 0 for the score, which the solution does not have."""
        return "0" if column == _SCORE else super().sample_cell(column, truth)


@dataclass(frozen=True)
class Instances(RowSets):
    """The objects of an image: an id has a row with a run-length encoded mask for each."""

    name = "instances"
    public_columns = SHAPE_COLUMNS


@dataclass(frozen=True)
class Masks(Modality):
    """Run-length encoded masks, also read from a folder or ZIP archive with a file for each id."""

    name = "masks"
    public_columns = (*SHAPE_COLUMNS, *SPACING_COLUMNS)

    def read_solution(
        self, path: Path, columns: SolutionColumns, max_bytes: int, faults: FaultList
    ) -> ReadFile | None:
        """Return the masks in a folder or ZIP archive, with their sizes."""
        from arena.intake.mask_files import holds_masks
        from arena.intake.mask_solution import read_mask_solution

        if not holds_masks(path):
            return None
        return read_mask_solution(path, columns, faults, max_bytes=max_bytes)

    def read_submission(
        self,
        path: Path,
        ids: Any,
        columns: Sequence[str],
        sizes: IntArray | None,
        max_bytes: int,
        faults: FaultList,
    ) -> ReadFile | None:
        """Return the masks in a folder or ZIP archive, if a submission has one column."""
        from arena.intake.mask_files import holds_masks, read_masks

        if len(columns) != 2 or not holds_masks(path):
            return None
        names = (columns[0], columns[1])
        masks = read_masks(path, names, faults, max_bytes=max_bytes, ids=ids, shapes=sizes)
        return ReadFile(masks.table, masks.sha256, SolutionColumns())

    def sizes(self, extra: Mapping[str, FloatArray]) -> IntArray | None:
        """Return ``(n, 3)`` height, width and depth; 0: unknown."""
        from arena.intake.mask_files import shapes_of

        return shapes_of(extra)

    def faults(self, values: npt.NDArray[Any], sizes: IntArray | None) -> Iterable[CellFault]:
        """Return the masks that end beyond the last pixel of their image."""
        from arena.intake.mask_files import masks_beyond

        return () if sizes is None else masks_beyond(values, sizes)

    def seconds(self, n_rows: int, sizes: IntArray | None) -> float:
        """Return a time in proportion to the files and their pixels."""
        from arena.intake.mask_files import seconds_of_masks

        return seconds_of_masks(n_rows, sizes)


@dataclass(frozen=True)
class WholeFile(Modality):
    """One file of any format, which only the metric reads."""

    name = "whole file"
    has_rows = False


ROW_SETS, BOXES, INSTANCES = RowSets(), Boxes(), Instances()
MASKS, WHOLE_FILE = Masks(), WholeFile()
