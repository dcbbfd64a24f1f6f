"""Checks of what plugins return, where it comes in: a wrong value names its plugin and is not used.

Messages name the field and what it must be. They do not quote the value, which may hold labels.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from arena.errors import PluginError
from arena.types import (
    MetricTraits,
    PredictionKind,
    Table,
)
from arena.utils.tabular import as_json
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.interfaces import CaseScores, Move

_Returned = TypeVar("_Returned")
_Rule: TypeAlias = tuple[Callable[[Any], bool], str]

_LARGEST_STATE = 1_000_000
"""Bytes of the state of a mechanism: each release stores one."""


def checked(value: Any, kind: type[_Returned]) -> _Returned:
    """Return what a plugin returned, if it is of a kind and its fields hold what they must.

    Raises
    ------
    TypeError
        If it is of another type.
    ValueError
        If a field holds something else, or the fields do not fit each other.

    Examples
    --------
    >>> from arena.types import Release
    >>> checked(Release("0.5", True), Release)
    Traceback (most recent call last):
    ValueError: score of the Release must be a finite number, not str
    """
    if not isinstance(value, kind):
        raise TypeError(f"it returned {type(value).__name__} and no {kind.__name__}")
    for name, (holds, expected) in RULES[kind.__name__].items():
        field = getattr(value, name)
        if not holds(field):
            description = (
                "" if expected.startswith("a finite") and _is_float(field) else _named(field)
            )
            raise ValueError(f"{name} of the {kind.__name__} must be {expected}{description}")
    problem = _WHOLE[kind.__name__](value) if kind.__name__ in _WHOLE else None
    if problem is not None:
        raise ValueError(problem)
    return value


def checked_move(competitor: str, move: Any, n_rows: int) -> Move:
    """Return the submission of a competitor, if it has a prediction for each of n rows.

    Raises
    ------
    PluginError
        If not; the message names the competitor.

    Examples
    --------
    >>> import numpy as np
    >>> from arena.interfaces import Move
    >>> checked_move("mine", Move(np.zeros(3)), 4)
    Traceback (most recent call last):
    arena.errors.PluginError: The competitor mine made no valid submission: prediction of the Move \
has 3 rows and not 4.
    """
    from arena.interfaces import Move

    try:
        rows = len(checked(move, Move).prediction)
        if rows != n_rows:
            raise ValueError(f"prediction of the Move has {plural(rows, 'row')} and not {n_rows:,}")
    except (TypeError, ValueError) as error:
        message = f"The competitor {competitor} made no valid submission: {error}."
        raise PluginError(message) from error
    return move  # type: ignore[no-any-return]


def _named(value: Any) -> str:
    return f", not {type(value).__name__}"


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


def problem_of_item(item: Any, protocol: type[Any], kind: str) -> str | None:
    """Return what is wrong with an item that a plugin provides; None: nothing.

    >>> from arena.interfaces import Analysis
    >>> problem_of_item(object(), Analysis, "analysis")
    'object is no analysis: it lacks name, run'
    """
    members = [name for name in vars(protocol) if not name.startswith("_")]
    missing = [name for name in members if not hasattr(item, name)]
    if missing:
        return f"{type(item).__name__} is no {kind}: it lacks {', '.join(missing)}"
    if "name" in members and not _is_words(item.name):
        return f"the name of the {kind} {type(item).__name__} must be a text that is not empty"
    return _problem_of_metric(item) if kind == "metric" and "score" in members else None


def _problem_of_metric(metric: Any) -> str | None:
    if not _is_bool(metric.greater_is_better):
        return f"greater_is_better of {metric.name} must be True or False"
    if not isinstance(metric.prediction, PredictionKind):
        return f"prediction of {metric.name} must be a PredictionKind"
    try:
        checked(getattr(metric, "traits", MetricTraits()), MetricTraits)
    except (TypeError, ValueError) as error:
        return f"traits of {metric.name}: {error}"
    return None


# -- what a field may hold -------------------------------------------------------------------------


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in {"bool", "bool_"}


def _is_finite(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not _is_bool(value) and math.isfinite(value)


def _is_not_negative(value: Any) -> bool:
    return _is_finite(value) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_words(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not _is_bool(value) and int(value) >= 0


def _or_none(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or rule(value)


def _is_json(value: Any) -> bool:
    """Return whether a mapping becomes JSON, with null for NaN."""
    try:
        json.dumps(as_json(value))
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(value, Mapping)


def _is_state(value: Any) -> bool:
    try:
        text = json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return len(text) <= _LARGEST_STATE


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, str | numbers.Number) or _is_bool(value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and getattr(value, "ndim", 0) in (1, 2)


def _each(kind: str) -> Callable[[Any], bool]:
    def is_one(item: Any) -> bool:
        base = next((base for base in type(item).__mro__ if base.__name__ == kind), None)
        return base is not None and checked(item, base) is item

    def holds(value: Any) -> bool:
        return isinstance(value, tuple | list) and all(map(is_one, value))

    return holds


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(element, str) for element in value)


def _are_columns(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str)
        and name
        and not isinstance(column, str)
        and hasattr(column, "__len__")
        for name, column in value.items()
    )


def _is_range(value: Any) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    return all(isinstance(end, numbers.Real) for end in value) and value[0] <= value[1]


def _are_rows(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(row, tuple | list) and all(map(_is_cell, row)) for row in value
    )


_A_BOOL: _Rule = (_is_bool, "True or False")
_A_TEXT: _Rule = (_is_text, "a text")
_WORDS: _Rule = (_is_words, "a text that is not empty")
_A_TEXT_OR_NONE: _Rule = (_or_none(_is_text), "a text or None")
_TABLES: _Rule = (_each("Table"), "a tuple of Tables")
_CHARTS: _Rule = (_each("Chart"), "a tuple of Charts")
_A_RANGE: _Rule = (_is_range, "two numbers, the smaller first")
_A_RANGE_OR_NONE: _Rule = (_or_none(_is_range), "two numbers, the smaller first, or None")

RULES: Mapping[str, Mapping[str, _Rule]] = {
    "Release": {
        "score": (_is_finite, "a finite number"),
        "improved": _A_BOOL,
        "state": (_is_state, "small JSON without NaN and infinity"),
        "ranked_by": (_or_none(_is_finite), "a finite number or None"),
        "source": (_or_none(_is_count), "the number of a submission or None"),
    },
    "Fault": {
        "kind": _WORDS,
        "message": _WORDS,
        "row": (_or_none(_is_count), "a row number or None"),
        "id": _A_TEXT_OR_NONE,
        "column": _A_TEXT_OR_NONE,
        "count": (lambda value: _is_count(value) and value > 0, "a count of at least 1"),
        "cause": _A_TEXT_OR_NONE,
    },
    "Table": {
        "title": _A_TEXT,
        "columns": (_are_texts, "a tuple of texts"),
        "rows": (_are_rows, "a tuple of rows of texts, numbers and None"),
    },
    "Chart": {
        "name": _WORDS,
        "title": _A_TEXT,
        "description": _A_TEXT,
        "specification": (_is_json, "a JSON document"),
    },
    "Section": {
        "title": _WORDS,
        "text": _A_TEXT,
        "tables": _TABLES,
        "charts": _CHARTS,
        "public": _A_BOOL,
        "technical": _A_BOOL,
    },
    "Finding": {
        "analysis": _WORDS,
        "verdict": _WORDS,
        "document": (_is_json, "a JSON document"),
        "columns": (_are_columns, "columns by name, one value per submission each"),
        "tables": _TABLES,
        "charts": _CHARTS,
    },
    "MetricTraits": {
        "prediction_range": _A_RANGE,
        "truth_range": _A_RANGE,
        "row_range": _A_RANGE_OR_NONE,
        "score_range": _A_RANGE,
        "needs_every_class": _A_BOOL,
        "stratify_by_class": _A_BOOL,
        "joint_targets": _A_BOOL,
        "extra_columns": (_are_texts, "a tuple of texts"),
    },
    "Move": {
        "prediction": (_is_array, "an array of one or two axes"),
        "team": (_is_count, "a number from 0"),
    },
    "FloorEstimate": {
        "estimate": (_is_finite, "a number from 0 to 1"),  # the class refuses others itself
        "n": (_is_count, "a count"),
        "assumptions": (_are_texts, "a tuple of texts"),
        "standard_error": (_or_none(_is_finite), "a finite number or None"),
        "n_clusters": (_or_none(_is_count), "a count or None"),
        "bias_bound": _A_RANGE_OR_NONE,
    },
    "Reproduced": {
        "where": _WORDS,
        "quantity": _WORDS,
        "published": (_or_none(_is_finite), "a finite number or None"),
        "computed": (_or_none(_is_finite), "a finite number or None"),
        "agrees": (_or_none(_is_bool), "True, False or None"),
        "note": _A_TEXT,
    },
    "Reproduction": {
        "figures": (_each("Reproduced"), "a tuple of Reproduced figures"),
        "charts": _CHARTS,
        "missing": (_are_texts, "a tuple of texts"),
    },
    "Outcome": {
        "end": (lambda value: type(value).__name__ == "End", "an End"),
        "seconds": (_is_not_negative, "a number from 0"),
        "cpu_seconds": (_is_not_negative, "a number from 0"),
        "peak_mb": (_is_not_negative, "a number from 0"),
        "log": (lambda value: isinstance(value, bytes), "bytes"),
        "output": (_or_none(lambda value: isinstance(value, Path)), "a Path or None"),
    },
    "CaseScores": {
        "metric": _WORDS,
        "greater_is_better": (_or_none(_is_bool), "True, False or None"),
        "value_range": _A_RANGE_OR_NONE,
        "notes": (_are_texts, "a tuple of texts"),
    },
}
"""Name of the type of what a plugin returns -> name of the field -> its rule and what it must be.
Names, because a command imports few of these types."""


def _ragged(table: Table) -> str | None:
    """Return which row of a table has not one cell for each column; None: none."""
    for row in table.rows:
        if len(row) != len(table.columns):
            return (
                f"a row of the Table has {plural(len(row), 'cell')} for "
                f"{plural(len(table.columns), 'column')}"
            )
    return None


def _unequal(scores: CaseScores) -> str | None:
    """Return which column of a table of cases has another length; None: none."""
    for name in ("values", "algorithms", "cases", "tasks", "clusters", "moments", "repeats"):
        column = getattr(scores, name)
        if column is None and name in {"tasks", "clusters", "moments", "repeats"}:
            continue
        if not hasattr(column, "__len__") or isinstance(column, str):
            return f"{name} of the CaseScores must be a column{_named(column)}"
        if len(column) != len(scores.values):
            lengths = f"{plural(len(column), 'value')} for {plural(len(scores.values), 'record')}"
            return f"{name} of the CaseScores has {lengths}"
    return None


_WHOLE: Mapping[str, Callable[[Any], str | None]] = {"Table": _ragged, "CaseScores": _unequal}
"""Name of the type of what a plugin returns -> what is wrong with its fields together."""
