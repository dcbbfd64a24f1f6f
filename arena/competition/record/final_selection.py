"""Selects the final submissions of each team and builds the public board from records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.competition.record.roster import Roster
from arena.config_sections import FinalRule, Ties
from arena.errors import UsageError
from arena.utils.bracket_rows import with_brackets
from arena.utils.text import plural

_IDS_SHOWN = 20
"""How many of a team's submissions a message lists."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A submission that may count: accepted, and not disqualified."""

    submission: int
    """The id; a smaller one was submitted earlier."""
    team: str
    public: float | None
    """The public score at full precision, with its natural sign; None without public rows."""
    private: float | None = None
    """The private score; only the rule ``best_private`` uses it."""
    shown: float | None = None
    """The released score."""
    ranked_by: float | None = None
    """The value that the public board ranks by."""


def choose_finals(
    candidates: Sequence[Candidate],
    rule: FinalRule,
    *,
    greater_is_better: bool,
    chosen: Mapping[str, Collection[int]],
    count: int | None = None,
) -> dict[str, tuple[int, ...]]:
    """Return the final submissions of each team, by team name.

    Parameters
    ----------
    candidates
        Every submission that may count.
    rule
        ``best_public`` (at full precision; the earliest if tied), ``last``, ``chosen`` (a team
        without a valid selection falls back to its best on public), or ``best_private`` (every
        submission: the best is selected by private score, which makes it optimistic on average).
    greater_is_better
        The direction of the metric.
    chosen
        The ids that each team selected; only the rule ``chosen`` uses them.
    count
        How many of the selected submissions count: the best on public; None: all.

    Examples
    --------
    >>> some = [Candidate(1, "a", 0.9), Candidate(2, "a", 0.8), Candidate(3, "b", 0.7)]
    >>> choose_finals(some, "best_public", greater_is_better=True, chosen={})
    {'a': (1,), 'b': (3,)}
    >>> choose_finals(some, "last", greater_is_better=True, chosen={})
    {'a': (2,), 'b': (3,)}
    >>> choose_finals(some, "chosen", greater_is_better=True, chosen={"a": [1, 2]})
    {'a': (1, 2), 'b': (3,)}
    """
    by_team: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.submission):
        by_team.setdefault(candidate.team, []).append(candidate)

    def best_public(team: str) -> tuple[int, ...]:
        return (_best_first(by_team[team], _public, greater_is_better)[0].submission,)

    def own_choice(team: str) -> tuple[int, ...]:
        chosen_ids = set(chosen.get(team, ()))
        selected = [candidate for candidate in by_team[team] if candidate.submission in chosen_ids]
        best = _best_first(selected, _public, greater_is_better)[:count]
        return tuple(sorted(candidate.submission for candidate in best)) or best_public(team)

    rules: dict[FinalRule, Callable[[str], tuple[int, ...]]] = {
        "best_public": best_public,
        "last": lambda team: (by_team[team][-1].submission,),
        "chosen": own_choice,
        "best_private": lambda team: tuple(candidate.submission for candidate in by_team[team]),
    }
    return {team: rules[rule](team) for team in sorted(by_team)}


def _best_first(
    candidates: Sequence[Candidate],
    score: Callable[[Candidate], float | None],
    greater_is_better: bool,
) -> list[Candidate]:
    """Return them best first, the earliest first if tied; without a score last, newest first.

    Without public rows no submission has a score, and the last one of each team comes first.
    """
    sign = -1 if greater_is_better else 1

    def place(candidate: Candidate) -> tuple[bool, float, int]:
        value = score(candidate)
        return (
            (True, 0.0, -candidate.submission)
            if value is None
            else (False, sign * value, candidate.submission)
        )

    return sorted(candidates, key=place)


def _public(candidate: Candidate) -> float | None:
    return candidate.public


def _shown(candidate: Candidate) -> float | None:
    return candidate.ranked_by


def check_choice(
    chosen_ids: Sequence[int], team_submissions: Collection[int], allowed: int
) -> None:
    """Refuse a selection of too many submissions, or of submissions that are not this team's.

    Raises
    ------
    UsageError
        If the selection is refused; the message says why and how many may be selected.
    """
    if len(set(chosen_ids)) > allowed:
        raise UsageError(
            f"A team may select {plural(allowed, 'submission')}, not "
            f"{len(set(chosen_ids))}. Nothing was changed."
        )
    strangers = sorted(set(chosen_ids) - set(team_submissions))
    if strangers:
        raise UsageError(
            f"Submission {strangers[0]} is not an accepted submission of this team. "
            f"{_own_ids(team_submissions)} Nothing was changed."
        )


def _own_ids(team_submissions: Collection[int]) -> str:
    ids = sorted(team_submissions)
    if not ids:
        return "It has no accepted submission."
    earlier = f"{len(ids) - _IDS_SHOWN:,} earlier ones and " if len(ids) > _IDS_SHOWN else ""
    return f"It has {earlier}{', '.join(map(str, ids[-_IDS_SHOWN:]))}."


def public_board(
    candidates: Sequence[Candidate],
    *,
    greater_is_better: bool,
    ties: Ties,
    roster: Roster = Roster(),  # noqa: B008 - frozen
    n_sent: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return the public standings, best first, computed from released scores only.

    A team is listed with its best release. The row of a team that is not ranked has no rank, and
    that of a baseline is marked.

    Parameters
    ----------
    roster
        The baselines and the brackets; with brackets, the rows have the key ``brackets``.
    n_sent
        The number of submissions of each team.
    """
    by_team: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.ranked_by is not None:
            by_team.setdefault(candidate.team, []).append(candidate)
    bests = [
        _best_first(candidates_of_team, _shown, greater_is_better)[0]
        for candidates_of_team in by_team.values()
    ]
    best = _best_first(bests, _shown, greater_is_better)
    unranked = set(roster.unranked)
    ranked = [candidate for candidate in best if candidate.team not in unranked]
    ranks = board_ranks([candidate.ranked_by for candidate in ranked], ties)
    rank_of = dict(zip((candidate.team for candidate in ranked), ranks, strict=True))
    rows = [
        {
            "rank": rank_of.get(candidate.team),
            "team": candidate.team,
            "score": candidate.shown,
            "submission": candidate.submission,
            "n_submissions": n_sent[candidate.team],
            "baseline": candidate.team in roster.baselines,
        }
        for candidate in best
    ]
    return with_brackets(rows, roster.brackets) if roster.brackets else rows


def board_ranks(scores: Sequence[Any], ties: Ties) -> list[int]:
    """Return the ranks of scores sorted best first and, if tied, earliest first.

    Equal scores share a rank unless the earlier submission is ahead.

    >>> board_ranks([0.9, 0.8, 0.8, 0.7], "shared"), board_ranks([0.9, 0.8, 0.8], "earliest")
    ([1, 2, 2, 4], [1, 2, 3])
    """
    ranks: list[int] = []
    for position, score in enumerate(scores):
        tied = ties != "earliest" and position > 0 and score == scores[position - 1]
        ranks.append(ranks[-1] if tied else position + 1)
    return ranks
