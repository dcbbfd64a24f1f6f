"""Objects in images and sums of series: small cases worked out by hand, and plain definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arena
from arena.errors import MetricError
from arena.intake.mask_files import run_lengths
from arena.types import FloatArray, RowContext
from arena_metrics.instances import InstanceF1, PanopticQuality
from arena_metrics.wrmsse import Wrmsse


def images(*of_each: list[tuple[str, str]]) -> Any:
    """Return the folded cells of images, each a list of masks with their classes."""
    cells = [[json.dumps(column) for column in zip(*objects, strict=True)] for objects in of_each]
    return np.array(cells, dtype=object)


TRUTH = images([("1 4", "cat"), ("11 4", "cat")], [("1 10", "dog"), ("21 2", "cat")])
SENT = {
    "as the truth": (TRUTH, 1.0, 1.0),
    "one pixel moved, one object missing, one too many": (
        # Cats: overlap 3/5, then 1; objects (3 + 3) / 2. Dog: overlap 10/16.
        images([("2 4", "cat"), ("31 4", "cat")], [("1 16", "dog"), ("21 2", "cat")]),
        ((0.6 + 1) / 3 + 0.625) / 2,
        (2 / 3 + 1) / 2,
    ),
    "an overlap of one half does not match": (
        images([("1 8", "cat"), ("11 4", "cat")], [("1 10", "dog"), ("21 2", "cat")]),
        (2 / 3 + 1) / 2,
        (2 / 3 + 1) / 2,
    ),
    "no object where there is one, and both": (
        images([("", ""), ("-1", "")], [("", "")]),
        0.0,
        0.0,
    ),
    "another class, and one that the truth lacks": (
        images([("1 4", "dog"), ("11 4", "cow")], [("1 10", "dog"), ("", "cat")]),
        (0 + 1 / 1.5 + 0) / 3,
        (0 + 1 / 1.5 + 0) / 3,
    ),
}


@pytest.mark.parametrize("case", SENT)
def test_objects_match_as_by_hand(case: str) -> None:
    predictions, quality, f1 = SENT[case]
    assert PanopticQuality().score(TRUTH, predictions) == pytest.approx(quality, rel=1e-12)
    assert InstanceF1().score(TRUTH, predictions) == pytest.approx(f1, rel=1e-12)


def test_matches_are_those_of_all_pairs_of_masks() -> None:
    """Each value of an image is an object, which may have several parts."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 5, (6, 9, 8))
    changed = np.where(rng.random(values.shape) < 0.2, rng.integers(0, 5, values.shape), values)
    sides = [
        [[image == value for value in range(1, 5)] for image in side] for side in (values, changed)
    ]
    overlaps = np.array(
        [
            (a & b).sum() / (a | b).sum()
            for pair in zip(*sides, strict=True)
            for a in pair[0]
            for b in pair[1]
        ]
    )
    matched = overlaps[overlaps > 0.5]
    assert 10 < len(matched) < 24
    cells = [
        images(*([(run_lengths(mask), "") for mask in image] for image in side)) for side in sides
    ]
    quality = matched.sum() / 24
    assert PanopticQuality().score(*cells) == pytest.approx(quality, rel=1e-12)


@pytest.mark.slow
def test_objects_are_read_from_tables_and_checked(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("ImageId,EncodedPixels\na,1 4\na,11 4\nb,\n")
    rows = {
        "good": "a,1 4\na,11 4\nb,\n",
        "shared": "a,1 4\na,3 4\nb,\n",
        "broken": "a,1 4 9\na,11 4\nb,-1\n",
    }
    (tmp_path / "teams").mkdir()
    for team, text in rows.items():
        (tmp_path / "teams" / f"{team}.csv").write_text(f"ImageId,EncodedPixels\n{text}")
    result = arena.score(
        tmp_path / "truth.csv",
        [tmp_path / "teams"],
        metric="panoptic_quality",
        intervals=False,
        workers=1,
    )
    assert [(row["team"], row["score"]) for row in result.standings] == [("good", 1.0)]
    kinds = {file.file: file.faults[0].kind for file in result.rejected}
    assert kinds == {"shared.csv": "objects overlap", "broken.csv": "start without length"}


def bound(levels: tuple[str, ...], **extra: Any) -> Wrmsse:
    n = len(extra["scale"])
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in extra.items()}
    ids = pa.array(map(str, range(n)))
    return Wrmsse(levels=levels).for_rows(RowContext("id", ids, ("y",), ("y",), extra=columns))


def test_wrmsse_of_two_levels_is_as_by_hand() -> None:
    """Series: 1/2 sqrt(2 / 4) + 1/2 sqrt(0.5 / 2); their sum is wrong by 1 and by 1."""
    truth, predictions = np.zeros((2, 2)), np.array([[2.0, 0.0], [-1.0, 1.0]])
    series = {"scale": [4, 1], "weight": [3, 3]}
    total = {"total": [1, 1], "scale_total": [4, 4], "weight_total": [9, 9]}
    of_series = 0.5 * (np.sqrt(2 / 4) + np.sqrt(1 / 1))
    assert bound((), **series).score(truth, predictions) == pytest.approx(of_series, rel=1e-12)
    both = bound(("total",), **series, **total)
    assert both.score(truth, predictions) == pytest.approx(
        (of_series + np.sqrt(1 / 4)) / 2, rel=1e-12
    )
    with pytest.raises(MetricError, match="needs the columns scale_total, weight_total, total"):
        bound(("total",), **series)
    with pytest.raises(MetricError, match="Rows of one total differ in the column 'scale_total'"):
        bound(("total",), **series, **total | {"scale_total": [4, 5]})


@pytest.mark.parametrize("levels", [(), ("single",)])
def test_series_that_are_not_drawn_do_not_count(levels: tuple[str, ...]) -> None:
    """An error too large to be squared counts where it is drawn; single series have any order."""
    names = {"scale": [4, 1, 1], "weight": [3, 3, 1], "single": [2, 0, 1]}
    names |= {"scale_single": [4, 1, 1], "weight_single": [3, 3, 1]}
    truth, predictions = np.zeros(3), np.array([[4.0, 1.0, 3.0], [4.0, 1.0, 1e200]])
    weights = np.array([[1, 0, 0, 2], [1, 1, 0, 1], [0, 2, 0, 1]], dtype=np.uint8)
    by_hand = [[1.5, 1.8, np.nan, 1.8], [1.5, np.inf, np.nan, np.inf]]
    scores = bound(levels, **names).resample(truth, predictions, weights)
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)


def test_influence_of_a_series_is_the_derivative_of_the_score() -> None:
    rng, n = np.random.default_rng(0), 12
    store = np.arange(n) % 3
    scales: FloatArray = rng.uniform(1.0, 2.0, n)
    extra = {"scale": scales, "weight": scales, "store": store}
    extra |= {"scale_store": 2.0 + store, "weight_store": 1.0 + store}
    metric = bound(("store",), **extra)
    truth, predictions = rng.normal(size=(n, 4)), rng.normal(size=(1, n, 4))
    steps = 1.0 + 1e-5 * np.concatenate([np.eye(n), -np.eye(n)], axis=1)
    up, down = np.split(metric.resample(truth, predictions, steps)[0], 2)  # type: ignore[arg-type]
    expected = n * (up - down) / 2e-5
    np.testing.assert_allclose(metric.influence_values(truth, predictions)[0], expected, rtol=1e-6)
