"""The sections of a report on the floor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from arena.interfaces import Study
from arena.types import Chart, Section, Table
from arena_bayes_error.of_study import BoardErrors, BoardFloor
from arena_bayes_error.pictures import board_specification
from arena_bayes_error.whose import best_scored, nearest_to_the_floor

__all__ = ["floor_sections"]

_MEANING = (
    "Where annotators disagree on a row, nobody can know its label: even the best possible "
    "prediction is wrong on a share of such rows. That share is the floor."
)
_LEFT = "What lies between it and the best team is what is left to gain."
_ERRORS = (
    "Two errors are told of each team. The error against the labels is what happened; it has good "
    "and bad luck in it, as the labels have. The error against the soft labels is how "
    "often the team would be wrong if the annotators were asked anew; it is never below the "
    "floor, and the distance between the two is what the team could still learn."
)
_FLAG = (
    "A team that is right more often than the floor allows either knew the labels (a leak, or so "
    "many attempts that it fitted them), or the annotators were less sure than the labels are. "
    "Both readings are to be looked at before anything is said of a team."
)
_LABELS = "{differing:.2%} of the labels are not the likeliest class of their row, where "
_SURER = (
    f"{_LABELS}{{expected:.2%}} were to be expected from the annotators' doubt: the labels are "
    "surer than the annotators, which alone may be why a team seems too good."
)
_AS_SURE = (
    f"{_LABELS}{{expected:.2%}} were to be expected from the annotators' doubt: the labels are no "
    "surer than the annotators, so that the first reading is the likelier one."
)
_LUCK = 0.05
_CHANCE = {
    False: "the Poisson-binomial probability",
    True: "a bound of the probability, whatever the labels of a group of rows have in common "
    "(Chernoff),",
}


def floor_sections(result: Any) -> Iterable[Section]:
    """Return the sections for a result that holds the finding of ``bayes-floor``."""
    for finding in getattr(result, "findings", ()):
        found = finding.details
        if finding.analysis != "bayes-floor" or not isinstance(found, BoardFloor):
            continue
        yield Section(
            "How much better could anyone do",
            "\n\n".join([finding.verdict, _MEANING, *_of_errors(found)]),
            tables=(_table(found, getattr(result, "study", None)), *finding.tables),
            charts=_charts(found, result),
        )
        yield Section("How the floor was computed", _method(found), technical=True)


def _of_errors(found: BoardFloor) -> Iterable[str]:
    if found.errors is None:
        return
    yield f"{_LEFT} {_ERRORS}"
    if not found.errors.check.flagged.any():
        return
    labels = found.labels
    reading = _SURER if labels.p_so_few <= _LUCK else _AS_SURE
    shares = {"differing": labels.differing / labels.n, "expected": labels.expected / labels.n}
    yield f"{_FLAG} {reading.format(**shares)}"


def _table(found: BoardFloor, study: Study | None) -> Table:
    low, high = found.floor.interval
    rows: list[tuple[str, str]] = [
        ("lowest possible error rate", f"{found.floor.estimate:.3%} ({low:.3%} to {high:.3%})")
    ]
    if found.metric is not None:
        rows.append((f"best possible {found.metric.metric}", f"{found.metric.value:.5g}"))
        if study is not None and len(study.scores):
            best, teams = best_scored(study)
            rows.append((f"best {found.metric.metric} of the board", f"{best:.5g} ({teams})"))
    if found.errors is not None:
        room = found.errors.headroom
        whose = ""
        if study is not None and study.teams:
            whose = f" ({nearest_to_the_floor(study, found.errors.against_soft)})"
        rows.append(
            (
                f"left to gain for the best team by the soft labels{whose}",
                f"{room.estimate:.3%} ({room.low:.3%} to {room.high:.3%})",
            )
        )
    return Table("The floor", ("what", "value"), tuple(rows))


def _charts(found: BoardFloor, result: Any) -> tuple[Chart, ...]:
    study = getattr(result, "study", None)
    if found.errors is None or study is None:
        return ()
    errors: BoardErrors = found.errors
    order = np.argsort(errors.against_labels, kind="stable")
    specification = board_specification(
        [study.teams[at] for at in order],
        errors.against_labels[order],
        errors.against_soft[order],
        found.floor.estimate,
        found.floor.interval,
    )
    return (
        Chart(
            "errors-above-the-floor",
            "Errors of the teams, and the floor",
            "One line for each team, the fewest errors first, with its error against the labels "
            "and against the soft labels; a band marks the lowest possible error rate, as wide as "
            "its interval. Nobody stays left of the band by skill alone.",
            specification,
        ),
    )


def _method(found: BoardFloor) -> str:
    floor = found.floor
    text = (
        f"The floor is the mean over {floor.n:,} rows of the error that is left to the best "
        f"prediction given the soft label (Ishida et al. 2023, Eq. 4), with a t interval at "
        f"{floor.level:.0%}; {' '.join(floor.assumptions)}"
    )
    if found.errors is None:
        return text
    return (
        f"{text} A probability of 1/2 or more counts as the positive class, of several classes the "
        f"likeliest. Errors against the soft labels are exact expectations. The headroom is the "
        f"least mean difference to the floor over the submissions, corrected for selection by "
        f"{found.errors.headroom.partitions} random partitions of the rows. A submission is "
        f"flagged if {_CHANCE[floor.n_clusters is not None]} of so few errors, adjusted by Holm, "
        f"is at most {found.errors.check.alpha:g}."
    )
