"""The finding of the analysis ``bayes-error``, for studies with soft labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import Finding, Table
from arena.utils.tabular import as_json
from arena.utils.text import plural
from arena_bayes_error.output import named, nearest_to_the_floor, of_other_metrics
from arena_bayes_error.study import BoardErrors, BoardFloor, floor_of_study

_FOREIGN = 0.001
"""Below this probability of so many differing labels, the soft labels are considered wrong."""


def finding_of(study: Study, rng: np.random.Generator, analysis: str) -> Finding:
    """Return the finding; ``details`` is a :class:`~arena_bayes_error.study.BoardFloor`."""
    board_floor = floor_of_study(study, rng)
    if board_floor is None:
        raise UsageError("The solution has no soft labels: name their columns in soft_labels.")
    tables = () if board_floor.errors is None else (_table(study, board_floor.errors),)
    document = _rounded(as_json(_document(study, board_floor)))
    return Finding(
        analysis, _verdict(study, board_floor), document, tables=tables, details=board_floor
    )


def _verdict(study: Study, floor: BoardFloor) -> str:
    low, high = floor.floor.reported_interval
    sentence = (
        f"By the soft labels, the lowest possible error rate on rows like these is "
        f"{floor.floor.estimate:.2%} ({low:.2%} to {high:.2%})"
    )
    if floor.errors is None:
        sentence = f"{sentence}; {of_other_metrics(study, floor)}"
    elif study.teams:
        sentence = f"{sentence}; {_headroom(study, floor.errors)}"
    labels = floor.labels
    if labels.p_so_many > _FOREIGN:
        return f"{sentence}."
    return (
        f"{sentence}. But the soft labels do not fit the labels: "
        f"{labels.differing / labels.n:.2%} of labels are not the likeliest class of their row, "
        f"and {labels.expected / labels.n:.2%} were expected. Check whether the columns belong to "
        f"the other class or to other rows before you use these results."
    )


def _headroom(study: Study, errors: BoardErrors) -> str:
    room = errors.headroom
    best = nearest_to_the_floor(study, errors.against_soft)
    left = (
        f"against the soft labels, the best team ({best}) is {room.estimate:.2%} of the rows "
        f"above it ({room.low:.2%} to {room.high:.2%})"
    )
    order = np.argsort(errors.check.p_values, kind="stable")
    flagged = [study.teams[position] for position in order if errors.check.flagged[position]]
    if not flagged:
        return f"{left}, and no team has implausibly few errors"
    teams = plural(len(flagged), "team", "have")
    return f"{left}, and {teams} implausibly few errors against the labels: {named(flagged)}"


def _document(study: Study, floor: BoardFloor) -> dict[str, Any]:
    errors, metric = floor.errors, floor.metric
    return {
        "floor": floor.floor.to_dict(),
        "metric_floor": None
        if metric is None
        else {"metric": metric.metric, "value": metric.value, "error": metric.standard_error},
        "labels": floor.labels.to_dict(),
        "headroom": None
        if errors is None
        else {
            "estimate": errors.headroom.estimate,
            "low": errors.headroom.low,
            "high": errors.headroom.high,
            "observed": errors.headroom.observed,
        },
        "submissions": [] if errors is None else _submissions(study, errors),
    }


def _submissions(study: Study, errors: BoardErrors) -> list[dict[str, Any]]:
    check = errors.check
    columns = {
        "team": study.teams,
        "submission": study.submissions,
        "error": errors.against_labels,
        "error_against_soft_labels": errors.against_soft,
        "probability": check.p_values,
        "adjusted_probability": check.adjusted,
        "flagged": check.flagged,
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _table(study: Study, errors: BoardErrors) -> Table:
    order = np.argsort(errors.against_labels, kind="stable")
    rows = tuple(
        (
            study.teams[position],
            f"{errors.against_labels[position]:.2%}",
            f"{errors.against_soft[position]:.2%}",
            "implausibly few errors" if errors.check.flagged[position] else "",
        )
        for position in order
    )
    columns = ("team", "error against the labels", "error against the soft labels", "note")
    return Table("Error rates of the teams", columns, rows)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_rounded(element) for element in value]
    return float(round_significant(np.array(value))) if isinstance(value, float) else value
