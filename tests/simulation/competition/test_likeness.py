"""How simulated boards are compared with the past ones that they imitate."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena.simulation.competition import likeness as module
from arena.simulation.competition.likeness import (
    Compared,
    Likeness,
    compare_statistics,
    compare_with_past,
)
from arena.simulation.past.boards import PastBoard
from arena.simulation.past.statistics import FinalBoard, board_statistics
from arena.simulation.requests import SimulationRequest
from counted_progress import CountedProgress
from kept import check_kept_document


def test_two_boards_and_their_simulated_ones_are_compared_as_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[Any] = []

    def prepare(request: Any, manager: Any) -> Any:
        requests.append((request, manager))
        return SimpleNamespace(open_folder=lambda: "the folder")

    @contextlib.contextmanager
    def open_competition(*arguments: Any) -> Iterator[tuple[str, None]]:
        assert (arguments[0], arguments[2:]) == ("the folder", ("full", "plugins"))
        yield "the state", None

    def one_board(state: str, like: Any, *, n_teams: int, seed: int, drawings: Any) -> Any:
        assert state == "the state"
        assert like.boards[0].n_teams == n_teams
        scores = np.arange(n_teams) ** float(seed)
        return board_statistics(FinalBoard(scores, scores[::-1], entries=scores))

    for function in (prepare, open_competition):
        monkeypatch.setattr(module, function.__name__, function)
    monkeypatch.setattr(module, "simulated_statistics", one_board)
    scores = np.array([0.9, 0.88, 0.85, 0.8, 0.75, 0.6])
    entries = np.array([9.0, 5, 1, 1, 3, 2])
    boards = [
        PastBoard(
            "paired", scores, public=scores[[1, 0, 2, 3, 5, 4]], paired=True, entries=entries
        ),
        PastBoard("of one list", scores[:5], public=scores[:5], paired=False),
    ]
    progress = CountedProgress()
    plugins: Any = "plugins"
    likeness = compare_with_past(
        boards, simulated=2, metric="mae", rows=100, seed=4, manager=plugins, progress=progress
    )
    assert (progress.total, progress.done) == (4, 4)
    check_kept_document("likeness", likeness.to_dict())
    ((request, manager),) = requests
    assert manager == "plugins"
    assert request == SimulationRequest(
        directory=request.directory, mechanisms="full", metric="mae", rows=100, train_rows=100,
        validation_rows=50, public_share=0.3, seed=4, drawn=True,
    )  # fmt: skip
    assert (request.directory.name, request.directory.exists()) == ("competition", False)
    with pytest.raises(UsageError) as refusal:
        compare_with_past(boards, simulated=1)
    assert str(refusal.value) == "At least 2 simulated boards are needed for a range."
    defaults = inspect.signature(compare_with_past).parameters
    assert [defaults[name].default for name in ("simulated", "metric", "rows", "seed")] == [
        40, "roc_auc", 6_000, 0
    ]  # fmt: skip


def test_a_range_is_from_the_5_to_the_95_per_cent_quantile_and_holds_its_ends() -> None:
    # Of 0, 1, …, 20 the quantiles are 1 and 19. What no simulated board shows is not compared.
    simulated = [{"a": float(value), "b": None, "c": 1.0} for value in range(21)]
    (comparison,) = compare_statistics("board", {"a": 1.0, "b": 1.0, "c": None}, simulated)
    assert (comparison.statistic, comparison.board, comparison.real) == ("a", "board", 1.0)
    assert (comparison.low, comparison.high) == pytest.approx((1, 19))
    comparisons = [
        Compared("teams with one entry", "board", real=real, low=1.0, high=2.0)
        for real in (0.9, 1.0, 2.0, 2.1)
    ]
    assert [comparison.held for comparison in comparisons] == [False, True, True, False]
    summary = Likeness({"board": 5}, 3, compared=tuple(comparisons)).summary()
    assert [row for row in summary if row["boards"]] == [
        {"statistic": "teams with one entry", "boards": 4, "held": 2}
    ]


@dataclass(frozen=True)
class FakeDrawing:
    seed: int
    reach: float = 1.0


@pytest.mark.parametrize(("greater", "sign"), [(True, 1), (False, -1)])
def test_a_simulated_board_has_larger_scores_for_better_teams(
    monkeypatch: pytest.MonkeyPatch, greater: bool, sign: int
) -> None:
    """Two blocks of predictions on three rows, of which two are private; a score is their mean."""
    split_of = {"private": np.array([True, False, True]), "public": np.array([False, True, False])}
    seeds_drawn: list[int] = []

    def drawing_for(metric: Any, solution: Any, teams: Any, seed: int) -> FakeDrawing:
        seeds_drawn.append(seed)
        return FakeDrawing(seed)

    def predictions(drawing: FakeDrawing, teams: Any, seed: int) -> Iterator[Any]:
        assert (drawing, seed) == (FakeDrawing(7, 3.0), 7)
        yield np.array([[1.0, 0.0, 3.0]])
        yield np.array([[0.0, 4.0, 0.0], [2.0, 5.0, 2.0]])

    def scores(metric: Any, truth: Any, drawn: Any) -> Any:
        assert len(truth) == drawn.array.shape[1]
        return drawn.array.mean(axis=1)

    for name, function in {
        "drawing_for": drawing_for, "final_predictions": predictions, "full_scores": scores,
        "reach_of": lambda _: 3.0, "rows_of": lambda _, split: split_of[split],
        "ArrayPredictions": lambda array: SimpleNamespace(array=array),
        "board_statistics": lambda board: board,
    }.items():  # fmt: skip
        monkeypatch.setattr(module, name, function)
    like: Any = SimpleNamespace(
        draw=lambda n, rng: SimpleNamespace(entries=np.array([n, round(1e6 * rng.random())]))
    )
    state: Any = SimpleNamespace(
        metric=SimpleNamespace(greater_is_better=greater),
        solution=SimpleNamespace(truth=np.zeros(3)),
    )
    drawings: dict[int, Any] = {}
    for _ in range(2):
        board: Any = module.simulated_statistics(state, like, n_teams=3, seed=7, drawings=drawings)
        assert board.private.tolist() == [2 * sign, 0, 2 * sign]
        assert board.public.tolist() == [0, 4 * sign, 5 * sign]
        chance = np.random.default_rng(7).random()
        assert board.entries.tolist() == [3, round(1e6 * chance)]
    assert seeds_drawn == [7]  # the noise of a seed is drawn once
