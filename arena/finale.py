"""The end of a competition: the private board of the final submissions, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arena.board_run import BoardRun
from arena.config import Settings
from arena.final_selection import board_ranks, choose_finals
from arena.ledger import Ledger
from arena.private_board import BoardSettings
from arena.score_result import ScoreResult
from arena.types import SubmissionRecord

__all__ = [
    "analysis_seed",
    "board_settings",
    "final_submissions",
    "fingerprint",
    "judge_finals",
]

_ANALYSIS_STREAM = (2**32 - 1, 3)

_RULE_NOTES: Mapping[str, str] = {
    "best_private": (
        "Each team stands with the best of its submissions on these very rows, which makes every "
        "score too good; the more a team sent, the more so."
    ),
    "chosen": "A team that chose several stands with the best of them on these rows.",
}


def analysis_seed(secret: int) -> int:
    """Return the seed of a board's resamples, which may be shown, from the secret one.

    >>> analysis_seed(1) == analysis_seed(1) != analysis_seed(2)
    True
    """
    return int(np.random.SeedSequence(secret, spawn_key=_ANALYSIS_STREAM).generate_state(1)[0])


def final_submissions(
    ledger: Ledger, settings: Settings, *, greater_is_better: bool
) -> dict[str, tuple[int, ...]]:
    """Return the submissions of each team that count, by the rule; the baseline has none."""
    candidates = [one for one in ledger.candidates() if one.team != settings.competition.baseline]
    return choose_finals(
        candidates,
        settings.final.rule,
        greater_is_better=greater_is_better,
        chosen=ledger.selections(),
    )


def judge_finals(
    run: BoardRun,
    finals: Mapping[str, Sequence[int]],
    records: Sequence[SubmissionRecord],
    settings: Settings,
) -> ScoreResult:
    """Return the private board of each team's final submissions. Nothing is stored.

    Parameters
    ----------
    run
        Over the private rows.
    finals
        Submissions by team; of several the best counts, found anew in every resample.
    records
        Of these submissions, and perhaps of others.
    settings
        For the rule's note and the ties.
    """
    counting = {submission for own in finals.values() for submission in own}
    several = any(len(own) > 1 for own in finals.values())
    notes = [_RULE_NOTES[settings.final.rule]] if several else []
    result = run.result([one for one in records if one.submission in counting], notes=notes)
    return _break_ties(result, settings)


def board_settings(settings: Settings, seed: int) -> BoardSettings:
    """Return how the private board of a competition is judged."""
    return BoardSettings(settings.analysis.resamples, settings.analysis.level, seed)


def _break_ties(result: ScoreResult, settings: Settings) -> ScoreResult:
    """Put the earlier of two tied submissions ahead, and let them share a rank or not."""
    sign = -1 if result.greater_is_better else 1
    ordered = sorted(result.standings, key=lambda row: (sign * row["score"], row["submission"]))
    ranks = board_ranks([row["score"] for row in ordered], settings.final.ties)
    ranked = [{**row, "rank": rank} for row, rank in zip(ordered, ranks, strict=True)]
    return replace(result, standings=tuple(ranked))


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return the sha256 of a JSON document, whatever the order of its keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
