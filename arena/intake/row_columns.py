"""What a solution may say of each row beside the truth: its group, and its soft labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from arena.intake.cells import Place, to_text
from arena.intake.faults import FaultList
from arena.intake.submission import SUM_TOLERANCE
from arena.intake.targets import read_extra
from arena.types import Fault, FloatArray, IntArray, Target

__all__ = ["read_groups", "read_soft_labels"]


def read_groups(
    cells: dict[str, Any],
    name: str | None,
    what: str,
    ranked: npt.NDArray[np.bool_],
    place: Place,
    faults: FaultList,
) -> tuple[IntArray, tuple[str, ...]] | None:
    """Return the codes of the texts of a column, and the texts as they first occur."""
    if name is None:
        return None
    text = to_text(cells[name])
    empty = pc.equal(text, "").to_numpy(zero_copy_only=False) & ranked
    faults.add_each(
        "empty cell",
        np.flatnonzero(empty).tolist(),
        lambda p: place.fault("empty cell", f"The {what} is missing.", p, name),
    )
    coded = text.dictionary_encode()
    return coded.indices.to_numpy().astype(np.intp), tuple(coded.dictionary.to_pylist())


def read_soft_labels(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    targets: Sequence[Target],
    decimal_comma: bool,
    place: Place,
    faults: FaultList,
) -> FloatArray | None:
    """Return ``(n,)`` or ``(n, n_classes)`` soft labels; None if there is no column of them.

    Columns that are named as the labels are put into their order. A fault never quotes a soft
    label that is a number.
    """
    if not cells:
        return None
    classes = targets[0].classes if len(targets) == 1 else None
    if classes is None or len(cells) not in {len(classes), 1 if len(classes) == 2 else 0}:
        message = (
            "Soft labels go with one target of labels: name one column, the probability of the "
            "positive label of two, or a column for each label."
        )
        faults.add("soft labels do not fit", message)
        return None
    names = list(cells)
    if len(names) > 1 and set(names) == set(classes):
        names = list(classes)
    read = read_extra(cells, ranked, decimal_comma, place, faults)
    values = np.column_stack([read[name] for name in names])
    _check_probabilities(values, names, ranked, place, faults)
    return np.ascontiguousarray(values[:, 0] if len(names) == 1 else values)


def _check_probabilities(
    values: FloatArray,
    names: Sequence[str],
    ranked: npt.NDArray[np.bool_],
    place: Place,
    faults: FaultList,
) -> None:
    message = "The soft label is outside [0, 1]: write a probability."
    for at, name in enumerate(names):
        fault = partial(_fault, place, "soft label out of range", message, name)
        outside = np.flatnonzero((values[:, at] < 0) | (values[:, at] > 1))
        faults.add_each("soft label out of range", outside.tolist(), fault)
    if len(names) > 1:
        off = np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE
        kind = "soft labels do not sum to 1"
        message = "The soft labels of the row do not sum to 1: divide each by their sum."
        fault = partial(_fault, place, kind, message, None)
        faults.add_each(kind, np.flatnonzero(off & ranked).tolist(), fault)


def _fault(place: Place, kind: str, message: str, column: str | None, position: int) -> Fault:
    return place.fault(kind, message, position, column)
