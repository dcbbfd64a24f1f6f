"""Show the public board, or the private one."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Phase, Wait, look_at_competition
from arena.cli.reporting import check_outputs, write_outputs
from arena.competition.view import CompetitionView
from arena.errors import UsageError
from arena.report.boards import Row, competition_board
from arena.report.terminal import print_columns
from arena.types import Mark
from arena.utils.bracket_rows import (
    BRACKETS,
    first_of_bracket,
    rows_of_bracket,
    with_names_of_brackets,
)
from arena.utils.formatting import BoardDisplay, released_format
from arena.utils.pending_labels import PendingLabels
from arena.utils.questions import ANSWERS, with_answers_as_cells
from arena.utils.text import csv_cell, printable, shorten

if TYPE_CHECKING:
    from arena.report import Report

app = typer.Typer(add_completion=False)

_COLUMNS = ("rank", "team", "score", "submission", "n_submissions", "baseline")
_KEYS = (*_COLUMNS, BRACKETS, ANSWERS)
"""The keys of a row of the public board that are no further score."""


@app.command()
def leaderboard(
    private: Annotated[
        bool, typer.Option("--private", help="The private board of the last finalize.")
    ] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Also while it is frozen or hidden; for the organiser only."),
    ] = False,
    bracket: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the teams of a bracket, ranked among themselves."),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A combined board, [board.NAME]: with --private, or the public one over phases.",
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")] = False,
    as_json: options.AsJson = False,
    wide: options.Wide = False,
    phase: Phase = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the public board as a page, safe to publish."),
    ] = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Show the public board (released scores only), or the private one."""
    refusals = {
        "--csv and --json exclude each other.": as_csv and as_json,
        "--html is for the public board; arena report writes the private one.": html and private,
        "--html is of the main board: omit --board.": html and board,
        "--live is for the public board in the terminal, as CSV or as JSON.": live
        and (private or html),
    }
    for sentence, refused in refusals.items():
        if refused:
            raise UsageError(sentence)
    check_outputs(html, None)
    with look_at_competition(directory, wait) as opened:
        competition = opened.in_phase(phase)
        of = {"bracket": bracket, "board": board}
        document = _document(competition, private=private, live=live, **of)
        page = _page(competition, bracket) if html else None
        result = _private_result(competition, document, **of) if private else None
        if private and (old := competition.outdated()):
            say_note(old)
        metric = document["metric"] if board else competition.board_metric
        display = competition.settings.display(public=not private)
        over_phases = board is not None and opened.settings.board[board].over_phases
        notes = [] if private else _public_notes(document, competition, live=live)
    if as_json:
        print_document(document)
    elif as_csv:
        _print_csv(document, _mark_sentence(document["mark"], private=private))
    elif result is not None:
        from arena.cli.board import print_board

        phase = document["phase"]
        names = [board or "", f"phase {phase}" if phase and not over_phases else ""]
        print_board(result, console(wide=wide), display, of=": ".join(filter(None, names[::-1])))
    elif document["standings"]:
        _print_public(document, metric, display)
    for note in notes:
        say_note(note)
    if not as_json and not as_csv and document["head"]:
        console().print(f"Last hash of the record: {document['head']}", soft_wrap=True)
    write_outputs(page, html, None)


def _page(competition: CompetitionView, bracket: str | None) -> Report:
    from arena.report.competition import public_competition_report

    return public_competition_report(competition, sections=False, bracket=bracket)


def _private_result(
    competition: CompetitionView, document: Row, *, bracket: str | None, board: str | None
) -> dict[str, Any]:
    """Return the private board to print; of a bracket without what belongs to all teams."""
    result = competition.final_result(board=board)
    if bracket is None:
        return result
    apart = {"baseline", BRACKETS, ANSWERS, "n_submissions"}
    ranked = [
        {key: value for key, value in row.items() if key not in apart}
        for row in document["standings"]
        if row["rank"] is not None
    ]
    replaced = {
        "standings": ranked,
        "findings": [
            {**finding, "verdict": first_of_bracket(bracket, ranked)}
            for finding in result["findings"]
            if finding["analysis"] == "brackets"
        ],
        "best_score_corrected": {"estimate": None},
    }
    return {**result, **replaced, "baseline": None, "unranked": []}


def _document(
    competition: CompetitionView,
    *,
    private: bool,
    live: bool,
    bracket: str | None,
    board: str | None,
) -> dict[str, Any]:
    if private:
        document = _private_board(competition, board)
    elif board is not None:
        document = _released_board(competition, board, live=live)
    else:
        document = _public_board(competition, live=live)
    if bracket is not None:
        if bracket not in competition.brackets():
            names = ", ".join(competition.brackets()) or "none"
            raise UsageError(f"There is no bracket {bracket!r}. There are: {names}.")
        document |= {"standings": rows_of_bracket(document["standings"], bracket), "late": []}
    mark, pending = document["mark"], document["pending_labels"]
    return {
        "schema": "arena/leaderboard/2",
        "title": competition.settings.competition.title,
        "split": "private" if private else "public",
        "phase": competition.phase,
        "bracket": bracket,
        "board": board,
        "head": competition.head(),
        **document,
        "mark": None if mark is None else asdict(mark),
        "pending_labels": None if pending is None else pending._asdict(),
    }


def _private_board(competition: CompetitionView, board: str | None) -> dict[str, Any]:
    result = competition.final_result(board=board)
    combined = board is not None
    return {
        "metric": result["metric"] if combined else competition.settings.metric.name,
        "greater_is_better": result["greater_is_better"],
        "standings": competition.private_leaderboard(board=board),
        "late": [],
        "mark": competition.mark(private=True),
        "pending_labels": _pending_when_finalized(result),
    }


def _public_board(competition: CompetitionView, *, live: bool) -> dict[str, Any]:
    return {
        "metric": competition.settings.metric.name,
        "greater_is_better": competition.greater_is_better,
        "standings": competition.leaderboard(live=live),
        "late": competition.late_files(),
        "mark": competition.mark(private=False),
        "pending_labels": competition.pending_labels(private=False),
    }


def _released_board(competition: CompetitionView, board: str, *, live: bool) -> dict[str, Any]:
    """Return a public board over phases, which belongs to no single phase."""
    released = competition.released_board(board, live=live)
    return {
        "metric": released.metric,
        "greater_is_better": released.greater_is_better,
        "phase": "",
        "standings": [*released.standings],
        "late": [],
        "mark": released.mark,
        "pending_labels": None,
    }


def _pending_when_finalized(result: Mapping[str, Any]) -> PendingLabels | None:
    """Return it as it was then: labels may have arrived since."""
    pending = result.get("n_pending", 0)
    return PendingLabels(pending, result["n_rows"]) if pending else None


def _print_public(document: Row, metric: str, display: BoardDisplay) -> None:
    standings = document["standings"]
    direction = "larger" if document["greater_is_better"] else "smaller"
    title = f"public board, {metric} ({direction} is better)"
    if document["bracket"]:
        title = f"{document['bracket']}, {title}"
    if document["board"]:
        title = f"{document['board']}: {title}"
    if document["phase"]:
        title = f"phase {document['phase']}: {title}"
    if document["title"]:
        title = f"{shorten(document['title'])}: {title}"
    of_a_phase = document["board"] is None
    board = competition_board(
        standings,
        title="",
        caption="",
        name="board",
        display=display,
        submissions=of_a_phase,
        scores=() if of_a_phase else [key for key in standings[0] if key not in _KEYS],
    )
    print_columns(board.columns, console(), title=title)
    late = document["late"]
    score_text = released_format([row["score"] for row in (*standings, *late)], display)
    for row in late:
        score = "no score" if row["score"] is None else score_text(row["score"])
        console().print(
            f"Late, not ranked: {printable(row['team'])}, submission {row['submission']}, {score}",
            soft_wrap=True,
        )
    if display.ties:
        console().print(printable(display.ties))


def _public_notes(document: Row, competition: CompetitionView, *, live: bool) -> list[str]:
    """Return what to know of a public board, which is a document of this command."""
    notes = []
    if not document["standings"]:
        notes.append(_why_empty(document, competition))
    if document["pending_labels"]:
        notes.append(PendingLabels(**document["pending_labels"]).sentence)
    if document["mark"] is not None:
        notes.append(_mark_sentence(document["mark"], private=False))
    if not document["board"]:
        if not live and (state := _state_of(competition)):
            notes.append(state)
        notes.extend(competition.board_notes(document["standings"]))
    return notes


def _why_empty(document: Row, competition: CompetitionView) -> str:
    if document["board"]:
        return "No team has a score in each of the phases of this board yet."
    if document["bracket"]:
        return "No team of this bracket has a score yet: `arena bracket` puts teams into it."
    return competition.empty_board_sentence


def _state_of(competition: CompetitionView) -> str:
    """Return a sentence if the board does not show every score."""
    hidden = {
        "own": "The board shows no scores: each team sees its own. See it with --live.",
        "hidden": "The board shows no scores, and none is released yet.",
    }
    if frozen := competition.frozen_since:
        return f"The board has been frozen since {frozen:%Y-%m-%d %H:%M} UTC. See it with --live."
    return hidden.get(competition.settings.public.scores, "")


def _mark_sentence(mark: Mapping[str, str] | None, *, private: bool) -> str:
    if mark is None:
        return ""
    return Mark(**mark).sentence(
        "This board has been out of date since a change"
        if private
        else "The scores of this board were released again"
    )


def _print_csv(document: Row, mark: str) -> None:
    standings: Sequence[Row] = document["standings"]
    if document["pending_labels"]:
        sentence = PendingLabels(**document["pending_labels"]).sentence
        standings = [{**row, "pending_labels": sentence} for row in standings]
    if mark:
        standings = [{**row, "mark": mark} for row in standings]
    standings = with_answers_as_cells(with_names_of_brackets(standings))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(standings[0] if standings else _COLUMNS)
    writer.writerows([_cell(value) for value in row.values()] for row in standings)


def _cell(value: Any) -> Any:
    """Return text that is safe in a spreadsheet and a terminal; other values unchanged."""
    return csv_cell(printable(value)) if isinstance(value, str) else value
