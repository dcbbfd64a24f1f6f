"""Tries a simulation before anything of it is made: all but the training."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from arena.competition_state import CompetitionState
from arena.errors import InputError, UsageError
from arena.interfaces import Participation
from arena.plugin_info import attributed
from arena.plugin_manager import PluginManager
from arena.simulation.competition.roster import Kind
from arena.simulation.competition.run import (
    Request,
    open_held,
    open_request,
    published,
    sample_prediction,
)
from arena.types import Solution

__all__ = ["rehearse"]


def rehearse(
    request: Request,
    manager: PluginManager,
    *,
    drop_kinds: bool = False,
    drop_baseline: bool = False,
) -> tuple[Request, list[str]]:
    """Found every competition and start every kind of player, somewhere else; nothing is left.

    Parameters
    ----------
    drop_kinds, drop_baseline
        Whether kinds that cannot play here, or a baseline that cannot be made, are left out: for
        those that nobody asked for.

    Returns
    -------
    The request without what was left out, and what an organiser should know, in sentences.

    Raises
    ------
    ArenaError
        If something cannot be as it was asked for.
    """
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="arena-rehearsal-") as folder:
        for at, mechanism in enumerate(request.mechanisms):
            trial = replace(request, root=Path(folder) / str(at), mechanisms=(mechanism,))
            with open_held(open_request(trial), trial, mechanism, manager) as (state, _):
                notes += [f"{mechanism}: {note}" for note in state.notes]
                if at == 0:
                    kinds, baseline, left_out = _fitting(request, state, drop_kinds, drop_baseline)
                    notes += left_out
    return replace(request, kinds=kinds, baseline=baseline), list(dict.fromkeys(notes))


def _fitting(
    request: Request, state: CompetitionState, drop_kinds: bool, drop_baseline: bool
) -> tuple[tuple[Kind, ...], Kind | None, list[str]]:
    if len(state.solution.targets) != 1:
        raise InputError("Simulated teams predict one target; this solution has several.")
    _check_labels(request, state.solution)
    part = published(request, state, visits=10)
    notes: list[str] = []
    baseline = request.baseline
    if baseline is not None and (why := _unfit(baseline, part, drop_baseline)):
        baseline = None
        notes.append(f"The public baseline is the sample submission: {why}")
    part = replace(part, baseline=sample_prediction(state))
    kept = []
    for kind in request.kinds:
        if why := _unfit(kind, part, drop_kinds):
            notes.append(f"{kind.specification} is left out: {why}")
        else:
            kept.append(kind)
    if not kept:
        raise UsageError("None of the kinds of teams can play here: choose others with --kinds.")
    return tuple(kept), baseline, notes


def _check_labels(request: Request, solution: Solution) -> None:
    """Refuse rows to predict that lack a label: models would name one that the metric has not."""
    known, found = request.grounds.classes, solution.targets[0].classes
    if request.grounds.training is not None and known != found:
        lacking = sorted(set(known or ()) - set(found or ()))
        what = f"lack the label {lacking[0]!r}" if lacking else "have other labels"
        raise InputError(
            f"The rows to predict {what}, which is among the rows to learn from. Take more rows, "
            f"or leave the label out of the file."
        )


def _unfit(kind: Kind, part: Participation, forgiven: bool) -> str | None:
    """Return why a kind cannot play, if that is forgiven; otherwise it is raised."""
    try:
        with attributed(kind.plugin, f"starting {kind.specification}"):
            kind.competitor.start(part, np.random.default_rng(0))
    except UsageError as error:
        if not forgiven:
            raise
        return str(error)
    return None
