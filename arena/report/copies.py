"""The section on identical and nearly identical submissions, for the organiser only."""

from __future__ import annotations

from collections.abc import Sequence

from arena.evaluation.similar import SimilarSubmissions
from arena.types import Section, Table
from arena.utils.formatting import percent


def copies_section(pairs: Sequence[SimilarSubmissions]) -> Section | None:
    """Return which teams sent the same predictions, or nearly the same; None if no teams did."""
    if not pairs:
        return None
    rows = tuple(
        (
            "identical" if pair.identical else "nearly identical",
            ", ".join(pair.teams),
            ", ".join(map(str, pair.submissions)),
            _difference(pair),
        )
        for pair in pairs
    )
    return Section(
        "Similar submissions of different teams",
        "Identical or nearly identical predictions are a sign of one person with several accounts "
        "or of a shared file. They are no proof: ask the teams. Take this part out before you "
        "publish the page.",
        (
            Table(
                "Submissions of different teams",
                ("predictions", "teams", "submissions", "difference"),
                rows,
            ),
        ),
    )


def _difference(pair: SimilarSubmissions) -> str:
    if pair.identical:
        return "none"
    if pair.differ_slightly:
        return f"correlation {pair.correlation:.6f}"
    return f"{percent(pair.differing)} of the predictions differ"
