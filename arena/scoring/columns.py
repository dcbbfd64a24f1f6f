"""The meaning of the columns of a submission, in words."""

from __future__ import annotations

from arena.types import PredictionKind, Solution

_MEANINGS = {
    PredictionKind.PROBABILITY: "the probability of the positive class",
    PredictionKind.SCORE: "or any score that is larger for the positive class",
}


def meaning_of_columns(solution: Solution) -> list[str]:
    """Return a sentence on each column that is about the positive class of two.

    A team that predicts the other class gets a reversed board.
    """
    usage = [] if solution.guessed_usage is None else [usage_note(solution.guessed_usage)]
    if solution.kind not in _MEANINGS:
        return usage
    return usage + [
        f"In a submission, column {column} = P({target.classes[1]}), {_MEANINGS[solution.kind]}; "
        f"--positive names another class."
        for column, target in zip(solution.columns, solution.targets, strict=False)
        if target.classes is not None and len(target.classes) == 2
    ]


def usage_note(column: str) -> str:
    """Return the sentence about a usage column that was recognised by its cells."""
    return (
        f"Column {column} holds Public and Private, so it says which rows are public; --usage "
        "names another column."
    )
