"""What a report holds: for the organiser, and for participants before the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.intake import describe
from arena.plugin_manager import PluginManager
from arena.report.boards import competition_board, private_board
from arena.report.model import Board, Rejection, Report
from arena.report.technical import software_section, technical_sections
from arena.score_result import STANDING_COLUMNS, RejectedFile, ScoreResult
from arena.types import Finding, Section

__all__ = ["ASSEMBLING", "PublicBoard", "as_rejections", "board_report", "public_report"]

ASSEMBLING = "Putting the report together"
"""What is said while the plugins add their sections."""
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class PublicBoard:
    """What participants may see of a competition at any time."""

    title: str
    metric: str
    greater_is_better: bool
    standings: Sequence[Mapping[str, Any]]
    """As ``Competition.leaderboard`` returns them."""
    facts: tuple[tuple[str, str], ...] = ()
    """Name and value, such as the deadline."""


def board_report(
    result: ScoreResult,
    manager: PluginManager,
    *,
    title: str = "",
    facts: Sequence[tuple[str, str]] = (),
    public: PublicBoard | None = None,
    rejections: Sequence[Rejection] | None = None,
    history: Section | None = None,
) -> Report:
    """Return the report of a private board, with everything that is known.

    Parameters
    ----------
    result
        The board, as ``arena score`` and ``arena finalize`` make it.
    manager
        The plugins; each may add sections, and one that fails is skipped and named.
    title
        Of the competition.
    facts
        Further names and values for the head of the page.
    public
        The public board, if it is to stand beside.
    rejections
        What does not count, if it is more than the result knows.
    history
        What changed while the competition ran.
    """
    sections = manager.provide_report_sections(result)
    below = [] if public is None or not public.standings else [_public_board(public)]
    return Report(
        title=title or f"Leaderboard by {result.metric}",
        facts=tuple(dict((*_facts(result), *facts)).items()),
        verdicts=_verdicts(result),
        boards=(private_board(result), *below),
        sections=(
            *(one for one in sections if not one.technical),
            *(_section(finding) for finding in result.findings if finding.tables or finding.charts),
        ),
        rejections=tuple(as_rejections(result.rejected) if rejections is None else rejections),
        technical=(
            *technical_sections(result, manager),
            *([] if history is None else [history]),
            *(one for one in sections if one.technical),
        ),
    )


def public_report(public: PublicBoard, manager: PluginManager, *, sections: bool = True) -> Report:
    """Return the report that participants may see before the end.

    It is made from what was released and from nothing else: the plugins are handed a result that
    knows no private row, and only those of their sections that are public are taken.

    Parameters
    ----------
    public
        The public board.
    manager
        The plugins.
    sections
        Whether plugins may add to it; without them it is the board alone.
    """
    added: tuple[Section, ...] = ()
    if sections:
        provided = manager.provide_report_sections(_as_result(public))
        added = tuple(one for one in provided if one.public)
    return Report(
        title=public.title or "Public leaderboard",
        facts=public.facts,
        verdicts=(_public_verdict(public),),
        boards=(_public_board(public, name="board"),),
        sections=tuple(one for one in added if not one.technical),
        technical=(software_section(manager), *(one for one in added if one.technical))
        if sections
        else (),
    )


def _as_result(public: PublicBoard) -> ScoreResult:
    """Return the public board in the form of a result, all that is private being absent."""
    known = [row for row in public.standings if not row["baseline"]]
    standings = [
        {**dict.fromkeys(STANDING_COLUMNS), **{key: row[key] for key in ("rank", "team", "score")}}
        for row in known
    ]
    return ScoreResult(
        metric=public.metric,
        greater_is_better=public.greater_is_better,
        split="public",
        n_rows=0,
        positive=None,
        resamples=0,
        resamples_redrawn=0,
        resamples_undefined=0,
        level=0.95,
        seed=0,
        standings=tuple(standings),
        best_score_corrected={"estimate": None, "low": None, "high": None},
        rejected=(),
        findings=(),
        notes=(),
    )


def _public_verdict(public: PublicBoard) -> str:
    if not public.standings:
        return "Nothing was released yet."
    return (
        "This is the public board. It shows scores on the public rows as they were released; the "
        "final ranks are decided on other rows."
    )


def _public_board(public: PublicBoard, name: str = "public-board") -> Board:
    direction = "larger" if public.greater_is_better else "smaller"
    caption = (
        f"{public.metric}, a {direction} score is better: what the public board showed, each team "
        "with its best."
    )
    return competition_board(public.standings, title="The public board", caption=caption, name=name)


def _facts(result: ScoreResult) -> tuple[tuple[str, str], ...]:
    direction = "larger" if result.greater_is_better else "smaller"
    return (
        ("Metric", f"{result.metric} ({direction} is better)"),
        ("Teams ranked", f"{len(result.standings):,}"),
        ("Rows ranked on", f"{result.n_rows:,} {result.split}"),
    )


def _verdicts(result: ScoreResult) -> tuple[str, ...]:
    if not result.standings:
        return ("No submission could be ranked.",)
    told = tuple(finding.verdict for finding in result.findings)
    return told or ("No analysis was made of how certain these ranks are.",)


def _section(finding: Finding) -> Section:
    name = finding.analysis.replace("-", " ").replace("_", " ")
    return Section(
        f"{name[:1].upper()}{name[1:]} in detail", finding.verdict, finding.tables, finding.charts
    )


def as_rejections(files: Sequence[RejectedFile]) -> list[Rejection]:
    """Return rejected files with the first of their faults in words."""
    return [
        Rejection(file.file, "", _reasons([describe(fault) for fault in file.faults]))
        for file in files
    ]


def _reasons(told: Sequence[str]) -> tuple[str, ...]:
    hidden = len(told) - _FAULTS_SHOWN
    more = (f"… and {hidden:,} more.",) if hidden > 0 else ()
    return (*told[:_FAULTS_SHOWN], *more)
