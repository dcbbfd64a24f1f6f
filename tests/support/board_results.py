"""Boards that no submission was scored for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arena.scoring.result import STANDING_COLUMNS, ScoreResult


def a_result(**changes: Any) -> ScoreResult:
    """Return a board of two teams, with some fields changed."""
    rows = [
        {
            **dict.fromkeys(STANDING_COLUMNS),
            "rank": rank,
            "team": team,
            "score": score,
            "file": "f",
            "submission": rank,
        }
        for rank, team, score in ((1, "a", 0.9), (2, "b", 0.8))
    ]
    result = ScoreResult(
        metric="accuracy", greater_is_better=True, split="private", n_rows=10, positive=None,
        resamples=100, resamples_redrawn=0, resamples_undefined=0, level=0.95, seed=0,
        standings=tuple(rows), best_score_corrected={"estimate": None, "low": None, "high": None},
        rejected=(), findings=(), notes=(),
    )  # fmt: skip
    return replace(result, **changes)


def crowded(n_teams: int) -> ScoreResult:
    """Return a board of many teams, with every column."""
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(n_teams))[::-1].round(6).tolist()
    rows = [
        {
            "rank": place + 1, "team": f"Team of many letters {place}", "submission": place,
            "file": "f.csv", "score": score,
            "score_low": score - 0.01234, "score_high": score + 0.01,
            "rank_low": max(1, place - 300), "rank_high": min(n_teams, place + 300),
            "tier": 1 + place // 100, "bootstrap_rank_low": place + 1,
            "bootstrap_rank_high": place + 2,
            "rank_median": place, "win_rate": 1 / (place + 2), "prize_share": 0.0,
            "public_score": score, "public_rank": int(rng.integers(1, n_teams)),
        }
        for place, score in enumerate(scores)
    ]  # fmt: skip
    inputs = tuple((f"team {place}/file.csv", "0" * 64) for place in range(n_teams))
    return a_result(standings=tuple(rows), inputs=inputs, split="private")
