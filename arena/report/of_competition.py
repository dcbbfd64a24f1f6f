"""The reports of a competition that lasts: the organiser's at the end, and the public one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from arena.competition_view import CompetitionView
from arena.errors import UsageError
from arena.execution import Progress, Silence
from arena.intake import describe
from arena.report.contents import (
    ASSEMBLING,
    PublicBoard,
    as_rejections,
    board_report,
    public_report,
)
from arena.report.history import history_section
from arena.report.model import Rejection, Report
from arena.score_result import ScoreResult

__all__ = [
    "competition_report",
    "final_board",
    "finalized_report",
    "public_competition_report",
]


def competition_report(competition: CompetitionView, *, progress: Progress | None = None) -> Report:
    """Return the report of the private board as it was finalized; nothing is recorded.

    Raises
    ------
    UsageError
        If the competition was not finalized, or would come out otherwise by now.
    """
    result = final_board(competition, progress=progress)
    return finalized_report(competition, result, progress=progress)


def finalized_report(
    competition: CompetitionView, result: ScoreResult, *, progress: Progress | None = None
) -> Report:
    """Return the same from the result that ``Competition.finalize`` has just returned."""
    (progress or Silence()).start(ASSEMBLING, 1)
    public = _public_board(competition)
    return board_report(
        result,
        competition.manager,
        title=public.title,
        facts=public.facts,
        public=public,
        rejections=(*_rejections(competition), *as_rejections(result.rejected)),
        history=history_section(competition.events()),
    )


def final_board(competition: CompetitionView, *, progress: Progress | None = None) -> ScoreResult:
    """Judge the finalized competition again, with everything that a report needs.

    Raises
    ------
    UsageError
        If it was not finalized, or something changed since.
    """
    kept = competition.final_result()
    result = competition.judge(progress=progress)
    if json.loads(json.dumps(result.to_dict())) != kept:
        raise UsageError(
            "The private board would come out otherwise than it was finalized: submissions, "
            "settings, labels or versions changed since. Run arena finalize again first."
        )
    return result


def public_competition_report(competition: CompetitionView, *, sections: bool = True) -> Report:
    """Return the report that participants may see before the end; see :func:`public_report`."""
    return public_report(_public_board(competition), competition.manager, sections=sections)


def _public_board(competition: CompetitionView) -> PublicBoard:
    settings = competition.settings
    metric = settings.metric.specification
    better = competition.manager.metrics.resolve(metric).greater_is_better
    standings = competition.leaderboard()
    sent = sum(row["n_submissions"] for row in standings)
    deadline = settings.competition.deadline
    facts = [
        ("Metric", f"{metric} ({'larger' if better else 'smaller'} is better)"),
        ("Teams on the public board", f"{len(standings):,}"),
        ("Their submissions", f"{sent:,}"),
    ]
    if deadline is not None:
        facts.append(("Deadline", f"{deadline:%Y-%m-%d %H:%M} UTC"))
    return PublicBoard(settings.competition.title, metric, better, standings, tuple(facts))


def _rejections(competition: CompetitionView) -> Iterator[Rejection]:
    disqualified = {
        event.payload["submission"]: str(event.payload["reason"])
        for event in competition.events()
        if event.kind == "disqualification"
    }
    for record in competition.records():
        reasons = tuple(describe(fault) for fault in record.faults)
        if record.submission in disqualified:
            reasons = (*reasons, f"Disqualified: {disqualified[record.submission]}")
        if reasons:
            yield Rejection(record.file, record.team, reasons)
