"""The submission quota of a team: dates, and the limits of a day, a week and in total."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime

from arena.competition.record.admission import Admission
from arena.config import Settings
from arena.store import Store, Transaction
from arena.store.quotas import count_name, week_name
from arena.types import Fault
from arena.utils.text import plural, printable


@dataclass(frozen=True, slots=True)
class Quota:
    """The dates and the limits of one team at one time, checked inside a transaction.

    Submissions are also counted if there is no limit, for a limit that is set later. The
    organiser's baselines have no limit.
    """

    settings: Settings
    team: str
    """The name under which its submissions are stored."""
    now: datetime
    members: tuple[str, ...]
    """Every such name, more than one if the team was renamed or merged: they count together."""
    admission: Admission = field(default_factory=Admission)
    phase: str = ""
    """The phase for which the file counts; the settings are those of it, and so are the counts."""
    is_open_to_all: bool = True
    """Whether every team may submit in the phase, or those that were named for it."""

    @property
    def _limits(self) -> tuple[tuple[str, int | None, str], ...]:
        """Name of the count, number allowed (None: no limit), and the period in words."""
        limits = self.settings.limits
        today = self.now.astimezone(UTC).date()
        extra = self.admission.of(self.members).extra
        periods: tuple[tuple[date | str | None, int | None, str], ...] = (
            (None, limits.total, "in all"),
            (week_name(today), limits.per_week, "a week (a week starts on Monday at 00:00 UTC)"),
            (today, limits.per_day, "a day (a day starts at 00:00 UTC)"),
        )
        free = self.team in self.settings.competition.baselines
        return tuple(
            (
                count_name(day, self.phase),
                None if free or allowed is None else allowed + extra,
                counted,
            )
            for day, allowed, counted in periods
        )

    def refusal(self, transaction: Transaction) -> Fault | None:
        """Return why every file of the team is refused now, or None."""
        if closed := self._closed():
            return closed
        for day, allowed, counted in self._limits:
            if allowed is None:
                continue
            if sum(transaction.quota_used(name, day) for name in self.members) >= allowed:
                message = (
                    f"A team may send {plural(allowed, 'submission')} {counted}, and this team has "
                    f"used {'it' if allowed == 1 else 'them'}."
                )
                return Fault("limit", message)
        return None

    def _closed(self) -> Fault | None:
        """Return why no file of the team is received at this time, or None."""
        paused, dates = self.admission.paused, self.settings.competition
        if paused is not None:
            return Fault("pause", f"The competition is paused: {paused['reason']}")
        if dates.start is not None and self.now < dates.start:
            message = f"{self._subject} starts at {dates.start:%Y-%m-%d %H:%M} UTC."
            return Fault("start", message)
        if not self.is_open_to_all and not self._is_qualified:
            return Fault("admission", f"This team is not among those of the phase {self.phase}.")
        end = self._end
        if end is not None and self.now > end and not self.is_late:
            return Fault("deadline", f"{self._subject} ended at {end:%Y-%m-%d %H:%M} UTC.")
        return None

    @property
    def _is_qualified(self) -> bool:
        named = self.admission.qualified.get(self.phase, ())
        return self.team in self.settings.competition.baselines or any(
            member in named for member in self.members
        )

    @property
    def _subject(self) -> str:
        return f"The phase {self.phase}" if self.phase else "The competition"

    @property
    def _end(self) -> datetime | None:
        """Until when the team's files are ranked."""
        return self.admission.end_of(self.members, self.settings.competition.deadline)

    @property
    def is_late(self) -> bool:
        """Whether a file is received at this time, but not ranked."""
        end, last = self._end, self.settings.competition.late_until
        return end is not None and last is not None and end < self.now <= last

    def use(self, transaction: Transaction) -> None:
        """Count one submission of the team."""
        transaction.take_places(self.team, [day for day, _, _ in self._limits])

    def give_back(self, transaction: Transaction) -> None:
        """Undo :meth:`use`."""
        transaction.return_places(self.team, [day for day, _, _ in self._limits])


def count_interrupted(store: Store, settings: Settings, actor: str, now: datetime) -> list[str]:
    """Count the submission that was being scored when the last process was killed.

    Otherwise a file that makes the process run out of memory could be scored without limit.

    Returns
    -------
    Notes for the organiser; none if the last process was not killed while scoring.
    """
    interrupted = store.interrupted()
    if interrupted is None:
        return []
    with store.transaction() as transaction:
        received = datetime.fromisoformat(interrupted.received)
        quota = Quota(
            settings, interrupted.team, received, (interrupted.team,), phase=interrupted.phase
        )
        quota.use(transaction)
        transaction.append_event("submission interrupted", actor, asdict(interrupted), time=now)
    return [
        f"The last process was killed, or ended by the metric {settings.metric.specification}, "
        f"while it scored {printable(interrupted.file)} of {printable(interrupted.team)}: this "
        f"counts against the limits, and the file was not stored."
    ]
