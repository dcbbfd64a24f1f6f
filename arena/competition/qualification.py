"""Which teams may submit in a phase: named by the organiser, mostly from the board before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.boards.final_document import FINAL_RESULT, final_document
from arena.competition.boards.outdated_board import outdated
from arena.competition.decisions import record_admission
from arena.competition.record.admission import Admission
from arena.competition.record.final_selection import choose_finals
from arena.competition.state import CompetitionState, public_standings
from arena.errors import UsageError
from arena.intake import ReadSubmission, SubmissionFile, named_file
from arena.utils.text import plural, printable

QUALIFIED = "qualified"
"""The kind of event: ``phase``, ``admit``, ``teams`` and ``board``, from which they follow."""


@dataclass(frozen=True, slots=True)
class Qualification:
    """The teams of a phase, and how sure that is; nothing is stored yet."""

    phase: str
    teams: tuple[str, ...]
    """By their current names, in the order of the board, or of their names."""
    board: str
    """``final`` or ``public``: the board before it; empty: they do not follow from a board."""
    notes: tuple[str, ...]
    """On teams at the limit whose rank interval reaches across it, for the organiser."""


def qualification(state: CompetitionState, phase: str, listed: Sequence[str] = ()) -> Qualification:
    """Return which teams a phase admits by its settings.

    Parameters
    ----------
    phase
        Its name.
    listed
        The teams, where ``admit`` is ``listed``.

    Raises
    ------
    UsageError
        If there is no such phase, it admits all teams and carries nothing, or the board before it
        was not finalized.
    """
    section = state.in_phase(phase).with_phases.phase[phase]
    if section.admit == "listed":
        if not listed:
            raise UsageError("Name the teams by --team.")
        return _listed(state, phase, listed)
    if listed:
        raise UsageError(f'--team needs admit = "listed" under [phase.{phase}].')
    if section.after is None:
        raise UsageError(f"The phase {phase} admits every team and carries no file.")
    before = state.in_phase(section.after)
    if not section.admit.startswith("top "):
        unranked = before.settings.competition.baselines
        teams = {record.team for record in before.ledger.counting()} - {*unranked}
        return Qualification(phase, tuple(sorted(teams)), "", ())
    most = int(section.admit.removeprefix("top "))
    if _has_final_board(before):
        return best_of_final_board(before, phase, most)
    return best_of_public_board(before, phase, most)


def _has_final_board(state: CompetitionState) -> bool:
    """Return whether a phase has private rows, so that its final board decides."""
    return bool(state.phase and state.with_phases.phase[state.phase].private_usages)


def _listed(state: CompetitionState, phase: str, listed: Sequence[str]) -> Qualification:
    """Return the named teams; a team that has sent nothing yet may be among them."""
    teams = state.ledger.teams()
    return Qualification(phase, tuple(dict.fromkeys(map(teams.current, listed))), "", ())


def best_of_final_board(before: CompetitionState, phase: str, most: int) -> Qualification:
    """Return the teams that qualify by their ranks on the final board of a phase."""
    if before.store.meta(before.name_of(FINAL_RESULT)) is None or outdated(before):
        raise UsageError(
            f"The final board of the phase {before.phase} decides: run arena finalize --phase "
            f"{before.phase} first."
        )
    document = final_document(before)
    rows = [row for row in document["standings"] if row["rank"] is not None]
    teams = tuple(row["team"] for row in rows if row["rank"] <= most)
    unsure = [row for row in rows if is_rank_unsure(row, most)]
    notes = []
    if unsure:
        named = ", ".join(
            f"{printable(row['team'])} (rank {row['rank_low']} to {row['rank_high']})"
            for row in unsure
        )
        notes.append(
            f"The private rows do not decide whether {plural(len(unsure), 'team')} belong"
            f"{'s' if len(unsure) == 1 else ''} to the best {most}: {named}."
        )
    return Qualification(phase, teams, "final", (*notes, *_more_than(teams, most)))


def is_rank_unsure(row: Mapping[str, Any], most: int) -> bool:
    """Return whether the rank interval of a team has ranks that qualify and others."""
    low, high = row.get("rank_low"), row.get("rank_high")
    return low is not None and high is not None and low <= most < high


def best_of_public_board(before: CompetitionState, phase: str, most: int) -> Qualification:
    """Return the teams of a phase without private rows that qualify by their public ranks."""
    rows = [row for row in public_standings(before, live=True) if row["rank"] is not None]
    teams = tuple(row["team"] for row in rows if row["rank"] <= most)
    note = (
        f"The phase {before.phase} has no private rows: the order is that of its public scores, "
        f"which have no rank intervals."
    )
    return Qualification(phase, teams, "public", (note, *_more_than(teams, most)))


def _more_than(teams: Sequence[str], most: int) -> list[str]:
    if len(teams) <= most:
        return []
    return [f"{len(teams)} teams are admitted, because some share a rank."]


def record(state: CompetitionState, admitted: Qualification) -> None:
    """Record which teams a phase admits; it replaces an earlier decision."""
    teams, admission = state.ledger.teams(), Admission.read(state.store)
    stored = [teams.stored(team) for team in admitted.teams]
    qualified = {**admission.qualified, admitted.phase: stored}
    payload = {
        "phase": admitted.phase,
        "admit": state.with_phases.phase[admitted.phase].admit,
        "board": admitted.board,
        "teams": list(admitted.teams),
    }
    record_admission(state, QUALIFIED, payload, replace(admission, qualified=qualified))


def carried_files(
    state: CompetitionState, admitted: Qualification
) -> list[tuple[int, SubmissionFile, ReadSubmission]]:
    """Return the files that are submitted again in the phase: number, file and predictions.

    They are the final submissions of the admitted teams in the phase before it.
    """
    section = state.with_phases.phase[admitted.phase]
    if not section.carry or section.after is None:
        return []
    before = state.in_phase(section.after)
    final = before.settings.final
    finals = choose_finals(
        [candidate for candidate in before.ledger.candidates() if candidate.team in admitted.teams],
        final.rule,
        greater_is_better=before.metric.greater_is_better,
        chosen=before.ledger.selections(),
        count=final.count,
    )
    numbers = sorted(number for chosen in finals.values() for number in chosen)
    records = {record.submission: record for record in before.ledger.records(numbers=numbers)}
    files = []
    for number in numbers:
        stored, predictions = records[number], before.store.predictions([number])
        cells = next(predictions.blocks(1))[1].reshape(state.solution.n_rows, -1)
        values = cells if cells.dtype == object else cells.astype(np.float64)
        file = named_file(Path(stored.file), stored.team)
        files.append((number, file, ReadSubmission(values, (), stored.sha256)))
    return files


def follows(state: CompetitionState, phase: str) -> bool:
    """Return whether the recorded teams of a phase are those that its settings admit now."""
    section, named = state.with_phases.phase[phase], Admission.read(state.store).qualified
    if phase not in named or section.admit in ("all", "listed"):
        return True
    try:
        now = qualification(state, phase).teams
    except UsageError:
        return False
    current = state.ledger.teams()
    return {*now} == {current.current(team) for team in named[phase]}
