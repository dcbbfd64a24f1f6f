"""Submissions that are kept in memory, where no database is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.predictions import ArrayPredictions, MappedPredictions
from arena.evaluation.shared_weights import share_each_row
from arena.interfaces import PredictionBlocks
from arena.store import Incoming
from arena.store.timestamps import as_stored, as_text
from arena.types import IntArray, PredictionKind, Solution, SubmissionRecord

_MOST_BYTES = 2**28
"""Of predictions; a database, which keeps as much in memory, is read again for each use."""


class MatrixOfPredictions:
    """A matrix in the place of stored predictions; submission 1 is its first row."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = values
        """``(m, n)`` or ``(m, n, n_columns)``."""

    def predictions(
        self,
        submissions: Sequence[int] | IntArray,
        rows: npt.NDArray[np.bool_] | None = None,
    ) -> PredictionBlocks:
        """Return the predictions of submissions on the rows of a mask; None: all rows."""
        positions = np.asarray(submissions, dtype=np.intp) - 1
        chosen = ArrayPredictions(self._values).subset(positions)
        if rows is None or rows.all():
            return chosen
        return MappedPredictions(chosen, partial(np.compress, rows, axis=1))


class MemoryStore(MatrixOfPredictions):
    """Submissions that are numbers or labels, as a :class:`~arena.store.Store` takes them."""

    def __init__(self, solution: Solution, n_files: int) -> None:
        """Reserve space for up to ``n_files`` submissions, which takes memory as it fills."""
        self._shape, self._kind = (solution.n_rows, len(solution.columns)), solution.kind
        shape = self._shape[:1] if self._shape[1] == 1 else self._shape
        is_label = solution.kind is PredictionKind.LABEL
        values = np.empty((n_files, *shape), np.intp if is_label else np.float64)
        share_each_row(values)
        super().__init__(values)
        self._records: dict[tuple[str, str | None], SubmissionRecord] = {}

    @staticmethod
    def holds(solution: Solution, n_files: int) -> bool:
        """Return whether so many submissions are numbers or labels of at most 256 MB."""
        cells = n_files * solution.n_rows * len(solution.columns)
        return solution.kind is not PredictionKind.TEXT and 8 * cells <= _MOST_BYTES

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Keep submissions and return their records; of equal ones of a team, that of the first."""
        return [self._add(submission) for submission in incoming]

    def _add(self, incoming: Incoming) -> SubmissionRecord:
        name = incoming.team, incoming.idempotency_key
        if name not in self._records:
            incoming.check(self._shape, self._kind)
            position = len(self._records)
            if incoming.values is not None:
                self._values[position] = incoming.values.reshape(self._values.shape[1:])
            self._records[name] = SubmissionRecord(
                position + 1,
                incoming.team,
                file=incoming.file,
                sha256=incoming.sha256,
                status=incoming.status,
                received=as_text(as_stored(incoming.received)),
                faults=incoming.faults,
            )
        return self._records[name]
