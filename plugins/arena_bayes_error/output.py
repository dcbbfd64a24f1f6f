"""Output of results: JSON documents, sentences, and the names of teams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from arena.interfaces import FloorEstimate, Study
from arena.types import FloatArray
from arena.utils.formatting import level_text
from arena.utils.tabular import as_json
from arena.utils.text import shorten
from arena_bayes_error.annotators import DEPENDENT
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import CONTRADICTED
from arena_bayes_error.kinds import LabelAnswer
from arena_bayes_error.neighbours import CoverHartBounds
from arena_bayes_error.study import BoardFloor

_SHOWN = 5
WARNINGS = (CONTRADICTED, DEPENDENT)
"""Assumptions that the data contradict; they are printed first."""


def document_of(answer: LabelAnswer, seed: int) -> dict[str, Any]:
    """Return the JSON document of an estimate or of bounds."""
    found, fit = answer.found, answer.fit
    if isinstance(found, CoverHartBounds):
        return {"schema": "arena/bayes-error-bounds/1", "kind": "features", **found.to_dict()}
    fields = (
        {**dict.fromkeys(BayesErrorEstimate.__slots__), "kind": answer.kind, **asdict(found)}
        if isinstance(found, FloorEstimate)
        else found.to_dict()
    )
    return {
        "schema": "arena/bayes-error/1",
        **as_json(fields),
        "metric_floors": [asdict(floor) for floor in answer.metric_floors],
        "positive": answer.positive,
        "scaling": None if fit is None else {"slope": fit.slope, "intercept": fit.intercept},
        "seed": seed,
    }


def sentences_of(answer: LabelAnswer) -> Iterator[str]:
    """Yield the result in sentences, followed by its assumptions."""
    found = answer.found
    if isinstance(found, CoverHartBounds):
        yield from _of_bounds(found)
    elif isinstance(found, FloorEstimate):
        yield from _of_another_plugin(found)
    else:
        yield from _of_estimate(found)
    for floor in answer.metric_floors:
        error = floor.standard_error
        sure = "" if error is None else f" (standard error {error:.2g})"
        yield f"The best possible {floor.metric} on rows like these: {floor.value:.5g}{sure}."
    if answer.positive is not None:
        yield f"Positive: {answer.positive}."
    yield "Assumptions:"
    for sentence in found.assumptions:
        if sentence not in WARNINGS:
            yield f"  {sentence}"


def _of_bounds(found: CoverHartBounds) -> Iterator[str]:
    asked = "the nearest neighbour" if found.neighbours == 1 else f"{found.neighbours} neighbours"
    yield (
        f"Bounds, not an estimate: the lowest error rate that any classifier of these features can "
        f"reach lies between {found.lower:.3%} and {found.upper:.3%}; with sampling error, "
        f"between {found.lower_end:.3%} and {found.upper_end:.3%} ({level_text(found.level)} "
        f"confidence). They follow from the error of {asked}, {found.error:.3%} of {found.n:,} "
        f"rows."
    )
    if found.copies:
        yield (
            f"{found.copies:,} rows have the same features as another row: if they are copies, "
            f"remove them, or both bounds are too low."
        )


def _of_another_plugin(found: FloorEstimate) -> Iterator[str]:
    groups = "" if found.n_clusters is None else f" in {found.n_clusters:,} groups"
    low, high = found.interval
    yield (
        f"The lowest error rate that any classifier can reach on rows like these is "
        f"{found.estimate:.3%}, estimated from {found.n:,} rows{groups} ({level_text(found.level)} "
        f"interval: {low:.3%} to {high:.3%})."
    )
    if found.bias_bound is not None and found.bias_bound != (0, 0):
        low, high = found.bias_bound
        yield f"Its bias is between {_points(low)} and {_points(high)}."


def _of_estimate(found: BayesErrorEstimate) -> Iterator[str]:
    for warning in WARNINGS:
        if warning in found.assumptions:
            yield warning
    interval = found.reported_interval
    corrected = found.corrected is not None and found.corrected_interval is not None
    about, (low, high) = (
        (f"about {found.corrected:.3%}", found.corrected_interval or interval)
        if corrected
        else (f"{found.estimate:.3%}", interval)
    )
    groups = "" if found.n_clusters is None else f" in {found.n_clusters:,} groups"
    yield from _model_free(found)
    start = "The lowest error rate that any classifier can reach on rows like these is"
    if corrected:
        start = (
            "If the probabilities of the rows follow a Dirichlet distribution, the lowest error "
            "rate that any classifier can reach on rows like these is"
        )
    yield (
        f"{start} {about}, estimated from {found.n:,} rows{groups} ({level_text(found.level)} "
        f"interval: {low:.3%} to {high:.3%})."
    )
    if corrected:
        yield f"Uncorrected: {found.estimate:.3%}."
    if found.bias_bound is not None and found.bias_bound != (0, 0):
        which = "That" if corrected else "It"
        yield f"{which} is too low by at most {_points(-found.bias_bound[0])}: labels are few."
    raw = "uncorrected estimate" if corrected else "estimate"
    yield (
        f"With a probability of {1 - found.delta:.0%} the {raw} is within {_points(found.bound)} "
        f"of its expectation."
    )
    if found.refit_interval is not None:
        low, high = found.bounded_interval or found.interval
        yield f"With the scaling of the scores treated as known: {low:.3%} to {high:.3%}."


def _model_free(found: BayesErrorEstimate) -> Iterator[str]:
    if found.moment_bounds is None or found.moment_interval is None:
        return
    (low, high), (least, most) = found.moment_bounds, found.moment_interval
    yield (
        "The lowest error rate that any classifier can reach on rows like these lies between "
        f"{least:.3%} and {most:.3%} ({level_text(found.level)} confidence, for any distribution "
        f"of the probabilities; between {low:.3%} and {high:.3%} without sampling error)."
    )
    if found.corrected is not None and not least <= found.corrected <= most:
        yield (
            "The corrected estimate is outside these bounds: a Dirichlet distribution does not fit "
            "the counts, so use the bounds."
        )


def _points(share: float) -> str:
    return f"{100 * share:.3f} percentage points"


def named(teams: Sequence[str], shown: int = _SHOWN) -> str:
    r"""Return the first few names of teams, with control characters escaped.

    >>> named(["a", "b\x1b"]), named(["a", "b", "c"], shown=1)
    ('a and b\\x1b', 'a and 2 more')
    """
    names = [shorten(team) for team in teams[:shown]]
    if len(teams) > shown:
        return f"{', '.join(names)} and {len(teams) - shown:,} more"
    return " and ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def nearest_to_the_floor(study: Study, against_soft: FloatArray) -> str:
    """Return the team with the lowest error against the soft labels, or all that share it."""
    alike = np.flatnonzero(against_soft == against_soft.min())
    return named(list(dict.fromkeys(study.teams[at] for at in alike)))


def best_scored(study: Study) -> tuple[float, str]:
    """Return the best score of a leaderboard, and the teams that have it."""
    best = float((np.max if study.metric.greater_is_better else np.min)(study.scores))
    alike = np.flatnonzero(study.scores == best)
    return best, named(list(dict.fromkeys(study.teams[at] for at in alike)))


def of_other_metrics(study: Study, found: BoardFloor) -> str:
    """Return the verdict if predictions are not classes, so that errors cannot be counted."""
    said = (
        f"teams are not checked against it, because predictions for {study.metric.name} name no "
        f"class"
    )
    if found.metric is None or not len(study.scores):
        return said
    best, teams = best_scored(study)
    possible = found.metric.value
    beyond = best > possible if study.metric.greater_is_better else best < possible
    scores = f"The best score, {best:.5g} ({teams}),"
    if not beyond:
        return f"{said}. {scores} is no better than the best possible one, {possible:.5g}"
    side = "above" if study.metric.greater_is_better else "below"
    return (
        f"{said}. {scores} is {side} the best possible {possible:.5g}: there is a leak, the soft "
        f"labels are less certain than the labels, or, if the difference is small, it is chance"
    )
