"""Reads and appends the releases of an epoch inside a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.public_board.instances import InstanceRelease, LoggedRelease
from arena.public_board.releaser import read_public_rows
from arena.store import Holder, Store, Transaction


@dataclass(slots=True, eq=False)
class PublicRowReader:
    """Reads the public rows of earlier submissions, those of an open transaction included."""

    store: Store
    public_rows: npt.NDArray[np.bool_]
    """``(n_rows,)``."""
    uncommitted: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    """By submission, ``(1, n)`` or ``(1, n, n_columns)``: the store cannot read them yet."""

    def __call__(self, submissions: Sequence[int]) -> npt.NDArray[Any]:
        """Return ``(k, n)`` or ``(k, n, n_columns)`` predictions in the order of k submissions."""
        blocks = {
            submission: self.uncommitted[submission]
            for submission in submissions
            if submission in self.uncommitted
        }
        committed = [submission for submission in submissions if submission not in blocks]
        if committed:
            stored = read_public_rows(self.store, self.public_rows, committed)
            blocks |= dict(zip(committed, stored[:, np.newaxis], strict=True))
        return np.concatenate([blocks[submission] for submission in submissions])


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A :class:`~arena.public_board.instances.ReleaseLog`, valid until its transaction ends."""

    transaction: Transaction
    epoch: int
    revision: int
    """The revision of the scores that are read with the releases."""
    time: datetime
    """The time of a release that is appended."""

    def state_of(self, instance: str) -> Mapping[str, Any]:
        """Return the state of an instance after its last release."""
        return self.transaction.mechanism_state(instance, self.epoch)

    def holders(self, outside: Collection[str] = ()) -> Iterator[Holder]:
        """Yield the holders of the ranks, best first, without those of some teams."""
        return self.transaction.rank_holders(self.epoch, outside)

    def since(self, number: int, team: str) -> Sequence[LoggedRelease]:
        """Return the releases of a team after this number, with their scores."""
        return [
            LoggedRelease(
                logged.number,
                logged.record.submission,
                team=logged.team,
                released=InstanceRelease(logged.record.instance, logged.record.release),
                score=logged.public,
            )
            for logged in self.transaction.releases_since(self.epoch, self.revision, number, team)
        ]

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:  # noqa: ARG002
        """Append a release; the team is taken from the stored submission."""
        self.transaction.add_release(
            submission, released.instance, self.epoch, released.release, time=self.time
        )
