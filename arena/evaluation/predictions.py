"""Predictions in memory or changed block by block, with the interface of stored predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.evaluation.shared_weights import share_each_row
from arena.types import IntArray
from arena.utils.read_only import make_fields_read_only

if TYPE_CHECKING:
    from arena.interfaces import PredictionBlocks

SENT_BYTES = 8 * 2**20
"""The most bytes of predictions in one task of a cluster, unless a single submission has more."""

_TEXT_BYTES = 60
"""The memory of an empty text and the pointer to it."""
_SAMPLED_CELLS = 1_000
_BLOCK_BYTES = 16 * 2**20
HELD_BYTES = 10**9
"""The most bytes of predictions that are kept in memory where they are read many times."""


@runtime_checkable
class ReadByWorkers(Protocol):
    """Predictions that a worker of a cluster may be able to read itself."""

    def for_workers(self) -> PredictionBlocks | None:
        """Return the same predictions, to be sent without their cells; None: they must be sent."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayPredictions:
    """An array as :class:`arena.interfaces.PredictionBlocks`, without a copy; it is read-only.

    Examples
    --------
    >>> import numpy as np
    >>> predictions = ArrayPredictions(np.arange(6.0).reshape(3, 2))
    >>> [(start, block.shape) for start, block in predictions.blocks(2)]
    [(0, (2, 2)), (2, (1, 2))]
    """

    values: npt.NDArray[Any]
    """``(m, n)``, or ``(m, n, n_columns)``."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "values")

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""
        return len(self.values)

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``: views of at most ``size`` submissions, in order."""
        for start in range(0, len(self.values), size):
            yield start, self.values[start : start + size]

    def subset(self, submissions: IntArray) -> ArrayPredictions:
        """Return the submissions at these positions, in this order; a copy unless it is all."""
        if np.array_equal(submissions, np.arange(len(self.values))):
            return self
        return ArrayPredictions(self.values[submissions])


@dataclass(frozen=True, slots=True, eq=False)
class MappedPredictions:
    """Predictions to which a function is applied, one block at a time.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = ArrayPredictions(np.array([[0.25, 0.75]]))
    >>> labels = MappedPredictions(probabilities, np.round)
    >>> [block.tolist() for _, block in labels.blocks(2)]
    [[[0.0, 1.0]]]
    """

    predictions: PredictionBlocks
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    """From a block ``(k, n)`` or ``(k, n, n_columns)`` to one of the same k and n. It must be
    picklable to be used by worker processes."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""
        return self.predictions.n_submissions

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)`` of at most ``size`` submissions, in order."""
        for start, block in self.predictions.blocks(size):
            yield start, self.function(block)

    def subset(self, submissions: IntArray) -> MappedPredictions:
        """Return the submissions at these positions, in this order."""
        return replace(self, predictions=self.predictions.subset(submissions))

    def for_workers(self) -> MappedPredictions | None:
        """Return what a worker can read itself, or None."""
        source = _source_of(self.predictions)
        return None if source is None else replace(self, predictions=source)


def sent(
    predictions: PredictionBlocks, size: int
) -> tuple[PredictionBlocks | None, Iterator[tuple[int, npt.NDArray[Any] | range]]]:
    """Return what workers need to read predictions, and what is sent with each task.

    Returns
    -------
    An object that every worker is given once, or None; and ``(start, given)`` of at most ``size``
    submissions each, in order, which :func:`received` makes into a block.

    Examples
    --------
    >>> source, tasks = sent(ArrayPredictions(np.arange(6.0).reshape(3, 2)), 2)
    >>> [received(source, given).shape for _, given in tasks]
    [(2, 2), (1, 2)]
    """
    source = _source_of(predictions)
    if source is None:
        return None, predictions.blocks(size)
    m = predictions.n_submissions
    return source, ((start, range(start, min(start + size, m))) for start in range(0, m, size))


def received(source: PredictionBlocks | None, block: npt.NDArray[Any] | range) -> npt.NDArray[Any]:
    """Return a block on a worker: the one that was sent, or read there."""
    if not isinstance(block, range):
        return block
    if source is None:
        raise ValueError("no predictions were sent that a worker can read")
    return next(source.subset(np.array(block)).blocks(len(block)))[1]


def _source_of(predictions: PredictionBlocks) -> PredictionBlocks | None:
    return predictions.for_workers() if isinstance(predictions, ReadByWorkers) else None


def in_memory(predictions: PredictionBlocks) -> PredictionBlocks:
    """Return predictions that are read once, if they are numbers of at most 1 GB.

    >>> type(in_memory(MappedPredictions(ArrayPredictions(np.eye(2)), np.sqrt))).__name__
    'ArrayPredictions'
    """
    blocks = predictions.blocks(1)
    (_, first), m = next(blocks), predictions.n_submissions
    if first.dtype == object or m * first.nbytes > HELD_BYTES:
        return predictions
    values = np.empty((m, *first.shape[1:]), first.dtype)
    values[0] = first[0]
    for position, block in blocks:
        values[position] = block[0]
    share_each_row(values)
    return ArrayPredictions(values)


def block_size(n_cells: int) -> int:
    """Return how many submissions of so many cells are read at a time: 16 MB of numbers.

    >>> block_size(1_000), block_size(10_000_000)
    (2097, 1)
    """
    return max(1, _BLOCK_BYTES // (8 * max(1, n_cells)))


def cell_bytes(values: npt.NDArray[Any]) -> int:
    """Return the approximate bytes of a cell: 8 for a number, 60 plus its length for a text.

    The length is the mean of about a thousand cells.

    >>> import numpy as np
    >>> cell_bytes(np.zeros(3)), cell_bytes(np.array(["a", "bcd"], dtype=object))
    (8, 62)
    """
    if values.dtype != object:
        return 8
    cells = values.reshape(-1)[:: max(1, values.size // _SAMPLED_CELLS)]
    return _TEXT_BYTES + sum(map(len, cells)) // max(1, len(cells))
