"""The section on identical and nearly identical submissions, for the organiser only."""

from __future__ import annotations

from collections.abc import Sequence

from arena.evaluation.similar import SimilarSubmissions
from arena.types import Section, Table
from arena.utils.formatting import percent


def copies_section(found: Sequence[SimilarSubmissions]) -> Section | None:
    """Return which teams sent the same predictions, or nearly the same; None if no teams did."""
    if not found:
        return None
    rows = tuple(
        (
            "identical" if one.identical else "nearly identical",
            ", ".join(one.teams),
            ", ".join(map(str, one.submissions)),
            _difference(one),
        )
        for one in found
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


def _difference(one: SimilarSubmissions) -> str:
    if one.identical:
        return "none"
    if one.differ_slightly:
        return f"correlation {one.correlation:.6f}"
    return f"{percent(one.differing)} of the predictions differ"
