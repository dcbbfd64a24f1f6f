"""Compares simulated final boards with the past boards that they imitate."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.state import CompetitionState
from arena.errors import UsageError
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.plugin.manager import PluginManager
from arena.scoring.splits import rows_of
from arena.simulation.competition.drawing import Drawing
from arena.simulation.competition.drawn import drawing_for, final_predictions, reach_of
from arena.simulation.competition.prepare import prepare
from arena.simulation.competition.run import open_competition
from arena.simulation.past.boards import PastBoard
from arena.simulation.past.statistics import STATISTICS, FinalBoard, board_statistics
from arena.simulation.past.teams import LikePast
from arena.simulation.requests import SimulationRequest
from arena.types import FloatArray
from arena.utils.parallel import Progress
from arena.utils.progress import shown

_TAIL = 0.05
_METRIC = "roc_auc"
_PUBLIC_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Compared:
    """One statistic of a past board and of simulated boards."""

    statistic: str
    """A key of :data:`~arena.simulation.past.statistics.STATISTICS`."""
    board: str
    real: float
    low: float
    """The 5% quantile over the simulated boards."""
    high: float
    """The 95% quantile."""

    @property
    def held(self) -> bool:
        """Whether the simulated 90% range holds the real value."""
        return self.low <= self.real <= self.high


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike simulated boards and past ones are."""

    teams: Mapping[str, int]
    """Of each past board."""
    simulated: int
    """Boards per past board."""
    compared: tuple[Compared, ...]

    def summary(self) -> list[dict[str, Any]]:
        """Return for each statistic how many boards show it and on how many the range held it."""
        summaries = []
        for name in STATISTICS:
            of_statistic = [
                comparison for comparison in self.compared if comparison.statistic == name
            ]
            held = sum(comparison.held for comparison in of_statistic)
            summaries.append({"statistic": name, "boards": len(of_statistic), "held": held})
        return summaries

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "schema": "arena/simulate-likeness/1",
            "simulated": self.simulated,
            "boards": dict(self.teams),
            "summary": self.summary(),
            "compared": [
                {
                    "board": comparison.board,
                    "statistic": comparison.statistic,
                    "real": comparison.real,
                    "low": comparison.low,
                    "high": comparison.high,
                    "held": comparison.held,
                }
                for comparison in self.compared
            ],
        }


def compare_with_past(
    boards: Sequence[PastBoard],
    *,
    simulated: int = 40,
    metric: str = _METRIC,
    rows: int = 6_000,
    seed: int = 0,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> Likeness:
    """Simulate boards like each past board, with as many teams, and compare their statistics.

    Every team's last entry is drawn and scored, as ``arena simulate competition --drawn`` draws
    it. Earlier entries are left out: they decide the final board only where a team's best public
    score is not that of its last entry.

    Parameters
    ----------
    simulated
        Boards per past board, at least 2.
    metric, rows
        Of the simulated competitions on synthetic rows, 30% of them public.
    seed
        Of the first board.

    Raises
    ------
    UsageError
        With fewer than 2 simulated boards.
    ArenaError
        If predictions cannot be drawn for the metric.
    """
    if simulated < 2:
        raise UsageError("At least 2 simulated boards are needed for a range.")
    manager = PluginManager() if manager is None else manager
    compared: list[Compared] = []
    with shown(progress) as display:
        display.start("Simulated boards", len(boards) * simulated)
        with tempfile.TemporaryDirectory(prefix="arena-likeness-") as name:
            simulation_request = SimulationRequest(
                directory=Path(name) / "competition",
                mechanisms="full",
                metric=metric,
                rows=rows,
                train_rows=100,
                validation_rows=50,
                public_share=_PUBLIC_SHARE,
                seed=seed,
                drawn=True,
            )
            drawn = prepare(simulation_request, manager)
            with open_competition(drawn.open_folder(), drawn, "full", manager) as (state, _):
                drawings: dict[int, Drawing] = {}  # the noise of a seed is the same for every board
                for board in boards:
                    like = LikePast((board,))
                    comparisons = []
                    for position in range(simulated):
                        comparisons.append(
                            simulated_statistics(
                                state,
                                like,
                                n_teams=board.n_teams,
                                seed=seed + position,
                                drawings=drawings,
                            )
                        )
                        display.advance()
                    real = FinalBoard(
                        board.private, board.public if board.paired else None, board.entries
                    )
                    compared += compare_statistics(board.name, board_statistics(real), comparisons)
    return Likeness({board.name: board.n_teams for board in boards}, simulated, tuple(compared))


def simulated_statistics(
    state: CompetitionState, like: LikePast, n_teams: int, seed: int, drawings: dict[int, Drawing]
) -> dict[str, float | None]:
    """Return the statistics of one simulated board."""
    teams = like.draw(n_teams, np.random.default_rng(seed))
    if seed not in drawings:
        drawings[seed] = drawing_for(state.metric, state.solution, teams, seed)
    drawing = replace(drawings[seed], reach=reach_of(teams))
    sign = 1 if state.metric.greater_is_better else -1
    scores: dict[str, list[FloatArray]] = {"private": [], "public": []}
    for block in final_predictions(drawing, teams, seed):
        for split, split_scores in scores.items():
            rows = rows_of(state.solution, split)
            predictions = ArrayPredictions(block[:, rows])
            split_scores.append(full_scores(state.metric, state.solution.truth[rows], predictions))
    private, public = (sign * np.concatenate(split_scores) for split_scores in scores.values())
    return board_statistics(FinalBoard(private, public, teams.entries.astype(np.float64)))


def compare_statistics(
    board: str,
    real: Mapping[str, float | None],
    simulated: Sequence[Mapping[str, float | None]],
) -> list[Compared]:
    """Return real statistics with the central 95% of the simulated ones; without values: none."""
    comparisons = []
    for name, value in real.items():
        drawn_values = [
            value_drawn for board in simulated if (value_drawn := board[name]) is not None
        ]
        if value is None or not drawn_values:
            continue
        low, high = np.quantile(drawn_values, [_TAIL, 1 - _TAIL])
        comparisons.append(Compared(name, board, real=value, low=float(low), high=float(high)))
    return comparisons
