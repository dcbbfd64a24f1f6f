"""Teams that the analyses of a board flagged, and whether they deserved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.evaluation.similar import SimilarSubmissions
from arena.simulation.competition.teams import Participant
from arena.types import Finding

NEAR_COPY = "near-copy"
TOO_GOOD = "too good to be true"


@dataclass(frozen=True, slots=True)
class Flag:
    """A team that an analysis flagged."""

    check: str
    team: str
    kind: str
    deserved: bool
    """Near-duplicate: its kind is not honest, or one person is behind it and another team of the
    group. Too good to be true: its kind attacks the labels."""
    others: tuple[str, ...] = ()
    """The other teams of its group of near-duplicates."""


def flags_of(
    findings: Sequence[Finding],
    standings: Sequence[Mapping[str, Any]],
    participant_of: Mapping[str, Participant],
    similar: Sequence[SimilarSubmissions] = (),
) -> tuple[Flag, ...]:
    """Return every flag in the findings, by what their documents say.

    ``near_copies`` lists groups of submissions; ``submissions`` with ``flagged`` marks those with
    fewer errors than the Bayes error allows. Any analysis may deliver either.

    Parameters
    ----------
    standings
        Of the private board, to find the team of a submission.
    participant_of
        The participant behind every team.
    similar
        Submissions of different teams that ``arena finalize`` names, those of the organiser's
        baseline included.
    """
    team_of = {row["submission"]: row["team"] for row in standings}
    flags: list[Flag] = []
    for finding in findings:
        for group in finding.document.get("near_copies") or ():
            flags += _near_copies(
                [team_of[submission] for submission in group if submission in team_of],
                participant_of,
            )
        for row in _checked(finding):
            if row["flagged"] and row.get("team") in participant_of:
                participant = participant_of[row["team"]]
                deserved = participant.kind.conduct == "attacks"
                flags.append(
                    Flag(TOO_GOOD, row["team"], participant.kind.competitor.name, deserved)
                )
    for pair in similar:
        flags += _near_copies(pair.teams, participant_of)
    return tuple({(flag.check, flag.team): flag for flag in reversed(flags)}.values())[::-1]


def floor_was_checked(findings: Sequence[Finding]) -> bool:
    """Whether any analysis compared error rates with the Bayes error."""
    return any(_checked(finding) for finding in findings)


def _checked(finding: Finding) -> list[Mapping[str, Any]]:
    rows = finding.document.get("submissions")
    checked_rows = rows if isinstance(rows, list) else []
    return [row for row in checked_rows if isinstance(row, Mapping) and "flagged" in row]


def _near_copies(teams: Sequence[str], participant_of: Mapping[str, Participant]) -> Iterator[Flag]:
    for team in teams:
        if team not in participant_of:
            continue
        others = tuple(other for other in teams if other != team)
        team_facts = participant_of[team]
        same_person = any(participant_of.get(other) is team_facts for other in others)
        deserved = team_facts.kind.conduct != "honest" or same_person
        yield Flag(
            NEAR_COPY, team, kind=team_facts.kind.competitor.name, deserved=deserved, others=others
        )
