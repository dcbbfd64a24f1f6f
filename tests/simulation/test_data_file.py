"""An organiser's own rows: how they are dealt, and each reason to refuse them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from arena.errors import InputError
from arena.simulation.data import Sizes
from arena.simulation.data_file import read_world

SIZES = Sizes(training=6, validation=3, population=3)


def rows(n: int = 12, **columns: Any) -> pd.DataFrame:
    plain = {
        "x": np.arange(n, dtype=float),
        "color": [("red", "blue", None)[row % 3] for row in range(n)],
        "y": ["no" if row % 2 else "yes" for row in range(n)],
    }
    return pd.DataFrame({**plain, **columns})


def read(folder: Path, frame: pd.DataFrame, sizes: Sizes = SIZES, **changes: Any) -> Any:
    path = folder / "own.csv"
    frame.to_csv(path, index=False)
    options = {"target": "y", "seed": 0, "numeric": False, **changes}
    return read_world(path, options.pop("target"), sizes, options.pop("seed"), **options)


def test_every_row_is_dealt_once_and_texts_become_codes(tmp_path: Path) -> None:
    world = read(tmp_path, rows())
    parts = (world.rows.training, world.rows.validation, world.population)
    assert [len(part.target) for part in parts] == [6, 3, 3]
    features = np.concatenate([part.features for part in parts])
    targets = np.concatenate([part.target for part in parts])
    order = features[:, 0].astype(int)
    assert sorted(order.tolist()) == list(range(12))
    # Every third row is red, blue, or unknown; the even ones are yes, the second of two labels.
    np.testing.assert_array_equal(features[:, 1], np.array([0.0, 1.0, np.nan])[order % 3])
    assert targets.tolist() == (1 - order % 2).tolist()
    assert (world.classes, world.rows.n_classes, world.rows.categorical) == (("no", "yes"), 2, (1,))
    assert (world.name, world.notes) == ("own.csv", ())
    first = read(tmp_path, rows(), positive="no")
    assert first.classes == ("yes", "no")
    assert (
        read(tmp_path, rows(), seed=1).identity != world.identity == read(tmp_path, rows()).identity
    )
    numbers = read(tmp_path, rows(), target="x", numeric=True)
    assert (numbers.classes, numbers.rows.n_classes, numbers.rows.categorical) == (
        None,
        None,
        (0, 1),
    )


def test_a_file_with_fewer_rows_makes_the_defaults_smaller(tmp_path: Path) -> None:
    sizes = Sizes(training=600, validation=300, population=300)
    world = read(tmp_path, rows(120), sizes, given_sizes=())
    parts = (world.rows.training, world.rows.validation, world.population)
    assert [len(part.target) for part in parts] == [60, 30, 30]  # a tenth of 1,200 rows
    assert world.notes == (
        f"{tmp_path}/own.csv has 120 rows, so the defaults are made smaller: 60 rows for training, "
        "30 for validation and 30 to predict.",
    )


MANY = [f"column {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("frame", "changes", "said"),
    [
        (rows(), {"target": "z"}, "has no column 'z', but x, color, y."),
        (
            rows(**dict.fromkeys(MANY[:17], 1)),
            {"target": "z"},
            f"has no column 'z', but x, color, y, {', '.join(MANY[:17])}.",
        ),
        (
            rows(**dict.fromkeys(MANY[:18], 1)),
            {"target": "z"},
            f"has no column 'z', but x, color, y, {', '.join(MANY[:17])}, …",
        ),
        (
            rows().rename(columns={"x": "x;w"}),
            {"target": "z"},
            "has no column 'z', but x;w, color, y. Its cells must be separated by commas.",
        ),
        (
            rows(y=["yes", "no", None, *["no"] * 9]),
            {},
            "has no y in data row 3; every row needs one.",
        ),
        (
            rows(11),
            {},
            "has 11 rows, but 6 for training, 3 for validation and a population of 3 are "
            "requested. Request fewer with --train-rows, --validation-rows and --population.",
        ),
        (
            rows(11),
            {"population_option": "--rows"},
            "has 11 rows, but 6 for training, 3 for validation and a population of 3 are "
            "requested. Request fewer with --train-rows, --validation-rows and --rows.",
        ),
        (rows()[["y"]], {}, "has no column besides the target to predict from."),
    ],
)
def test_what_is_refused_is_said_of_the_file(
    tmp_path: Path, frame: pd.DataFrame, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, frame, **changes)
    assert str(refused.value) == f"{tmp_path}/own.csv {said}"


@pytest.mark.parametrize(
    ("frame", "changes", "said"),
    [
        (
            rows(y="yes"),
            {},
            "The target y of {} has one value only, so there is nothing to predict.",
        ),
        (
            rows(x=[0.0, 1.0, np.inf, *np.arange(9.0)]),
            {"target": "x", "numeric": True},
            "{}: x in data row 3 is not a finite number, as this metric needs it. For a target of "
            "labels use another --metric, such as log_loss.",
        ),
        (rows(), {"positive": "maybe"}, "'maybe' is not one of two labels of y: ('no', 'yes')."),
        (
            rows(y=list("abcabcabcabc")),
            {"positive": "a"},
            "'a' is not one of two labels of y: ('a', 'b', 'c').",
        ),
        (
            rows(y=list("abcdef" * 2)),
            {"positive": "a"},
            "'a' is not one of two labels of y: ('a', 'b', 'c', 'd', 'e').",
        ),
        (
            rows(y=["a"] * 11 + ["b"]),
            {},
            "None of the 6 training rows of {} has the label 'b'. Use more rows of this kind, or "
            "remove the label from the file.",
        ),
    ],
)
def test_what_is_refused_is_said_of_the_target(
    tmp_path: Path, frame: pd.DataFrame, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, frame, **changes)
    assert str(refused.value) == said.format(tmp_path / "own.csv")


def test_a_thousand_labels_are_as_many_as_can_be(tmp_path: Path) -> None:
    sizes = Sizes(training=2_000, validation=1_000, population=1_000)
    labels = [f"{row % 1_001:04d}" for row in range(4_004)]
    with pytest.raises(InputError) as refused:
        read(tmp_path, rows(4_004, y=labels), sizes)
    assert str(refused.value) == (
        f"The target y of {tmp_path}/own.csv has 1,001 different values, too many for labels, "
        "which this metric needs. For numbers use another --metric, such as rmse."
    )
    with pytest.raises(InputError, match="rows of .* has the label"):  # of which there are 1,000
        read(tmp_path, rows(4_004, y=[label[1:] for label in labels]), sizes)


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (None, "gone.csv", "cannot be read: there is no such file or folder."),
        (b"", "empty.csv", "is neither CSV nor Parquet that can be read: "),
        (b"PAR1", "damaged.parquet", "is neither CSV nor Parquet that can be read: "),
        (b"\xff\xfe\xff", "bytes.csv", "is neither CSV nor Parquet that can be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, name: str, said: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_world(path, "y", SIZES, 0, numeric=False)
    assert str(refused.value).startswith(f"{path} {said}")
    assert "\n" not in str(refused.value)
