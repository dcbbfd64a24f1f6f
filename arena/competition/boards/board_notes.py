"""Warnings on the public board, for the organiser."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arena.competition.state import CompetitionState
from arena.errors import PluginError, StoreError
from arena.evaluation.binding import bind
from arena.interfaces import Metric
from arena.plugin.info import attributed_unquoted
from arena.public_board.advice import FULL_WARNING
from arena.public_board.clipping import share_at_bounds
from arena.public_board.mechanism import clip_of, find_mechanism, public_rows
from arena.scoring.reversed_scores import may_be_reversed, reversed_board
from arena.utils.text import printable


def board_notes(state: CompetitionState, standings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return warnings on a public board, best first; some depend on the labels.

    A check that fails is named in a warning: the board can be shown without it.
    """
    notes = [FULL_WARNING] if state.settings.public.mechanism == "full" else []
    ranked = [row for row in standings if row["rank"] is not None]
    if not ranked:
        return tuple(notes)
    checks: dict[str, Callable[[], str | None]] = {
        "whether the predictions are reversed": lambda: _reversed(state, ranked[0]),
        "how many rows are at the bound": lambda: _share_at_bound(state, ranked[0]),
    }
    for purpose, check in checks.items():
        try:
            note = check()
        except StoreError:
            raise
        except Exception as error:
            logging.getLogger("arena").debug("A check of the board failed.", exc_info=True)
            reason = str(error) if isinstance(error, PluginError) else type(error).__name__
            note = f"It is not known {purpose}: this check of the board failed ({reason})."
        if note is not None:
            notes.append(note)
    return tuple(notes)


def empty_board_sentence(state: CompetitionState) -> str:
    """Return why no score is shown, and what the organiser can do."""
    pending = state.pending_labels("public")
    if pending is not None and not pending.n_rows:
        return (
            "No score was released yet: no public row has a label. Add the labels by `arena labels "
            "add` when they arrive."
        )
    # Without phases no row is read: that takes long.
    n_public = (
        int(public_rows(state.solution).sum())
        if state.with_phases.phase
        else state.store.solution_outline().n_public
    )
    if not n_public:
        return "No row is public: no score is shown before the result is published."
    if state.ledger.accepted_teams() and not state.ledger.sequence():
        return "No score is shown: every accepted submission is disqualified."
    return "No score was released yet: send a first file by `arena submit`."


def _reversed(state: CompetitionState, leader: Mapping[str, Any]) -> str | None:
    name, best = state.settings.metric.specification, leader["score"]
    if not may_be_reversed(name, best):
        return None  # most boards: the rows, which take long to read, are not needed
    return reversed_board(name, best, state.solution, public_rows(state.solution))


def _share_at_bound(state: CompetitionState, leader: Mapping[str, Any]) -> str | None:
    bounds = clip_of(find_mechanism(state.settings, state.manager))
    if bounds is None or len(state.solution.targets) > 1:
        return None
    name = state.settings.metric.specification
    metric: Metric = state.manager.metrics.resolve(name)
    rows = public_rows(state.solution)
    _, block = next(state.store.predictions([leader["submission"]], rows=rows).blocks(1))
    with attributed_unquoted(state.manager.metrics.plugin_of(name), f"scoring {name}"):
        bound = bind(metric, state.solution, rows)
        shares = share_at_bounds(bound, bounds, state.solution.truth[rows], block)
    if shares is None:
        return None
    return (
        f"The board shows a bounded metric: {shares[0]:.1%} of the public rows of the leading "
        f"submission, {leader['submission']} of {printable(leader['team'])}, are at the bound. "
        f"The final board has no bound."
    )
