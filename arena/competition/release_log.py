"""Reads and appends the releases of an epoch inside a transaction of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.public_board.instances import InstanceRelease, LoggedRelease
from arena.store import Holder, Transaction


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

    def holders(self, outside: str | None) -> Iterator[Holder]:
        """Yield the holders of the ranks, best first, without a team."""
        return self.transaction.rank_holders(self.epoch, outside)

    def since(self, number: int, team: str) -> Sequence[LoggedRelease]:
        """Return the releases of a team after this number, with their scores."""
        return [
            LoggedRelease(
                one.number,
                one.record.submission,
                one.team,
                InstanceRelease(one.record.instance, one.record.release),
                one.public,
            )
            for one in self.transaction.releases_since(self.epoch, self.revision, number, team)
        ]

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:  # noqa: ARG002
        """Append a release; the team is taken from the stored submission."""
        self.transaction.add_release(
            submission, released.instance, self.epoch, released.release, time=self.time
        )
