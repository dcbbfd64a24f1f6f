"""The predictions of an export as CSV: numbers, labels and texts, of all rows or the first ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.competition.exports.export import PredictionWriter, write_bundle
from arena.errors import InputError
from arena.types import PredictionKind, Target
from few_rows import FIVE_ROWS

TWO = replace(
    FIVE_ROWS,
    ids=pa.array(["a", "b,c"]),
    targets=(Target("y", None), Target("z", None)),
    columns=("y", "z"),
    truth=np.zeros((2, 2)),
    usage=np.zeros(2, dtype=np.uint8),
)


def texts(*values: str) -> Any:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


@pytest.mark.parametrize(
    ("kind", "classes", "values", "written"),
    [
        (
            PredictionKind.VALUE,
            None,
            np.array([[0.1, 2.0], [1e-20, -3.5]]),
            'id,y,z\na,0.1,2.0\n"b,c",1e-20,-3.5\n',
        ),
        (
            PredictionKind.LABEL,
            ("no", "yes"),
            np.array([[0, 1], [1, 1]]),
            'id,y,z\na,no,yes\n"b,c",yes,yes\n',
        ),
        (
            PredictionKind.LABEL,
            ("n\ro", '"'),  # a row with such a label is quoted
            np.array([[0, 1], [1, 1]]),
            'id,y,z\n"a","n\ro",""""\n"b,c","""",""""\n',
        ),
        (
            PredictionKind.TEXT,
            None,
            texts("x\n", "", "=1", "é").reshape(2, 2),
            '"id","y","z"\n"a","x\n",""\n"b,c","=1","é"\n',
        ),
    ],
    ids=["numbers", "labels", "odd labels", "texts"],
)
def test_predictions_are_written_as_they_were_sent(
    kind: PredictionKind, classes: Any, values: Any, written: str, tmp_path: Path
) -> None:
    targets = tuple(replace(target, classes=classes) for target in TWO.targets)
    writer = PredictionWriter.of(replace(TWO, kind=kind, targets=targets))
    writer.write(tmp_path / "all.csv", values)
    assert (tmp_path / "all.csv").read_bytes().decode() == written
    writer.write(tmp_path / "first.csv", values[:1])
    first = (tmp_path / "first.csv").read_bytes().decode()
    assert written.startswith(first)
    assert first.count("a") == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    unused: Any = None
    with pytest.raises(InputError) as refused:
        write_bundle(tmp_path / "file" / "out", unused, unused)
    assert str(refused.value) == (
        f"{tmp_path / 'file' / 'out'} cannot be written: a part of the path is not a folder."
    )
