"""The reports of a competition that lasts: the organiser's at the end, and the public one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from arena.competition.view import CompetitionView
from arena.errors import UsageError
from arena.report.contents import (
    ASSEMBLING,
    PublicBoard,
    as_rejections,
    board_report,
    public_report,
    reasons_of,
)
from arena.report.copies import copies_section
from arena.report.for_participants import (
    facts_for_participants,
    how_to_submit,
    last_entries,
    with_last_entries,
)
from arena.report.history import DESCRIBED, history_section
from arena.report.model import Rejection, Report
from arena.scoring.result import ScoreResult
from arena.utils.bracket_rows import rows_of_bracket
from arena.utils.parallel import NoProgress, Progress


def competition_report(competition: CompetitionView, *, progress: Progress | None = None) -> Report:
    """Return the report of the private board as it was finalized; nothing is recorded.

    Raises
    ------
    UsageError
        If the competition was not finalized, or its board would differ by now.
    """
    result = final_board(competition, progress=progress)
    return finalized_report(competition, result, progress=progress)


def finalized_report(
    competition: CompetitionView, result: ScoreResult, *, progress: Progress | None = None
) -> Report:
    """Return the same from the result that ``Competition.finalize`` has just returned."""
    (progress or NoProgress()).start(ASSEMBLING, 1)
    public = public_board_of(competition)
    return board_report(
        result,
        competition.manager,
        title=public.title,
        facts=public.facts,
        public=public,
        rejections=(*rejections_of(competition), *as_rejections(result.rejected)),
        history=history_section(competition.events(*DESCRIBED)),
        similar=copies_section(competition.similar_submissions()),
    )


def final_board(competition: CompetitionView, *, progress: Progress | None = None) -> ScoreResult:
    """Return the board of the finalized competition, with everything that a report needs.

    It is computed again only if the stored report is missing, changed or by other software.

    Raises
    ------
    UsageError
        If it was not finalized, or something changed since.
    """
    stored = competition.as_finalized()
    if stored is not None:
        return stored
    final_result = competition.final_result()
    result = competition.evaluate(progress=progress)
    if json.loads(json.dumps(result.to_dict())) != final_result:
        raise UsageError(
            "The private board would differ from the finalized one: submissions, "
            "settings, labels or versions changed since. Run arena finalize again first."
        )
    return result


def public_competition_report(
    competition: CompetitionView, *, sections: bool = True, bracket: str | None = None
) -> Report:
    """Return the report that participants may see before the end; see :func:`public_report`.

    ``bracket``: of the teams of a bracket only, ranked among themselves.
    """
    public = public_board_of(competition)
    if bracket is not None:
        title = f"{public.title}: {bracket}" if public.title else bracket
        public = replace(public, title=title, standings=rows_of_bracket(public.standings, bracket))
    report = public_report(public, competition.manager, sections=sections)
    teams = [row["team"] for row in public.standings]
    (board,) = report.boards
    board = with_last_entries(board, teams, last_entries(competition))
    return replace(report, boards=(board,), sections=(*report.sections, how_to_submit(competition)))


def public_board_of(competition: CompetitionView) -> PublicBoard:
    """Return what a report shows of the public board."""
    settings = competition.settings
    better = competition.manager.metrics.resolve(settings.metric.specification).greater_is_better
    metric = competition.board_metric
    standings = competition.leaderboard()
    n_sent = sum(row["n_submissions"] for row in standings)
    facts = [
        *([("Phase", competition.phase)] if competition.phase else []),
        ("Metric", f"{metric} ({'larger' if better else 'smaller'} is better)"),
        ("Teams on the public board", f"{len(standings):,}"),
        ("Their submissions", f"{n_sent:,}"),
    ]
    facts += facts_for_participants(competition)
    return PublicBoard(
        settings.competition.title,
        metric,
        greater_is_better=better,
        standings=standings,
        facts=tuple(facts),
        display=settings.display(public=True),
    )


def rejections_of(competition: CompetitionView) -> Iterator[Rejection]:
    """Yield the files that do not count, with the reasons."""
    disqualified = competition.disqualified()
    for record in competition.records():
        reasons = reasons_of(record.faults)
        if record.submission in disqualified:
            reasons = (*reasons, f"Disqualified: {disqualified[record.submission]}")
        if reasons:
            yield Rejection(record.file, record.team, reasons)
