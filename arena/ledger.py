"""What follows from the record of a competition: who may count, what was chosen, what is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from arena.final_selection import Candidate
from arena.store import Store
from arena.types import SubmissionRecord

__all__ = ["Ledger"]


@dataclass(frozen=True, slots=True)
class Ledger:
    """A reading of a store; it holds nothing and changes nothing."""

    store: Store
    revision: int = 1
    """Of the scores; a rescore is a new one."""
    epoch: int = 1
    """Of the releases; a change of the mechanism is a new one."""

    def submissions(self, team: str | None = None) -> list[dict[str, Any]]:
        """Return every submission, or those of a team, in the order in which they came."""
        released = {one.submission: one.release.score for one in self.store.releases(self.epoch)}
        selected = {one for chosen in self.selections().values() for one in chosen}
        disqualified = self.disqualified()
        return [
            {
                "submission": record.submission,
                "team": record.team,
                "file": record.file,
                "received": record.received,
                "status": "disqualified" if record.submission in disqualified else record.status,
                "released": released.get(record.submission),
                "selected": record.submission in selected,
            }
            for record in self.store.submissions(team=team)
        ]

    def selections(self) -> dict[str, list[int]]:
        """Return what each team chose last, by team name."""
        events = self.store.events("selection")
        return {event.payload["team"]: event.payload["submissions"] for event in events}

    def disqualified(self) -> dict[int, str]:
        """Return the submissions that do not count, each with the last reason that was given."""
        events = self.store.events("disqualification")
        return {event.payload["submission"]: event.payload["reason"] for event in events}

    def sent(self) -> Counter[str]:
        """Return how many accepted submissions each team has."""
        records = self.store.submissions()
        return Counter(record.team for record in records if record.status == "accepted")

    def counting(self) -> list[SubmissionRecord]:
        """Return the submissions that may count: accepted, and not disqualified."""
        disqualified = self.disqualified()
        return [
            record
            for record in self.store.submissions()
            if record.status == "accepted" and record.submission not in disqualified
        ]

    def candidates(self) -> list[Candidate]:
        """Return the same with what was released for them and their public scores."""
        releases = {one.submission: one.release for one in self.store.releases(self.epoch)}
        scores = {one.submission: one.public for one in self.store.scores(self.revision)}
        candidates = []
        for record in self.counting():
            release = releases.get(record.submission)
            ranked_by = release.ranked_by if release else None
            candidates.append(
                Candidate(
                    submission=record.submission,
                    team=record.team,
                    public=scores.get(record.submission),
                    shown=release.score if release else None,
                    ranked_by=release.score if release and ranked_by is None else ranked_by,
                )
            )
        return candidates
