"""What teams and the organiser decide about submissions: selections and disqualifications."""

from __future__ import annotations

from collections.abc import Sequence

from arena.competition_state import CompetitionState
from arena.errors import UsageError
from arena.final_selection import check_choice

__all__ = ["disqualify", "select"]


def select(state: CompetitionState, team: str, submissions: Sequence[int]) -> None:
    """Record which submissions a team chose as its final ones; none takes its choice back.

    Raises
    ------
    UsageError
        If they are more than a team may choose, or not this team's accepted submissions.
    """
    if not state.store.submissions(team=team):
        raise UsageError(f"No submission of a team {team!r} is stored.")
    own = [one.submission for one in state.ledger.counting() if one.team == team]
    check_choice(submissions, own, state.settings.final.count)
    state.record("selection", {"team": team, "submissions": sorted(set(submissions))})


def disqualify(state: CompetitionState, submission: int, reason: str) -> str | None:
    """Record that a submission does not count, and why.

    Returns
    -------
    The reason on record so far, if it did not count already; the new one stands in its place, and
    both stay on record.

    Raises
    ------
    UsageError
        If there is no such submission, no reason is given, or this is the reason on record.
    """
    if submission not in {record.submission for record in state.store.submissions()}:
        raise UsageError(f"There is no submission {submission}.")
    if not reason.strip():
        raise UsageError("A disqualification needs a reason: it stands on record.")
    payload = {"submission": submission, "reason": reason.strip()}
    before = state.ledger.disqualified().get(submission)
    if before == payload["reason"]:
        raise UsageError(f"Submission {submission} is disqualified already, for this very reason.")
    state.record(
        "disqualification", payload if before is None else {**payload, "reason_before": before}
    )
    return before
