"""A mechanism run on made-up evaluations: its state goes through JSON between any two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arena.interfaces import Evaluation, Mechanism
from arena.types import Release


def evaluation(submission: int, score: float, **changes: Any) -> Evaluation:
    """Return an evaluation of a loss in [0, 1] on 100 rows, with a standard error of 0.01."""
    plain = Evaluation(
        submission=submission,
        score=score,
        greater_is_better=False,
        n_rows=100,
        standard_error_of_difference=lambda _: 0.01,
        standard_error=lambda: 0.01,
        score_range=(0.0, 1.0),
    )
    return replace(plain, **changes)


def run_mechanism(
    mechanism: Mechanism,
    scores: Sequence[float],
    *,
    mirrored: bool = False,
    kept: bool = False,
    **changes: Any,
) -> list[Release]:
    """Release scores one after another; ``kept``: the state stays in memory all the time.

    ``mirrored``: -loss as a score, and all that belongs to it.
    """
    if mirrored:
        low, high = changes.get("score_range", (0.0, 1.0))
        changes |= {"greater_is_better": True, "score_range": (-high, -low)}
        changes |= {"baseline": -changes["baseline"]} if "baseline" in changes else {}
        scores = [-score for score in scores]
    state: Any = {}
    releases = []
    for submission, score in enumerate(scores, start=1):
        submission_score = evaluation(submission, score, **changes)
        releases.append(
            mechanism.release(state, submission_score, np.random.default_rng(submission))
        )
        state = releases[-1].state
        if not kept:
            state = json.loads(json.dumps(dict(state), allow_nan=False))
    return releases
