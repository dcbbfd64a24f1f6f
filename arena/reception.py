"""Takes one submission: counted, scored on the public rows, stored and released, all at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.admission import competition_info, examine
from arena.board_run import rows_of
from arena.competition_state import CompetitionState
from arena.config import Settings
from arena.epochs import catch_up
from arena.errors import ScoringError
from arena.execution import available_workers
from arena.intake import ReadSubmission, SubmissionFile
from arena.interfaces import Metric, traits_of
from arena.look_alikes import LookAlikes
from arena.plugin_info import attributed_unquoted, say_failure
from arena.plugin_manager import PluginManager
from arena.predictions import ArrayPredictions
from arena.public_mechanism import public_rows
from arena.releasing import Past, Releaser, releaser_of
from arena.resampling import full_scores
from arena.row_context import BoundMetric
from arena.store import Incoming, Store, Transaction
from arena.types import (
    Fault,
    PredictionKind,
    Release,
    Solution,
    SubmissionRecord,
)

__all__ = ["Reception", "Submitted", "open_reception", "receive"]


_FOR_THE_ORGANISER = {"metric failed", "too slow"}
"""Faults that the organiser can mend, after which the same file is worth another try."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submission, as its team is told."""

    submission: int
    team: str
    status: str
    """``accepted``, ``rejected`` (the file has faults) or ``refused`` (a limit, the deadline)."""
    released: float | None
    """What the public board shows for it; None without public rows."""
    faults: tuple[Fault, ...]
    known: bool = field(default=False, compare=False)
    """Whether it was there already, so that this is its first answer again."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON: the same for its first answer and for that answer again."""
        return {
            "submission": self.submission,
            "team": self.team,
            "status": self.status,
            "released": self.released,
            "faults": [asdict(fault) for fault in self.faults],
        }


def open_reception(state: CompetitionState) -> Reception:
    """Return where the submissions of an open competition arrive."""
    return Reception(
        store=state.store,
        settings=state.settings,
        solution=state.solution,
        metric=state.metric,
        metric_plugin=state.manager.metrics.plugin_of(state.settings.metric.specification),
        releaser=releaser_of(
            state.settings, state.solution, state.store, state.manager, state.seed
        ),
        manager=state.manager,
        revision=state.revision,
    )


def receive(
    reception: Reception,
    state: CompetitionState,
    files: Sequence[SubmissionFile],
    *,
    limited: bool,
    key: str | None = None,
) -> Iterator[Submitted]:
    """Take files in their order, and yield the answer to each once it is stored.

    The organiser is told, in the log, of a new team whose name looks like another's.
    """
    names = LookAlikes(state.store.teams())
    read_files = examine(
        files,
        state.solution,
        state.metric,
        state.manager,
        workers=min(available_workers(), len(files)) or 1,
        max_bytes=state.settings.limits.max_bytes,
    )
    for file, read in read_files:
        now = state.clock()
        if note := names.add(file.team):
            logging.getLogger("arena").warning("%s", note)
        yield reception.take(file, read, now=now, actor=state.actor, key=key, limited=limited)


@dataclass(slots=True, eq=False)
class Reception:
    """Where submissions arrive. One transaction each: all of it is stored, or nothing."""

    store: Store
    settings: Settings
    solution: Solution
    metric: Metric
    metric_plugin: str
    releaser: Releaser
    manager: PluginManager
    revision: int = 1
    bound: BoundMetric = field(init=False)
    """The metric, for the public rows."""
    _seen: int = 0
    """The number of the last release that the releaser knows of."""

    def __post_init__(self) -> None:
        self.bound = BoundMetric(self.metric, self.solution)

    def take(
        self,
        file: SubmissionFile,
        read: ReadSubmission,
        *,
        now: datetime,
        actor: str,
        key: str | None = None,
        limited: bool = True,
    ) -> Submitted:
        """Store a file that was read, and release its public score.

        A submission that was stored before, by team and key, is not stored again: the first
        answer is given again. Without ``limited`` neither the deadline nor a limit counts.
        """
        public, faults = self._public_score(read)
        hidden = () if faults else self._private_refusal(file, read)
        faults = faults or hidden
        values = None if faults else read.values
        if key is None and any(fault.kind in _FOR_THE_ORGANISER for fault in faults):
            key = f"{read.sha256} failed {now.isoformat()}"  # the file may be sent again, mended
        incoming = Incoming(file.team, file.name, read.sha256, values, faults, key, now)
        with self.store.transaction() as transaction:
            known = transaction.find_submission(incoming.team, incoming.idempotency_key or "")
            if known is not None:
                answer = self._answer(known, self._known_release(known))
                return replace(answer, known=True)
            refusal = None
            if limited:
                refusal = self._refusal(transaction, incoming, now, bool(hidden))
            if refusal is not None:
                incoming = replace(incoming, values=None, faults=(refusal,), refused=True)
            record = transaction.add_submission(incoming)
            release = None
            if public is not None and values is not None and record.status == "accepted":
                release = self._release(transaction, record, public, values, now)
                transaction.put_scores(self.revision, record.submission, public, None)
            answer = self._answer(record, release)
            payload = {**answer.to_dict(), "file": record.file, "sha256": record.sha256}
            transaction.append_event("submission", actor, payload, time=now)
        self.releaser.keep(record.submission)
        info = competition_info(self.metric, self.solution, self.settings.competition.title)
        self.manager.submission_scored(record, release, info)
        return answer

    def _public_score(self, read: ReadSubmission) -> tuple[float | None, tuple[Fault, ...]]:
        rows = self._public_rows
        if read.values is None or not rows.any():
            return None, read.faults
        score, error = self._score(read.values, rows)
        if error is not None:
            say_failure(error)
            return None, (Fault(error.kind, error.shown),)
        if np.isfinite(score):
            return score, ()
        message = f"{self.metric.name} has no finite value for these predictions."
        return None, (Fault("undefined score", message),)

    def _private_refusal(self, file: SubmissionFile, read: ReadSubmission) -> tuple[Fault, ...]:
        """Return the fault of a file that someone else's metric refuses on the private rows.

        The team must hear of it while it can still mend the file. Nothing else that comes of these
        rows is for it: neither the score nor that there is none, which may hang on one label. Of
        that, and of what fails, the organiser is told, and the submission stands.
        """
        rows = rows_of(self.solution, "private")
        # A metric of arena has said by now what it cannot score, from the cells alone.
        foreign = traits_of(self.metric).time_limit is not None
        if read.values is None or not foreign or not rows.any():
            return ()
        score, error = self._score(read.values, rows)
        if error is None and not np.isfinite(score):
            error = ScoringError(f"{self.metric.name} has no finite value.", "metric failed", "")
        if error is None:
            return ()
        if error.kind in _FOR_THE_ORGANISER:
            say_failure(error, f"{file.name} of {file.team}, on the private rows")
            return ()
        return (Fault(error.kind, error.shown),)

    def _score(
        self, values: npt.NDArray[Any], rows: npt.NDArray[np.bool_]
    ) -> tuple[float, ScoringError | None]:
        """Return the score on some rows; NaN where it is undefined, or with why it was refused."""
        failures: list[tuple[int, ScoringError]] = []
        with attributed_unquoted(self.metric_plugin, f"scoring {self.metric.name}"):
            predictions = ArrayPredictions(self._block(values, rows))
            metric, truth = self.bound.on(rows), self.solution.truth[rows]
            score = float(full_scores(metric, truth, predictions, failures=failures)[0])
        return score, failures[0][1] if failures else None

    def _block(self, values: npt.NDArray[Any], rows: Any) -> Any:
        """Return one submission as a block: ``(1, n)`` or ``(1, n, n_columns)``."""
        chosen = values[rows]
        if self.solution.kind is PredictionKind.LABEL:
            chosen = chosen.astype(np.intp)
        return chosen[np.newaxis, :, 0] if chosen.shape[1] == 1 else chosen[np.newaxis]

    def _refusal(
        self, transaction: Transaction, incoming: Incoming, now: datetime, hidden: bool
    ) -> Fault | None:
        """Take the team's places, or say why there is none; none is taken then.

        What the private rows refuse (``hidden``) always takes a place: its answer tells something
        of them, and without a limit it could be asked for again and again.
        """
        limits, competition = self.settings.limits, self.settings.competition
        if competition.deadline is not None and now > competition.deadline:
            message = f"The competition ended at {competition.deadline:%Y-%m-%d %H:%M} UTC."
            return Fault("deadline", message)
        if incoming.values is None and not (limits.count_rejected or hidden):
            return None
        # Places are counted without a limit as well: one that is set later counts what was sent.
        free = incoming.team == competition.baseline
        total, per_day = (None, None) if free else (limits.total, limits.per_day)
        team, day = incoming.team, now.astimezone(UTC).date()
        if not transaction.take_place(team, None, total):
            return _limit(f"{total:,} submissions in all")
        if not transaction.take_place(team, day, per_day):
            transaction.return_place(team, None)
            return _limit(f"{per_day:,} submissions a day (a day starts at 00:00 UTC)")
        return None

    def _release(
        self,
        transaction: Transaction,
        record: SubmissionRecord,
        public: float,
        values: npt.NDArray[Any],
        now: datetime,
    ) -> Release:
        releaser, past = self.releaser, Past(record.submission, record.team)
        epoch = self.settings.public.epoch
        self._seen = catch_up(releaser, transaction, epoch, self.revision, self._seen)
        block = self._block(values, self._public_rows)
        score = releaser.score(block) if releaser.is_clipped else public
        placed = releaser.place(past, block, score)
        transaction.add_release(past.submission, placed.instance, epoch, placed.release, time=now)
        return placed.release

    @property
    def _public_rows(self) -> npt.NDArray[np.bool_]:
        return public_rows(self.solution)

    def _known_release(self, record: SubmissionRecord) -> Release | None:
        releases = self.store.releases(self.settings.public.epoch)
        found = (one.release for one in releases if one.submission == record.submission)
        return next(found, None)

    def _answer(self, record: SubmissionRecord, release: Release | None) -> Submitted:
        shown = release.score if release else None
        return Submitted(record.submission, record.team, record.status, shown, record.faults)


def _limit(allowed: str) -> Fault:
    return Fault("limit", f"A team may send {allowed}, and this team has used them.")
