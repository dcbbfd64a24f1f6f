"""Standings as boards of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arena.report.columns import PUBLIC_COLUMNS, StandingColumn, ranked_columns
from arena.report.model import Board, Column
from arena.types import TEAMS, Vocabulary
from arena.utils.bracket_rows import with_names_of_brackets
from arena.utils.formatting import BoardDisplay, Show, level_text, released_format, score_format
from arena.utils.questions import with_answers_as_cells
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.scoring.result import ScoreResult

Row = Mapping[str, Any]
_MOST_OTHERS = 20
"""How many columns of analyses, secondary metrics and targets a report shows."""
_BARS = ("rank_low", "rank_high")
"""The keys of a standing whose column has a bar."""


def private_board(result: ScoreResult) -> Board:
    """Return the board of a result, with every column that it has."""
    direction = "larger" if result.greater_is_better else "smaller"
    caption = (
        f"{result.metric} on {result.ranked_on}; a {direction} score is better. Intervals are at "
        f"{level_text(result.level)}."
    )
    board = ranked_board(result.standings, result.display, result.words, caption=caption)
    from arena.scoring.result import unranked_rows

    score = score_format(result.standings, result.display)
    document = {"baseline": result.baseline, "unranked": result.unranked}
    notes = [not_ranked(row, score) for row in unranked_rows(document) if row["score"] is not None]
    return replace(board, notes=(*board.notes, *notes))


def not_ranked(row: Row, score: Show) -> str:
    """Return a sentence with the score of a team that is not ranked.

    >>> not_ranked({"team": "bert", "score": 0.61, "baseline": True}, str)
    'The baseline, bert, has a score of 0.61 and is not ranked.'
    """
    team = f"The baseline, {row['team']}," if row["baseline"] else f"The team {row['team']}"
    return f"{team} has a score of {score(row['score'])} and is not ranked."


def ranked_board(
    standings: Sequence[Row], display: BoardDisplay, words: Vocabulary, *, caption: str
) -> Board:
    """Return the board of ranked standings, with every column that they have."""
    score = score_format(standings, display)
    from arena.scoring.result import STANDING_COLUMNS

    others = [key for key in (standings[0] if standings else ()) if key not in STANDING_COLUMNS]
    left_out = len(others) - _MOST_OTHERS
    kinds = (
        *ranked_columns(len(standings)),
        *(
            StandingColumn(_literal(other_title(key)), (key,), _anything, importance=5)
            for key in others[:_MOST_OTHERS]
        ),
    )
    columns = [_column(kind, standings, score, words) for kind in kinds]
    tiers: list[Any] = [row.get("tier") for row in standings]
    notes = (display.ties,) if display.ties else ()
    if left_out > 0:
        notes = (*notes, f"{plural(left_out, 'further column', 'are')} in the document (--json).")
    return Board(
        name="board",
        title="The board",
        caption=caption,
        columns=tuple(column for column in columns if any(column.cells)),
        tiers=() if None in tiers or tiers != sorted(tiers) else tuple(tiers),
        notes=notes,
    )


def _column(
    kind: StandingColumn, standings: Sequence[Row], score: Show, words: Vocabulary = TEAMS
) -> Column:
    cells = tuple(kind.cell(row, score) for row in standings)
    first = [row.get(kind.keys[0]) for row in standings]
    textual = any(isinstance(value, str) for value in first)
    order = None
    if not textual:
        order = tuple(float(cell) if isinstance(cell, int | float) else None for cell in first)
    bars = None
    if kind.keys == _BARS:
        low, high = _BARS
        bars = tuple(rank_bar(row.get(low), row.get(high), len(standings)) for row in standings)
    return Column(
        title=kind.title.format(words=words),
        meaning=kind.meaning.format(words=words),
        cells=cells,
        order=order,
        bars=bars,
        importance=kind.importance,
        key=kind.keys[0],
    )


def rank_bar(low: int | None, high: int | None, m: int) -> tuple[float, float] | None:
    """Return start and length of a bar over ranks low to high of m, in per cent."""
    if low is None or high is None:
        return None
    return round(100 * (low - 1) / m, 1), round(100 * (high - low + 1) / m, 1)


def other_title(key: str) -> str:
    """Return the title of a column that is not among those of every board.

    >>> other_title("rank_by_median"), other_title("rmse of y_1")
    ('rank by median', 'rmse of y_1')
    """
    return key.replace("_", " ") if key.isidentifier() else key


def _literal(title: str) -> str:
    """Return a title that is no template."""
    return title.replace("{", "{{").replace("}", "}}")


def _anything(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_OPTIONAL = ("brackets", "seconds", "seconds_low", "memory_mb", "memory_mb_low")
"""Columns of the public board that a competition may lack."""


def competition_board(
    standings: Sequence[Row],
    *,
    title: str,
    caption: str,
    name: str,
    display: BoardDisplay,
    submissions: bool = False,
    scores: Sequence[str] = (),
) -> Board:
    """Return a public board, from the standings of ``Competition.leaderboard``.

    ``submissions``: with the number of each team's submission, as an organiser sees it. ``scores``:
    the columns of further scores.
    """
    score = released_format([row["score"] for row in standings], display)
    named = [
        {**row, "team": f"{row['team']}{' (baseline)' if row['baseline'] else ''}"}
        for row in with_answers_as_cells(with_names_of_brackets(standings))
    ]
    left_out = {
        *(() if submissions else ("submission",)),
        *(key for key in _OPTIONAL if not any(row.get(key) for row in named)),
    }
    answered = [key for key in (named[0] if named else ()) if key.startswith("answer_")]
    kinds = [
        *(kind for kind in PUBLIC_COLUMNS if kind.keys[0] not in left_out),
        *(
            StandingColumn(key.removeprefix("answer_"), (key,), str, importance=4)
            for key in answered
        ),
        *(StandingColumn(key, (key,), score, importance=4) for key in scores),
    ]
    columns = [_column(kind, named, score) for kind in kinds]
    notes = (display.ties,) if display.ties else ()
    return Board(name, title, caption, tuple(columns), notes=notes)
