"""Public boards over phases: one score of those that the public boards of the phases show.

The mechanism of each phase released its scores, and a combination of what is shown tells no more of
the labels. So such a board follows the freeze and the hidden scores of each phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.competition.record.combined_boards import metric_over_phases
from arena.competition.record.final_selection import board_ranks
from arena.competition.record.phases import solution_in
from arena.competition.record.rebuild import rebuilt_mark
from arena.competition.record.roster import Roster
from arena.competition.state import CompetitionState, frozen_since, public_standings
from arena.config_sections import CombinedBoardSection, Ties
from arena.errors import UsageError
from arena.evaluation.combined_metric import RELATIVE, CombinedMetric
from arena.types import FloatArray, Mark, Usage
from arena.utils.bracket_rows import with_brackets

_RowsByPhase: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Phase -> team -> its row on the public board of the phase."""


@dataclass(frozen=True, slots=True)
class ReleasedBoard:
    """A public board over phases."""

    metric: str
    """In words, such as ``mean of roc_auc and f1 over phases``."""
    greater_is_better: bool
    phases: tuple[str, ...]
    """Those whose public boards show scores; if fewer than two do, there is no row."""
    mark: Mark | None
    """When and why scores of a phase were last released again."""
    standings: Sequence[dict[str, Any]]
    """As of the public board, best first: with a score for each phase, without ``submission``."""


def released_board(state: CompetitionState, name: str, *, live: bool = False) -> ReleasedBoard:
    """Return a public board over phases.

    A team without a score in a phase has that of the first baseline there, or the worst one, or is
    left out, as ``missing`` says. A team whose scores have no geometric mean is left out, too.
    ``live`` is that of :func:`public_standings`.

    Raises
    ------
    UsageError
        If the settings name no board of this name over phases.
    """
    settings = state.with_phases
    section = settings.board.get(name)
    if section is None or not section.phases:
        names = ", ".join(key for key, board in settings.board.items() if board.phases)
        raise UsageError(
            f"There is no public board {name!r} over phases. There are: {names or 'none'}."
        )
    rows_by_phase = {
        phase: {row["team"]: row for row in rows if row["score"] is not None}
        for phase in section.phases
        if (rows := public_standings(state.in_phase(phase), live=live))
    }
    solution = replace(state.stored_solution, task_names=section.phases)
    metric = metric_over_phases(
        name, section, settings=settings, solution=solution, manager=state.manager
    )
    standings: list[dict[str, Any]] = []
    ratio = ""
    if len(rows_by_phase) > 1:
        freezes = [frozen_since(state.in_phase(phase)) for phase in rows_by_phase]
        until = None if live else min(filter(None, freezes), default=None)
        roster = state.roster_at(until)
        bound = metric.for_tasks({phase: _n_public_rows(state, phase) for phase in rows_by_phase})
        fillers = scores_of_missed_phases(state, section, rows_by_phase, roster)
        reference = settings.competition.reference
        rows = _rows(bound, rows_by_phase, fillers, roster=roster, reference=reference)
        has_reference = any(row["team"] == reference and row["score"] is not None for row in rows)
        if bound.combination.how == "geometric" and has_reference:
            ratio = RELATIVE
        standings = _ranked(
            rows,
            rows_by_phase,
            roster,
            ties=settings.final.ties,
            greater_is_better=metric.greater_is_better,
        )
    marks = [
        mark for phase in rows_by_phase if (mark := rebuilt_mark(state.store, phase)) is not None
    ]
    return ReleasedBoard(
        metric=f"{metric.name}{ratio}",
        greater_is_better=metric.greater_is_better,
        phases=tuple(rows_by_phase),
        mark=max(marks, key=lambda mark: mark.time, default=None),
        standings=standings,
    )


def _n_public_rows(state: CompetitionState, phase: str) -> int:
    """Return the public rows of a phase that have labels."""
    split = solution_in(state.stored_solution, [state.with_phases.phase[phase]])
    return int((split.usage == np.uint8(Usage.PUBLIC)).sum())


def scores_of_missed_phases(
    state: CompetitionState,
    section: CombinedBoardSection,
    rows_by_phase: _RowsByPhase,
    roster: Roster,
) -> dict[str, float]:
    """Return the score that counts for a team in each phase that it missed; empty: none."""
    if section.missing == "unranked":
        return {}
    fillers: dict[str, float] = {}
    for phase, rows in rows_by_phase.items():
        if section.missing == "worst":
            ranked = [row["score"] for team, row in rows.items() if team not in roster.unranked]
            worst = min if state.in_phase(phase).greater_is_better else max
            fillers[phase] = worst(ranked or [row["score"] for row in rows.values()])
        elif (baseline := state.with_phases.competition.reference) in rows:
            fillers[phase] = rows[str(baseline)]["score"]
    return fillers


def _rows(
    metric: CombinedMetric,
    rows_by_phase: _RowsByPhase,
    fillers: Mapping[str, float],
    *,
    roster: Roster,
    reference: str | None,
) -> list[dict[str, Any]]:
    """Return the rows of the teams that have all scores, without ranks, in any order.

    Geometric means are divided by that of the team ``reference``, if it has one.
    """
    teams = sorted(
        team
        for team in {team for of_phase in rows_by_phase.values() for team in of_phase}
        if all(team in of_phase or key in fillers for key, of_phase in rows_by_phase.items())
    )
    scores = np.array(
        [[of_phase[team]["score"] if team in of_phase else fillers[key] for team in teams]
         for key, of_phase in rows_by_phase.items()],
        dtype=np.float64,
    ).reshape(len(rows_by_phase), len(teams))  # fmt: skip
    combined = combine_scores(metric, scores, ~np.isin(teams, roster.unranked))
    if metric.combination.how == "geometric" and reference in teams:
        divisor = combined[teams.index(reference)]
        combined = combined if np.isnan(divisor) else combined / divisor
    combined = combined.round(12)  # equal scores by another order of sums are equal
    return [
        {
            "rank": None,
            "team": team,
            "score": float(combined[k]) if np.isfinite(combined[k]) else None,
            "n_submissions": sum(
                of_phase[team]["n_submissions"]
                for of_phase in rows_by_phase.values()
                if team in of_phase
            ),
            "baseline": team in roster.baselines,
            **{
                part.name: float(of_part[k])
                for part, of_part in zip(metric.parts, scores, strict=True)
            },
        }
        for k, team in enumerate(teams)
    ]


def combine_scores(
    metric: CombinedMetric, scores: FloatArray, ranked: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the ``(m,)`` combination of ``(C, m)`` scores; NaN where there is none.

    Teams that are not ranked have no mean rank, and the others are ranked without them.
    """
    if metric.combination.how == "geometric":
        scores = np.where(scores > 0, scores, np.nan)
    counting = ranked if metric.relative else np.ones_like(ranked)
    combined = np.full(len(ranked), np.nan)
    combined[counting] = metric.combine(scores[:, counting])
    return combined


def _ranked(
    rows: Sequence[dict[str, Any]],
    rows_by_phase: _RowsByPhase,
    roster: Roster,
    *,
    ties: Ties,
    greater_is_better: bool,
) -> list[dict[str, Any]]:
    """Return the rows with ranks, best first; of equal ones the team that sent its last earlier."""
    sign, unranked = -1 if greater_is_better else 1, set(roster.unranked)

    def place(row: Mapping[str, Any]) -> tuple[bool, float, int]:
        of_team = (
            of_phase[row["team"]] for of_phase in rows_by_phase.values() if row["team"] in of_phase
        )
        last = max(of_phase["submission"] for of_phase in of_team)
        return row["score"] is None, sign * (row["score"] or 0.0), last

    listed = [row for row in rows if row["score"] is not None or row["team"] in unranked]
    listed.sort(key=place)
    values = [row["score"] for row in listed if row["team"] not in unranked]
    ranks = iter(board_ranks(values, ties))
    ranked = [row if row["team"] in unranked else {**row, "rank": next(ranks)} for row in listed]
    return with_brackets(ranked, roster.brackets) if roster.brackets else ranked
