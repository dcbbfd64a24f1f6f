"""The account of what was shown of public rows: how many scores of each team depend on them.

It is kept for a set of rows and not for a phase: two phases that share their public rows show
scores on the same labels. A score that repeats an earlier one shows nothing new: it is not counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arena.competition.record.phases import instance_groups
from arena.competition.state import CompetitionState


@dataclass(frozen=True, slots=True)
class ReleasedNumbers:
    """The scores that a team was shown on one set of public rows."""

    phases: tuple[str, ...]
    """The phases that show scores on these rows; an empty name without phases."""
    n_rows: int
    team: str
    by_phase: tuple[int, ...]
    """Scores of files when they were submitted, for each of the phases."""
    of_rebuilds: int
    """Other scores of these files after the board was released again."""


def released_numbers(state: CompetitionState) -> tuple[ReleasedNumbers, ...]:
    """Return the account of each set of public rows and team, in this order."""
    settings, records = state.with_phases, state.ledger.records()
    team_of = {record.submission: record.team for record in records}
    phase_of = {record.submission: record.phase for record in records}
    scores: dict[int, list[float]] = {}
    first, later = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for release in state.store.releases():  # epoch after epoch
        number, score = release.submission, release.release.score
        released = scores.setdefault(number, [])
        key = (phase_of[number], team_of[number])
        is_new = release.release.source is None and score not in released
        (later if released else first)[key] += is_new
        released.append(score)
    accounts = []
    for group in instance_groups(settings):
        phases = group.phases or ("",)
        n_rows = group.split(state.stored_solution, settings).outline().n_public
        teams = {team for phase, team in (*first, *later) if phase in phases}
        accounts += [
            ReleasedNumbers(
                phases=phases,
                n_rows=n_rows,
                team=team,
                by_phase=tuple(first[phase, team] for phase in phases),
                of_rebuilds=sum(later[phase, team] for phase in phases),
            )
            for team in sorted(teams)
        ]
    return tuple(accounts)
