"""The final page for participants: the board, its winners, its uncertainty and the rules.

It holds nothing of faults and of similar submissions, no software, and no hash of the solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from arena.competition.record.combined_documents import is_combined_board
from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.report.board_sections import board_sections
from arena.report.boards import private_board
from arena.report.columns import RANKED_COLUMNS
from arena.report.competition import final_board
from arena.report.contents import section_of
from arena.report.for_participants import (
    facts_for_participants,
    how_to_submit,
    last_entries,
    with_last_entries,
)
from arena.report.model import Report
from arena.report.summary import board_summary, winner_sentence
from arena.types import Section, Table
from arena.utils.formatting import level_text
from arena.utils.parallel import Progress

_LEFT_OUT = {"bootstrap_rank_low", "prize_share"}
"""The keys of columns for organisers."""
_FINAL = {
    "best_public": "the submission with the best public score",
    "last": "the last accepted submission",
    "chosen": "the best of the submissions that the team selected",
    "best_private": "the submission with the best private score",
}
"""Rule of the final selection -> the submission that counts for a team."""


def final_page(competition: CompetitionView, *, progress: Progress | None = None) -> Report:
    """Return the page that participants may see once the private board is final.

    Raises
    ------
    UsageError
        If the competition was not finalized, or its board would differ by now.
    """
    result = final_board(competition, progress=progress)
    settings = competition.settings
    facts = [
        *([("Phase", competition.phase)] if competition.phase else []),
        ("Metric", settings.metric.specification),
        ("Teams ranked", f"{len(result.standings):,}"),
        *_verified(competition),
        *facts_for_participants(competition),
    ]
    verdicts = [finding.verdict for finding in result.findings if finding.analysis == "ranks"]
    other_boards = [
        finding
        for finding in result.findings
        if finding.analysis == "brackets" or is_combined_board(finding.analysis)
    ]
    verdicts += [finding.verdict for finding in other_boards]
    board = private_board(result)
    published = {ranked_column.keys[0] for ranked_column in RANKED_COLUMNS} - _LEFT_OUT
    published |= set(competition.published_scores)
    public_columns = tuple(column for column in board.columns if column.key in published)
    teams = [row["team"] for row in result.standings]
    entries = last_entries(competition)
    return Report(
        title=settings.competition.title or "Final leaderboard",
        facts=tuple(facts),
        verdicts=(winner_sentence(result), *verdicts)
        if result.standings
        else ("No submission could be ranked.",),
        boards=(with_last_entries(replace(board, columns=public_columns), teams, entries),),
        sections=(
            *board_sections(result),
            *(section_of(finding) for finding in other_boards),
            _rules(settings),
            how_to_submit(competition),
        ),
        summary=board_summary(result),
    )


def _verified(competition: CompetitionView) -> Iterator[tuple[str, str]]:
    """Yield the teams whose submission was verified, and those whose verification failed."""
    rows = competition.private_leaderboard()
    for state, title in (("verified", "Verified"), ("failed", "Verification failed")):
        teams = [row["team"] for row in rows if row.get("verification") == state]
        if teams:
            yield title, ", ".join(teams)


def _rules(settings: Settings) -> Section:
    limits, final = settings.limits, settings.final
    rows: list[tuple[str, Any]] = [
        ("metric", settings.metric.specification),
        ("public board", settings.public.mechanism),
        ("submissions per team and day", limits.per_day or "not limited"),
        ("submissions per team in total", limits.total or "not limited"),
        ("final submission of a team", _FINAL[final.rule]),
        *([("submissions that a team may select", final.count)] if final.rule == "chosen" else []),
        ("ties", settings.display(public=False).ties or "Teams with the same score share a rank."),
        ("confidence level", level_text(settings.analysis.level)),
    ]
    text = (
        "The final ranks are decided on the private rows, which no team has seen. Everything that "
        "happened is recorded; the last hash above changes if a record is altered."
    )
    return Section("Rules", text, (Table("Rules", ("rule", "value"), tuple(rows)),))
