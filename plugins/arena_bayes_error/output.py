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
from arena.utils.text import plural, shorten
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
    estimate, fit = answer.found, answer.fit
    if isinstance(estimate, CoverHartBounds):
        return {"schema": "arena/bayes-error-bounds/1", "kind": "features", **estimate.to_dict()}
    fields = (
        {**dict.fromkeys(BayesErrorEstimate.__slots__), "kind": answer.kind, **asdict(estimate)}
        if isinstance(estimate, FloorEstimate)
        else estimate.to_dict()
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
    estimate = answer.found
    if isinstance(estimate, CoverHartBounds):
        yield from _of_bounds(estimate)
    elif isinstance(estimate, FloorEstimate):
        yield from _of_another_plugin(estimate)
    else:
        yield from _of_estimate(estimate)
    for floor in answer.metric_floors:
        error = floor.standard_error
        sure = "" if error is None else f" (standard error {error:.2g})"
        yield f"The best possible {floor.metric} on rows like these: {floor.value:.5g}{sure}."
    if answer.positive is not None:
        yield f"Positive: {answer.positive}."
    yield "Assumptions:"
    for sentence in estimate.assumptions:
        if sentence not in WARNINGS:
            yield f"  {sentence}"


def _of_bounds(bounds: CoverHartBounds) -> Iterator[str]:
    neighbour_text = (
        "the nearest neighbour" if bounds.neighbours == 1 else f"{bounds.neighbours} neighbours"
    )
    yield (
        f"Bounds, not an estimate: the lowest error rate that any classifier of these features can "
        f"reach lies between {bounds.lower:.3%} and {bounds.upper:.3%}; with sampling error, "
        f"between {bounds.lower_end:.3%} and {bounds.upper_end:.3%} ({level_text(bounds.level)} "
        f"confidence). They follow from the error of {neighbour_text}, {bounds.error:.3%} of "
        f"{plural(bounds.n, 'row')}."
    )
    if bounds.copies:
        yield (
            f"{plural(bounds.copies, 'row', 'have')} the same features as another row: if they are "
            "copies, remove them, or both bounds are too low."
        )


def _of_another_plugin(estimate: FloorEstimate) -> Iterator[str]:
    groups = "" if estimate.n_clusters is None else f" in {plural(estimate.n_clusters, 'group')}"
    low, high = estimate.interval
    yield (
        f"The lowest error rate that any classifier can reach on rows like these is "
        f"{estimate.estimate:.3%}, estimated from {plural(estimate.n, 'row')}{groups} "
        f"({level_text(estimate.level)} interval: {low:.3%} to {high:.3%})."
    )
    if estimate.bias_bound is not None and estimate.bias_bound != (0, 0):
        low, high = estimate.bias_bound
        yield f"Its bias is between {_points(low)} and {_points(high)}."


def _of_estimate(estimate: BayesErrorEstimate) -> Iterator[str]:
    for warning in WARNINGS:
        if warning in estimate.assumptions:
            yield warning
    interval = estimate.reported_interval
    corrected = estimate.corrected is not None and estimate.corrected_interval is not None
    about, (low, high) = (
        (f"about {estimate.corrected:.3%}", estimate.corrected_interval or interval)
        if corrected
        else (f"{estimate.estimate:.3%}", interval)
    )
    groups = "" if estimate.n_clusters is None else f" in {plural(estimate.n_clusters, 'group')}"
    yield from _model_free(estimate)
    start = "The lowest error rate that any classifier can reach on rows like these is"
    if corrected:
        start = (
            "If the probabilities of the rows follow a Dirichlet distribution, the lowest error "
            "rate that any classifier can reach on rows like these is"
        )
    yield (
        f"{start} {about}, estimated from {plural(estimate.n, 'row')}{groups} "
        f"({level_text(estimate.level)} interval: {low:.3%} to {high:.3%})."
    )
    if corrected:
        yield f"Uncorrected: {estimate.estimate:.3%}."
    if estimate.bias_bound is not None and estimate.bias_bound != (0, 0):
        which = "That" if corrected else "It"
        yield f"{which} is too low by at most {_points(-estimate.bias_bound[0])}: labels are few."
    raw = "uncorrected estimate" if corrected else "estimate"
    yield (
        f"With a probability of {1 - estimate.delta:.0%} the {raw} is within "
        f"{_points(estimate.bound)} of its expectation."
    )
    if estimate.refit_interval is not None:
        low, high = estimate.bounded_interval or estimate.interval
        yield f"With the scaling of the scores treated as known: {low:.3%} to {high:.3%}."


def _model_free(estimate: BayesErrorEstimate) -> Iterator[str]:
    if estimate.moment_bounds is None or estimate.moment_interval is None:
        return
    (low, high), (least, most) = estimate.moment_bounds, estimate.moment_interval
    yield (
        "The lowest error rate that any classifier can reach on rows like these lies between "
        f"{least:.3%} and {most:.3%} ({level_text(estimate.level)} confidence, for any "
        f"distribution of the probabilities; between {low:.3%} and {high:.3%} without "
        f"sampling error)."
    )
    if estimate.corrected is not None and not least <= estimate.corrected <= most:
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
    return named(list(dict.fromkeys(study.teams[position] for position in alike)))


def best_scored(study: Study) -> tuple[float, str]:
    """Return the best score of a leaderboard, and the teams that have it."""
    best = float((np.max if study.metric.greater_is_better else np.min)(study.scores))
    alike = np.flatnonzero(study.scores == best)
    return best, named(list(dict.fromkeys(study.teams[position] for position in alike)))


def of_other_metrics(study: Study, floor: BoardFloor) -> str:
    """Return the verdict if predictions are not classes, so that errors cannot be counted."""
    reason = (
        f"teams are not checked against it, because predictions for {study.metric.name} name no "
        f"class"
    )
    if floor.metric is None or not len(study.scores):
        return reason
    best, teams = best_scored(study)
    possible = floor.metric.value
    beyond = best > possible if study.metric.greater_is_better else best < possible
    scores = f"The best score, {best:.5g} ({teams}),"
    if not beyond:
        return f"{reason}. {scores} is no better than the best possible one, {possible:.5g}"
    side = "above" if study.metric.greater_is_better else "below"
    return (
        f"{reason}. {scores} is {side} the best possible {possible:.5g}: there is a leak, the soft "
        f"labels are less certain than the labels, or, if the difference is small, it is chance"
    )
