"""The content of reports: for the organiser, and for participants before the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.interfaces.faults import describe, group_faults
from arena.plugin.manager import PluginManager
from arena.report.boards import competition_board, private_board
from arena.report.copies import copies_section
from arena.report.model import Board, Rejection, Report
from arena.report.summary import board_summary, winner_sentence
from arena.report.technical import software_section, technical_sections
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import STANDING_COLUMNS, ScoreResult
from arena.types import Fault, Finding, Section
from arena.utils.formatting import BoardDisplay

ASSEMBLING = "Putting the report together"
"""The progress label while plugins add their sections."""


@dataclass(frozen=True, slots=True)
class PublicBoard:
    """The parts of a competition that participants may see at any time."""

    title: str
    metric: str
    greater_is_better: bool
    standings: Sequence[Mapping[str, Any]]
    """As ``Competition.leaderboard`` returns them."""
    facts: tuple[tuple[str, str], ...] = ()
    """Name and value, such as the deadline."""
    display: BoardDisplay = field(default_factory=BoardDisplay)
    """Digits and unit of the scores, and the sentence on ties."""


def board_report(
    result: ScoreResult,
    manager: PluginManager,
    *,
    title: str = "",
    facts: Sequence[tuple[str, str]] = (),
    public: PublicBoard | None = None,
    rejections: Sequence[Rejection] | None = None,
    history: Section | None = None,
    similar: Section | None = None,
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
        The public board, if it is shown as well.
    rejections
        Rejected submissions, if there are more than in the result.
    history
        Changes while the competition ran.
    similar
        Similar submissions of different teams; None: those of the result.
    """
    similar = similar or copies_section(result.similar)
    sections = result.sections
    if sections is None:
        sections = manager.provide_report_sections(result)
    below = [] if public is None or not public.standings else [public_board(public)]
    return Report(
        title=title or f"Leaderboard by {result.metric}",
        facts=tuple(dict((*_facts(result), *facts)).items()),
        verdicts=_verdicts(result),
        boards=(private_board(result), *below),
        sections=(
            *(section for section in sections if not section.technical),
            *(
                section_of(finding)
                for finding in result.findings
                if finding.tables or finding.charts
            ),
        ),
        rejections=tuple(as_rejections(result.rejected) if rejections is None else rejections),
        technical=(
            *technical_sections(result, manager),
            *(note for note in (similar, history) if note is not None),
            *(section for section in sections if section.technical),
        ),
        summary=board_summary(result),
        words=result.words,
    )


def public_report(public: PublicBoard, manager: PluginManager, *, sections: bool = True) -> Report:
    """Return the report that participants may see before the end.

    It contains released data only: plugins receive a result without private rows, and only their
    public sections are included.

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
        added = tuple(section for section in provided if section.public)
    return Report(
        title=public.title or "Public board",
        facts=public.facts,
        verdicts=(_public_verdict(public),),
        boards=(public_board(public, name="board"),),
        sections=tuple(section for section in added if not section.technical),
        technical=(software_section(manager), *(section for section in added if section.technical))
        if sections
        else (),
    )


def _as_result(public: PublicBoard) -> ScoreResult:
    """Return the public board in the form of a result without anything private."""
    ranked = [row for row in public.standings if row["rank"] is not None]
    standings = [
        {**dict.fromkeys(STANDING_COLUMNS), **{key: row[key] for key in ("rank", "team", "score")}}
        for row in ranked
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
        display=public.display,
    )


def _public_verdict(public: PublicBoard) -> str:
    if not public.standings:
        return "No score was released yet: the board is empty until a submission is scored."
    return (
        "This is the public board. It shows scores on the public rows as they were released; the "
        "final ranks are decided on other rows."
    )


def public_board(public: PublicBoard, name: str = "public-board") -> Board:
    """Return the public board as a table of a report."""
    direction = "larger" if public.greater_is_better else "smaller"
    caption = (
        f"{public.metric}, a {direction} score is better: the scores that the public board showed, "
        "each team with its best."
    )
    return competition_board(
        public.standings,
        title="The public board",
        caption=caption,
        name=name,
        display=public.display,
    )


def _facts(result: ScoreResult) -> tuple[tuple[str, str], ...]:
    direction = "larger" if result.greater_is_better else "smaller"
    return (
        ("Metric", f"{result.metric} ({direction} is better)"),
        (f"{result.words.teams.capitalize()} ranked", f"{len(result.standings):,}"),
        ("Ranked on", result.ranked_on),
    )


def _verdicts(result: ScoreResult) -> tuple[str, ...]:
    if not result.standings:
        return (f"No {result.words.submission} could be ranked.",)
    verdicts = tuple(dict.fromkeys(finding.verdict for finding in result.findings))
    return (
        winner_sentence(result),
        *(verdicts or ("No analysis was made of the uncertainty of these ranks.",)),
    )


def section_of(finding: Finding) -> Section:
    """Return what a finding shows, as a section of a report."""
    name = finding.analysis.replace("-", " ").replace("_", " ")
    return Section(
        f"{name[:1].upper()}{name[1:]} in detail", finding.verdict, finding.tables, finding.charts
    )


def as_rejections(files: Sequence[RejectedFile]) -> list[Rejection]:
    """Return rejected files with the kinds of their faults in words."""
    return [Rejection(file.file, "", reasons_of(file.faults)) for file in files]


def reasons_of(faults: Sequence[Fault]) -> tuple[str, ...]:
    """Return one line for each kind of fault: how often it occurs, and its cause or first case.

    >>> reasons_of([Fault("empty cell", "Write a number.", row=row) for row in (2, 3)])
    ('empty cell (2), such as row 2: Write a number.',)
    """
    lines = []
    for group in group_faults(faults):
        first = describe(group.examples[0]) if group.examples else ""
        if group.count == 1:
            lines.append(first)
        elif group.cause or not first:
            lines.append(f"{group.kind} ({group.count:,}): {group.cause or 'no example'}.")
        else:
            lines.append(f"{group.kind} ({group.count:,}), such as {first}")
    return tuple(lines)
