"""Reads the organiser's solution file: ids, truth, usage, and the columns of a submission."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import InputError, UsageError
from arena.intake.alignment import find_duplicates
from arena.intake.cells import Place, is_text, report_cells, to_text
from arena.intake.content import read_content
from arena.intake.equal_texts import composed_fields
from arena.intake.hashed_ids import are_different
from arena.intake.header import data_in_header
from arena.intake.joined_columns import with_ids
from arena.intake.memory import MemoryTable, SolutionSource
from arena.intake.parquet_file import table_of_arrow
from arena.intake.submission import READING_ERRORS, SUM_TOLERANCE, read_table
from arena.intake.table import MAX_SOLUTION_BYTES, ROW_NUMBERS, SOLUTION_BOUNDS
from arena.intake.targets import TargetReading, filled, has_value, read_extra, read_targets
from arena.intake.text_lines import LINE
from arena.intake.times import read_times
from arena.interfaces import TABLE, Modality, ReadFile
from arena.interfaces.faults import FaultList, Refused, clean, fault_lines, show, show_all
from arena.types import (
    KNOWN_TARGET,
    ROW_PENDING,
    ROW_TIMES,
    ROW_WEIGHTS,
    USAGE_COLUMN,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RawTable,
    Solution,
    SolutionColumns,
    Target,
    Usage,
    UsageArray,
    usage_array,
    usage_names,
)
from arena.utils.lazy import pc
from arena.utils.text import plural

_ID = "id"
_WEIGHTS_AS_GIVEN = (1e-100, 1e100)
"""Row weights whose largest lies in this range are kept as they are."""


def read_solution(
    path: SolutionSource,
    *,
    kind: PredictionKind,
    columns: SolutionColumns = SolutionColumns(),  # noqa: B008 - frozen
    traits: MetricTraits = MetricTraits(),  # noqa: B008 - frozen
    modality: Modality = TABLE,
    further: bool = False,
) -> Solution:
    r"""Read and check the organiser's solution: a CSV or Parquet file, or a table in memory.

    Reading takes about six times the decompressed size of the file in memory.

    Parameters
    ----------
    path
        CSV, Parquet, Arrow, JSON or JSON Lines, plain or compressed, recognised by content; at most
        2 GiB. Or a table in memory.
        A modality may read other files, such as a folder with one mask file per case.
    kind
        What a submission must contain. It determines how the targets are read:

        - ``VALUE``: numbers; several columns are several targets.
        - ``TEXT``: unchanged texts, including empty ones.
        - ``LABEL``: labels; several columns are several targets, each with its own classes.
        - one column of labels otherwise: two classes are predicted by one column, named after the
          target (the second class in sorted order is positive), more by one column per class.
        - several columns with two classes each: several binary targets, except that for
          ``CLASS_PROBABILITIES`` columns that are one-hot are one target, and its classes.

        A metric with joint targets also takes a solution of ids alone if the columns of a
        submission are named: the ids are then the target.
    columns
        The roles of the columns.
    traits
        The declarations of the metric: range of targets, maximum number of classes, extra columns,
        and joint targets.
    modality
        How the file becomes rows and columns.
    further
        Whether the rows are added to those of a solution: all of them may be Ignored.

    Raises
    ------
    InputError
        If the file has faults; the message lists all of them, one per line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "solution.csv"
    >>> _ = path.write_text("id,y,Usage\n007,cat,Public\n8,dog,Private\n")
    >>> solution = read_solution(path, kind=PredictionKind.PROBABILITY)
    >>> solution.columns, solution.targets[0].classes, solution.truth, solution.usage
    (('y',), ('cat', 'dog'), array([0, 1]), array([0, 1], dtype=uint8))
    """
    if columns.cluster and columns.time:
        raise UsageError(
            "Rows are grouped by a column (--cluster) or by their time (--time), not both: name "
            "the one by which they depend on each other most."
        )
    faults, columns = FaultList(), composed_fields(columns)
    table, sha256, columns = _read(path, columns, modality, faults)
    _stop(path, faults)
    _check_header(table, columns, faults)
    _stop(path, faults)
    if columns.id is not None:
        kept_columns = {columns.usage, *_named(columns)}
        table = with_ids(table, columns.id, kept_columns)
    columns = replace(columns, targets=_matching(table.names, columns.targets))
    guessed = _guessed_usage(table, columns)
    if guessed is not None:
        columns = replace(columns, usage=guessed)
    roles = _assign(table.names, columns, traits=traits, modality=modality, faults=faults)
    _stop(path, faults)
    single = (roles.usage, columns.cluster, columns.time, columns.tasks, columns.weight)
    table = modality.arrange(table, roles.id, faults, {name for name in single if name})
    _stop(path, faults)
    parts = _read_rows(
        table, roles, kind=kind, columns=columns, traits=traits, modality=modality, faults=faults
    )
    if not further and (parts["usage"] == Usage.IGNORED).all():
        faults.add("no ranked row", "All rows are Ignored: mark rows as Public or Private.")
    _stop(path, faults)
    return Solution(id_column=roles.id, kind=kind, sha256=sha256, guessed_usage=guessed, **parts)


def column_names(path: SolutionSource, columns: SolutionColumns) -> tuple[str, ...]:
    """Return the names of the columns of a solution.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    faults = FaultList()
    table, _, _ = _read(path, columns, TABLE, faults)
    _stop(path, faults)
    return tuple(table.names)


def unique_cells(path: SolutionSource, name: str, columns: SolutionColumns) -> list[str]:
    """Return the different cells of one column of a solution, sorted, as texts.

    Raises
    ------
    InputError
        If the file cannot be read or has no such column.
    """
    faults = FaultList()
    table, _, _ = _read(path, columns, TABLE, faults)
    _stop(path, faults)
    if name not in table.names:
        message = f"There is no column {show(name)}. The file has {show_all(table.names)}."
        faults.add("missing column", message, column=name)
        _stop(path, faults)
    return sorted(pc.unique(to_text(table.columns[table.names.index(name)])).to_pylist())


# -- columns ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Roles:
    """The roles of the columns of the file."""

    id: str
    targets: tuple[str, ...]
    usage: str | None
    extra: tuple[str, ...]


def _named(columns: SolutionColumns) -> tuple[str, ...]:
    """Return the names of the columns that must exist."""
    single = (columns.id, columns.cluster, columns.time, columns.tasks, columns.weight)
    several = (*columns.targets, *columns.soft_labels)
    return tuple(name for name in (*single, *several) if name is not None)


def _matching(names: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """Return the targets with each pattern, such as ``F*``, replaced by the columns that fit."""
    columns: dict[str, None] = {}
    for target in targets:
        fitting = [] if target in names else fnmatch.filter(names, target)
        columns |= dict.fromkeys(fitting or [target])
    return tuple(columns)


def _id_column(names: Sequence[str], columns: SolutionColumns) -> str:
    """Return the id column: one that is named as a target is not taken for it."""
    if columns.id is not None:
        return columns.id
    free = [name for name in names if name not in columns.targets] or names
    return _ID if _ID in free else free[0]


def _guessed_usage(table: RawTable, columns: SolutionColumns) -> str | None:
    """Return the only column without another role whose cells are all Public, Private or Ignored.

    None if a usage column is named or if there is one of the default name, and unless both public
    and private rows occur.
    """
    folded = [name.casefold() for name in table.names]
    if columns.usage != USAGE_COLUMN or USAGE_COLUMN.casefold() in folded:
        return None
    taken_names = {*_named(columns), _id_column(table.names, columns)}
    usages = {usage.name.lower() for usage in Usage}
    candidates: list[str] = []
    for name, column in zip(table.names, table.columns, strict=True):
        if name in taken_names or not is_text(column):
            continue
        cells = set(_usage_words(pc.unique(to_text(column))).to_pylist())
        if {Usage.PUBLIC.name.lower(), Usage.PRIVATE.name.lower()} <= cells <= usages:
            candidates.append(name)
    if len(candidates) != 1 or table.names.count(candidates[0]) > 1:
        return None
    return candidates[0]


def _usage_words(text: Any) -> Any:
    """Return ``public``, ``private`` and ``ignored`` also for Kaggle's older PublicTest, …."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    return pc.replace_substring_regex(words, pattern="^(public|private)test$", replacement=r"\1")


def _assign(
    names: Sequence[str],
    columns: SolutionColumns,
    traits: MetricTraits,
    modality: Modality,
    faults: FaultList,
) -> _Roles:
    """Return the roles of the columns; missing, repeated and ambiguous names are faults."""
    id_column, usage = _id_column(names, columns), _usage_column(names, columns)
    _check_names(names, columns, usage, faults)
    taken_names = {id_column, usage, *_named(columns)}
    declared = (*traits.extra_columns, *modality.public_columns)
    extra = tuple(name for name in declared if name in names and name not in taken_names)
    free = tuple(name for name in dict.fromkeys(names) if name not in {*taken_names, *extra})
    if len(free) > 1:
        free = tuple(name for name in free if name not in ROW_NUMBERS) or free
    targets = columns.targets or free
    if not targets and traits.joint_targets and columns.submission:
        targets = (id_column,)
    elif not columns.targets and len(free) != 1 and not (traits.joint_targets and free):
        faults.add("no single target", _no_single_target(free, traits))
    _check_sent_names((id_column, *columns.submission), faults)
    return _Roles(id_column, tuple(dict.fromkeys(targets)), usage, extra)


def _usage_column(names: Sequence[str], columns: SolutionColumns) -> str | None:
    """Return the usage column, in any case of letters; None: there is none."""
    named = {name for name in _named(columns) if name != columns.id}
    alike = [
        name for name in names if name.casefold() == columns.usage.casefold() and name not in named
    ]
    return columns.usage if columns.usage in alike else next(iter(alike), None)


def _check_names(
    names: Sequence[str], columns: SolutionColumns, usage: str | None, faults: FaultList
) -> None:
    """Add a fault for each column that occurs twice, has two roles, or is named and missing."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add("repeated column", "The column occurs twice: rename one.", column=name)
    named_usage = columns.usage != USAGE_COLUMN
    targets = {*columns.targets, *columns.soft_labels}
    for role in ("cluster", "time", "tasks", "weight", "usage"):
        if (role != "usage" or named_usage) and (name := getattr(columns, role)) in targets:
            message = f"The column cannot be the target and the column {role}: name another one."
            faults.add("two roles", message, column=name)
    for name in sorted({*_named(columns)} - targets if usage is None else ()):
        if name.casefold() == columns.usage.casefold():
            message = (
                "The column says which rows are public and private, and cannot have another role: "
                "name another one, or rename it in the file."
            )
            faults.add("two roles", message, column=name)
    required = list(_named(columns))
    if usage is None and named_usage:
        required.append(columns.usage)
    for name in (name for name in required if name not in names):
        message = f"There is no column {show(name)}. The file has {show_all(names)}."
        faults.add("missing column", message, column=name)


def _no_single_target(free: Sequence[str], traits: MetricTraits) -> str:
    """Return the message if no column, or several, could be the target."""
    if not free and not traits.joint_targets:
        return "There is no target column."
    if not free:
        return (
            "There is no target column. If the ids are all that there is, name the columns of a "
            "submission with --columns (submission_columns in competition.toml)."
        )
    message = (
        f"{plural(len(free), 'column')} could be the target: name it with --target "
        f"({show_all(free)}; several are separated by commas)."
    )
    if "Weight" in free:
        message += " If the column Weight says how much a row counts, add --weight Weight."
    return message


def _check_sent_names(names: Sequence[str], faults: FaultList) -> None:
    """Add a fault for each column of a submission without a name, or that occurs twice."""
    for name in (name for name in dict.fromkeys(names[1:]) if not name.strip()):
        faults.add("no name", f"A submission cannot have a column {show(name)}: name it.")
    for name in (name for name in dict.fromkeys(names) if names.count(name) > 1):
        message = f"A submission cannot have the column {show(name)} twice: name it once."
        faults.add("repeated column", message, column=name)


# -- rows ------------------------------------------------------------------------------------------


def _read_rows(
    table: RawTable,
    roles: _Roles,
    kind: PredictionKind,
    columns: SolutionColumns,
    traits: MetricTraits,
    modality: Modality,
    faults: FaultList,
) -> dict[str, Any]:
    """Return the row-wise parts of a solution; they are invalid if there are faults."""
    cells = {name: table.columns[table.names.index(name)] for name in set(table.names)}
    ids = to_text(cells[roles.id])
    place = Place(table.row_number, ids, quoted=False)
    _check_ids(ids, place, faults)
    usage_cells = cells[roles.usage] if roles.usage else None
    usage = _read_usage(usage_cells, columns.row_sets, ids=ids, place=place, faults=faults)
    ranked, comma = usage != Usage.IGNORED, table.decimal_comma

    reading = TargetReading(
        kind=kind,
        positive=columns.positive,
        classes=columns.classes,
        max_classes=traits.max_classes,
        for_more_classes=traits.for_more_classes,
        ordered=traits.ordered_classes,
        truth_range=traits.truth_range,
        decimal_comma=comma,
        submission_columns=columns.submission or modality.sent_columns(roles.targets),
        gaps=_may_have_gaps(roles, kind, traits, modality) and not columns.pending_labels,
    )

    def chosen(names: Sequence[str]) -> dict[str, Any]:
        return {name: cells[name] for name in names}

    pending = np.zeros_like(ranked)
    if columns.pending_labels:
        _check_can_be_pending(kind, columns, faults)
        pending = ranked & ~has_value(chosen(roles.targets), ranked, kind).any(axis=1)
    labelled = ranked & ~pending
    targets = read_targets(
        chosen(roles.targets), labelled, reading=reading, place=place, faults=faults
    )
    if not faults:
        targets = filled(targets, usage, place, faults)
    clusters = _read_groups(
        cells, columns.cluster, what="cluster", ranked=ranked, place=place, faults=faults
    )
    soft = chosen(columns.soft_labels)
    soft_labels = _read_soft_labels(
        soft, ranked, targets=targets.targets, decimal_comma=comma, place=place, faults=faults
    )
    tasks = _read_groups(
        cells, columns.tasks, what="task", ranked=ranked, place=place, faults=faults
    )
    read: dict[str, FloatArray] = {}
    for name in roles.extra:
        used = np.ones_like(ranked) if name in modality.public_columns else ranked
        read |= read_extra(chosen([name]), used, decimal_comma=comma, place=place, faults=faults)
    if targets.has_values is not None:
        names = (KNOWN_TARGET + target.name for target in targets.targets)
        read |= dict(
            zip(names, (targets.has_values & ranked[:, np.newaxis]).T.astype(float), strict=True)
        )
    truth = targets.truth.reshape(len(ids), -1)
    report_cells(modality.faults(truth, modality.sizes(read)), roles.targets, place, faults)
    if columns.weight is not None:
        weights = _read_weights(
            chosen([columns.weight]), usage, decimal_comma=comma, place=place, faults=faults
        )
        usage = np.where(weights == 0, np.uint8(Usage.IGNORED), usage)
        read[ROW_WEIGHTS] = weights
    if columns.time is not None:
        read[ROW_TIMES] = read_times(
            to_text(cells[columns.time]), columns.time, used=ranked, place=place, faults=faults
        )
    if pending.any():
        read[ROW_PENDING] = pending.astype(np.float64)
    return {
        "targets": targets.targets,
        "columns": targets.columns,
        "ids": ids,
        "truth": targets.truth,
        "usage": usage,
        "names_usage": roles.usage is not None,
        "row_sets": columns.row_sets,
        "clusters": None if clusters is None else clusters[0],
        "extra": read,
        "tasks": None if tasks is None else tasks[0],
        "task_names": () if tasks is None else tasks[1],
        "soft_labels": soft_labels,
    }


def _check_can_be_pending(
    kind: PredictionKind, columns: SolutionColumns, faults: FaultList
) -> None:
    """Add a fault where an empty cell may be a label, or labels may arrive that are unknown now."""
    if kind is PredictionKind.TEXT:
        message = "An empty cell may be a label of this metric: leave out pending_labels in [data]."
    elif columns.soft_labels:
        message = "Labels cannot arrive later where there are soft labels."
    elif kind is not PredictionKind.VALUE and not columns.classes:
        message = "Labels that arrive later must be known now: name all of them in [data] classes."
    else:
        return
    faults.add("pending labels", message)


def _may_have_gaps(
    roles: _Roles, kind: PredictionKind, traits: MetricTraits, modality: Modality
) -> bool:
    """Return whether rows may lack some targets: the score is then a mean over several."""
    several = len(roles.targets) > 1 and not traits.joint_targets
    return several and kind is not PredictionKind.TEXT and modality is TABLE


def _stop(path: SolutionSource, faults: FaultList) -> None:
    """Raise an error with all faults found so far, if there are any."""
    if not faults:
        return
    listed = faults.to_tuple()
    lines = fault_lines(listed)
    if len(lines) == 1:
        raise InputError(f"The solution {show(path.name)} cannot be used: {lines[0]}")
    count = plural(sum(fault.count for fault in listed), "fault")
    head = f"The solution {show(path.name)} cannot be used ({count}):"
    raise InputError("\n".join([head, *(f"  {line}" for line in lines)]))


def _check_header(table: RawTable, columns: SolutionColumns, faults: FaultList) -> None:
    """Refuse a first line that holds data: its row and label would be lost, and shown."""
    usage = () if columns.usage == USAGE_COLUMN else (columns.usage,)
    if table.header_row is None or not {*_named(columns), *usage}.isdisjoint(table.names):
        return
    reason = data_in_header(table.names, table.columns)
    if reason is not None:
        further = (f"column{number}" for number in range(3, len(table.names) + 1))
        example = ",".join((_ID, "label", *further))
        faults.add(
            "no header",
            f"The first line seems to hold data, not names: {reason}. If the file has no header, "
            f"name its {plural(len(table.names), 'column')} with --no-header, such as --no-header "
            f"{example}; if these are names, name the target with --target.",
            row=table.header_row,
        )


def _read(
    path: SolutionSource, columns: SolutionColumns, modality: Modality, faults: FaultList
) -> ReadFile:
    try:
        if isinstance(path, MemoryTable):
            table = table_of_arrow(path.table, SOLUTION_BOUNDS, faults)
            return ReadFile(table, path.sha256, columns)
        file = modality.read_solution(path, columns, MAX_SOLUTION_BYTES, faults)
        if file is not None:
            return file
        content = read_content(path, MAX_SOLUTION_BYTES, faults)
        has_header = columns.id == LINE and len(columns.no_header) == 1
        table = read_table(
            content.data,
            tuple(dict.fromkeys((columns.id or _ID, *columns.targets, *columns.no_header))),
            SOLUTION_BOUNDS,
            faults,
            name=path.name,
            header=() if has_header else columns.no_header,
        )
        return ReadFile(table, content.sha256.hexdigest(), columns)
    except Refused:
        pass  # the fault has been added
    except READING_ERRORS as error:
        faults.add("unreadable file", clean(str(error)))
    _stop(path, faults)
    message = f"The solution {show(path.name)} contains no table."
    raise InputError(message)


def _check_ids(ids: Any, place: Place, faults: FaultList) -> None:
    empty = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
    faults.add_each(
        "empty id", empty.tolist(), lambda p: place.fault("empty id", "The id is empty.", p, None)
    )
    if are_different(ids):
        return
    codes = ids.dictionary_encode().indices.to_numpy().astype(np.intp)
    repeated, first = find_duplicates(codes)
    first_of = dict(zip(repeated.tolist(), first.tolist(), strict=True))

    def fault(position: int) -> Fault:
        message = f"The id already occurs in row {place.row_number(first_of[position])}."
        return place.fault("duplicate id", message, position, None)

    faults.add_each("duplicate id", repeated.tolist(), fault)


def _read_usage(
    column: Any | None, row_sets: Sequence[str], ids: Any, place: Place, faults: FaultList
) -> UsageArray:
    if column is None:
        return np.full(len(ids), Usage.PRIVATE, dtype=np.uint8)
    text = to_text(column)
    usages = pa.array(usage_names(row_sets))
    encoded = text.dictionary_encode()
    codes = pc.index_in(_usage_words(encoded.dictionary), value_set=usages)
    usage_of_text = pc.fill_null(codes, len(usages)).to_numpy()
    usage = usage_array(usage_of_text[encoded.indices.to_numpy()])

    def fault(position: int) -> Fault:
        expected = "Public, Private or Ignored"
        if row_sets:
            expected += f", and not of a phase: {', '.join(row_sets)}"
        message = f"{show(text[position].as_py())} is not {expected}."
        return place.fault("unknown usage", message, position, None)

    unknown = np.flatnonzero(usage == len(usages))
    faults.add_each("unknown usage", unknown.tolist(), fault)
    return usage


def _read_groups(
    cells: dict[str, Any],
    name: str | None,
    what: str,
    ranked: npt.NDArray[np.bool_],
    place: Place,
    faults: FaultList,
) -> tuple[IntArray, tuple[str, ...]] | None:
    """Return the codes of the texts of a column, and the texts in order of first occurrence."""
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


def _read_weights(
    cells: Mapping[str, Any],
    usage: UsageArray,
    decimal_comma: bool,
    place: Place,
    faults: FaultList,
) -> FloatArray:
    """Return the ``(n,)`` row weights; each of the splits needs a weight above 0.

    Only their ratios count. Where sums of them could overflow or vanish, they are divided by a
    power of two, which is exact.
    """
    ((name, weights),) = read_extra(
        cells, usage != Usage.IGNORED, decimal_comma=decimal_comma, place=place, faults=faults
    ).items()
    message = "The weight is negative: write 0 or more."
    fault = partial(_fault, place, "negative weight", message, name)
    faults.add_each("negative weight", np.flatnonzero(weights < 0).tolist(), fault)
    largest = float(weights.max(initial=0.0))
    if largest > 0 and not _WEIGHTS_AS_GIVEN[0] <= largest <= _WEIGHTS_AS_GIVEN[1]:
        weights = np.ldexp(weights, -int(np.frexp(largest)[1]))
    for split in (Usage.PUBLIC, Usage.PRIVATE):
        weights_of_split = weights[usage == split]
        if weights_of_split.size and not weights_of_split.any():
            text = f"All {split.name.lower()} rows have the weight 0: give some of them a weight."
            faults.add("no weight", text, column=name)
    return weights


def _read_soft_labels(
    cells: Mapping[str, Any],
    ranked: npt.NDArray[np.bool_],
    targets: Sequence[Target],
    decimal_comma: bool,
    place: Place,
    faults: FaultList,
) -> FloatArray | None:
    """Return ``(n,)`` or ``(n, n_classes)`` soft labels; None without such columns.

    Columns named after the labels are put into their order. A fault never quotes a numeric soft
    label.
    """
    if not cells:
        return None
    classes = targets[0].classes if len(targets) == 1 else None
    if classes is None or len(cells) not in {len(classes), 1 if len(classes) == 2 else 0}:
        message = (
            "Soft labels need a single label target: give one column with the probability of the "
            "positive of two labels, or one column per label."
        )
        faults.add("soft labels do not fit", message)
        return None
    names = list(cells)
    if set(names) == set(classes):
        names = list(classes)
    read = read_extra(cells, ranked, decimal_comma=decimal_comma, place=place, faults=faults)
    values = np.column_stack([read[name] for name in names])
    _check_probabilities(values, names, ranked=ranked, place=place, faults=faults)
    return np.ascontiguousarray(values[:, 0] if len(names) == 1 else values)


def _check_probabilities(
    values: FloatArray,
    names: Sequence[str],
    ranked: npt.NDArray[np.bool_],
    place: Place,
    faults: FaultList,
) -> None:
    message = "The soft label is outside [0, 1]: write a probability."
    for column, name in enumerate(names):
        fault = partial(_fault, place, "soft label out of range", message, name)
        outside = np.flatnonzero((values[:, column] < 0) | (values[:, column] > 1))
        faults.add_each("soft label out of range", outside.tolist(), fault)
    if len(names) > 1:
        off = np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE
        kind = "soft labels do not sum to 1"
        message = "The soft labels of the row do not sum to 1: divide each by their sum."
        fault = partial(_fault, place, kind, message, None)
        faults.add_each(kind, np.flatnonzero(off & ranked).tolist(), fault)


def _fault(place: Place, kind: str, message: str, column: str | None, position: int) -> Fault:
    return place.fault(kind, message, position, column)
