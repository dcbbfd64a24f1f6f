"""Converts the target columns of a solution to truth, classes and the columns of a submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import UsageError
from arena.intake.alterations import INVISIBLE, SPACES
from arena.intake.cells import (
    Place,
    is_missing,
    is_text,
    merge_equal_numbers,
    numbers,
    points_for_commas,
    texts,
    to_text,
)
from arena.intake.equal_texts import composed
from arena.interfaces.faults import FaultList, show, show_all
from arena.types import FloatArray, IntArray, PredictionKind, Target, Usage, UsageArray
from arena.utils.lazy import pc
from arena.utils.text import plural

_ROWS_OF = {Usage.PUBLIC: "public rows", Usage.PRIVATE: "private rows"}
MOST_CLASSES = 10_000
"""Maximum number of labels if each needs a column in a submission."""
_MOST_FRACTIONS = 20
"""A column with more numbers, of which some are fractions, has values and not classes; ratings in
halves of a star are classes."""

_BINARY = {"0", "1"}


@dataclass(frozen=True, slots=True)
class TargetReading:
    """Settings for reading the target columns."""

    kind: PredictionKind
    positive: str | None = None
    classes: tuple[str, ...] = ()
    """The declared labels in their order; empty: those of the ranked rows, sorted."""
    max_classes: int | None = None
    for_more_classes: str = ""
    """A metric to choose instead where there are more."""
    ordered: bool = False
    """Whether labels that are texts must be declared, because their order counts."""
    truth_range: tuple[float, float] = (-np.inf, np.inf)
    decimal_comma: bool = False
    submission_columns: tuple[str, ...] = ()
    """Empty: the target columns, or one per class."""
    gaps: bool = False
    """Whether a row may lack the values of some targets."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadTargets:
    """The targets, and the columns that a submission must have for them."""

    targets: tuple[Target, ...]
    columns: tuple[str, ...]
    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)`` codes, values or texts; 0 or empty in ignored rows."""
    has_values: npt.NDArray[np.bool_] | None = None
    """``(n, n_targets)`` whether a ranked row has the value of a target; None: all have all."""


def read_targets(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
    place: Place,
    faults: FaultList,
) -> ReadTargets:
    """Return the targets of a solution; invalid cells in ranked rows are faults.

    Parameters
    ----------
    cells
        Name -> column, for each target column.
    ranked
        ``(n,)`` whether a row is ranked; cells of other rows are ignored.
    """
    if reading.kind is PredictionKind.VALUE:
        return _read_values(cells, ranked, reading=reading, place=place, faults=faults)
    if reading.kind is PredictionKind.TEXT:
        return _read_texts(cells, ranked, reading)
    has_values = _has_values(cells, ranked, reading)
    read = [
        _read_labels(
            name,
            column,
            ranked=ranked & has_values[:, column_number],
            reading=reading,
            place=place,
            faults=faults,
        )
        for column_number, (name, column) in enumerate(cells.items())
    ]
    if len(read) == 1:
        target, codes = read[0]
        return ReadTargets((target,), columns_of_target(target, reading, faults), codes)
    one_hot = _one_hot(read, ranked, reading) if not faults else None
    if one_hot is not None:
        return one_hot
    targets = tuple(target for target, _ in read)
    if reading.kind is not PredictionKind.LABEL:
        for target in (t for t in targets if len(t.classes or ()) > 2):
            message = (
                f"The column has {plural(len(target.classes or ()), 'label')}: use a "
                "single target, "
            )
            message += "or targets with two labels each."
            faults.add("too many classes", message, column=target.name)
    truth = np.column_stack([codes for _, codes in read])
    return ReadTargets(targets, tuple(target.name for target in targets), truth, has_values)


def filled(read: ReadTargets, usage: UsageArray, place: Place, faults: FaultList) -> ReadTargets:
    """Return targets with a placeholder for each value that is missing.

    It is the lower median of the target in the rows of the same usage: a value that occurs there.
    A target without any value in the rows of a usage, and a ranked row without any value, are
    faults.
    """
    if read.has_values is None or read.has_values.all():
        return replace(read, has_values=None)
    truth, has_values = read.truth.copy(), read.has_values
    ranked = usage != Usage.IGNORED
    faults.add_each(
        "empty cell",
        np.flatnonzero(ranked & ~has_values.any(axis=1)).tolist(),
        lambda p: place.fault(
            "empty cell", "The row has no target: write one, or mark the row as Ignored.", p, None
        ),
    )
    for column_number, target in enumerate(read.targets):
        for code in np.unique(usage[ranked]):
            rows = usage == code
            values = np.sort(truth[rows & has_values[:, column_number], column_number])
            if not len(values):
                message = (
                    f"The target has no value in the {_ROWS_OF.get(code, 'rows of a phase')}: "
                    "leave it out with --target, or choose other rows."
                )
                faults.add("no values", message, column=target.name)
                continue
            truth[rows & ~has_values[:, column_number], column_number] = values[
                (len(values) - 1) // 2
            ]
    return replace(read, truth=truth)


def _has_values(
    cells: Mapping[str, Any], ranked: npt.NDArray[np.bool_], reading: TargetReading
) -> npt.NDArray[np.bool_]:
    """Return ``(n, n_targets)`` whether a ranked row has the value of a target.

    Without gaps every row has all.
    """
    if not reading.gaps:
        return np.ones((len(ranked), len(cells)), dtype=np.bool_)
    return has_value(cells, ranked, reading.kind)


def has_value(
    cells: Mapping[str, Any], ranked: npt.NDArray[np.bool_], kind: PredictionKind
) -> npt.NDArray[np.bool_]:
    """Return ``(n, n_targets)`` whether the cell of a target has a value; true in other rows.

    A word such as NA is a label where other labels are texts.
    """
    has_values = np.ones((len(ranked), len(cells)), dtype=np.bool_)
    for column_number, column in enumerate(cells.values()):
        missing = is_missing(column) & ranked
        others = pc.unique(to_text(column).filter(pa.array(ranked & ~missing))).to_pylist()
        if kind is not PredictionKind.VALUE and merge_equal_numbers(others) is None:
            blank = pc.equal(pc.utf8_trim_whitespace(to_text(column)), "")
            missing &= blank.to_numpy(zero_copy_only=False)
        has_values[:, column_number] = ~missing
    return has_values


def read_extra(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    decimal_comma: bool,
    place: Place,
    faults: FaultList,
) -> dict[str, FloatArray]:
    """Return the numbers in the extra columns of a metric."""
    reading = TargetReading(PredictionKind.VALUE, decimal_comma=decimal_comma)
    read = _read_values(cells, ranked, reading=reading, place=place, faults=faults)
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
    has_values = _has_values(cells, ranked, reading)
    columns = [
        _blank_ignored(column, ranked & has_values[:, column_number])
        for column_number, column in enumerate(cells.values())
    ]
    if reading.decimal_comma and all(is_text(column) for column in columns):
        columns = list(points_for_commas(columns, place, faults))
    values = [
        _ranked_numbers(column, name, ranked=ranked, reading=reading, place=place, faults=faults)
        for name, column in zip(cells, columns, strict=True)
    ]
    truth = values[0] if len(values) == 1 else np.column_stack(values)
    targets = tuple(Target(name, None) for name in cells)
    columns_sent = reading.submission_columns or tuple(cells)
    return ReadTargets(targets, columns_sent, truth, has_values if reading.gaps else None)


def _blank_ignored(column: Any, ranked: npt.NDArray[np.bool_]) -> Any:
    """Return the column with a valid number in the ignored rows."""
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
    message = f"The target is outside [{low:g}, {high:g}], the range of the metric."
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
    encoded = to_text(column).dictionary_encode()
    indices = encoded.indices.to_numpy().astype(np.intp)
    texts = composed(encoded.dictionary)
    is_empty = pc.equal(pc.utf8_trim_whitespace(texts), "").to_numpy(zero_copy_only=False)
    empty = is_empty[indices]
    faults.add_each(
        "empty cell",
        np.flatnonzero(empty & ranked).tolist(),
        lambda p: place.fault("empty cell", "The target is empty: write a label.", p, name),
    )
    used = ranked & ~empty
    labels = texts.to_pylist()
    present = sorted({labels[i] for i in np.flatnonzero(np.bincount(indices[used]))})
    plain = INVISIBLE.undone(SPACES.undone(pa.array(present, pa.string())))
    if pc.count_distinct(plain).as_py() < len(present):
        message = (
            "Labels differ only in the spaces around them, or in invisible characters: write each "
            "label in one way."
        )
        faults.add("spaces around labels", message, column=name)
    if reading.classes:
        classes, code_of = _declared(present, name, reading, faults)
    else:
        classes, code_of = _classes(present, name, reading, faults)
        if reading.ordered and len(classes) > 2 and merge_equal_numbers(classes) is None:
            message = (
                "The score depends on the order of the labels, and texts have none: declare it by "
                "--classes low,mid,high (classes in [data] of competition.toml)."
            )
            faults.add("labels without an order", message, column=name)
    if reading.max_classes is not None and len(classes) > reading.max_classes:
        message = (
            f"The column has {plural(len(classes), 'distinct label')}, but the metric supports at "
            f"most {reading.max_classes:,}: choose {reading.for_more_classes or 'another metric'} "
            "or another target."
        )
        faults.add("too many classes", message, column=name)
    code_of_index = np.array([code_of.get(label, 0) for label in labels], dtype=np.intp)
    codes = np.where(used, code_of_index[indices], 0) if len(labels) else indices
    return Target(name, classes), codes


def _classes(
    labels: Sequence[str], name: str, reading: TargetReading, faults: FaultList
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the classes in the order of their codes, and label -> code.

    If all labels are numbers, they are ordered by value, and spellings of the same number are one
    class; otherwise they are ordered as text. The positive of two classes is last.
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
        order = _positive_last(order, names, column=name, positive=reading.positive, faults=faults)
    code = {value: i for i, value in enumerate(order)}
    return tuple(names[value] for value in order), {label: code[key[label]] for label in labels}


def _declared(
    labels: Sequence[str], name: str, reading: TargetReading, faults: FaultList
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the declared classes in their order, and label -> code; others are faults.

    If all of them are numbers, labels are compared by value.
    """
    declared = reading.classes
    values = merge_equal_numbers([*declared, *labels])
    key = values if values is not None else {label: label for label in [*declared, *labels]}
    order = list(dict.fromkeys(key[label] for label in declared))
    if len(order) < len(declared) or len(order) < 2:
        message = f"The classes {show_all(declared)} are not two or more different labels."
        faults.add("declared classes", message, column=name)
    if unknown := [label for label in labels if key[label] not in order]:
        message = (
            f"The column has {show_all(unknown)}, which the classes {show_all(declared)} do not "
            "include: add each label to [data] classes (--classes), or correct the cells."
        )
        faults.add("undeclared label", message, column=name)
    names = {key[label]: label for label in reversed(declared)}
    if reading.positive is not None:
        order = _positive_last(order, names, column=name, positive=reading.positive, faults=faults)
    code = {value: rank for rank, value in enumerate(order)}
    return tuple(names[number] for number in order), {
        label: code.get(key[label], 0) for label in labels
    }


def class_order(labels: Sequence[str], positive: str | None = None) -> list[str]:
    """Return distinct labels in the order in which a solution with them has its classes.

    Raises :class:`~arena.errors.UsageError` if the positive label is not one of two.

    >>> class_order(["10", "9", "b"]), class_order(["10", "9"]), class_order(["0", "1.0"], "0")
    (['10', '9', 'b'], ['9', '10'], ['1.0', '0'])
    """
    reading = TargetReading(PredictionKind.LABEL, positive)
    faults = FaultList()
    classes, _ = _classes(labels, "", reading, faults)
    if faults:
        raise UsageError(faults.to_tuple()[0].message)
    return [name for name in classes if name in labels]


def _positive_last(
    order: list[Any], names: Mapping[Any, str], column: str, positive: str, faults: FaultList
) -> list[Any]:
    as_number = merge_equal_numbers([positive])
    last_labels = {positive} | (set(as_number.values()) if as_number else set())
    chosen = [value for value in order if value in last_labels or names[value] == positive]
    if len(order) != 2 or not chosen:
        message = (
            f"The positive label {show(positive)} must be one of two labels, but "
            f"the column has {show_all(names.values())}."
        )
        faults.add("no positive label", message, column=column)
        return order
    return [value for value in order if value != chosen[0]] + chosen[:1]


def columns_of_target(target: Target, reading: TargetReading, faults: FaultList) -> tuple[str, ...]:
    """Return the columns of a submission for one column of labels."""
    classes = target.classes or ()
    if reading.kind is PredictionKind.LABEL or len(classes) <= 2:
        return (target.name,)
    if reading.kind is PredictionKind.PROBABILITY:
        message = f"The metric needs two labels, but the column has {len(classes):,}."
        faults.add("too many classes", message, column=target.name)
    numbers = merge_equal_numbers(classes) or {}
    fractions = [label for label, number in numbers.items() if number != number.to_integral_value()]
    if len(classes) > _MOST_FRACTIONS and fractions:
        message = (
            f"The column has {plural(len(classes), 'different number')}, such as "
            f"{show(fractions[0])}, and the metric needs classes: choose a metric for numbers, "
            "such as rmse."
        )
        faults.add("numbers, not classes", message, column=target.name)
    elif len(classes) > MOST_CLASSES:
        message = (
            f"The column has {plural(len(classes), 'distinct label')}, and each would need a "
            "column in a submission. If it is a numeric target, choose a metric for numbers."
        )
        faults.add("too many classes", message, column=target.name)
    return classes


def _one_hot(
    read: Sequence[tuple[Target, IntArray]],
    ranked: npt.NDArray[np.bool_],
    reading: TargetReading,
) -> ReadTargets | None:
    """Return one target with the columns as classes, if every ranked row is one-hot."""
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
