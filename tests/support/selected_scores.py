"""Scores with known errors, of which the best are selected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arena.evaluation.statistic_errors import Statistics
from arena.interfaces import Candidates

UNBOUNDED = (-np.inf, np.inf)


def errors_of(scores, spread=0.1, score_range=UNBOUNDED, degrees=np.inf, limit_units=np.inf):
    scores = np.asarray(scores, dtype=float)
    spread = np.broadcast_to(np.asarray(spread, dtype=float), scores.shape)
    return Statistics(
        scores=scores,
        score_range=score_range,
        n_units=100,
        standard_errors=spread,
        degrees_of_freedom=np.full(len(scores), float(degrees)),
        assumption="",
        reasons=(None,) * len(scores),
        spread=spread,
        limit_units=limit_units,
    )


def joint(correlation, m=2, resamples=20_000):
    """Return ``(m, B)`` errors with exactly this correlation."""
    rng = np.random.default_rng(5)
    errors = np.linalg.qr(rng.normal(size=(resamples, m + 1)) - 0.0)[0].T
    errors -= errors.mean(axis=1, keepdims=True)
    return np.sqrt(correlation) * errors[0] + np.sqrt(1 - correlation) * errors[1:]


def candidates_of(study, team, *, larger=True):
    """Return the study of the best submission of each team, selected on the ranked rows."""
    signed = study.scores if larger else -study.scores
    counting = np.array([
        min(np.flatnonzero(team == code), key=lambda index: (-signed[index], index))
        for code in range(team.max() + 1)
    ])  # fmt: skip
    return replace(
        study,
        teams=tuple(f"team {code}" for code in range(len(counting))),
        submissions=counting + 1,
        predictions=study.predictions.subset(counting),
        scores=study.scores[counting],
        resampled=study.resampled[counting],
        candidates=Candidates(study.scores, study.resampled, study.predictions, counting, team),
    )
