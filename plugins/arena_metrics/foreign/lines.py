"""Draws of rows as CSV files, put together from lines that are formatted once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.types import IntArray
from arena.utils.lazy import pc
from arena_metrics.foreign.frames import Frames

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Writes draws of a solution and a submission, as ``DataFrame.to_csv`` writes their frames.

    Formatting takes most of the time of ``to_csv``, and a cell has the same text in every draw.
    """

    frames: Frames
    separator: str = ","
    header: bool = True
    with_ids: bool = True
    parts: Sequence[str] = ()
    """The values of a column ``split`` of the solution, in turn; without any there is none."""
    _ids: dict[bool, Any] = field(default_factory=dict)
    """Whether copies have numbers as ids -> the cells of all ids, as far as they were drawn."""
    _tables: list[tuple[bytes, Any]] = field(default_factory=list)
    """Header of solution and submission, and what follows the id in each of their lines: once for
    each part."""

    def write(self, weight: npt.NDArray[Any], paths: Sequence[Path]) -> None:
        """Write both files with the rows of each id repeated ``weight`` times."""
        frames = self.frames
        both = frames.solution, frames.submission
        rows, again, counts = frames.drawn(weight)
        one_each = all((size == 1).all() for size in frames.sizes)
        # Without copies it is mostly a single call. A line of one cell has other quotes.
        if not len(again) or not one_each or min(frame.shape[1] for frame in both) == 1:
            self._write_frames(weight, paths)
            return
        if not self._tables:
            self._tables.extend(map(self._table, both, (self.parts, ())))
        ids = self._drawn_ids(rows, again, counts) if self.with_ids else None
        nothing = pa.scalar("", pa.large_string())
        in_parts = rows + len(counts) * (np.arange(len(rows)) % max(1, len(self.parts)))
        for path, with_header, (head, lines) in zip(
            paths, (in_parts, rows), self._tables, strict=True
        ):
            drawn_lines = lines.take(pa.array(with_header))
            if ids is not None:
                drawn_lines = pc.binary_join_element_wise(ids, drawn_lines, nothing)
            whole = pa.LargeListArray.from_arrays(pa.array([0, len(drawn_lines)]), drawn_lines)
            with path.open("wb") as file:
                file.write(head)
                file.write(pc.binary_join(whole, nothing)[0].as_buffer())

    def _write_frames(self, weight: npt.NDArray[Any], paths: Sequence[Path]) -> None:
        solution, submission = self.frames.draw(weight)
        if self.parts:
            solution["split"] = np.resize(self.parts, len(solution))
        for frame, path in zip((solution, submission), paths, strict=True):
            written_frame = frame if self.with_ids else frame.iloc[:, 1:]
            written_frame.to_csv(path, index=False, header=self.header, sep=self.separator)

    def _table(self, frame: pd.DataFrame, parts: Sequence[str]) -> tuple[bytes, Any]:
        """Return the header, and the lines of a frame without their ids."""
        tables = [frame.assign(split=part) for part in parts] or [frame.copy()]
        head = self._formatted(tables[0].iloc[:0, 0 if self.with_ids else 1 :])
        lines: list[str] = []
        for table in tables:
            if self.with_ids:
                table.isetitem(0, 0)  # a line that begins with a comma is not one of fewer cells
                lines += [line[1:] for line in self._formatted(table)[1:]]
            else:
                lines += self._formatted(table.iloc[:, 1:])[1:]
        return head[0].encode() if self.header else b"", pa.array(lines, pa.large_string())

    def _drawn_ids(self, rows: IntArray, again: IntArray, counts: IntArray) -> Any:
        """Return the cell of the id of each drawn row."""
        known_ids, free = self.frames.known, self.frames.free
        numbers = free is not None and self.frames.has_free(len(again))
        if free is not None and numbers:
            ids: Any = np.concatenate(
                [known_ids.to_numpy(), free.astype(known_ids.to_numpy().dtype)]
            )
            positions = rows.copy()
            positions[again] = len(known_ids) + np.arange(len(again))
        else:
            ids, positions = self.frames.copies(rows, counts)
        cells = self._ids.get(numbers, pa.array([], pa.large_string()))
        if len(cells) < len(ids):
            cells = pa.concat_arrays([cells, self._cells(ids[len(cells) :])])
            self._ids[numbers] = cells
        return cells.take(pa.array(positions))

    def _cells(self, ids: Any) -> Any:
        """Return ids as the first cells of lines."""
        import pandas as pd

        after = len(f"{self.separator}0{os.linesep}")
        lines = self._formatted(pd.DataFrame({"id": pd.Series(ids), "": 0}))[1:]
        return pa.array([line[:-after] for line in lines], pa.large_string())

    def _formatted(self, frame: pd.DataFrame) -> list[str]:
        """Return the lines of a frame, the header first."""
        lines: Any = _Lines()  # not all of what the stubs of pandas ask of a file
        frame.to_csv(lines, index=False, sep=self.separator)
        return list(lines)


class _Lines(list[str]):
    """A file that keeps the lines that are written to it apart."""

    def write(self, line: str) -> None:
        self.append(line)
