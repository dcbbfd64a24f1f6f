"""What a releaser reads to compare a submission with earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena.evaluation.standard_errors import standard_error
from arena.interfaces import Evaluation
from arena.public_board import releaser as releasing
from arena.public_board.instances import MemoryLog, PerRank, PerTeam
from arena.public_board.releaser import (
    Releaser,
    ScoredSubmission,
    SubmissionRef,
    release_again,
)
from arena.types import Release
from arena_mechanisms.ladder import Ladder, LadderFree
from toy_metrics import BlackBoxRmse, PointwiseRmse

N_TEAMS, N_ROWS = 40, 30
FOUR_ERRORS = np.array([[0.0, 1, 2, 3]])

Read = Callable[[Sequence[int]], npt.NDArray[Any]]


def read_nothing(submissions: Sequence[int]) -> npt.NDArray[Any]:
    raise AssertionError(submissions)


def releaser_of(mechanism: Any, read: Read = read_nothing, **changes: Any) -> Releaser:
    """Return a releaser for root mean squares, with one instance of the mechanism for each team."""
    values: dict[str, Any] = {
        "metric": PointwiseRmse(), "truth": np.zeros(N_ROWS), "seed": 1, "instances": PerTeam(),
        **changes,
    }  # fmt: skip
    return Releaser(mechanism=mechanism, plugin="mechanisms", read=read, **values)


@pytest.mark.slow
def test_a_new_team_reads_the_holders_of_ranks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=N_ROWS)
    stored = {i: truth + i * rng.normal(size=N_ROWS) for i in range(1, N_TEAMS + 2)}

    def play(log: MemoryLog, first: int, last: int) -> tuple[Any, list[int]]:
        reads: list[int] = []

        def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
            reads.append(len(submissions))
            return np.stack([stored[submission] for submission in submissions])

        instances = PerRank(greater_is_better=False)
        releaser = releaser_of(LadderFree(), read, truth=truth, instances=instances)
        released = None
        for number in range(first, last):
            values = stored[number]
            scored_submission = ScoredSubmission(number, f"team {number}", values[np.newaxis])
            released = releaser.release(scored_submission, log)
        return released, reads

    log = MemoryLog()
    play(log, 1, N_TEAMS + 1)
    assert len(list(log.holders())) == N_TEAMS
    together, few = play(deepcopy(log), N_TEAMS + 1, N_TEAMS + 2)
    assert few == [1, 2, 4, 8, 16, 9]  # twice as many each time, and the rest
    for name, most, reads in (
        ("READ_TOGETHER", 1, [1] * N_TEAMS),
        ("_HELD_BYTES", 8 * (8 * N_ROWS), [1, 2, 4, 8, 8, 8, 8, 1]),  # eight submissions fit
        ("_HELD_BYTES", 0, [1] * N_TEAMS),  # not even one fits, and one is read
    ):
        with monkeypatch.context() as patch:
            patch.setattr(releasing, name, most)
            assert play(deepcopy(log), N_TEAMS + 1, N_TEAMS + 2) == (together, reads)


@pytest.mark.parametrize("metric", [PointwiseRmse(), BlackBoxRmse()])
def test_what_improved_in_this_process_is_not_read_again(metric: Any) -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=N_ROWS)
    errors = rng.normal(size=(12, N_ROWS))
    stored = {i: truth + (20 - i) * errors[i - 1] for i in range(1, 13)}
    reads: list[int] = []

    def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
        reads.extend(submissions)
        return np.stack([stored[submission] for submission in submissions])

    def play(log: MemoryLog, *, restarted: bool) -> list[Any]:
        releaser, released = releaser_of(LadderFree(), read, metric=metric, truth=truth), []
        for number, values in stored.items():
            if restarted:
                releaser = releaser_of(LadderFree(), read, metric=metric, truth=truth)
            scored_submission = ScoredSubmission(number, f"team {number % 3}", values[np.newaxis])
            released.append(releaser.release(scored_submission, log))
        return released

    in_one_process = play(MemoryLog(), restarted=False)
    assert reads == []
    assert play(MemoryLog(), restarted=True) == in_one_process
    assert len(reads) >= 9
    assert sum(released.release.improved for released in in_one_process) > 3


class Compares:
    """A mechanism that compares each submission with chosen others."""

    name = "compares"
    clip = None

    def __init__(self) -> None:
        self.others: Sequence[int] = ()
        self.improved = False

    def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
        for other in self.others:
            evaluation.standard_error_of_difference(other)
        return Release(evaluation.score, improved=self.improved)


def comparing() -> tuple[Releaser, Compares, list[int]]:
    """Return a releaser with its mechanism and the submissions that it reads."""
    mechanism, reads = Compares(), list[int]()

    def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
        reads.extend(submissions)
        return np.ones((len(submissions), N_ROWS))

    return releaser_of(mechanism, read), mechanism, reads


@pytest.mark.parametrize(("held_bytes", "held"), [(0, 16), (20 * 8 * N_ROWS, 20)])
def test_sixteen_submissions_are_held_or_as_many_as_the_memory_takes(
    monkeypatch: pytest.MonkeyPatch, held_bytes: int, held: int
) -> None:
    monkeypatch.setattr(releasing, "_HELD_BYTES", held_bytes)
    releaser, mechanism, reads = comparing()
    compared = [*range(1, held + 2)]
    # The last submission replaced the first in memory. Reading the first again replaced the third,
    # which was not used for the longest time.
    mechanism.others = [*compared, 2, 1, 2, 3]
    releaser.release(ScoredSubmission(99, "a", np.full((1, N_ROWS), 2.0)), MemoryLog())
    assert reads == [*compared, 1, 3]


def test_an_id_that_is_used_again_is_compared_by_what_was_stored() -> None:
    releaser, mechanism, reads = comparing()
    submissions: list[tuple[int, bool, tuple[int, ...]]] = [
        (2, True, ()), (2, False, ()), (3, True, (2,)), (4, False, (3,)),
    ]  # fmt: skip
    for number, improved, others in submissions:
        mechanism.improved, mechanism.others = improved, others
        values = np.full((1, N_ROWS), float(number))
        releaser.release(ScoredSubmission(number, "a", values), MemoryLog())
    assert reads == [2]


def test_a_history_is_released_again_as_it_was_submitted() -> None:
    released = list[Any]()

    def release(scored: ScoredSubmission, log: MemoryLog) -> int:
        values = scored.predictions.tolist()
        about = (scored.submission, scored.team, scored.score, scored.score_changes, scored.late)
        released.append((*about, values))
        return scored.submission

    stored = np.arange(6.0).reshape(3, 2)
    blocks = [(0, stored[:2]), (2, stored[2:])]
    store: Any = SimpleNamespace(
        predictions=lambda numbers, rows: SimpleNamespace(blocks=lambda size: blocks)
    )
    solution: Any = SimpleNamespace(n_rows=2, columns=("y",), usage=np.zeros(2, dtype=np.uint8))
    releaser: Any = SimpleNamespace(release=release)
    history = [SubmissionRef(4, "a"), SubmissionRef(6, "b", late=True), SubmissionRef(7, "a")]
    again = release_again(
        [releaser, releaser], history, store, solution, scores={4: 0.5}, score_changes={6: 3}
    )
    assert list(again) == [(ref, [ref.submission] * 2) for ref in history]
    assert released[::2] == released[1::2]
    assert released[::2] == [
        (4, "a", 0.5, 0, False, [[0.0, 1.0]]),
        (6, "b", None, 3, True, [[2.0, 3.0]]),
        (7, "a", None, 0, False, [[4.0, 5.0]]),
    ]


@pytest.mark.parametrize(
    ("metric", "clusters", "error"),
    [
        # The squared errors are 0, 1, 4, 9: their standard deviation is sqrt(49 / 3), and the
        # slope of the root at their mean of 7/2 is 1 / (2 sqrt(7/2)).
        (PointwiseRmse(), None, np.sqrt(49 / 3 / 4) / (2 * np.sqrt(7 / 2))),
        # Of two groups with the means 1/2 and 13/2: 3 sqrt(2) and two groups.
        (PointwiseRmse(), np.array([0, 0, 1, 1]), 3 / (2 * np.sqrt(7 / 2))),
        # Without row values it is drawn, by the seed of the releaser.
        (BlackBoxRmse(), None, standard_error(BlackBoxRmse(), np.zeros(4), FOUR_ERRORS, 1)),
    ],
)
def test_the_standard_error_that_a_mechanism_is_told_is_that_of_the_score(
    metric: Any, clusters: Any, error: float
) -> None:
    told: list[float] = []

    class Asks:
        name = "asks"

        def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
            told.append(evaluation.standard_error())
            return Release(evaluation.score, improved=True)

    releaser = releaser_of(Asks(), metric=metric, truth=np.zeros(4), clusters=clusters)
    released = releaser.release(ScoredSubmission(1, "a", FOUR_ERRORS), MemoryLog())
    assert released is not None
    assert released.release.score == pytest.approx(np.sqrt(7 / 2))
    assert told == [pytest.approx(error)]
    assert releaser.release(ScoredSubmission(2, "a", np.full((1, 4), np.nan)), MemoryLog()) is None


def test_chance_is_new_for_each_submission_and_after_each_change_of_its_score() -> None:
    class Draws:
        name = "draws"

        def release(self, state: Any, evaluation: Evaluation, rng: np.random.Generator) -> Release:
            return Release(float(rng.random()), improved=True)

    def drawn(submission: int, changes: int, seed: int = 1) -> float:
        releaser = releaser_of(Draws(), seed=seed)
        scored_submission = ScoredSubmission(
            submission, "a", np.ones((1, N_ROWS)), score_changes=changes
        )
        released = releaser.release(scored_submission, MemoryLog())
        assert released is not None
        return released.release.score

    cases = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (1, 0, 2)]
    values = [drawn(*case) for case in cases]
    assert len(set(values)) == len(cases)
    assert values == [drawn(*case) for case in cases]


@pytest.mark.parametrize("order", [(0.2, 0.4, 0.6), (0.6, 0.4, 0.2), (0.4, 0.2, 0.6)])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_start_from_the_baseline_is_from_its_best_submission(
    order: tuple[float, ...], restarted: bool
) -> None:
    log = MemoryLog()
    baselines: list[tuple[Any, Any]] = []

    class Observed(Ladder):
        def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
            baselines.append((evaluation.baseline, evaluation.baseline_submission))
            return super().release(state, evaluation, rng)

    def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
        reads.extend(submissions)
        return np.stack([np.full(N_ROWS, losses[submission]) for submission in submissions])

    def fresh() -> Releaser:
        mechanism = Observed(eta=0.1, start="baseline", clip=1.0)
        return releaser_of(mechanism, read, baseline_team="base")

    losses: dict[int, float] = {}
    reads: list[int] = []
    releaser, scores = fresh(), []
    for number, loss in enumerate([*order, 0.9, 0.06], start=1):
        losses[number] = loss
        releaser = fresh() if restarted else releaser
        team = "base" if number <= len(order) else "other"
        scored_submission = ScoredSubmission(number, team, np.full((1, N_ROWS), loss))
        released = releaser.release(scored_submission, log)
        assert released is not None
        scores.append(released.release.score)
    best_so_far = np.minimum.accumulate(order).tolist()
    assert scores == pytest.approx([*best_so_far, min(order), 0.1])
    best_so_far += [min(order)] * 2
    assert [loss for loss, _ in baselines] == pytest.approx(best_so_far)
    assert [number for _, number in baselines] == [1 + order.index(loss) for loss in best_so_far]
    assert reads == ([1, 1, 2, 1, 2, 3, 1, 2, 3] if restarted else [1, 2, 3])
