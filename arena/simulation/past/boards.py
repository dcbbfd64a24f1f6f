"""Reads past leaderboards, which simulated teams imitate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from arena.errors import InputError
from arena.types import FloatArray, IntArray
from arena.utils.tabular import read_csv
from arena.utils.text import plural, printable
from arena.utils.times import in_utc

_LEAST_TEAMS = 5
_COLUMNS: Mapping[str, Sequence[str]] = {
    "private_rank": ("private_rank", "privaterank"),
    "public_rank": ("public_rank", "publicrank"),
    "rank": ("rank",),
    "private": ("private_score", "privatescore"),
    "public": ("public_score", "publicscore"),
    "score": ("score",),
    "entries": ("entries", "submissioncount", "n_submissions", "submissions"),
    "last": ("lastsubmissiondate", "last_submission"),
    "board": ("board",),
}
"""The meanings of columns, by their names in lower case: of arena and of Kaggle's files."""


@dataclass(frozen=True, slots=True, eq=False)
class PastBoard:
    """The final leaderboard of a competition, n teams in the order of the private ranks."""

    name: str
    private: FloatArray
    """``(n,)`` private scores, larger is better; the public ones if the file has only those."""
    public: FloatArray
    """``(n,)`` public scores, larger is better."""
    paired: bool
    """Whether a private and a public score at the same place are those of one team."""
    entries: FloatArray | None = None
    """``(n,)`` numbers of submissions; None: not in the file."""
    last: FloatArray | None = None
    """``(n,)`` times of the last submissions, in [0, 1]: from the board's first to its last one;
    None: not in the file."""

    @property
    def n_teams(self) -> int:
        """The number of teams."""
        return len(self.private)


def read_boards(path: Path) -> tuple[PastBoard, ...]:
    r"""Read a leaderboard in CSV, or every one in a folder.

    Teams without one of the scores are left out. Recognised columns, in upper or lower case:
    ``private_score`` and ``public_score`` (or ``score`` alone, or with ``board`` naming the public
    and the private list), ``private_rank``, ``public_rank`` or ``rank``, ``entries`` (also
    ``SubmissionCount``) and ``LastSubmissionDate`` (UTC, if it names no zone). A rank
    shows whether larger scores are better; without one the rows must be ordered best first. CSV
    files of a folder without scores are skipped.

    Raises
    ------
    InputError
        If the file, or every file of the folder, is no leaderboard with at least 5 teams.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "board.csv"
    >>> rows = [f"{rank},{1 - rank / 10},{rank}" for rank in range(1, 7)]
    >>> _ = file.write_text("\n".join(["Rank,Score,SubmissionCount", *rows]))
    >>> (board,) = read_boards(file)
    >>> board.n_teams, board.entries.tolist(), board.paired
    (6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], False)
    """
    if not path.exists():
        raise InputError(f"{printable(str(path))} does not exist.")
    if not path.is_dir():
        return (_read(path),)
    boards, problems = [], []
    for file in sorted(path.glob("*.csv")):
        try:
            boards.append(_read(file))
        except InputError as error:
            problems.append(str(error))
    if not boards:
        why = problems[0] if problems else "It holds no file *.csv."
        raise InputError(f"{printable(str(path))} holds no leaderboard. {why}")
    return tuple(boards)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a file, by the meanings of its columns."""

    path: Path
    rows: Sequence[Sequence[str]]
    places: Mapping[str, int]
    """Meaning -> place of its column."""

    @classmethod
    def of(cls, path: Path) -> _Rows:
        header, numbered = read_csv(path)
        names = [name.lower() for name in header]
        places = {
            meaning: names.index(name)
            for meaning, titles in _COLUMNS.items()
            for name in reversed(titles)  # the first known name wins
            if name in names
        }
        return cls(path, [row for _, row in numbered], places)

    def texts(self, meaning: str) -> list[str]:
        """Return the cells of a column; those that a short row lacks are empty."""
        place = self.places[meaning]
        return [row[place].strip() if place < len(row) else "" for row in self.rows]

    def numbers(self, meaning: str) -> FloatArray:
        """Return a column of numbers, NaN where a cell is none."""
        return np.array([_number(text) for text in self.texts(meaning)])

    def first_of(self, *meanings: str) -> str | None:
        """Return the first of these columns that the file has."""
        return next((meaning for meaning in meanings if meaning in self.places), None)


def _read(path: Path) -> PastBoard:
    rows, path_text = _Rows.of(path), printable(str(path))
    score = rows.first_of("private", "public", "score")
    if score is None:
        raise InputError(f"{path_text} has no column private_score, public_score or score.")
    board = _two_lists(rows) if "board" in rows.places else _one_list(rows, score)
    if board.n_teams < _LEAST_TEAMS:
        raise InputError(
            f"{path_text} holds {plural(board.n_teams, 'team')} with scores; at least "
            f"{_LEAST_TEAMS} are needed."
        )
    if min(np.ptp(board.private), np.ptp(board.public)) == 0:
        raise InputError(f"In {path_text} all scores are equal, so there is nothing to imitate.")
    return board


def _one_list(rows: _Rows, score: str) -> PastBoard:
    """Return the board of a file with a row for each team; ``score`` orders the teams."""
    private = rows.numbers(score)
    public = rows.numbers("public") if "public" in rows.places else private
    ranked_by = rows.first_of("private_rank", "rank", "public_rank")
    ranks = np.arange(len(private), dtype=np.float64)
    if ranked_by is not None:
        ranks = np.asarray(rows.numbers(ranked_by), dtype=np.float64)
    sign = _direction(ranks, public if ranked_by == "public_rank" else private)
    complete = np.isfinite(private) & np.isfinite(public)
    entries = rows.numbers("entries") if "entries" in rows.places else None
    if entries is not None and not np.isfinite(entries).any():
        entries = None  # an empty column
    if entries is not None:
        complete &= np.isfinite(entries) & (entries >= 1)
    kept_rows = np.flatnonzero(complete)
    kept_rows = kept_rows[np.argsort(-sign * private[kept_rows], kind="stable")]
    return PastBoard(
        name=rows.path.stem,
        private=sign * private[kept_rows],
        public=sign * public[kept_rows],
        paired={"private", "public"} <= set(rows.places),
        entries=None if entries is None else entries[kept_rows],
        last=_last_times(rows, kept_rows),
    )


def _last_times(rows: _Rows, kept_rows: IntArray) -> FloatArray | None:
    """Return the times of the last submissions of these teams, scaled; None: one is not known."""
    if "last" not in rows.places or not len(kept_rows):
        return None
    times = np.array([_time(text) for text in rows.texts("last")])[kept_rows]
    if not np.isfinite(times).all():
        return None
    return np.asarray((times - times.min()) / max(float(np.ptp(times)), 1.0))


def _two_lists(rows: _Rows) -> PastBoard:
    """Return a board whose public and private lists stand one below the other, without teams."""
    names = np.array([text.lower() for text in rows.texts("board")])
    scores = rows.numbers("score") if "score" in rows.places else np.full(len(names), np.nan)
    lists = [scores[(names == name) & np.isfinite(scores)] for name in ("private", "public")]
    n_teams = min(map(len, lists))
    if not n_teams:
        raise InputError(f"{printable(str(rows.path))} holds no public or no private scores.")
    levels = (np.arange(n_teams) + 0.5) / n_teams
    private, public = (
        np.quantile(
            _direction(np.arange(len(values), dtype=np.float64), values) * values, 1 - levels
        )
        for values in lists
    )
    return PastBoard(rows.path.stem, private, public, paired=False)


def _direction(order: FloatArray, scores: FloatArray) -> int:
    """Return 1 if larger scores have the smaller ranks, otherwise -1."""
    usable = np.isfinite(order) & np.isfinite(scores)
    by_rank = scores[usable][np.argsort(order[usable], kind="stable")]
    return 1 if len(by_rank) == 0 or by_rank[0] >= by_rank[-1] else -1


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _time(text: str) -> float:
    try:
        # Kaggle writes times of UTC without saying so.
        return in_utc(datetime.fromisoformat(text)).timestamp()
    except ValueError:
        return np.nan
