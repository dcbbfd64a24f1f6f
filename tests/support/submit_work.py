"""What the store does for one submission, for tests and benchmarks of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from arena.store import Incoming, Store
from arena.types import FloatArray, PredictionKind, Release, Solution, SubmissionRecord, Target

START = datetime(2026, 1, 1, tzinfo=UTC)
N_TEAMS = 10


def make_solution(n_rows: int) -> Solution:
    """Return a solution of numbers."""
    return Solution(
        id_column="id",
        targets=(Target("target", None),),
        columns=("target",),
        kind=PredictionKind.VALUE,
        ids=pa.array([str(i) for i in range(n_rows)]),
        truth=np.zeros(n_rows),
        usage=np.ones(n_rows, dtype=np.uint8),
        sha256="",
    )


def values_of(number: int, n_rows: int) -> FloatArray:
    """Return the predictions of the submission that gets this number: known, and all different."""
    return number + np.linspace(0, 0.5, n_rows).reshape(-1, 1)


def submit(store: Store, number: int, values: FloatArray) -> SubmissionRecord:
    """Do in one transaction all that a submission does: places, record, release, scores, event."""
    team, time = f"t{number % N_TEAMS}", START + timedelta(minutes=number)
    incoming = Incoming(team, f"{number}.csv", f"{number:064x}", values, received=time)
    with store.transaction() as transaction:
        assert transaction.take_place(team, None, 10**9)
        assert transaction.take_place(team, time.date(), 10**9)
        record = transaction.add_submission(incoming)
        state = transaction.mechanism_state(team)
        best = max(state.get("best", 0), number)
        release = Release(float(number), True, {"best": best})
        transaction.add_release(record.submission, team, 1, release, time)
        transaction.put_scores(1, record.submission, float(number), -float(number))
        payload = {"submission": record.submission, "team": team}
        transaction.append_event("submission", "host", payload, time)
    return record
