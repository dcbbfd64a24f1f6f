"""Answers to the questions of a competition: checked by the web process, commands and Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from arena.errors import UsageError

LONGEST = 200
"""Characters of an answer."""
ANSWERS = "answers"
"""The key of a row of a board that maps questions to answers."""


def check_answers(
    questions: Mapping[str, Mapping[str, Any]],
    given_answers: Mapping[str, str],
    answered: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the answers to record, without empty ones, in the order of the questions.

    Parameters
    ----------
    questions
        Key -> ``text``, ``choices``, ``required``, ``brackets`` and ``may_change``.
    answered
        What the team answered before, which needs no other answer. The choice of a bracket stays
        unless it may change.

    Raises
    ------
    UsageError
        If there is no such question, an answer is too long or none of the choices, a required one
        is missing, or the team chose another bracket before.

    Examples
    --------
    >>> questions = {"method": {"text": "Method", "choices": [], "required": True}}
    >>> check_answers(questions, {"method": " two  words "})
    {'method': 'two words'}
    """
    for key in given_answers:
        if key not in questions:
            keys = ", ".join(questions) or "none"
            raise UsageError(f"There is no question {key!r}. There are: {keys}.")
    answers, answered = {}, answered or {}
    for key, question in questions.items():
        answer = " ".join(given_answers.get(key, "").split())
        choices = question["choices"]
        if not answer:
            if question["required"] and key not in answered:
                raise UsageError(
                    f"An answer to {key} is missing ({question['text']}): give it on the page "
                    f"Submit, or by --answer {key}=TEXT."
                )
            continue
        if len(answer) > LONGEST or not answer.isprintable():
            raise UsageError(f"The answer to {key} must have at most {LONGEST} printable letters.")
        if choices and answer not in choices:
            raise UsageError(f"The answer to {key} must be one of: {', '.join(choices)}.")
        if is_kept(question) and key in answered:
            if answered[key] != answer:
                raise UsageError(
                    f"The team's answer to {key} is {answered[key]}, and it stays, because it is a "
                    f"bracket. Only the organiser can change it."
                )
            continue  # recorded again, it would undo what the organiser decided since
        answers[key] = answer
    return answers


def is_kept(question: Mapping[str, Any]) -> bool:
    """Return whether the first answer of a team stays: it could choose where it is ahead."""
    return bool(question.get("brackets") and not question.get("may_change"))


def with_answers_as_cells(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows for a table, with a column for each question that a row answers.

    >>> with_answers_as_cells([{"team": "b", "answers": {"method": "trees"}}, {"team": "c"}])
    [{'team': 'b', 'answer_method': 'trees'}, {'team': 'c', 'answer_method': ''}]
    """
    rows = list(rows)
    keys = dict.fromkeys(key for row in rows for key in row.get(ANSWERS, ()))
    return [
        {
            **{key: value for key, value in row.items() if key != ANSWERS},
            **{f"answer_{key}": row.get(ANSWERS, {}).get(key, "") for key in keys},
        }
        for row in rows
    ]
