"""What a competition must do, said a second time in plain Python, to be compared with it.

Nothing of arena is used here. A file is known by how many public and private rows it gets right;
``None`` stands for a file with faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

Hits = tuple[int, int] | None
"""Rows of the public and of the private part that a file gets right."""


@dataclass
class Rules:
    """What ``competition.toml`` says."""

    per_day: int | None = 2
    total: int | None = 6
    count_rejected: bool = False
    deadline: datetime | None = None
    baseline: str | None = "base"
    rule: str = "best_public"
    count: int = 2
    ties: str = "shared"


@dataclass(frozen=True)
class Sent:
    """A submission with any status."""

    number: int
    team: str
    file: int
    status: str
    why: str | None = None
    """What refused it: ``limit`` or ``deadline``."""


@dataclass
class CompetitionModel:
    """A competition; ``score`` and ``shown`` say what is made of a number of hits."""

    files: Sequence[Hits]
    greater_is_better: bool
    score: Callable[[int], Fraction]
    shown: Callable[[Fraction], Fraction]
    """What the public board shows, and ranks by."""
    rules: Rules
    sent: list[Sent] = field(default_factory=list)
    places: Counter[tuple[str, date | None]] = field(default_factory=Counter)
    chosen: dict[str, set[int]] = field(default_factory=dict)
    disqualified: dict[int, str] = field(default_factory=dict)
    """The last reason of each."""
    kinds: list[str] = field(default_factory=lambda: ["created"])
    """Of the events, in order."""

    # -- what happens --------------------------------------------------------------------------

    def submit(self, team: str, file: int, now: datetime) -> Sent:
        for earlier in self.sent:
            if (earlier.team, earlier.file) == (team, file) and earlier.status != "refused":
                return earlier
        why = self._refusal(team, file, now)
        status = "rejected" if self.files[file] is None else "accepted"
        submission = Sent(len(self.sent) + 1, team, file, "refused" if why else status, why)
        self.sent.append(submission)
        self.kinds.append("submission")
        return submission

    def _refusal(self, team: str, file: int, now: datetime) -> str | None:
        rules = self.rules
        if rules.deadline is not None and now > rules.deadline:
            return "deadline"
        slots = [((team, None), rules.total), ((team, now.date()), rules.per_day)]
        for slot, allowed in slots:
            if allowed is not None and team != rules.baseline and self.places[slot] >= allowed:
                return "limit"
        if self.files[file] is None and not rules.count_rejected:
            return None
        self.places.update(slot for slot, _ in slots)
        return None

    def select(self, team: str, numbers: Iterable[int], now: datetime, *, late: bool) -> bool:
        """Choose, and say whether the choice is allowed."""
        if self.rules.deadline is not None and now > self.rules.deadline and not late:
            return False
        wanted_numbers = set(numbers)
        allowed = {submission.number for submission in self.counting() if submission.team == team}
        is_team = any(submission.team == team for submission in self.sent)
        if not is_team or len(wanted_numbers) > self.rules.count or wanted_numbers - allowed:
            return False
        self.chosen[team] = wanted_numbers
        self.kinds.append("selection")
        return True

    def disqualify(self, number: int, reason: str) -> bool:
        """Disqualify, and say whether there is such a submission, and this reason is new."""
        if not 1 <= number <= len(self.sent) or self.disqualified.get(number) == reason:
            return False
        self.disqualified[number] = reason
        self.kinds.append("disqualification")
        return True

    # -- what is shown -------------------------------------------------------------------------

    def counting(self) -> list[Sent]:
        return [
            submission
            for submission in self.sent
            if submission.status == "accepted" and submission.number not in self.disqualified
        ]

    def public(self, submission: Sent) -> Fraction:
        return self.score((self.files[submission.file] or (0, 0))[0])

    def private(self, submission: Sent) -> Fraction:
        return self.score((self.files[submission.file] or (0, 0))[1])

    def released(self, submission: Sent) -> Fraction | None:
        return self.shown(self.public(submission)) if submission.status == "accepted" else None

    def listed(self) -> list[tuple[int, str, str, Fraction | None, bool]]:
        """Return number, team, status, released and selected of every submission."""
        selected = set().union(*self.chosen.values())
        return [
            (
                submission.number,
                submission.team,
                "disqualified" if submission.number in self.disqualified else submission.status,
                self.released(submission),
                submission.number in selected,
            )
            for submission in self.sent
        ]

    def public_board(self) -> list[tuple[int | None, str, Fraction, int, int]]:
        """Return rank, team, score, submission and how many were sent, best first."""
        counting = self.counting()
        value = {submission.number: self.shown(self.public(submission)) for submission in counting}
        best = self._ordered(
            [
                self._ordered(
                    [submission for submission in counting if submission.team == team], value
                )[0]
                for team in {submission.team for submission in counting}
            ],
            value,
        )
        ranks = self._ranks(
            [submission for submission in best if submission.team != self.rules.baseline], value
        )
        accepted = Counter(
            submission.team for submission in self.sent if submission.status == "accepted"
        )
        return [
            (
                ranks.get(submission.number),
                submission.team,
                value[submission.number],
                submission.number,
                accepted[submission.team],
            )
            for submission in best
        ]

    def finals(self) -> dict[str, list[Sent]]:
        """Return the submissions of each team that count in the end."""
        public = {submission.number: self.public(submission) for submission in self.counting()}
        by_team: dict[str, list[Sent]] = {}
        for submission in self.counting():
            if submission.team != self.rules.baseline:
                by_team.setdefault(submission.team, []).append(submission)
        finals = {}
        for team, submissions in by_team.items():
            best = self._ordered(submissions, public)
            chosen_submissions = [
                submission for submission in best if submission.number in self.chosen.get(team, ())
            ]
            finals[team] = {
                "best_public": best[:1],
                "last": submissions[-1:],
                "chosen": chosen_submissions[: self.rules.count] or best[:1],
                "best_private": submissions,
            }[self.rules.rule]
        return finals

    def private_board(self) -> list[tuple[int, str, Fraction, int]]:
        """Return rank, team, score and submission, best first."""
        finals = self.finals()
        value = {
            submission.number: self.private(submission)
            for submissions in finals.values()
            for submission in submissions
        }
        firsts = [self._ordered(submissions, value)[0] for submissions in finals.values()]
        best = self._ordered(firsts, value)
        ranks = self._ranks(best, value)
        return [
            (ranks[submission.number], submission.team, value[submission.number], submission.number)
            for submission in best
        ]

    def _ordered(self, some: Sequence[Sent], value: dict[int, Fraction]) -> list[Sent]:
        """Return them best first, of equal ones the earliest."""
        sign = -1 if self.greater_is_better else 1
        return sorted(
            some, key=lambda submission: (sign * value[submission.number], submission.number)
        )

    def _ranks(self, best: Sequence[Sent], value: dict[int, Fraction]) -> dict[int, int]:
        ranks = {}
        for place, submission in enumerate(best, start=1):
            better = sum(value[other.number] != value[submission.number] for other in best[:place])
            ranks[submission.number] = place if self.rules.ties == "earliest" else 1 + better
        return ranks
