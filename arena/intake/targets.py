"""Target columns of a solution to truth, classes, and the columns that a submission must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arena.intake.cells import (
    Place,
    is_text,
    merge_equal_numbers,
    numbers,
    points_for_commas,
    texts,
    to_text,
)
from arena.intake.csv_file import MAX_COLUMNS
from arena.intake.faults import FaultList, show, show_all
from arena.types import FloatArray, IntArray, PredictionKind, Target

__all__ = ["ReadTargets", "TargetReading", "read_extra", "read_targets"]

_BINARY = {"0", "1"}


@dataclass(frozen=True, slots=True)
class TargetReading:
    """How the target columns are to be read."""

    kind: PredictionKind
    positive: str | None = None
    max_classes: int | None = None
    truth_range: tuple[float, float] = (-np.inf, np.inf)
    decimal_comma: bool = False
    submission_columns: tuple[str, ...] = ()
    """Of ``TEXT``; empty: the target columns."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadTargets:
    """The targets, and what a submission must hold for them."""

    targets: tuple[Target, ...]
    columns: tuple[str, ...]
    truth: npt.NDArray[Any]
    """``(n,)`` codes, values or texts, or ``(n, n_targets)``; 0 or no text in ignored rows."""


def read_targets(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
    place: Place,
    faults: FaultList,
) -> ReadTargets:
    """Return the targets of a solution; cells that cannot be used in ranked rows are faults.

    Parameters
    ----------
    cells
        Name -> column, for each target column.
    ranked
        ``(n,)`` whether a row counts; the others may hold anything.
    """
    if reading.kind is PredictionKind.VALUE:
        return _read_values(cells, ranked, reading, place, faults)
    if reading.kind is PredictionKind.TEXT:
        return _read_texts(cells, ranked, reading)
    read = [_read_labels(n, c, ranked, reading, place, faults) for n, c in cells.items()]
    if len(read) == 1:
        target, codes = read[0]
        return ReadTargets((target,), _columns_of_one(target, reading, faults), codes)
    one_hot = _one_hot(read, ranked, reading) if not faults else None
    if one_hot is not None:
        return one_hot
    targets = tuple(target for target, _ in read)
    if reading.kind is not PredictionKind.LABEL:
        for target in (t for t in targets if len(t.classes or ()) > 2):
            message = f"The column has {len(target.classes or ()):,} labels; give one target, or "
            faults.add("too many classes", message + "two labels in each.", column=target.name)
    truth = np.column_stack([codes for _, codes in read])
    return ReadTargets(targets, tuple(target.name for target in targets), truth)


def read_extra(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    decimal_comma: bool,
    place: Place,
    faults: FaultList,
) -> dict[str, FloatArray]:
    """Return the numbers of columns that a metric asks for beside the targets."""
    reading = TargetReading(PredictionKind.VALUE, decimal_comma=decimal_comma)
    read = _read_values(cells, ranked, reading, place, faults)
    values = read.truth.reshape(len(ranked), len(cells))
    return {name: np.ascontiguousarray(values[:, j]) for j, name in enumerate(cells)}


def _read_texts(
    cells: Mapping[str, Any], ranked: npt.NDArray[np.bool_], reading: TargetReading
) -> ReadTargets:
    columns = [np.where(ranked, texts(column), "") for column in cells.values()]
    truth = columns[0] if len(columns) == 1 else np.column_stack(columns)
    targets = tuple(Target(name, None) for name in cells)
    return ReadTargets(targets, reading.submission_columns or tuple(cells), truth)


def _read_values(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
    place: Place,
    faults: FaultList,
) -> ReadTargets:
    columns = [_blank_ignored(column, ranked) for column in cells.values()]
    if reading.decimal_comma and all(is_text(column) for column in columns):
        columns = list(points_for_commas(columns, place, faults))
    values = [
        _ranked_numbers(column, name, ranked, reading, place, faults)
        for name, column in zip(cells, columns, strict=True)
    ]
    truth = values[0] if len(values) == 1 else np.column_stack(values)
    targets = tuple(Target(name, None) for name in cells)
    return ReadTargets(targets, tuple(cells), truth)


def _blank_ignored(column: Any, ranked: npt.NDArray[np.bool_]) -> Any:
    """Return the column with a number in ignored rows, where nobody looks."""
    if ranked.all():
        return column
    column = column if is_text(column) else to_text(column)
    return pc.if_else(pa.array(ranked), column, "0")


def _ranked_numbers(
    column: Any,
    name: str,
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
    place: Place,
    faults: FaultList,
) -> FloatArray:
    values = numbers(column, name, place, faults)
    low, high = reading.truth_range
    outside = ranked & np.isfinite(values) & ((values < low) | (values > high))
    message = f"The target is outside [{low:g}, {high:g}], where the metric is defined."
    faults.add_each(
        "out of range",
        np.flatnonzero(outside).tolist(),
        lambda p: place.fault("out of range", message, p, name),
    )
    return np.where(ranked, values, 0.0)


def _read_labels(
    name: str,
    column: Any,
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
    place: Place,
    faults: FaultList,
) -> tuple[Target, IntArray]:
    """Return the classes of one column and the code of each row."""
    text = to_text(column)
    empty = pc.equal(pc.utf8_trim_whitespace(text), "").to_numpy(zero_copy_only=False)
    faults.add_each(
        "empty cell",
        np.flatnonzero(empty & ranked).tolist(),
        lambda p: place.fault("empty cell", "The target is empty: write a label.", p, name),
    )
    used = ranked & ~empty
    encoded = text.dictionary_encode()
    indices = encoded.indices.to_numpy().astype(np.intp)
    labels = encoded.dictionary.to_pylist()
    present = sorted({labels[i] for i in np.unique(indices[used])})
    classes, code_of = _classes(present, name, reading, faults)
    code_of_index = np.array([code_of.get(label, 0) for label in labels], dtype=np.intp)
    codes = np.where(used, code_of_index[indices], 0) if len(labels) else indices
    return Target(name, classes), codes


def _classes(
    labels: Sequence[str], name: str, reading: TargetReading, faults: FaultList
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the classes in the order of their codes, and label -> code.

    Numbers are ordered by value, and spellings of one number are one class; text is ordered as
    text. The positive one of two classes comes last.
    """
    values = merge_equal_numbers(labels)
    key: Mapping[str, Any] = values if values is not None else {label: label for label in labels}
    names: dict[Any, str] = {}
    for label in sorted(labels, key=lambda label: (key[label], len(label), label)):
        names.setdefault(key[label], label)
    if values is not None and len(names) == 1 and {next(iter(names))} <= {0.0, 1.0}:
        names = {0.0: names.get(0.0, "0"), 1.0: names.get(1.0, "1")}
    order = list(names)
    if reading.positive is not None:
        order = _positive_last(order, names, name, reading.positive, faults)
    if reading.max_classes is not None and len(order) > reading.max_classes:
        message = (
            f"The column has {len(order):,} different labels, and the metric is defined for "
            f"{reading.max_classes:,} at most: choose another metric or another target."
        )
        faults.add("too many classes", message, column=name)
    code = {value: i for i, value in enumerate(order)}
    return tuple(names[value] for value in order), {label: code[key[label]] for label in labels}


def _positive_last(
    order: list[Any], names: Mapping[Any, str], column: str, positive: str, faults: FaultList
) -> list[Any]:
    as_number = merge_equal_numbers([positive])
    wanted = {positive} | (set(as_number.values()) if as_number else set())
    chosen = [value for value in order if value in wanted or names[value] == positive]
    if len(order) != 2 or not chosen:
        message = (
            f"The positive label {show(positive)} must be one of two; "
            f"the column has {show_all(names.values())}."
        )
        faults.add("no positive label", message, column=column)
        return order
    return [value for value in order if value != chosen[0]] + chosen[:1]


def _columns_of_one(target: Target, reading: TargetReading, faults: FaultList) -> tuple[str, ...]:
    """Return the columns of a submission for one column of labels."""
    classes = target.classes or ()
    if reading.kind is PredictionKind.LABEL or len(classes) <= 2:
        return (target.name,)
    if reading.kind is PredictionKind.PROBABILITY:
        message = f"The metric needs two labels, and the column has {len(classes):,}."
        faults.add("too many classes", message, column=target.name)
    if len(classes) > MAX_COLUMNS // 2:
        message = (
            f"The column has {len(classes):,} different labels, each of which would need a column "
            "in a submission: is it a number to predict? Then choose a metric for numbers."
        )
        faults.add("too many classes", message, column=target.name)
    return classes


def _one_hot(
    read: Sequence[tuple[Target, IntArray]],
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
) -> ReadTargets | None:
    """Return one target with the columns as classes, if each ranked row has one 1 among 0s."""
    if reading.kind is not PredictionKind.CLASS_PROBABILITIES:
        return None
    if not all(set(target.classes or ()) <= _BINARY for target, _ in read):
        return None
    indicators = np.column_stack([codes for _, codes in read])
    if not (indicators[ranked].sum(axis=1) == 1).all():
        return None
    classes = tuple(target.name for target, _ in read)
    truth = np.where(ranked, indicators.argmax(axis=1), 0)
    columns = classes[-1:] if len(classes) == 2 else classes
    return ReadTargets((Target("class", classes),), columns, truth)
