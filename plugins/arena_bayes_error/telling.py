"""What was found in a file of labels: as a JSON document, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from arena_bayes_error.estimate import BayesErrorEstimate
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
    low, high = found.refit_interval or found.wilson_interval or found.interval
    groups = "" if found.n_clusters is None else f" in {found.n_clusters:,} groups"
    yield (
        f"No classifier can err on less than {found.estimate:.3%} of rows like these, as "
        f"estimated from {found.n:,}{groups} ({found.level:.0%} interval: {low:.3%} to "
        f"{high:.3%})."
    )
    yield (
        f"With a probability of {1 - found.delta:.0%} the estimate is within {found.bound:.3%} of "
        f"its expectation."
    )
    if found.refit_interval is not None:
        low, high = found.interval
        yield f"With the scaling of the scores taken as known: {low:.3%} to {high:.3%}."
    if found.bias_bound is not None and found.bias_bound != (0, 0):
        yield f"It is too low by at most {-found.bias_bound[0]:.3%}, as labels are few."
    if found.corrected is not None and found.corrected_interval is not None:
        low, high = found.corrected_interval
        yield f"Corrected for that, about {found.corrected:.3%} ({low:.3%} to {high:.3%})."


def _of_metric(floor: MetricFloor) -> str:
    error = floor.standard_error
    sure = "" if error is None else f" (standard error {error:.2g})"
    return f"The best possible {floor.metric} on rows like these: {floor.value:.5g}{sure}."
