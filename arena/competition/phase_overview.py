"""The public description of the phases of a competition."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from arena.competition.record.admission import Admission
from arena.competition.record.phases import all_rows_in, group_of, open_phases
from arena.competition.record.rebuild import rebuilt_mark
from arena.competition.state import CompetitionState, board_metric
from arena.types import Usage


def describe_phases(state: CompetitionState) -> list[dict[str, Any]]:
    """Return the public description of each phase: see ``CompetitionView.phases``."""
    settings, now = state.with_phases, state.clock()
    opened = open_phases(settings, now)
    named = Admission.read(state.store).qualified if settings.phase else {}
    teams = state.ledger.teams()
    described = []
    for name, phase in settings.phase.items():
        phase_settings = settings.in_phase(name)
        dates, metric, public = (
            phase_settings.competition,
            phase_settings.metric,
            phase_settings.public,
        )
        mark = rebuilt_mark(state.store, name)
        later = dates.start is not None and dates.start > now
        split = all_rows_in(state.stored_solution, [phase])
        rows = {part.name: int((split.usage == np.uint8(part)).sum()) for part in Usage}
        pending = split.pending & (split.usage != np.uint8(Usage.IGNORED))
        group = group_of(settings, name).phases or ()
        described.append(
            {
                "phase": name,
                "series": phase.series,
                "state": "open" if name in opened else "next" if later else "ended",
                "start": None if dates.start is None else dates.start.isoformat(),
                "end": None if dates.deadline is None else dates.deadline.isoformat(),
                "metric": metric.specification,
                "board_metric": board_metric(state.in_phase(name)),
                "greater_is_better": state.in_phase(name).greater_is_better,
                "decimals": metric.decimals,
                "unit": metric.unit,
                "mechanism": public.mechanism,
                "scores": public.scores,
                "freeze": None if public.freeze is None else public.freeze.isoformat(),
                "mark": None if mark is None else asdict(mark),
                **{
                    key: getattr(phase_settings.limits, key)
                    for key in ("per_day", "per_week", "total")
                },
                "public_rows": rows["PUBLIC"],
                "private_rows": rows["PRIVATE"],
                "pending_rows": int(pending.sum()),
                "shares": [other for other in group if other != name],
                "admit": phase.admit,
                "qualified": None
                if name not in named
                else [teams.current(team) for team in named[name]],
                "submissions": sum(state.store.accepted_counts(phase=name).values()),
            }
        )
    return described
