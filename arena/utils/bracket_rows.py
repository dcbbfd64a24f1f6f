"""Rows of boards with the columns of each bracket: the key ``brackets`` of a row.

It maps each bracket of the row's team to the columns that differ among its teams, such as
``{"students": {"rank": 1}}``. Boards of competitions without brackets do not have the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

BRACKETS = "brackets"
COLUMNS_IN_BRACKETS = ("rank_low", "rank_high", "tier", "possible_winner")
"""Columns of a board that are computed again among the teams of a bracket."""
OF_ALL_TEAMS = {
    "bootstrap_rank_low", "bootstrap_rank_high", "rank_median", "win_rate", "prize_share",
    "public_rank",
}  # fmt: skip
"""Columns that compare a team with all others: null on the board of a bracket."""


def ranks_within(ranks: Sequence[int]) -> list[int]:
    """Return the ranks of some teams among themselves, from those among all.

    >>> ranks_within([2, 7, 4, 4])
    [1, 4, 2, 2]
    """
    places: dict[int, int] = {}
    for place, rank in enumerate(sorted(ranks), 1):
        places.setdefault(rank, place)
    return [places[rank] for rank in ranks]


def with_brackets(
    rows: Sequence[Mapping[str, Any]],
    brackets: Mapping[str, Iterable[str]],
    columns: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a board with the ranks in each bracket.

    Parameters
    ----------
    brackets
        Name -> its teams.
    columns
        Bracket -> team -> further columns, such as the rank interval among its teams.

    Examples
    --------
    >>> rows = [{"rank": 1, "team": "a"}, {"rank": 2, "team": "b"}, {"rank": None, "team": "c"}]
    >>> [row["brackets"] for row in with_brackets(rows, {"x": ["b", "c"]})]
    [{}, {'x': {'rank': 1}}, {'x': {'rank': None}}]
    """
    added: list[dict[str, dict[str, Any]]] = [{} for _ in rows]
    for name, teams in brackets.items():
        members = set(teams)
        ranked = {
            position: row["rank"]
            for position, row in enumerate(rows)
            if row["team"] in members and row["rank"] is not None
        }
        ranks = dict(zip(ranked, ranks_within(list(ranked.values())), strict=True))
        further = (columns or {}).get(name, {})
        for position, row in enumerate(rows):
            if row["team"] in members:
                in_bracket = {"rank": ranks.get(position), **further.get(row["team"], {})}
                added[position][name] = in_bracket
    return [{**row, BRACKETS: in_brackets} for row, in_brackets in zip(rows, added, strict=True)]


def rows_of_bracket(rows: Iterable[Mapping[str, Any]], bracket: str) -> list[dict[str, Any]]:
    """Return the rows of a bracket's teams, with the columns among its teams.

    >>> rows_of_bracket([{"team": "b", "rank": 2, "brackets": {"x": {"rank": 1}}}], "x")
    [{'team': 'b', 'rank': 1, 'brackets': {'x': {'rank': 1}}}]
    """
    return [
        {**row, **dict.fromkeys(row.keys() & OF_ALL_TEAMS), **row[BRACKETS][bracket]}
        for row in rows
        if bracket in row.get(BRACKETS, ())
    ]


def first_of_bracket(bracket: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return who may be first in a bracket as a sentence, from its rows.

    >>> first_of_bracket("students", [{"team": "b", "possible_winner": True}, {"team": "c"}])
    'In the bracket students, b may truly be the best.'
    """
    first = [row["team"] for row in rows if row.get("possible_winner")]
    sentence = f"{', '.join(first)} may truly be the best" if first else "the ranks are withheld"
    return f"In the bracket {bracket}, {sentence}."


def with_names_of_brackets(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows for a table, in which each value is one cell: brackets by their names.

    >>> with_names_of_brackets([{"team": "b", "brackets": {"x": {"rank": 1}, "y": {"rank": 2}}}])
    [{'team': 'b', 'brackets': 'x; y'}]
    """
    return [
        {**row, BRACKETS: "; ".join(row[BRACKETS])} if BRACKETS in row else dict(row)
        for row in rows
    ]
