"""What a mechanism learns of a submission on a simulated public board, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError, MetricError
from arena.evaluation.standard_errors import standard_error
from arena.interfaces import Evaluation, Move
from arena.types import Release, Usage
from arena_competitors.public_board import BoardSettings, PublicBoardRun
from arena_competitors.rows import Rows, competition_rows
from arena_metrics.pointwise import Accuracy
from toy_metrics import BlackBoxRmse

TRUTH = np.array([0, 1, 0, 1, 0, 1])
PUBLIC = np.array([0, 1, 3, 4])


@dataclass
class Asks:
    """A mechanism that asks for every number and shows the score."""

    name: str = "asks"
    for_participants: str = ""
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        number = int(state.get("number", 0))
        self.evaluations.append(
            {
                "number": evaluation.submission,
                "score": evaluation.score,
                "error": evaluation.standard_error(),
                "differences": [
                    evaluation.standard_error_of_difference(other_submission)
                    for other_submission in range(
                        int(evaluation.baseline is None), evaluation.submission
                    )
                ],
                "budget": evaluation.budget,
                "rows": evaluation.n_rows,
                "baseline": evaluation.baseline,
                "draw": rng.random(),
            }
        )
        return Release(evaluation.score, improved=number == 0, state={"number": number + 1})


def board_of(metric: Any, baseline: Any) -> tuple[Asks, PublicBoardRun]:
    rows = Rows(
        metric,
        2,
        n_rows=6,
        public=PUBLIC,
        public_truth=TRUTH[PUBLIC],
        hidden=np.array([2, 5]),
        hidden_truth=TRUTH[[2, 5]],
        baseline=baseline,
    )
    asks = Asks()
    return asks, PublicBoardRun(asks, rows, settings=BoardSettings(9), seed=1)


def test_a_mechanism_gets_the_errors_of_scores_and_of_their_differences() -> None:
    """Of four rows the baseline has 0 1 1 0 wrong, the first 0 0 1 0, the second none.

    One of four wrong: the deviations 1/4, 1/4, -3/4 and 1/4 have squares that sum to 3/4, so that
    the error is sqrt(3/4 / 3 / 4) = 1/4. The difference to the baseline is 1 on one row as well,
    and the second differs from the baseline on two rows: sqrt(1 / 3 / 4) = sqrt(1/12).
    """
    asks, board = board_of(Accuracy(), np.zeros(6, dtype=np.intp))
    assert board.baseline_score == 0.5
    first = board.send(Move(np.array([0, 1, 0, 0, 0, 0])))
    trial = board.send(Move(TRUTH), commit=False)
    second = board.send(Move(TRUTH))
    assert [evaluation["number"] for evaluation in asks.evaluations] == [1, 2, 2]
    assert [evaluation["score"] for evaluation in asks.evaluations] == [0.75, 1.0, 1.0]
    assert [evaluation["error"] for evaluation in asks.evaluations] == pytest.approx(
        [0.25, 0.0, 0.0]
    )
    assert asks.evaluations[0]["differences"] == pytest.approx([0.25])
    assert asks.evaluations[1]["differences"] == pytest.approx([(1 / 12) ** 0.5, 0.25])
    assert asks.evaluations[1] == asks.evaluations[2]  # the same number draws the same
    assert {evaluation["draw"] for evaluation in asks.evaluations} == {
        np.random.default_rng(np.random.SeedSequence(1, spawn_key=(number,))).random()
        for number in (1, 2)
    }
    assert {
        (evaluation["budget"], evaluation["rows"], evaluation["baseline"])
        for evaluation in asks.evaluations
    } == {(9, 4, 0.5)}
    assert [
        (feedback.score, feedback.improved, feedback.previous)
        for feedback in (first, trial, second)
    ] == [
        (0.75, True, None),
        (1.0, False, 0.75),
        (1.0, False, 0.75),
    ]
    assert second.prediction.tolist() == TRUTH.tolist()


def test_an_attack_needs_two_public_and_two_private_rows() -> None:
    usages = (Usage.PUBLIC, Usage.PRIVATE)
    for n_public, n_private in ((2, 2), (1, 2), (2, 1)):
        usage = np.repeat(np.array(usages, dtype=np.uint8), (n_public, n_private))
        truth = np.arange(n_public + n_private) % 2
        solution: Any = SimpleNamespace(
            targets=[SimpleNamespace(classes=("a", "b"))],
            usage=usage,
            truth=truth[:, np.newaxis],
            n_rows=len(usage),
        )
        if n_public == n_private:
            rows = competition_rows(solution, Accuracy())
            assert (rows.public.tolist(), rows.hidden.tolist()) == ([0, 1], [2, 3])
            assert rows.public_truth.tolist() == rows.hidden_truth.tolist() == [0, 1]
            continue
        with pytest.raises(InputError) as refusal:
            competition_rows(solution, Accuracy())
        assert str(refusal.value) == (
            "An attack needs at least two public rows, and two private rows to measure its bias."
        )


def test_of_a_metric_without_values_of_rows_the_error_is_that_of_the_score() -> None:
    metric = BlackBoxRmse()
    asks, board = board_of(metric, None)
    assert board.baseline_score is None
    predictions = np.array([[0.1, 0.8, 0.0, 0.4, 0.6, 0.0], [0.3, 0.2, 0.0, 0.9, 0.1, 0.0]])
    for submission in predictions:
        board.send(Move(submission))
    public = predictions[:, PUBLIC]
    errors = [
        standard_error(metric, TRUTH[PUBLIC], block=prediction[np.newaxis], seed=1)
        for prediction in public
    ]
    assert [evaluation["number"] for evaluation in asks.evaluations] == [1, 2]
    assert [evaluation["error"] for evaluation in asks.evaluations] == errors
    assert asks.evaluations[1]["differences"] == [
        standard_error(metric, TRUTH[PUBLIC], block=public[::-1], seed=1)
    ]
    with pytest.raises(MetricError) as refusal:
        board.send(Move(np.full(6, np.nan)))
    assert str(refusal.value) == f"{metric.name} has no finite value for the attack's submission."
