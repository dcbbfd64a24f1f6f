"""Reads tables with one value per algorithm and case, long or wide, from CSV or Parquet."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arena.errors import InputError, UsageError
from arena.intake.cells import NOT_A_NUMBER, Place, numbers, points_for_commas, to_text
from arena.intake.content import read_content
from arena.intake.equal_texts import composed, composed_fields
from arena.intake.folder import file_stem
from arena.intake.header import data_in_header
from arena.intake.header_levels import with_joined_levels
from arena.intake.joined_columns import with_joined
from arena.intake.memory import arrow_table
from arena.intake.parquet_file import table_of_arrow
from arena.intake.submission import READING_ERRORS, read_table
from arena.intake.table import MAX_SOLUTION_BYTES, ROW_NUMBERS, SOLUTION_BOUNDS
from arena.intake.times import read_times
from arena.interfaces import CaseScores
from arena.interfaces.faults import FaultList, Refused, fault_lines, show, show_all
from arena.types import FloatArray, RawTable
from arena.utils.file_errors import unreadable
from arena.utils.lazy import pc
from arena.utils.text import is_number, plural

_ALGORITHM_NAMES = frozenset(
    ("alg_name", "alg", "method", "model", "model_name", "system", "team", "participant")
)
_CASE_NAMES = frozenset(
    [
        *("case_id", "caseid", "id", "subject", "subject_id", "image", "image_id", "segment"),
        *("segment_id", "seg_id", "question_id", "sample_id", "doc_id", "instance"),
    ]
)
"""What tables in use call the columns of the algorithms and of the cases."""
_FURTHER_CASE_NAMES = frozenset(
    [
        *("patient", "patient_id", "patientid", "question", "prompt", "item", "item_id"),
        *("file", "filename", "file_name", "fold"),
    ]
)
"""Further names of the cases, where no column has one above: it may then be a group of cases."""
_DATA_SETS = frozenset(("dataset", "dataset_name", "data_set", "problem", "problem_name"))
"""Names of the cases of benchmarks, where no column has one above."""
_ALGORITHM_WORDS = _ALGORITHM_NAMES | {
    *("algorithm", "classifier", "estimator", "framework", "learner", "regressor", "forecaster"),
    *("solver", "approach", "network", "pipeline", "run", "submission"),
}
"""Words in the name of a column of algorithms that has no usual name."""
AUTO = "auto"
"""The repeats, or the cases of a wide table, are numbered in the order of the rows."""
COLUMNS = "columns"
"""Each column is a case, and each row an algorithm."""
FROM_NAME, FROM_FOLDER = "name", "folder"
"""Where the name of an algorithm is, if each file holds the values of one."""
_ROLES = ("algorithm", "case", "task", "cluster", "repeat", "time")
"""A column that has one of these names has this role, unless another role is given to it."""
_USUAL_CASES = _CASE_NAMES | _FURTHER_CASE_NAMES | {"case"}
_MELTED = ("variable", "value")
"""What pandas calls the columns of names and values of a table that it made long."""
_INFINITE = r"^[+-]?inf(inity)?$"
_MISSING = ("", *NOT_A_NUMBER, "n.a.", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".")
_RIGHT_OR_WRONG = ("0", "1", "true", "false")


@dataclass(frozen=True, slots=True)
class CaseColumns:
    """The roles of the columns of a table; None: the column of that name, if there is one.

    The table is long if it has a column of algorithms. Else it is wide: one column per algorithm.
    """

    algorithm: str | None = None
    """The algorithms; with this column the table is long. Without a column ``algorithm``, one that
    has another usual name (``method``, ``model``, ``system``, ``alg_name``, …) and holds texts."""
    case: str | None = None
    """The default for a wide table without a column ``case`` is the first column, unless it could
    hold values. ``auto``: each row of a wide table is a case, and they are numbered. ``columns``:
    each row is an algorithm, and each column of numbers a case."""
    value: str | None = None
    """Of a long table; None: the column ``value``, or the only column left. A pattern, such as
    ``*_f1``, of the columns that are cases."""
    task: str | None = None
    """The task of a case."""
    cluster: str | None = None
    """The group of a case, such as the patient."""
    repeat: str | None = None
    """The number of a repeated answer to a case; ``auto``: in the order of the rows."""
    algorithm_from: str | None = None
    """``name``: each file holds the values of one algorithm, and is named after it; ``folder``: its
    folder is."""
    records: str | None = None
    """The key of a JSON document that holds the rows; None: the only list of objects."""
    no_header: tuple[str, ...] = ()
    """The names of all columns of a CSV file without a header line; empty: it has one."""
    time: str | None = None
    """The time of a case that depends on the cases before; not beside :attr:`cluster`."""


_PLAIN = CaseColumns()


def read_case_table(path: Path, columns: CaseColumns = CaseColumns()) -> CaseScores:
    r"""Read a CSV, Parquet, Arrow, JSON or JSON Lines file, plain or compressed.

    A value is missing if its cell is empty, or NA, NaN or null.

    Raises
    ------
    InputError
        If the file has faults; the message lists them.
    UsageError
        If a named column does not exist, or columns are ambiguous.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dice.csv"
    >>> _ = path.write_text("case,unet,forest\n1,0.9,0.7\n2,0.8,\n")
    >>> table = read_case_table(path)
    >>> list(table.algorithms), table.values.tolist()
    (['unet', 'unet', 'forest', 'forest'], [0.9, 0.8, 0.7, nan])
    """
    faults = FaultList()
    try:
        data = read_content(path, MAX_SOLUTION_BYTES, faults).data
        named_columns = (columns.case, columns.algorithm, columns.value)
        named = [name for name in named_columns if name is not None]
        table = read_table(
            data,
            (columns.case or "case", *columns.no_header, *named),
            SOLUTION_BOUNDS,
            faults,
            header=columns.no_header,
            records=columns.records,
            flat=True,
        )
        if columns.algorithm_from is not None:
            table, columns = _of_one_algorithm(table, columns, path)
        _stop(path, faults)
        table = with_joined_levels(table, columns.value)
        if table.header_row is not None and set(named).isdisjoint(table.names):
            _check_header(table, faults)
        _stop(path, faults)
        return _interpret(table, columns, str(path))
    except Refused:
        _stop(path, faults)
        raise
    except READING_ERRORS as error:
        raise unreadable(path, error) from error


def _check_header(table: RawTable, faults: FaultList) -> None:
    """Refuse a first line that holds data: its values would be lost and name algorithms."""
    reason = data_in_header(table.names, table.columns)
    if reason is not None:
        faults.add(
            "no header",
            f"The first line seems to hold data, not names: {reason}. If the file has no header, "
            "name its columns with --no-header, such as --no-header algorithm,case,value; if these "
            "are names, name the column of the cases with --case.",
            row=table.header_row,
        )


def _of_one_algorithm(
    table: RawTable, columns: CaseColumns, path: Path
) -> tuple[RawTable, CaseColumns]:
    """Return the table with a column of algorithms, which the file or its folder is named after.

    Columns that are numbered from 0 or 1 are the repeats of the algorithm.
    """
    if columns.algorithm is not None or "algorithm" in table.names:
        raise UsageError(f"{path} has a column of algorithms: omit --algorithm-from.")
    name = (
        path.resolve().parent.name
        if columns.algorithm_from == FROM_FOLDER
        else file_stem(path.name)
    )
    if columns.value is None and columns.repeat is None:
        table = _with_long_repeats(table)
    cells = pa.array([name] * table.n_rows, pa.string())
    case = columns.case or next(
        (column for column in table.names if column.casefold() in _USUAL_CASES), None
    )
    # It comes last, so that messages number the columns as the file does.
    return (
        replace(table, names=(*table.names, "algorithm"), columns=(*table.columns, cells)),
        replace(columns, case=case or table.names[0]),
    )


def _with_long_repeats(table: RawTable) -> RawTable:
    """Return a table with a row for each repeat, if all columns but that of the cases are numbered.

    The same table if there are no such columns.
    """
    numbered = [name for name in table.names if name.strip().isdecimal()]
    first = int(numbered[0]) if numbered else -1
    is_counted = numbered == [str(first + number) for number in range(len(numbered))]
    if len(numbered) < 2 or first not in (0, 1) or not is_counted:
        return table
    return _melted(table, numbered, "repeat") if len(table.names) == len(numbered) + 1 else table


def _with_cases_of_columns(table: RawTable, columns: CaseColumns) -> RawTable:
    """Return a table with a row for each case, of one with a column for each case.

    Columns whose names fit the pattern ``columns.value`` are cases; without it those of numbers.
    """
    taken_names = {getattr(columns, role) for role in _ROLES} | {*_ROLES, *ROW_NUMBERS}
    free = [name for name in table.names if name not in taken_names]
    if columns.value is None:
        words = {
            name: _present(_words_in(cells))
            for name, cells in zip(table.names, table.columns, strict=True)
        }
        cases = [name for name in free if words[name] and _are_numbers(words[name])]
    else:
        cases = fnmatch.filter(free, columns.value)
    if not cases:
        raise UsageError(
            f"No column fits --value {show(columns.value or '*')} and holds numbers: with --case "
            f"{COLUMNS} it names the columns of the cases, such as '*_f1'. The columns are "
            f"{show_all(free)}."
        )
    return _melted(table, cases, "case")


def _melted(table: RawTable, names: Sequence[str], variable: str) -> RawTable:
    """Return a table with a row for each of some columns, as pandas' ``melt``.

    Their names are in the column ``variable``, and their cells in the column ``value``.
    """
    melted = set(names)
    kept_positions = [position for position, name in enumerate(table.names) if name not in melted]
    n_rows = table.n_rows
    variables = np.repeat(np.array(names, dtype=object), n_rows)
    cells = dict(zip(table.names, table.columns, strict=True))
    values = [to_text(cells[name]) for name in names]
    return replace(
        table,
        names=(*(table.names[position] for position in kept_positions), variable, "value"),
        columns=(
            *(
                pa.concat_arrays([table.columns[position]] * len(names))
                for position in kept_positions
            ),
            pa.array(variables, pa.string()),
            pa.concat_arrays(values),
        ),
        row_number=lambda position: table.row_number(position % n_rows),
    )


def case_scores_of(data: Any, columns: CaseColumns = CaseColumns()) -> CaseScores:
    """Return the values of a data frame, a mapping of names to columns, or nested mappings.

    The labels of the rows of a wide data frame are the cases if they are texts.

    >>> table = case_scores_of({"algorithm": ["a", "b"], "case": [1, 1], "dice": [0.5, 0.25]})
    >>> table.metric, table.values.tolist()
    ('dice', [0.5, 0.25])
    >>> case_scores_of({"a": {"x": 1.0, "y": 0.5}, "b": {"x": 0.75, "y": 0.25}}).values.tolist()
    [1.0, 0.5, 0.75, 0.25]
    """
    name, faults = "The table", FaultList()
    try:
        table = arrow_table(name, data, index=columns.case or "case", flat=True)
        raw = table_of_arrow(table, SOLUTION_BOUNDS, faults)
    except Refused:
        _stop(name, faults)
        raise
    _stop(name, faults)
    return _interpret(raw, columns, name)


def _interpret(table: RawTable, columns: CaseColumns, name: str) -> CaseScores:
    table = _with_different_names(table, columns, name)
    columns = composed_fields(columns)
    named_columns = [getattr(columns, role) for role in (*_ROLES, "value")]
    for named_column in filter(None, named_columns):
        table = with_joined(table, named_column, named_columns)
    columns, notes = _recognised(table, columns)
    if columns.case == AUTO and AUTO not in table.names:
        table = _with_numbered_rows(table)
        columns = replace(columns, case=None)
    if columns.case == COLUMNS and COLUMNS not in table.names:
        table = _with_cases_of_columns(table, columns)
        columns = replace(columns, case="case", value="value")
    is_numbered = columns.repeat == AUTO and AUTO not in table.names
    if is_numbered:
        columns = replace(columns, repeat=None)
    roles = _roles(table, columns, name)
    long = "algorithm" in roles
    role_columns = set(roles.values())
    left = [
        column for column in table.names if column not in role_columns and column not in ROW_NUMBERS
    ]
    cells = dict(zip(table.names, table.columns, strict=True))
    faults = FaultList()
    place = Place(table.row_number, None)
    if long:
        value = _value_column(roles, left, name)
        values = _numbers(cells, [value], comma=table.decimal_comma, place=place, faults=faults)[0]
        algorithms = _filled(cells, roles["algorithm"], place, faults)
        times, metric = 1, value
    else:
        left, facts = _without_facts(left, cells)
        if columns.value is None and table.header_row is None:
            columns = replace(columns, value=_nested_value(left, name))
        named = _columns_of_algorithms(left, columns.value, name)
        values = np.concatenate(
            _numbers(cells, [*named], comma=table.decimal_comma, place=place, faults=faults)
        )
        algorithm_names = list(named.values())
        notes += facts + _of_other_sizes(algorithm_names, values.reshape(len(named), -1))
        algorithms = np.repeat(np.array(algorithm_names, dtype=object), table.n_rows)
        times, metric = len(named), columns.value or "value"
    texts = {
        role: _filled(cells, roles[role], place, faults) for role in _ROLES[1:] if role in roles
    }
    moments = None
    if "time" in texts:
        used = np.ones(table.n_rows, dtype=np.bool_)
        moments = read_times(
            texts.pop("time"), roles["time"], used=used, place=place, faults=faults
        )
    _stop(name, faults)
    tiled = {role: pa.concat_arrays([text] * times) for role, text in texts.items()}
    if is_numbered:
        tiled["repeat"] = _numbered(algorithms, tiled["case"], tiled.get("task"))
    return CaseScores(
        algorithms=algorithms,
        cases=tiled["case"],
        values=values,
        tasks=tiled.get("task"),
        clusters=tiled.get("cluster"),
        moments=None if moments is None else np.tile(moments, times),
        repeats=tiled.get("repeat"),
        metric=metric,
        notes=notes,
    )


def _with_different_names(table: RawTable, columns: CaseColumns, name: str) -> RawTable:
    """Return the table with names without spaces around them; a name that occurs twice is refused.

    A header of two lines becomes one.
    """
    stripped = replace(table, names=tuple(column.strip() for column in table.names))
    table = with_joined_levels(stripped, columns.value)
    repeated = sorted(name for name, count in Counter(table.names).items() if count > 1)
    if repeated:
        raise InputError(f"{name} has the column {show(repeated[0])} twice: rename one.")
    return table


def _with_numbered_rows(table: RawTable) -> RawTable:
    """Return the table with a column ``case`` of the numbers of its rows."""
    rows = pa.array([str(row) for row in range(1, table.n_rows + 1)], pa.string())
    return replace(table, names=("case", *table.names), columns=(rows, *table.columns))


def _columns_of_algorithms(columns: Sequence[str], value: str | None, name: str) -> dict[str, str]:
    """Return column -> algorithm of a wide table, whose columns of a value are ``unet.dice``.

    Raises
    ------
    InputError, UsageError
        If there is none.
    """
    if value is None:
        named = {column: column for column in columns}
    else:
        ending = f".{value}"
        named = {
            column: column.removesuffix(ending) for column in columns if column.endswith(ending)
        }
    if value is not None and not named:
        raise UsageError(
            f"{name} is a wide table, with one column per algorithm: --value names a column of a "
            "long table."
        )
    if not named:
        raise InputError(f"{name} has no column with the values of an algorithm.")
    return named


def _nested_value(names: Sequence[str], name: str) -> str | None:
    """Return the value in the columns ``algorithm.value`` of nested cells; None: no such columns.

    Several values for each algorithm are an error.
    """
    parts = [column.rpartition(".")[::2] for column in names]
    algorithms = dict.fromkeys(algorithm for algorithm, _ in parts)
    values = dict.fromkeys(value for _, value in parts)
    is_nested = len(parts) == len(algorithms) * len(values) and "" not in algorithms
    if not parts or not is_nested or any(value.isdecimal() for value in values):
        return None
    if len(values) > 1 < len(algorithms):
        raise UsageError(
            f"{name} has several values for each algorithm and case ({show_all(values)}): name "
            "one with --value."
        )
    return next(iter(values)) if len(values) == 1 else None


def _of_other_sizes(names: Sequence[str], values: FloatArray) -> tuple[str, ...]:
    """Return a note on the columns that leave the range from 0 to 1, if most columns do not.

    >>> _of_other_sizes(["unet", "forest", "n_pixels"], np.array([[0.9], [0.8], [4096.0]]))
    ("Column 'n_pixels' leaves the range from 0 to 1, unlike most columns: remove from the table \
what is no algorithm.",)
    >>> _of_other_sizes([*"abcd"], np.array([[0.9], [0.8], [7.0], [9.0]]))
    ()
    """
    with np.errstate(invalid="ignore"):
        outside = np.any((values < 0) | (values > 1), axis=1)
    if not outside.any() or 2 * outside.sum() >= len(names):
        return ()
    others = [names[column] for column in np.flatnonzero(outside).tolist()]
    columns = (
        f"Column {show_all(others)} leaves" if len(others) == 1 else f"{show_all(others)} leave"
    )
    return (
        f"{columns} the range from 0 to 1, unlike most columns: remove from the table what is no "
        "algorithm.",
    )


def _without_facts(
    names: Sequence[str], cells: Mapping[str, Any]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that may hold values, and a note on the others, such as a taxon.

    Their cells are words that begin with letters. Without two columns of values, or with a name
    such as model, the table may be long: then no column is left out.
    """
    facts = [
        name
        for name in names
        if not {*(words := _present(_words_in(cells[name])))} <= {*_RIGHT_OR_WRONG}
        and all(word[0].isalpha() and not re.fullmatch(_INFINITE, word) for word in words)
    ]
    may_be_long = any(_ALGORITHM_WORDS & set(_words(name)) for name in facts)
    if not facts or may_be_long or len(names) - len(facts) < 2:
        return list(names), ()
    note = f"Columns of words, which are no algorithms: {show_all(facts)}."
    return [name for name in names if name not in facts], (note,)


def _numbered(*columns: Any) -> Any:
    """Return the number of each row among those with the same texts, as text."""
    codes = [
        np.unique(np.asarray(column, dtype=object).astype(str), return_inverse=True)[1]
        for column in columns
        if column is not None
    ]
    keys = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()
    order = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[order], keys[order])
    numbers = np.empty(len(keys), dtype=np.intp)
    numbers[order] = np.arange(len(keys)) - first + 1
    return pa.array(numbers.astype(str), pa.string())


def _recognised(table: RawTable, columns: CaseColumns) -> tuple[CaseColumns, tuple[str, ...]]:
    """Return the roles with those that usual names of columns tell, and a note about them.

    A column of algorithms holds texts: a wide table may have an algorithm named Model.
    """
    named_columns = {getattr(columns, role) for role in (*_ROLES, "value")}
    if columns.algorithm is not None or "algorithm" in {*table.names} - named_columns:
        return columns, ()
    is_long = {"case", "value"} <= {*table.names}
    algorithms = [
        name
        for name, cells in zip(table.names, table.columns, strict=True)
        if name.casefold() in _ALGORITHM_NAMES
        and name not in named_columns
        and (is_long or _holds_texts(cells))
    ]
    if len(algorithms) != 1:
        three = _recognised_three(table, columns)
        if three is not None:
            return three
        algorithms = [
            name
            for name, cells in zip(table.names, table.columns, strict=True)
            if _ALGORITHM_WORDS & set(_words(name))
            and name not in named_columns
            and _holds_texts(cells)
        ]
        if len(algorithms) != 1 or not _has_cases(table):
            return columns, ()
    columns = replace(columns, algorithm=algorithms[0])
    note = f"Column {show(algorithms[0])} holds the algorithms"
    usual = (_CASE_NAMES, _FURTHER_CASE_NAMES, _DATA_SETS)
    named = ([name for name in table.names if name.casefold() in names] for names in usual)
    cases = next(filter(None, named), [])
    cases = [name for name in cases if name not in named_columns]
    if columns.case is None and "case" not in {*table.names} - named_columns and len(cases) == 1:
        columns = replace(columns, case=cases[0])
        note += f", and {show(cases[0])} the cases"
    return columns, (f"{note}; --algorithm and --case name other columns.",)


def _has_cases(table: RawTable) -> bool:
    return not {name.casefold() for name in table.names}.isdisjoint(_USUAL_CASES | _DATA_SETS)


def _recognised_three(
    table: RawTable, columns: CaseColumns
) -> tuple[CaseColumns, tuple[str, ...]] | None:
    """Return the roles of a table of algorithms, cases and values, and a note about them.

    None: the names do not tell. Exactly one column holds numbers with a fraction or no other
    numbers: the values.
    """
    listed = [
        (name, cells)
        for name, cells in zip(table.names, table.columns, strict=True)
        if name not in ROW_NUMBERS
    ]
    names = [name for name, _ in listed]
    if len(names) == 3 and {*_MELTED} <= {*names} and columns == _PLAIN:
        case = next(name for name in names if name not in _MELTED)
        return replace(columns, algorithm=_MELTED[0], case=case, value=_MELTED[1]), ()
    texts = [name for name, cells in listed if _holds_texts(cells)]
    named = [name for name in texts if _ALGORITHM_WORDS & set(_words(name))]
    if len(listed) != 3 or len(texts) != 2 or len(named) != 1 or columns != _PLAIN:
        return None
    case = next(name for name in texts if name != named[0])
    value = next(name for name, _ in listed if name not in texts)
    note = (
        f"Column {show(named[0])} holds the algorithms, {show(case)} the cases and {show(value)} "
        "the values; --algorithm, --case and --value name other columns."
    )
    return replace(columns, algorithm=named[0], case=case, value=value), (note,)


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case.

    >>> _words("classifierName"), _words("model_id")
    (['classifier', 'name'], ['model', 'id'])
    """
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def _holds_texts(cells: Any) -> bool:
    return not _are_numbers(_present(_words_in(cells)))


def _words_in(cells: Any) -> list[str]:
    """Return the different texts of a column, in lower case and without spaces around them."""
    words: list[str] = pc.unique(pc.utf8_lower(pc.utf8_trim_whitespace(to_text(cells)))).to_pylist()
    return words


def _present(words: Sequence[str]) -> list[str]:
    """Return the words that do not stand for a missing value."""
    return [word for word in words if word not in _MISSING]


def _are_numbers(words: Sequence[str]) -> bool:
    return all(is_number(word.replace(",", ".")) for word in words)


def _roles(table: RawTable, columns: CaseColumns, name: str) -> dict[str, str]:
    """Return role -> column, for the roles that the table has, but the value."""
    names = table.names
    roles: dict[str, str] = {}
    named_columns = {role: getattr(columns, role) for role in (*_ROLES, "value")}
    named = {name for name in named_columns.values() if name is not None}
    is_nested = any(column.endswith(f".{columns.value}") for column in names)
    if absent := [
        column
        for column in named
        if column not in names and not (is_nested and column == columns.value)
    ]:
        raise UsageError(f"{name} has no column {show(min(absent))}; it has {show_all(names)}.")
    for role in _ROLES:
        if named_columns[role] is not None or (role in names and role not in (*named, "time")):
            roles[role] = named_columns[role] or role
    if columns.value is not None and "algorithm" in roles:
        roles["value"] = columns.value
    if {"cluster", "time"} <= roles.keys():
        raise UsageError(
            f"{name}: cases are grouped by a column (--cluster) or by their time (--time), not "
            "both. A column named cluster groups them too: rename it."
        )
    if "case" not in roles:
        if "algorithm" in roles:
            raise UsageError(
                f"{name} has no column 'case': name the column of the cases with --case. The "
                f"columns are {show_all(names)}. If each column is a case, write --case {COLUMNS}. "
                "One number for each team has no cases: see "
                "arena sota."
            )
        taken_names = {*roles.values(), *named}
        case = next((column for column in names if column not in taken_names), names[0])
        if case.casefold() not in (*_USUAL_CASES, *ROW_NUMBERS) and _may_be_values(
            table.columns[names.index(case)]
        ):
            raise UsageError(
                f"{name} has no column 'case', and its first column, {show(case)}, could hold the "
                f"cases or values. Name the column of the cases, such as --case {case}, or number "
                "the rows with --case auto."
            )
        roles["case"] = case
    return roles


def _may_be_values(cells: Any) -> bool:
    """Return whether a column holds fractions, or right and wrong answers, and nothing else."""
    distinct = _words_in(cells)
    words = _present(distinct)
    if len(cells) > len(distinct) and {*words} <= {*_RIGHT_OR_WRONG}:
        return True
    return _are_numbers(words) and any(
        not re.fullmatch("[+-]?[0-9]+([.]0+)?", word) for word in words
    )


def _value_column(roles: Mapping[str, str], left: Sequence[str], name: str) -> str:
    if "value" in roles:
        return roles["value"]
    if "value" in left or len(left) == 1:
        return "value" if "value" in left else left[0]
    some = f" ({show_all(left)})" if left else ""
    raise UsageError(
        f"{name}: {plural(len(left), 'column')} could hold the values{some}. Name one with --value."
    )


def _numbers(
    cells: Mapping[str, Any],
    names: Sequence[str],
    comma: bool,
    place: Place,
    faults: FaultList,
) -> list[FloatArray]:
    """Return ``(n,)`` values of each column, NaN where missing; other texts are faults."""
    columns = [cells[name] for name in names]
    if comma and all(pa.types.is_string(column.type) for column in columns):
        columns = list(points_for_commas(columns, place, faults))
    values_of_columns = []
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_boolean(column.type):
            column = pc.cast(column, pa.uint8())  # noqa: PLW2901
        text = pc.utf8_lower(pc.utf8_trim_whitespace(to_text(column)))
        missing = pc.is_in(text, pa.array(_MISSING))
        if pa.types.is_floating(column.type):
            missing = pc.or_(missing, pc.is_nan(pc.fill_null(column, np.nan)))
            infinite = pc.fill_null(pc.is_inf(column), False)
        else:
            infinite = pc.match_substring_regex(text, _INFINITE)
        is_missing, is_infinite, is_negative = (
            mask.to_numpy(zero_copy_only=False)
            for mask in (missing, infinite, pc.starts_with(text, "-"))
        )
        if is_missing.all() and not pa.types.is_string(column.type):
            values_of_columns.append(np.full(len(column), np.nan))
            continue
        zero = pa.scalar(0, column.type) if not pa.types.is_string(column.type) else "0"
        finite = pc.if_else(pc.or_(missing, infinite), zero, column)
        values = numbers(finite, name, place, faults)
        values = np.where(is_infinite, np.where(is_negative, -np.inf, np.inf), values)
        values_of_columns.append(np.where(is_missing, np.nan, values))
    return values_of_columns


def _filled(cells: Mapping[str, Any], name: str, place: Place, faults: FaultList) -> Any:
    """Return a column as text; an empty cell is a fault."""
    text = composed(pc.utf8_trim_whitespace(to_text(cells[name])))
    empty = np.flatnonzero(pc.equal(text, "").to_numpy(zero_copy_only=False))
    faults.add_each(
        "empty cell",
        empty.tolist(),
        lambda row: place.fault("empty cell", "The cell is empty: fill it in.", row, name),
    )
    return text


def _stop(path: Path | str, faults: FaultList) -> None:
    if faults:
        lines = fault_lines(faults.to_tuple())
        raise InputError("\n".join([f"{path} cannot be used:", *lines]))
