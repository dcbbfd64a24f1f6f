"""The report sections on the Bayes error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from arena.interfaces import Study
from arena.types import Chart, Section, Table
from arena.utils.formatting import level_text
from arena.utils.text import plural
from arena_bayes_error.charts import board_specification
from arena_bayes_error.output import best_scored, nearest_to_the_floor
from arena_bayes_error.study import BoardErrors, BoardFloor

_MEANING = (
    "Where annotators disagree on a row, its label cannot be predicted with certainty: even the "
    "best possible prediction is wrong on a share of such rows. That share is the Bayes error, the "
    "lowest possible error rate."
)
_LEFT = "The difference between it and the best team is the remaining headroom."
_ERRORS = (
    "Each team has two error rates. The error against the labels is the observed one; it includes "
    "chance, as the labels do. The error against the soft labels is the expected error if the "
    "annotators labelled the rows again; it is never below the Bayes error, and the difference "
    "between the two is the possible improvement."
)
_FLAG = (
    "If a team has fewer errors than the Bayes error allows, either it knew the labels (a leak, or "
    "so many submissions that it fitted them), or the annotators were less certain than the labels "
    "are. Examine both explanations before you accuse a team."
)
_LABELS = "{differing:.2%} of the labels are not the likeliest class of their row, and "
_SURER = (
    f"{_LABELS}{{expected:.2%}} were expected from the annotators' disagreement: the labels are "
    "more certain than the annotators, which alone may explain why a team has so few errors."
)
_AS_SURE = (
    f"{_LABELS}{{expected:.2%}} were expected from the annotators' disagreement: the labels are "
    "not more certain than the annotators, so the first explanation is more likely."
)
_LUCK = 0.05
_CHANCE = {
    False: "the Poisson-binomial probability",
    True: "an upper bound of the probability that holds for any dependence within groups of rows "
    "(Chernoff)",
}


def floor_sections(result: Any) -> Iterable[Section]:
    """Return the sections for a result that holds the finding of ``bayes-error``."""
    for finding in getattr(result, "findings", ()):
        floor = finding.details
        if finding.analysis != "bayes-error" or not isinstance(floor, BoardFloor):
            continue
        yield Section(
            "Lowest possible error rate",
            "\n\n".join([finding.verdict, _MEANING, *_of_errors(floor)]),
            tables=(_table(floor, getattr(result, "study", None)), *finding.tables),
            charts=_charts(floor, result),
        )
        yield Section("How the Bayes error was computed", _method(floor), technical=True)


def _of_errors(floor: BoardFloor) -> Iterable[str]:
    if floor.errors is None:
        return
    yield f"{_LEFT} {_ERRORS}"
    if not floor.errors.check.flagged.any():
        return
    labels = floor.labels
    reading = _SURER if labels.p_so_few <= _LUCK else _AS_SURE
    shares = {"differing": labels.differing / labels.n, "expected": labels.expected / labels.n}
    yield f"{_FLAG} {reading.format(**shares)}"


def _table(floor: BoardFloor, study: Study | None) -> Table:
    low, high = floor.floor.reported_interval
    rows: list[tuple[str, str]] = [
        (
            "lowest possible error rate (Bayes error)",
            f"{floor.floor.estimate:.3%} ({low:.3%} to {high:.3%})",
        )
    ]
    if floor.metric is not None:
        rows.append((f"best possible {floor.metric.metric}", f"{floor.metric.value:.5g}"))
        if study is not None and len(study.scores):
            best, teams = best_scored(study)
            rows.append((f"best {floor.metric.metric} on the leaderboard", f"{best:.5g} ({teams})"))
    if floor.errors is not None:
        room = floor.errors.headroom
        best_team = ""
        if study is not None and study.teams:
            best_team = f" ({nearest_to_the_floor(study, floor.errors.against_soft)})"
        rows.append(
            (
                f"headroom of the best team against the soft labels{best_team}",
                f"{room.estimate:.3%} ({room.low:.3%} to {room.high:.3%})",
            )
        )
    return Table("Lowest possible error rate", ("what", "value"), tuple(rows))


def _charts(floor: BoardFloor, result: Any) -> tuple[Chart, ...]:
    study = getattr(result, "study", None)
    if floor.errors is None or study is None:
        return ()
    errors: BoardErrors = floor.errors
    order = np.argsort(errors.against_labels, kind="stable")
    specification = board_specification(
        [study.teams[position] for position in order],
        errors.against_labels[order],
        against_soft=errors.against_soft[order],
        floor=floor.floor.estimate,
        interval=floor.floor.reported_interval,
    )
    return (
        Chart(
            "errors-above-the-floor",
            "Error rates of the teams and the Bayes error",
            "Error rates of each team against the labels and against the soft labels, the fewest "
            "errors first; a band marks the interval of the lowest possible error rate. Skill "
            "alone does not bring a team to the left of the band.",
            specification,
        ),
    )


def _method(board_floor: BoardFloor) -> str:
    floor = board_floor.floor
    text = (
        f"The Bayes error is estimated by the mean over {plural(floor.n, 'row')} of the error of "
        "the best prediction given the soft label (Ishida et al. 2023, Eq. 4), with a "
        f"{level_text(floor.level)} interval that also holds with few rows. "
        f"{' '.join(floor.assumptions)}"
    )
    if board_floor.errors is None:
        return text
    return (
        f"{text} A probability of 1/2 or more counts as the positive class, of several classes the "
        f"likeliest. Errors against the soft labels are exact expectations. The headroom is the "
        f"smallest mean difference to it over the submissions, corrected for selection by "
        f"{board_floor.errors.headroom.choices} bootstrap draws of the rows. A submission is "
        f"flagged if {_CHANCE[floor.n_clusters is not None]} of so few errors, adjusted by Holm, "
        f"is at most {board_floor.errors.check.alpha:g}."
    )
