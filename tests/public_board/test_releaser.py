"""What a releaser reads to compare a submission with earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena.public_board import releaser as releasing
from arena.public_board.instances import MemoryLog, PerRank, PerTeam
from arena.public_board.releaser import Releaser, ScoredSubmission
from arena_mechanisms.ladder import LadderFree
from toy_metrics import BlackBoxRmse, PointwiseRmse

N_TEAMS, N_ROWS = 40, 30


def test_a_new_team_reads_the_holders_of_ranks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=N_ROWS)
    stored = {i: truth + i * rng.normal(size=N_ROWS) for i in range(1, N_TEAMS + 2)}

    def play(log: MemoryLog, first: int, last: int) -> tuple[Any, list[int]]:
        reads: list[int] = []

        def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
            reads.append(len(submissions))
            return np.stack([stored[one] for one in submissions])

        releaser = Releaser(
            mechanism=LadderFree(),
            plugin="mechanisms",
            metric=PointwiseRmse(),
            truth=truth,
            read=read,
            seed=1,
            instances=PerRank(greater_is_better=False),
        )
        released = None
        for one in range(first, last):
            sent = ScoredSubmission(one, f"team {one}", stored[one][np.newaxis])
            released = releaser.release(sent, log)
        return released, reads

    logs = [MemoryLog(), MemoryLog()]
    for log in logs:
        play(log, 1, N_TEAMS + 1)
    ranks = len(list(logs[0].holders(None)))
    together, few = play(logs[0], N_TEAMS + 1, N_TEAMS + 2)
    monkeypatch.setattr(releasing, "_READ_TOGETHER", 1)
    alone, many = play(logs[1], N_TEAMS + 1, N_TEAMS + 2)
    assert together == alone
    assert ranks == N_TEAMS
    assert many == [1] * N_TEAMS
    assert sum(few) == N_TEAMS
    assert len(few) == 6  # 1 + 2 + 4 + 8 + 16 + the rest


@pytest.mark.parametrize("metric", [PointwiseRmse(), BlackBoxRmse()])
def test_what_improved_in_this_process_is_not_read_again(metric: Any) -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=N_ROWS)
    errors = rng.normal(size=(12, N_ROWS))
    stored = {i: truth + (20 - i) * errors[i - 1] for i in range(1, 13)}
    reads: list[int] = []

    def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
        reads.extend(submissions)
        return np.stack([stored[one] for one in submissions])

    def play(log: MemoryLog, *, restarted: bool) -> list[Any]:
        def fresh() -> Releaser:
            return Releaser(
                mechanism=LadderFree(),
                plugin="mechanisms",
                metric=metric,
                truth=truth,
                read=read,
                seed=1,
                instances=PerTeam(),
            )

        releaser, released = fresh(), []
        for one, values in stored.items():
            if restarted:
                releaser = fresh()
            sent = ScoredSubmission(one, f"team {one % 3}", values[np.newaxis])
            released.append(releaser.release(sent, log))
        return released

    in_one_process = play(MemoryLog(), restarted=False)
    assert reads == []
    assert play(MemoryLog(), restarted=True) == in_one_process
    assert len(reads) >= 9
    assert sum(one.release.improved for one in in_one_process) > 3
