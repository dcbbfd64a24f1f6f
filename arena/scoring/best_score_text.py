"""What every page says of the true scores at the top of a board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.utils.formatting import Show, level_text, span


def intervals_at_the_top(best: Mapping[str, Any], level: float, score: Show) -> str:
    """Return the intervals of the winner's true score and of the best one, in sentences.

    Parameters
    ----------
    best
        ``best_score_corrected`` of a board of several teams.
    level
        Of each of the two intervals.
    score
        How scores are shown.

    Examples
    --------
    >>> best = {"low": 0.7, "high": 0.9, "winners": [{"low": 0.7, "high": 0.8}]}
    >>> intervals_at_the_top(best, 0.95, str)
    "Interval of the winner's true score: 0.7 to 0.8; of the best true score of all: 0.7 to 0.9 \
(95% confidence each)."
    >>> intervals_at_the_top(best | {"high": 0.8}, 0.95, str)
    "Interval of the winner's true score, and of the best true score of all: 0.7 to 0.8 (95% \
confidence each)."
    >>> intervals_at_the_top({"low": None, "reason": "Few rows.", "winners": []}, 0.95, str)
    "There is no interval for the winner's true score. Few rows."
    """
    winner = next(iter(best.get("winners", ())), {"low": None})
    if winner["low"] is None:
        reason = best.get("reason") or ""
        return f"There is no interval for the winner's true score. {reason}".rstrip()
    first = f"Interval of the winner's true score: {span(winner['low'], winner['high'], score)}"
    if best["low"] is None:
        return f"{first} ({level_text(level)} confidence)."
    if span(best["low"], best["high"], score) == span(winner["low"], winner["high"], score):
        both = first.replace("true score:", "true score, and of the best true score of all:")
        return f"{both} ({level_text(level)} confidence each)."
    return (
        f"{first}; of the best true score of all: "
        f"{span(best['low'], best['high'], score)} ({level_text(level)} confidence each)."
    )
