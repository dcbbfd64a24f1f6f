"""Converts numpy arrays to Arrow arrays and back.

pyarrow's own conversion imports pandas at its first call, which takes half a second: more than
all other steps of a submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from arena.utils.lazy import pa


def as_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """Return the same numbers as an Arrow array; they are copied only if they are not contiguous.

    Examples
    --------
    >>> as_arrow(np.array([1.5, 2.5])).to_pylist()
    [1.5, 2.5]
    """
    contiguous = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(contiguous.dtype)
    return pa.Array.from_buffers(kind, len(contiguous), [None, pa.py_buffer(contiguous)])


def as_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column of numbers, not empty and without nulls, as one contiguous copy.

    Examples
    --------
    >>> as_numpy(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])
