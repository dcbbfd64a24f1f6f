"""Boards of brackets: named sets of teams that are also ranked separately.

A team may be in several brackets. With K brackets, each is a board at level ``1 - alpha / K``, so
that ranks, tiers and possible winners of all brackets hold at once. The possible winners of the
whole board do not tell who may win a bracket: the best team of a weaker one is not among them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from arena.errors import InputError, UsageError
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.ranks import best_first, minimum_ranks
from arena.evaluation.scores import round_significant
from arena.interfaces import Candidates, Study
from arena.interfaces.faults import show_all
from arena.plugin.manager import PluginManager
from arena.scoring.private_board import PrivateBoard, analyse
from arena.scoring.settings import BoardSettings
from arena.types import Finding, IntArray, Table
from arena.utils.bracket_rows import first_of_bracket
from arena.utils.formatting import level_text
from arena.utils.tabular import read_csv
from arena.utils.text import plural


def boards_of_brackets(
    study: Study,
    brackets: Mapping[str, Collection[str]],
    settings: BoardSettings,
    manager: PluginManager,
) -> dict[str, PrivateBoard]:
    """Return the board of each bracket, in which only its teams are ranked.

    Parameters
    ----------
    study
        Of all teams, with resamples: they are not drawn again.
    brackets
        Name -> the names of its teams. Names that are not ranked are left out, and so are brackets
        without a ranked team, which still count in the level.
    settings, manager
        As for :func:`~arena.scoring.private_board.analyse`; the level is that of the study.

    Raises
    ------
    UsageError
        If there is no bracket.
    PluginError
        If the ranker fails.
    """
    if not brackets:
        raise UsageError("There is no bracket: name at least one.")
    place = {team: position for position, team in enumerate(study.teams)}
    level = 1 - (1 - study.level) / len(brackets)
    boards = {}
    for name, teams in brackets.items():
        positions = np.array(
            sorted(place[team] for team in set(teams) & place.keys()), dtype=np.intp
        )
        if len(positions):
            bracket_study = study_of_teams(study, positions, level)
            boards[name] = analyse(bracket_study, settings, manager, analyses=False)
    return boards


def finding_of_brackets(
    study: Study,
    brackets: Mapping[str, Collection[str]],
    settings: BoardSettings,
    manager: PluginManager,
) -> Finding:
    """Return the boards of brackets as a finding; see :func:`boards_of_brackets`."""
    boards = boards_of_brackets(study, brackets, settings, manager)
    verdicts, document, tables = [], {}, []
    together = f", with all {plural(len(brackets), 'bracket')} at once" if len(brackets) > 1 else ""
    for name, teams in brackets.items():
        absent = sorted(set(teams).difference(study.teams))
        if absent:
            verdicts.append(f"Not on the board, of {name}: {show_all(absent)}.")
    for name, board in boards.items():
        bracket_study, columns = board.study, board.columns
        better = bracket_study.metric.greater_is_better
        order = best_first(bracket_study.scores, greater_is_better=better)
        ranks = minimum_ranks(bracket_study.scores, greater_is_better=better)
        rows = [
            {
                "rank": int(ranks[position]),
                "team": bracket_study.teams[position],
                "score": float(bracket_study.scores[position]),
                **{column: values[position] for column, values in columns.items()},
            }
            for position in order
        ]
        verdicts.append(first_of_bracket(name, rows))
        document[name] = rows
        column_names = [key for key in ("rank", "rank_low", "rank_high", "tier") if key in rows[0]]
        tables.append(
            Table(
                f"{name}: ranks among its own{together} at {level_text(study.level)}",
                ("team", "score", *(key.replace("_", " ") for key in column_names)),
                tuple(
                    (row["team"], row["score"], *(row[key] for key in column_names)) for row in rows
                ),
            )
        )
    return Finding("brackets", " ".join(verdicts), document, tables=tuple(tables))


def read_brackets(path: Path) -> dict[str, tuple[str, ...]]:
    r"""Return bracket -> teams from a CSV file with the columns ``team`` and ``bracket``.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, or a cell is empty.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "brackets.csv"
    >>> _ = path.write_text("team,bracket\nA,students\nB,staff\nC,students\n")
    >>> read_brackets(path)
    {'students': ('A', 'C'), 'staff': ('B',)}
    """
    header, rows = read_csv(path)
    brackets: dict[str, list[str]] = {}
    for line, row in rows:
        cells = dict(zip(header, row, strict=False))
        team, bracket = (cells.get(column, "").strip() for column in ("team", "bracket"))
        if not team or not bracket:
            raise InputError(f"{path}, line {line}: a row names a team and its bracket.")
        brackets.setdefault(bracket, []).append(team)
    if not brackets:
        raise InputError(f"{path} has no rows: a row names a team and its bracket.")
    return {bracket: tuple(teams) for bracket, teams in brackets.items()}


def study_of_teams(study: Study, positions: IntArray, level: float) -> Study:
    """Return the study of the teams at some positions, at a level of its own.

    A mean rank is one among these teams only.
    """
    parts = tuple(study_of_teams(part, positions, level) for part in study.parts)
    scores, resampled = study.scores[positions], study.resampled[positions]
    if isinstance(study.metric, CombinedMetric) and study.metric.relative:
        scores = round_significant(study.metric.combine(np.array([part.scores for part in parts])))
        drawn = study.metric.combine(np.array([part.resampled for part in parts]))
        resampled = round_significant(drawn)
    return replace(
        study,
        teams=tuple(study.teams[position] for position in positions),
        submissions=study.submissions[positions],
        predictions=study.predictions.subset(positions),
        scores=scores,
        resampled=resampled,
        level=level,
        influence=None if study.influence is None else study.influence.subset(positions),
        candidates=None if study.candidates is None else _of_teams(study.candidates, positions),
        ranks=None,
        best_interval=None,
        parts=parts,
    )


def _of_teams(candidates: Candidates, positions: IntArray) -> Candidates:
    positions_kept = np.flatnonzero(np.isin(candidates.team, positions))
    place = np.full(int(positions_kept.max()) + 1, -1)
    place[positions_kept] = np.arange(len(positions_kept))
    influence = candidates.influence
    return replace(
        candidates,
        scores=candidates.scores[positions_kept],
        resampled=candidates.resampled[positions_kept],
        predictions=candidates.predictions.subset(positions_kept),
        counting=place[candidates.counting[positions]],
        team=np.searchsorted(positions, candidates.team[positions_kept]),
        influence=None if influence is None else influence.subset(positions_kept),
    )
