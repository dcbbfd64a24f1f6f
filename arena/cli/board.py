"""The private board as a table for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from arena.cli.rejected_files import print_rejected
from arena.competition.record.combined_documents import verdicts_of_combined
from arena.report.boards import Row, not_ranked, ranked_board
from arena.report.terminal import print_columns
from arena.scoring.best_score_text import intervals_at_the_top
from arena.scoring.result import ranked_on, unranked_rows
from arena.types import TEAMS, Vocabulary
from arena.utils.formatting import BoardDisplay, Show, level_text, score_format, span
from arena.utils.text import plural, printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.scoring.result import ScoreResult


def print_result(result: ScoreResult, console: Console, *, phase: str = "") -> None:
    """Print the board, its explanation, and the rejected files."""
    of = f"phase {phase}" if phase else ""
    print_board(result.board_document(), console, result.display, result.words, of=of)
    for rejected in result.rejected:
        print_rejected(rejected, console)


def print_board(
    document: Row,
    out: Console,
    display: BoardDisplay,
    words: Vocabulary = TEAMS,
    *,
    of: str = "",
) -> None:
    """Print a board and its explanation, from the document ``arena/score/2``.

    ``of`` names the phase or the combined board, in its title.
    """
    score = score_format(document["standings"], display)
    if document["standings"]:
        _print_standings(document, out, display, words, of=of)
    if display.ties:
        out.print(printable(display.ties))
    combined = verdicts_of_combined(document).values()
    for verdict in dict.fromkeys(finding["verdict"] for finding in document["findings"]):
        if verdict not in combined:
            out.print(printable(verdict))
    _print_best(document, out, score)
    for verdict in combined:  # after all sentences on this board: each is on another one
        out.print(printable(verdict))
    _print_unranked(document, out, score)


def _print_standings(
    document: Row, out: Console, display: BoardDisplay, words: Vocabulary, *, of: str
) -> None:
    direction = "larger" if document["greater_is_better"] else "smaller"
    pending = document.get("n_pending", 0)
    title = (
        f"{document['metric']} on "
        f"{ranked_on(document['n_rows'], document['split'], words, n_pending=pending)} "
        f"({direction} is better)"
    )
    if of:
        title = f"{of}: {title}"
    standings = document["standings"]
    first, *others = ranked_board(standings, display, words, caption=title).columns
    possible = [bool(row.get("possible_winner")) for row in standings]
    if marked := any(possible) and not all(possible):
        cells = zip(first.cells, possible, strict=True)
        first = replace(first, cells=tuple(f"{'*' * star}{cell}" for cell, star in cells))
    print_columns([first, *others], out, title=title, every="--wide")
    if not document["resamples"]:
        return
    if len(standings) > 1:
        _print_what_holds(document, out, words, marked=marked)
    assumption = document["best_score_corrected"].get("assumption")
    if assumption and any(row.get("score_low") is not None for row in standings):
        out.print(printable(assumption))


def _print_what_holds(document: Row, out: Console, words: Vocabulary, *, marked: bool) -> None:
    standings = document["standings"]
    if marked:
        out.print("* may truly be the best.")
    joint = "rank intervals, tiers and marks together, and each score's interval by itself"
    if all(row.get("rank_low") is None for row in standings):
        joint = "each score's interval by itself"
    resamples = plural(document["resamples"], "resample")
    out.print(
        f"Confidence level {level_text(document['level'])}, for {joint}. Bootstrap rank range, win "
        f"rate and prize share: {resamples} of the {words.rows}, seed {document['seed']}."
    )


def _print_best(document: Row, out: Console, score: Show) -> None:
    best, standings = document["best_score_corrected"], document["standings"]
    if not standings or best["estimate"] is None:
        return
    if len(standings) == 1:
        interval = f"There is no interval for the true score. {best['reason'] or ''}".rstrip()
        if best["low"] is not None:
            interval = (
                f"Interval of the true score: {span(best['low'], best['high'], score)} "
                f"({level_text(document['level'])} confidence)."
            )
        out.print(interval)
        return
    interval = intervals_at_the_top(best, document["level"], score)
    observed, corrected = score(standings[0]["score"]), score(best["estimate"])
    change = f"stays {observed}" if corrected == observed else f"of {observed} is {corrected}"
    out.print(f"Corrected for selection, the best score {change}. {interval}")
    others = [
        f"{printable(winner['team'])} {span(winner['low'], winner['high'], score)}"
        for winner in best["winners"][1:]
        if winner["low"] is not None
    ]
    if others:
        out.print(f"Intervals of the next places, corrected for selection: {'; '.join(others)}.")


def _print_unranked(document: Row, out: Console, score: Show) -> None:
    for row in unranked_rows(document):
        if row["score"] is not None:
            out.print(printable(not_ranked(row, score)))
