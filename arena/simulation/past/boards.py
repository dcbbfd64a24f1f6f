"""Reads past leaderboards, which simulated teams imitate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from arena.errors import InputError
from arena.types import FloatArray
from arena.utils.tabular import read_csv
from arena.utils.text import printable

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


def _read(path: Path) -> PastBoard:
    shown = printable(str(path))
    header, numbered = read_csv(path)
    names, rows = [name.lower() for name in header], [row for _, row in numbered]
    found = {
        meaning: next(names.index(name) for name in known if name in names)
        for meaning, known in _COLUMNS.items()
        if set(known) & set(names)
    }
    if not {"private", "public", "score"} & set(found):
        raise InputError(f"{shown} has no column private_score, public_score or score.")

    def numbers(meaning: str, rows: Sequence[Sequence[str]] = rows) -> FloatArray:
        at = found[meaning]
        return np.array([_number(row[at] if at < len(row) else "") for row in rows])

    if "board" in found:
        board = _two_lists(path, rows, found)
    else:
        score = next(one for one in ("private", "public", "score") if one in found)
        private = numbers(score)
        public = numbers("public") if "public" in found else private
        ranks = [one for one in ("private_rank", "rank", "public_rank") if one in found]
        order = numbers(ranks[0]) if ranks else np.arange(len(rows), dtype=np.float64)
        of_order = public if ranks[:1] == ["public_rank"] else private
        sign = _direction(order, of_order)
        entries = numbers("entries") if "entries" in found else None
        if entries is not None and not np.isfinite(entries).any():
            entries = None  # an empty column
        last = np.array([_time(row, found["last"]) for row in rows]) if "last" in found else None
        complete = np.isfinite(private) & np.isfinite(public)
        if entries is not None:
            complete &= np.isfinite(entries) & (entries >= 1)
        if last is not None and not np.isfinite(last[complete]).all():
            last = None
        kept = np.flatnonzero(complete)
        kept = kept[np.argsort(-sign * private[kept], kind="stable")]
        board = PastBoard(
            path.stem,
            sign * private[kept],
            sign * public[kept],
            paired={"private", "public"} <= set(found),
            entries=None if entries is None else entries[kept],
            last=None if last is None or not len(kept) else _scaled(last[kept]),
        )
    if board.n_teams < _LEAST_TEAMS:
        raise InputError(
            f"{shown} holds {board.n_teams} teams with scores; at least {_LEAST_TEAMS} are needed."
        )
    if min(np.ptp(board.private), np.ptp(board.public)) == 0:
        raise InputError(f"In {shown} all scores are equal, so there is nothing to imitate.")
    return board


def _two_lists(path: Path, rows: Sequence[Sequence[str]], found: Mapping[str, int]) -> PastBoard:
    """Return a board whose public and private lists stand one below the other, without teams."""
    lists: dict[str, list[float]] = {"private": [], "public": []}
    for row in rows:
        name = row[found["board"]].strip().lower()
        if name in lists and "score" in found and np.isfinite(one := _number(row[found["score"]])):
            lists[name].append(one)
    n_teams = min(map(len, lists.values()))
    if not n_teams:
        raise InputError(f"{printable(str(path))} holds no public or no private scores.")
    signed = []
    for name in ("private", "public"):
        scores = np.array(lists[name])
        signed.append(_direction(np.arange(len(scores), dtype=np.float64), scores) * scores)
    levels = (np.arange(n_teams) + 0.5) / n_teams
    private, public = (np.quantile(one, 1 - levels) for one in signed)
    return PastBoard(path.stem, private, public, paired=False)


def _direction(order: FloatArray, scores: FloatArray) -> int:
    """Return 1 if larger scores have the smaller ranks, otherwise -1."""
    usable = np.isfinite(order) & np.isfinite(scores)
    by_rank = scores[usable][np.argsort(order[usable], kind="stable")]
    return 1 if len(by_rank) == 0 or by_rank[0] >= by_rank[-1] else -1


def _scaled(times: FloatArray) -> FloatArray:
    return np.asarray((times - times.min()) / max(float(np.ptp(times)), 1.0))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _time(row: Sequence[str], at: int) -> float:
    try:
        time = datetime.fromisoformat(row[at].strip())
        # Kaggle writes times of UTC without saying so.
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, IndexError):
        return np.nan
