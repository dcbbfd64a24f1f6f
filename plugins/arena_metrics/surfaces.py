"""Distances between the boundaries of masks: surface Dice and the Hausdorff distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.intake import SHAPE_COLUMNS, SPACING_COLUMNS
from arena.types import FloatArray, MetricTraits, RowContext
from arena_metrics.parameters import require_inside
from arena_metrics.rows import bound_copy
from arena_metrics.segmentation import MaskMetric

Mask: TypeAlias = npt.NDArray[np.bool_]
_EXAMPLE_SIDE = 9
"""Side of the square images of examples, whose masks end before the last pixel."""


def boundary_distances(
    one: Mask, other: Mask, spacing: tuple[float, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each boundary pixel of a mask to the boundary of the other, both ways.

    The boundary of a mask is its pixels with a neighbour outside along an axis (4 neighbours in an
    image, 6 in a volume); everything outside the image is background.

    Parameters
    ----------
    one, other
        Masks of one shape, neither of them empty.
    spacing
        The distance between neighbouring pixels along each axis.

    Examples
    --------
    >>> square = np.zeros((4, 4), dtype=bool)
    >>> square[1:3, 1:3] = True
    >>> there, back = boundary_distances(square, np.roll(square, 1, axis=0), (2.0, 1.0))
    >>> sorted(there.tolist()), sorted(back.tolist())
    ([0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0])
    """
    from scipy import ndimage

    both = one | other
    inside = tuple(
        slice(int(positions[0]), int(positions[-1]) + 1)
        for positions in (
            np.flatnonzero(
                both.any(
                    axis=tuple(other_axis for other_axis in range(both.ndim) if other_axis != axis)
                )
            )
            for axis in range(both.ndim)
        )
    )
    edges = []
    for mask in (one[inside], other[inside]):
        edges.append(mask & ~ndimage.binary_erosion(mask))
    to_one, to_other = (
        np.asarray(ndimage.distance_transform_edt(~edge, sampling=spacing), dtype=np.float64)
        for edge in edges
    )
    return to_other[edges[0]], to_one[edges[1]]


def _decoded(cell: str, shape: tuple[int, ...]) -> Mask:
    """Return the mask of a run-length encoding, whose first axis varies fastest."""
    flat = np.zeros(int(np.prod(shape)), dtype=np.bool_)
    numbers = [int(number) for number in cell.split()] if cell.strip() != "-1" else []
    if len(numbers) % 2 or any(number < 1 for number in numbers):
        raise MetricError("A mask is not a run-length encoding: write 'start length …'.")
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        if start + length - 1 > len(flat):
            raise MetricError("A mask ends beyond the last pixel of its image.")
        flat[start - 1 : start - 1 + length] = True
    return flat.reshape(shape, order="F")


@dataclass(frozen=True)
class _Images:
    """The sizes and spacings of the images of n rows."""

    shapes: tuple[tuple[int, ...], ...]
    spacings: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, name: str, extra: Mapping[str, FloatArray]) -> _Images:
        missing = [shape_column for shape_column in SHAPE_COLUMNS[:2] if shape_column not in extra]
        if missing:
            raise MetricError(
                f"{name} needs the size of each image: the solution has no column {missing[0]}. "
                f"arena masks writes it, and a folder of mask files has it."
            )
        axes = [
            position for position, shape_column in enumerate(SHAPE_COLUMNS) if shape_column in extra
        ]
        sizes = np.column_stack([extra[SHAPE_COLUMNS[axis]] for axis in axes])
        ones = np.ones(len(sizes))
        steps = np.column_stack([extra.get(SPACING_COLUMNS[axis], ones) for axis in axes])
        if not (np.isfinite(sizes).all() and (sizes == np.rint(sizes)).all() and (sizes > 0).all()):
            raise MetricError(f"{name} needs whole numbers above 0 as sizes of the images.")
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            raise MetricError(f"{name} needs spacings of the pixels above 0.")
        return cls(
            tuple(tuple(int(size) for size in row) for row in sizes),
            tuple(tuple(float(step) for step in row) for row in steps),
        )


@dataclass(frozen=True)
class _SurfaceMetric(MaskMetric):
    """Mean over the rows of a function of the distances between two boundaries."""

    images: _Images | None = field(default=None, init=False, repr=False, compare=False)

    def for_rows(self, context: RowContext) -> _SurfaceMetric:
        """Return the metric bound to the sizes and spacings of the images of these rows.

        Raises
        ------
        MetricError
            If the solution does not have them, or they are not valid.
        """
        return bound_copy(self, images=_Images.of(self.name, context.extra))

    @abstractmethod
    def _of_distances(self, there: FloatArray, back: FloatArray) -> float:
        """Return the value of two masks that are not empty."""

    @abstractmethod
    def _of_empty(self, both: bool, diagonal: float) -> float:
        """Return the value if both masks are empty, or one of them."""

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` values.

        Raises
        ------
        MetricError
            If the metric is not bound to these rows, or a mask is not valid.
        """
        if self.images is None or len(self.images.shapes) != len(truth):
            raise MetricError(f"{self.name} needs the sizes of the images: call for_rows first.")
        values = np.empty(predictions.shape)
        for row, (shape, spacing) in enumerate(
            zip(self.images.shapes, self.images.spacings, strict=True)
        ):
            true = _decoded(truth[row], shape)
            diagonal = float(np.linalg.norm(np.multiply(shape, spacing)))
            value_of_cell: dict[str, float] = {}
            for position, cell in enumerate(predictions[:, row]):
                if cell not in value_of_cell:
                    value_of_cell[cell] = self._value(
                        true, _decoded(cell, shape), spacing, diagonal
                    )
                values[position, row] = value_of_cell[cell]
        return values

    def _value(self, true: Mask, sent: Mask, spacing: tuple[float, ...], diagonal: float) -> float:
        empty = [not mask.any() for mask in (true, sent)]
        if any(empty):
            return self._of_empty(all(empty), diagonal)
        return self._of_distances(*boundary_distances(true, sent, spacing))

    def example_extra(self, n_rows: int) -> Mapping[str, FloatArray]:
        """Return the sizes of the images of :meth:`example`."""
        return {name: np.full(n_rows, float(_EXAMPLE_SIDE)) for name in SHAPE_COLUMNS[:2]}


@dataclass(frozen=True)
class SurfaceDice(_SurfaceMetric):
    """Mean surface Dice of masks: the share of both boundaries within a tolerance of the other.

    Masks are given as for ``dice``. The solution has the columns ``height`` and ``width`` (and
    ``depth``), and may have ``spacing_height``, …, the distance between neighbouring pixels. Two
    empty masks score 1; an empty mask and one that is not empty, 0.

    Parameters
    ----------
    tolerance
        The distance up to which a boundary pixel is correct, in the unit of the spacing; 0 or more.

    Notes
    -----
    Nikolov et al. (2018), counted in boundary pixels as by MONAI and Metrics Reloaded.

    Examples
    --------
    >>> context = RowContext("id", None, ("mask",), ("mask",), extra={
    ...     "height": np.array([4.0]), "width": np.array([4.0])})
    >>> metric = SurfaceDice(tolerance=0.5).for_rows(context)
    >>> truth = np.array(["6 2 10 2"], dtype=object)
    >>> metric.score(truth, np.array(["7 2 11 2"], dtype=object))
    0.5
    """

    tolerance: float = 1.0

    name = "surface_dice"

    def __post_init__(self) -> None:
        valid = isinstance(self.tolerance, int | float) and not isinstance(self.tolerance, bool)
        if not valid or not 0 <= self.tolerance < np.inf:
            raise UsageError(f"tolerance of {self.name} must be a number of 0 or more.")

    def _of_distances(self, there: FloatArray, back: FloatArray) -> float:
        near = np.count_nonzero(there <= self.tolerance) + np.count_nonzero(back <= self.tolerance)
        return float(near / (len(there) + len(back)))

    def _of_empty(self, both: bool, diagonal: float) -> float:  # noqa: ARG002 - the interface
        return 1.0 if both else 0.0


@dataclass(frozen=True)
class Hausdorff(_SurfaceMetric):
    """Mean Hausdorff distance of the boundaries of masks, by default at the 95th percentile.

    The value of a row is the larger of two percentiles: of the distances from the true boundary to
    the predicted one, and back. Masks, sizes and spacings are given as for ``surface_dice``. Two
    empty masks have the distance 0; an empty mask and one that is not empty, the diagonal of the
    image.

    Parameters
    ----------
    percentile
        Above 0, up to 100: the Hausdorff distance itself.

    Notes
    -----
    Huttenlocher, Klanderman and Rucklidge (1993); percentiles as in MONAI and Metrics Reloaded.
    A mean is dominated by the cases with the largest distances.

    Examples
    --------
    >>> context = RowContext("id", None, ("mask",), ("mask",), extra={
    ...     "height": np.array([4.0]), "width": np.array([4.0])})
    >>> metric = Hausdorff(percentile=100).for_rows(context)
    >>> metric.score(np.array(["6 2 10 2"], dtype=object), np.array(["6 1"], dtype=object))
    1.4142135623730951
    """

    percentile: float = 95.0

    name = "hausdorff"
    greater_is_better = False

    def __post_init__(self) -> None:
        if self.percentile != 100:
            require_inside(self.name, "percentile", value=self.percentile, low=0.0, high=100.0)

    @property
    def traits(self) -> MetricTraits:
        """Distances are not negative."""
        return MetricTraits(
            score_range=(0.0, np.inf),
        )

    def _of_distances(self, there: FloatArray, back: FloatArray) -> float:
        return float(max(np.percentile(distances, self.percentile) for distances in (there, back)))

    def _of_empty(self, both: bool, diagonal: float) -> float:
        return 0.0 if both else diagonal
