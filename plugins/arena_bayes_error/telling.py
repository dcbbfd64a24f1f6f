"""What was found in a file of labels: as a JSON document, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import CONTRADICTED
from arena_bayes_error.floors import MetricFloor
from arena_bayes_error.kinds import Answer
from arena_bayes_error.neighbours import CoverHartBounds

__all__ = ["document_of", "sentences_of"]


def document_of(answer: Answer, seed: int) -> dict[str, Any]:
    """Return plain JSON: an estimate, or bounds, which are another document."""
    found, fit = answer.found, answer.fit
    if isinstance(found, CoverHartBounds):
        return {"schema": "arena/bayes-error-bounds/1", "kind": "features", **found.to_dict()}
    return {
        "schema": "arena/bayes-error/1",
        **found.to_dict(),
        "metric_floors": [asdict(floor) for floor in answer.metric_floors],
        "positive": answer.positive,
        "scaling": None if fit is None else {"slope": fit.slope, "intercept": fit.intercept},
        "seed": seed,
    }


def sentences_of(answer: Answer) -> Iterator[str]:
    """Yield what a person should know of it, and last what it takes for granted."""
    found = answer.found
    yield from _of_bounds(found) if isinstance(found, CoverHartBounds) else _of_estimate(found)
    for floor in answer.metric_floors:
        yield _of_metric(floor)
    if answer.positive is not None:
        yield f"Positive: {answer.positive}."
    yield "This takes for granted:"
    for sentence in found.assumptions:
        if sentence != CONTRADICTED:
            yield f"  {sentence}"


def _of_bounds(found: CoverHartBounds) -> Iterator[str]:
    asked = "the nearest neighbour" if found.neighbours == 1 else f"{found.neighbours} neighbours"
    yield (
        f"Bounds, not an estimate: the lowest error rate that any classifier of these features can "
        f"reach lies between {found.lower:.3%} and {found.upper:.3%}, or with the chance of the "
        f"rows, at {found.level:.0%}, between {found.lower_end:.3%} and {found.upper_end:.3%}. "
        f"They follow from the error of {asked}, {found.error:.3%} of {found.n:,} rows."
    )
    if found.copies:
        yield (
            f"{found.copies:,} rows have the features of another row: if they are copies, leave "
            f"them out, or both bounds are too low."
        )


def _of_estimate(found: BayesErrorEstimate) -> Iterator[str]:
    if CONTRADICTED in found.assumptions:
        yield CONTRADICTED
    interval = found.refit_interval or found.wilson_interval or found.interval
    corrected = found.corrected is not None and found.corrected_interval is not None
    about, (low, high) = (
        (f"about {found.corrected:.3%}", found.corrected_interval or interval)
        if corrected
        else (f"{found.estimate:.3%}", interval)
    )
    groups = "" if found.n_clusters is None else f" in {found.n_clusters:,} groups"
    why = ", and corrected for the few labels of a row" if corrected else ""
    yield (
        f"No classifier can err on less than {about} of rows like these, as estimated from "
        f"{found.n:,}{groups}{why} ({found.level:.0%} interval: {low:.3%} to {high:.3%})."
    )
    if corrected:
        yield f"Not corrected: {found.estimate:.3%} ({interval[0]:.3%} to {interval[1]:.3%})."
    if found.bias_bound is not None and found.bias_bound != (0, 0):
        which = "That" if corrected else "It"
        yield f"{which} is too low by at most {_points(-found.bias_bound[0])}, as labels are few."
    raw = "estimate that is not corrected" if corrected else "estimate"
    yield (
        f"With a probability of {1 - found.delta:.0%} the {raw} is within {_points(found.bound)} "
        f"of its expectation."
    )
    if found.refit_interval is not None:
        low, high = found.interval
        yield f"With the scaling of the scores taken as known: {low:.3%} to {high:.3%}."


def _points(share: float) -> str:
    return f"{100 * share:.3f} percentage points"


def _of_metric(floor: MetricFloor) -> str:
    error = floor.standard_error
    sure = "" if error is None else f" (standard error {error:.2g})"
    return f"The best possible {floor.metric} on rows like these: {floor.value:.5g}{sure}."
