"""Answers to the public questions of a competition, ``[question.KEY]``: they are on record.

They come with a submission: its own answers belong to it, and those of the team replace earlier
ones of the team.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.competition.record.teams import TEAM_CHANGES, Teams
from arena.config import Settings
from arena.errors import UsageError
from arena.store import Event
from arena.utils.questions import ANSWERS, check_answers

ANSWERED = "answers"
"""The kind of event with the ``answers`` that came with a ``submission`` of a ``team``."""
ANSWER_EVENTS = (ANSWERED, *TEAM_CHANGES)
"""The kinds of events that answers follow from."""


def fitting_answers(
    settings: Settings, given_answers: Any, answered: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the answers of a queued request that fit the questions of the settings.

    The web process checks them when it receives the request. An answer that does not fit now, since
    a question changed or another program wrote the request, is left out, and the file counts.
    ``answered`` is what the team answered before.

    >>> settings = Settings.of(metric="f1", question={"framework": {"choices": ["jax", "torch"]}})
    >>> fitting_answers(settings, {"framework": "jax", "method": "trees"})
    {'framework': 'jax'}
    """
    documents = {
        key: {**question.model_dump(), "required": False}
        for key, question in settings.public_questions.items()
    }
    fitting: dict[str, str] = {}
    for key, answer in given_answers.items() if isinstance(given_answers, Mapping) else ():
        with contextlib.suppress(UsageError):
            fitting |= check_answers(documents, {key: str(answer)}, answered)
    return fitting


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers that count, to the questions of the settings."""

    of_submissions: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    of_teams: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the current name."""

    @classmethod
    def of(cls, settings: Settings, events: Iterable[Event]) -> Answers:
        """Return the answers after these events, of the kinds :data:`ANSWER_EVENTS`.

        A merged team has the answers of the team that the other one joined, if both answered.

        Examples
        --------
        >>> settings = Settings.of(metric="f1", question={"method": {"text": "Method"}})
        >>> payload = {"submission": 3, "team": "owls", "answers": {"method": "trees"}}
        >>> facts = ("2026-03-01T12:00:00.000000+00:00", "owls")
        >>> Answers.of(settings, [Event(1, *facts, ANSWERED, payload, "", "")]).of_submissions
        {3: {'method': 'trees'}}
        """
        questions = settings.public_questions
        of_submissions: dict[int, dict[str, str]] = {}
        of_teams: dict[str, dict[str, str]] = {}
        for event in sorted(events, key=lambda event: event.sequence):
            team = event.payload["team"]
            if event.kind in TEAM_CHANGES:
                into = event.payload["to"]
                of_teams[into] = {**of_teams.pop(team, {}), **of_teams.get(into, {})}
                continue
            for key, answer in event.payload["answers"].items():
                question = questions.get(key)
                if question is not None and question.of == "submission":
                    of_submissions.setdefault(event.payload["submission"], {})[key] = answer
                elif question is not None:
                    of_teams.setdefault(team, {})[key] = answer
        return cls(of_submissions, of_teams)

    def added_to(
        self, rows: Sequence[Mapping[str, Any]], settings: Settings, teams: Teams
    ) -> list[dict[str, Any]]:
        """Return the rows of a board with the key ``answers``, in the order of the questions.

        Rows may have former names of teams.
        """
        answers_of_rows = [
            self.of_row(teams.current(row["team"]), row["submission"]) for row in rows
        ]
        return [
            {
                **row,
                ANSWERS: {
                    key: row_answers[key] for key in settings.public_questions if key in row_answers
                },
            }
            for row, row_answers in zip(rows, answers_of_rows, strict=True)
        ]

    def of_row(self, team: str, submission: int) -> dict[str, str]:
        """Return the answers about a team and about its submission."""
        return {**self.of_teams.get(team, {}), **self.of_submissions.get(submission, {})}
