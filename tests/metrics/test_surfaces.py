"""Surface Dice and the Hausdorff distance, against their definition on lists of pixels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from arena.errors import ArenaError, MetricError
from arena.intake.mask_files import run_lengths
from arena.types import RowContext
from arena_metrics.surfaces import Hausdorff, SurfaceDice
from thinned import examples

SIZES = ("height", "width", "depth")


def context(shapes: list[tuple[int, ...]], spacings: list[tuple[float, ...]]) -> RowContext:
    extra = {}
    for position, name in enumerate(SIZES[: len(shapes[0])]):
        extra[name] = np.array([float(shape[position]) for shape in shapes])
        extra[f"spacing_{name}"] = np.array([step[position] for step in spacings])
    ids = pa.array([str(number) for number in range(len(shapes))])
    return RowContext("id", ids, ("mask",), ("mask",), extra=extra)


def boundary(mask: Any, spacing: tuple[float, ...]) -> Any:
    """Return the positions of the pixels with a neighbour along an axis that is outside."""
    padded = np.pad(mask, 1)
    places = []
    for place in product(*(range(size) for size in mask.shape)):
        if not mask[place]:
            continue
        inner = np.array(place) + 1
        steps = [sign * unit for unit in np.eye(mask.ndim, dtype=int) for sign in (-1, 1)]
        if not all(padded[tuple(inner + step)] for step in steps):
            places.append(np.array(place) * spacing)
    return np.array(places)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any, tuple[float, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=2, max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    masks = [rng.random(shape) < draw(st.sampled_from([0.2, 0.5, 0.9])) for _ in "ab"]
    return *masks, tuple(draw(st.sampled_from([0.5, 1.0, 2.5])) for _ in shape)  # type: ignore[return-value]


@settings(max_examples=examples(80))
@given(pairs(), st.sampled_from([0.0, 1.0, 2.5]), st.sampled_from([50.0, 95.0, 100.0]))
def test_the_values_are_those_of_lists_of_boundary_pixels(
    drawn: Any, tolerance: float, percentile: float
) -> None:
    true, predicted, spacing = drawn
    rows = context([true.shape], [spacing])
    truth = np.array([run_lengths(true)], dtype=object)
    prediction = np.array([run_lengths(predicted)], dtype=object)
    dice = SurfaceDice(tolerance).for_rows(rows).score(truth, prediction)
    distance = Hausdorff(percentile).for_rows(rows).score(truth, prediction)
    if not true.any() or not predicted.any():
        assert dice == (1.0 if not true.any() and not predicted.any() else 0.0)
        diagonal = np.linalg.norm(np.multiply(true.shape, spacing))
        expected = 0.0 if not true.any() and not predicted.any() else diagonal
        assert distance == pytest.approx(expected)
        return
    between = cdist(boundary(true, spacing), boundary(predicted, spacing))
    distances, distances_back = between.min(axis=1), between.min(axis=0)
    near = (distances <= tolerance + 1e-12).sum() + (distances_back <= tolerance + 1e-12).sum()
    assert dice == pytest.approx(near / (len(distances) + len(distances_back)))
    expected = max(np.percentile(distances, percentile), np.percentile(distances_back, percentile))
    assert distance == pytest.approx(expected)


def test_each_row_has_its_own_size_and_spacing_and_a_repeated_mask_counts_again() -> None:
    square, line = np.ones((2, 2), dtype=bool), np.ones((1, 5), dtype=bool)
    truth = np.array([run_lengths(square), run_lengths(line)], dtype=object)
    predictions = np.array([["1 1", "1 1"], ["1 1", "1 4"]], dtype=object)
    bound = Hausdorff(100).for_rows(context([(2, 2), (1, 5)], [(1.0, 3.0), (1.0, 2.0)]))
    assert bound.row_values(truth, predictions) == pytest.approx(
        np.array([[np.hypot(1, 3), 8.0], [np.hypot(1, 3), 2.0]])
    )


def test_a_metric_that_lacks_the_sizes_says_so() -> None:
    masks = np.array(["1 1"], dtype=object)
    with pytest.raises(MetricError, match="needs the sizes of the images"):
        SurfaceDice().score(masks, masks)
    empty = RowContext("id", pa.array(["a"]), ("mask",), ("mask",))
    with pytest.raises(MetricError, match="the solution has no column height"):
        SurfaceDice().for_rows(empty)
    for size, step, why in (
        (2.5, 1.0, "whole numbers"),
        (0.0, 1.0, "whole"),
        (2.0, 0.0, "above 0"),
    ):
        extra = {"height": np.array([size]), "width": np.array([2.0])}
        extra["spacing_height"] = np.array([step])
        with pytest.raises(MetricError, match=why):
            Hausdorff().for_rows(RowContext("id", pa.array(["a"]), ("m",), ("m",), extra=extra))
    beyond = np.array(["4 2"], dtype=object)
    with pytest.raises(MetricError, match="ends beyond the last pixel"):
        SurfaceDice().for_rows(context([(2, 2)], [(1.0, 1.0)])).score(masks, beyond)


@pytest.mark.parametrize("value", [-1, float("nan"), "far", True])
def test_parameters_are_checked(value: Any) -> None:
    with pytest.raises(ArenaError):
        SurfaceDice(tolerance=value)
    with pytest.raises(ArenaError):
        Hausdorff(percentile=value)
