"""Verification of winners: whether the organiser could reproduce a final submission.

It is recorded between finalizing and publishing, and changes no rank: to disqualify a submission
that fails is a separate decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from arena.competition.state import CompetitionState
from arena.errors import UsageError
from arena.utils.bracket_rows import BRACKETS
from arena.utils.text import plural

VERIFICATION = "verification"
"""The kind of the event: ``submission``, ``state`` and ``note``."""
VerificationState = Literal["verified", "failed", "open"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification of a submission found: ``verified`` or ``failed``, and the note."""

    state: str
    note: str

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns of the private board."""
        return {"verification": self.state, "verification_note": self.note}


_COLUMNS = ("verification", "verification_note")


def verify_winner(state: CompetitionState, submission: int, outcome: str, note: str) -> None:
    """Record the verification of a submission; it replaces an earlier one, ``open`` removes it.

    Raises
    ------
    UsageError
        If it is no accepted submission, the outcome is another, or a failure has no note.
    """
    if outcome not in get_args(VerificationState):
        raise UsageError(f"A verification is {', '.join(get_args(VerificationState))}.")
    if submission not in {record.submission for record in state.ledger.counting()}:
        raise UsageError(
            f"Submission {submission} is not an accepted submission that counts. Nothing was "
            f"changed."
        )
    if outcome == "failed" and not note.strip():
        raise UsageError("A failed verification needs a note, which everybody sees: give one.")
    payload = {"submission": submission, "state": outcome, "note": note.strip()}
    state.record(VERIFICATION, payload)


def verifications(state: CompetitionState) -> dict[int, Verification]:
    """Return the last verification of each submission that has one."""
    last = {
        event.payload["submission"]: Verification(event.payload["state"], event.payload["note"])
        for event in state.events(VERIFICATION)
    }
    return {
        number: verification
        for number, verification in last.items()
        if verification.state != "open"
    }


def with_verifications(
    rows: Iterable[Mapping[str, Any]], verified: Mapping[int, Verification]
) -> list[dict[str, Any]]:
    """Return the rows of a private board with the columns of the verifications, if there is any."""
    if not verified:
        return [dict(row) for row in rows]
    none = dict.fromkeys(_COLUMNS)
    return [
        {
            **row,
            **(verification.columns if (verification := verified.get(row["submission"])) else none),
        }
        for row in rows
    ]


def may_be_first(row: Mapping[str, Any]) -> bool:
    """Return whether a row of a private board may be first, among all teams or in a bracket.

    >>> may_be_first({"rank": 5, "brackets": {"students": {"rank": 1}}})
    True
    """
    return any(
        columns.get("possible_winner", columns["rank"] == 1)
        for columns in (row, *row.get(BRACKETS, {}).values())
        if columns["rank"] is not None
    )


def not_verified(boards: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Return the teams that may be first and are not verified, and those whose file failed.

    ``boards``: the rows of each private board; a team may be first on any of them.

    >>> not_verified([[{"team": "Ants", "rank": 1}, {"team": "Bees", "rank": 2}]])
    {'unverified': ['Ants'], 'failed': []}
    """
    rows = [row for board in boards for row in board if row["rank"] is not None]
    teams = {
        "unverified": (r["team"] for r in rows if may_be_first(r) and not r.get("verification")),
        "failed": (row["team"] for row in rows if row.get("verification") == "failed"),
    }
    return {key: [*dict.fromkeys(names)] for key, names in teams.items()}


def warnings_of(boards: Iterable[Iterable[Mapping[str, Any]]]) -> tuple[str, ...]:
    """Return what to know before private boards are published, in sentences.

    >>> warnings_of([[{"team": "Ants", "rank": 1, "verification": "failed"}]])
    ('Ants failed the verification and is ranked: disqualify it, or verify it again.',)
    """
    teams = not_verified(boards)
    sentences = [
        f"{team} failed the verification and is ranked: disqualify it, or verify it again."
        for team in teams["failed"]
    ]
    if teams["unverified"]:
        number = plural(len(teams["unverified"]), "team")
        names = ", ".join(teams["unverified"][:5])
        verb = "is" if len(teams["unverified"]) == 1 else "are"
        sentences.append(
            f"{number} may be first and {verb} not verified: {names}. Record what was verified by "
            f"`arena winners`."
        )
    return tuple(sentences)
