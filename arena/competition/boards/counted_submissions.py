"""The submissions that count on the private board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.competition.record.final_selection import choose_finals
from arena.competition.record.roster import Roster
from arena.competition.state import CompetitionState
from arena.types import SubmissionRecord
from arena.utils.text import plural, printable

if TYPE_CHECKING:
    from arena.competition.boards.boards_over_phases import PhaseFinals


@dataclass(frozen=True, slots=True)
class CountedSubmissions:
    """The submissions that count, read once: with a long history this takes seconds."""

    records: Sequence[SubmissionRecord]
    """Of the final submissions."""
    finals: Mapping[str, tuple[int, ...]]
    """The final submissions of each team."""
    unranked: Sequence[SubmissionRecord]
    """Of each team that is not ranked its best submission on public, the reference first."""
    roster: Roster
    """The brackets, with the teams that have a submission that counts."""
    notes: Sequence[str]
    """On selections above the limit."""

    @property
    def finals_document(self) -> dict[str, list[int]]:
        """The final submissions of each team, as an event records them."""
        return {team: list(submissions) for team, submissions in self.finals.items()}


def counted_submissions(state: CompetitionState) -> CountedSubmissions:
    """Return the submissions that count by the final rule, and those of teams without a rank."""
    roster, final = state.roster, state.settings.final
    unranked = roster.unranked
    better = state.metric.greater_is_better
    every = state.ledger.candidates()
    candidates = [candidate for candidate in every if candidate.team not in unranked]
    chosen = state.ledger.selections()
    finals = choose_finals(
        candidates, final.rule, greater_is_better=better, chosen=chosen, count=final.count
    )
    candidate_ids = {candidate.submission for candidate in candidates}
    notes = [
        f"The team {printable(team)} selected "
        f"{plural(len(candidate_ids & set(team_finals)), 'submission')} when the limit was higher, "
        f"or before it was merged; the best {final.count:,} of them on the public rows count."
        for team, team_finals in sorted(chosen.items())
        if final.rule == "chosen" and len(candidate_ids & set(team_finals)) > final.count
    ]
    others = [candidate for candidate in every if candidate.team in unranked]
    best = choose_finals(others, "best_public", greater_is_better=better, chosen={})
    final_submissions = {
        submission for team_finals in finals.values() for submission in team_finals
    }
    # Records of the others would take 1.5 kB each while the board is computed.
    best_public = [number for team in unranked for number in best.get(team, ())]
    records = {
        record.submission: record
        for record in state.ledger.records(numbers={*final_submissions, *best_public})
    }
    return CountedSubmissions(
        [record for number, record in records.items() if number in final_submissions],
        finals,
        unranked=[records[number] for number in best_public],
        roster=roster.among({*finals, *best}),
        notes=notes,
    )


def files_in_phases(state: CompetitionState) -> dict[str, dict[str, int]]:
    """Return phase -> team -> final submission of the boards over phases; empty without one."""
    counted_in = {
        name: counted_submissions(state.in_phase(name)) for name in phases_of_final_boards(state)
    }
    return {
        name: {
            **{team: numbers[0] for team, numbers in counted.finals.items()},
            **{record.team: record.submission for record in counted.unranked},
        }
        for name, counted in counted_in.items()
    }


def phases_of_final_boards(state: CompetitionState) -> tuple[str, ...]:
    """Return the phases on which the boards over phases depend; few competitions have one."""
    if not state.with_phases.board:
        return ()
    from arena.competition.boards.boards_over_phases import phases_of_boards

    return phases_of_boards(state.with_phases, state.phase or "")


def phase_finals(state: CompetitionState, files: Mapping[str, Mapping[str, int]]) -> PhaseFinals:
    """Return what the boards over phases are of, by phase -> team -> submission."""
    from arena.competition.boards.boards_over_phases import PhaseFinals

    numbers = {number for of_round in files.values() for number in of_round.values()}
    records = state.of_all_phases.ledger.records(numbers=numbers)
    return PhaseFinals(
        settings=state.with_phases,
        phase=state.phase or "",
        solution=state.stored_solution,
        files=files,
        records={record.submission: record for record in records},
        roster=state.roster,
    )
