"""Handles a submission: checks, counts, scores, stores and releases it in one transaction."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.other_labels import other_labels
from arena.competition.quota import Quota
from arena.competition.release_log import StoredLog
from arena.competition.state import CompetitionState
from arena.competition.team_names import ConfusableNames
from arena.competition.teams import Teams
from arena.config import Settings
from arena.errors import MetricError, PluginError, ScoringError, StoreError
from arena.evaluation.binding import BoundMetric
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.intake import ReadSubmission, SubmissionFile
from arena.interfaces import Metric, traits_of
from arena.plugin.info import attributed_unquoted, log_failure
from arena.plugin.manager import PluginManager
from arena.public_board.mechanism import public_rows
from arena.public_board.releaser import Releaser, ScoredSubmission, make_releaser
from arena.scoring.splits import rows_of
from arena.scoring.submissions import competition_info, examine
from arena.store import Incoming, Scoring, Store, Transaction
from arena.types import (
    Fault,
    PredictionKind,
    Release,
    Solution,
    SubmissionRecord,
)
from arena.utils.parallel import available_workers

_REFUSED = "refused by the metric"
"""The kind of a fault whose message the metric's author wrote for participants."""
_COULD_NOT_BE_SCORED = Fault(
    "could not be scored",
    "These predictions could not be scored. Look for extreme values, and for predictions that are "
    "all alike.",
)
"""The only message to a team if the metric failed, timed out or has no finite value."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of scoring a submission."""

    public: float | None = None
    """The public score; None without public rows or if there is a fault."""
    fault: Fault | None = None
    """Why it is rejected; shown to the team."""
    detail: str = ""
    """Details for the organiser only."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to a submission."""

    submission: int
    """The id of the submission."""
    team: str
    """The team's current name."""
    status: str
    """``accepted``, ``rejected`` (the file has faults) or ``refused`` (a limit, the deadline)."""
    released: float | None
    """The score on the public board; None without public rows."""
    faults: tuple[Fault, ...]
    """Why it was rejected; empty: it was not."""
    receipt: str | None = field(default=None, compare=False)
    """The hash of the event that stored it, which proves later that the record still has it."""
    known: bool = field(default=False, compare=False)
    """Whether it was stored before; this is then its first answer."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; a repeated answer gives the same document."""
        return {
            "submission": self.submission,
            "team": self.team,
            "status": self.status,
            "released": self.released,
            "faults": [asdict(fault) for fault in self.faults],
            "receipt": self.receipt,
        }


def open_handler(state: CompetitionState) -> SubmissionHandler:
    """Return a handler of submissions for an open competition."""
    return SubmissionHandler(
        store=state.store,
        settings=state.settings,
        solution=state.solution,
        metric=state.metric,
        metric_plugin=state.manager.metrics.plugin_of(state.settings.metric.specification),
        releaser=make_releaser(
            state.settings, state.solution, state.store, state.manager, state.seed
        ),
        manager=state.manager,
        revision=state.revision,
        teams=state.ledger.teams(),
    )


def submit_files(
    handler: SubmissionHandler,
    state: CompetitionState,
    files: Sequence[SubmissionFile],
    *,
    limited: bool,
    key: str | None = None,
    times: Sequence[datetime] | None = None,
) -> Iterator[Submitted]:
    """Submit files in the given order, and yield each answer once it is stored.

    ``times`` are those at which the files were received; None: now.

    A new team name that looks like another team's name is logged as a warning.
    """
    teams = handler.teams
    known = set(map(teams.current, state.store.teams()))
    names: ConfusableNames | None = None
    read_files = examine(
        files,
        state.solution,
        state.metric,
        state.manager,
        workers=min(available_workers(), len(files)) or 1,
        max_bytes=state.settings.limits.max_bytes,
    )
    for at, (file, read) in enumerate(read_files):
        now = state.clock() if times is None else times[at]
        shown = teams.current(file.team)
        if shown not in known:
            names = names or ConfusableNames(sorted(known))
            known.add(shown)
            if note := names.add(shown):
                logging.getLogger("arena").warning("%s", note)
        yield handler.submit(file, read, now=now, actor=state.actor, key=key, limited=limited)


@dataclass(frozen=True, slots=True, eq=False)
class QueuedSubmission:
    """A submission of a queue, read and checked."""

    file: SubmissionFile
    read: ReadSubmission
    received: datetime
    """The deadline and the limits of a day follow it."""
    actor: str
    key: str
    event_fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields of its event on the queue."""


@dataclass(slots=True, eq=False)
class _Judging:
    """A submission while it is judged."""

    file: SubmissionFile
    shown: str
    """The current name of its team."""
    members: tuple[str, ...]
    actor: str
    now: datetime
    incoming: Incoming
    quota: Quota | None
    event_fields: Mapping[str, Any] = field(default_factory=dict)
    scoring: Scoring | None = None
    """The announcement in the journal."""
    stored: tuple[SubmissionRecord, Release | None] | None = None


@dataclass(slots=True, eq=False)
class SubmissionHandler:
    """Handles submissions, each in one transaction that stores everything or nothing."""

    store: Store
    settings: Settings
    solution: Solution
    metric: Metric
    metric_plugin: str
    releaser: Releaser
    manager: PluginManager
    revision: int
    teams: Teams = field(default_factory=Teams)
    """The teams that were renamed or merged."""
    bound: BoundMetric = field(init=False)
    """The metric bound to the rows of each split."""
    _uncommitted: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    """The predictions of submissions in the open transaction, which the store cannot read yet."""

    def __post_init__(self) -> None:
        self.bound = BoundMetric(self.metric, self.solution)
        stored, rows = self.releaser.read, public_rows(self.solution)

        def read(submissions: Sequence[int]) -> npt.NDArray[Any]:
            held = self._uncommitted
            committed = [one for one in submissions if one not in held]
            blocks = {one: self._block(held[one], rows) for one in submissions if one in held}
            if committed:
                blocks |= dict(zip(committed, stored(committed)[:, np.newaxis], strict=True))
            return np.concatenate([blocks[one] for one in submissions])

        self.releaser.read = read

    def submit(
        self,
        file: SubmissionFile,
        read: ReadSubmission,
        *,
        now: datetime,
        actor: str,
        key: str | None = None,
        limited: bool,
    ) -> Submitted:
        """Store a submission file and release its public score.

        A submission with the team and key of a stored one is not stored again: its first answer
        is returned. Next come the deadline and the limits: their answer is the same for every
        file, and nothing is scored if they refuse it. Each scored file counts against the team's
        limits, also when it cannot be scored, unless the store itself fails; if the process is
        killed while scoring, the next opening counts it. Without ``limited`` neither the deadline
        nor a limit applies.
        """
        one = self._judging(file, read, now, actor, key, limited=limited)
        try:
            with self.store.transaction() as transaction:
                answer = self._judge(transaction, one, announced=limited)
        except BaseException as error:
            if one.scoring is not None and one.quota is not None:
                self._count_failure(error, one.incoming, one.scoring, one.quota, actor)
            raise
        finally:
            self._uncommitted.clear()
        self._tell(one)
        return answer

    def submit_group(
        self,
        queued: Sequence[QueuedSubmission],
        *,
        seconds: float,
        before_each: Callable[[QueuedSubmission], None],
    ) -> list[Submitted]:
        """Store submissions of a queue in one transaction; return the answers to the first of them.

        As :meth:`submit` with limits, for a caller that judges each submission again if the
        process is killed: nothing is announced in the journal, and a failure counts for no team.
        After a failure this handler must not be used again: it may have cached results that
        were not stored.

        Parameters
        ----------
        seconds
            The transaction ends after the submission that exceeds this time.
        before_each
            Called before each submission is judged.
        """
        until = time.monotonic() + seconds
        judged: list[tuple[_Judging, Submitted]] = []
        try:
            with self.store.transaction() as transaction:
                for entry in queued:
                    before_each(entry)
                    one = self._judging(
                        entry.file,
                        entry.read,
                        entry.received,
                        entry.actor,
                        entry.key,
                        limited=True,
                    )
                    one.event_fields = entry.event_fields
                    judged.append((one, self._judge(transaction, one)))
                    if time.monotonic() > until:
                        break
        finally:
            self._uncommitted.clear()
        for one, _ in judged:
            self._tell(one)
        return [answer for _, answer in judged]

    def _judging(
        self,
        file: SubmissionFile,
        read: ReadSubmission,
        now: datetime,
        actor: str,
        key: str | None,
        *,
        limited: bool,
    ) -> _Judging:
        shown = self.teams.current(file.team)
        team, members = self.teams.stored(shown), self.teams.members(shown)
        return _Judging(
            file=file,
            shown=shown,
            members=members,
            actor=actor,
            now=now,
            incoming=Incoming(team, file.name, read.sha256, read.values, read.faults, key, now),
            quota=Quota(self.settings, team, now, members) if limited else None,
        )

    def _judge(
        self, transaction: Transaction, one: _Judging, *, announced: bool = False
    ) -> Submitted:
        """Check, count, score, store and release a submission inside a transaction."""
        incoming, quota, now = one.incoming, one.quota, one.now
        values = incoming.values
        known = self._find(transaction, incoming, one.members)
        if known is not None:
            answer = self._answer(known, self._known_release(known))
            return replace(answer, receipt=self.store.receipt(known.submission), known=True)
        outcome = _Outcome()
        refusal = None if quota is None else quota.refusal(transaction)
        scorable = refusal is None and incoming.status == "accepted"
        if refusal is not None:
            incoming = replace(incoming, values=None, faults=(refusal,), refused=True)
        elif quota is not None and (scorable or self.settings.limits.count_rejected):
            quota.use(transaction)
        if scorable and values is not None:
            if announced:
                one.scoring = transaction.announce_scoring(incoming)
            outcome = self._score_splits(one.file, values)
            incoming = self._with_outcome(incoming, outcome)
        one.incoming = incoming
        record = transaction.add_submission(incoming)
        release = None
        if outcome.public is not None and incoming.values is not None:
            self._uncommitted[record.submission] = incoming.values
            release = self._release(transaction, record, outcome.public, incoming.values, now)
            transaction.put_scores(self.revision, record.submission, outcome.public, None)
        answer = self._answer(record, release)
        payload = {
            **answer.to_dict(),
            **one.event_fields,
            "file": record.file,
            "sha256": record.sha256,
        }
        del payload["receipt"]  # it is the hash of this event
        if incoming.team != one.shown:
            payload["stored_as"] = incoming.team
        if outcome.detail:
            payload["for_organiser"] = outcome.detail
        event = transaction.append_event("submission", one.actor, payload, time=now)
        one.stored = replace(record, team=one.shown), release
        return replace(answer, receipt=event.hash)

    def _tell(self, one: _Judging) -> None:
        """Announce a stored submission to the plugins."""
        if one.stored is not None:
            info = competition_info(self.metric, self.solution, self.settings.competition.title)
            self.manager.submission_scored(*one.stored, info)

    def _count_failure(
        self,
        error: BaseException,
        incoming: Incoming,
        scoring: Scoring,
        quota: Quota,
        actor: str,
    ) -> None:
        """Count a submission that reached the metric, unless the store failed or has it."""
        if isinstance(error, StoreError):
            with contextlib.suppress(StoreError):
                self.store.scoring_ended()
            return
        with self.store.transaction() as transaction:
            # Ctrl-C can arrive after the commit.
            key = incoming.idempotency_key or ""
            if transaction.find_submission(incoming.team, key) is not None:
                return
            quota.use(transaction)
            payload = asdict(scoring)
            transaction.append_event("submission failed", actor, payload, time=quota.now)

    def _find(
        self, transaction: Transaction, incoming: Incoming, members: Sequence[str]
    ) -> SubmissionRecord | None:
        """Return the stored submission of the same team and key, if there is one."""
        keys = [incoming.idempotency_key or ""]
        if incoming.key is None:
            keys.append(self._unscored_key(incoming))
        found = (
            transaction.find_submission(member, key)
            for member in dict.fromkeys((incoming.team, *members))
            for key in keys
        )
        return next((one for one in found if one is not None), None)

    def _unscored_key(self, incoming: Incoming) -> str:
        """Return the key of a file that could not be scored: a rescore may fix the metric."""
        return f"{incoming.sha256} could not be scored in revision {self.revision}"

    def _score_splits(self, file: SubmissionFile, values: npt.NDArray[Any]) -> _Outcome:
        """Score a submission on the public rows, and run a foreign metric on the private rows.

        If a team could tell a failing metric, an undefined score and a time limit apart, it would
        learn something about the labels: the message is the same in all three cases.
        """
        public = None
        rows = self._public_rows
        if rows.any():
            public, error = self._score(values, rows)
            if error is not None:
                if (fault := self._refusal(error, values)) is not None:
                    return _Outcome(fault=fault)
                log_failure(error, f"{file.name} of {file.team}")
                return _Outcome(fault=_COULD_NOT_BE_SCORED, detail=str(error))
        # A metric of arena has already refused files that it cannot score, by their cells alone.
        foreign = traits_of(self.metric).time_limit is not None
        rows = rows_of(self.solution, "private")
        if not foreign or not rows.any():
            return _Outcome(public)
        # The team must learn of a refusal while it can still correct the file. Any
        # other outcome on these rows stays secret: whether a score exists may depend on one label.
        _, error = self._score(values, rows)
        if error is None:
            return _Outcome(public)
        if (fault := self._refusal(error, values)) is not None:
            return _Outcome(fault=fault)
        log_failure(error, f"{file.name} of {file.team}, on the private rows")
        return _Outcome(public, detail=f"On the private rows: {error}")

    def _with_outcome(self, incoming: Incoming, outcome: _Outcome) -> Incoming:
        if outcome.fault is None:
            return incoming
        incoming = replace(incoming, values=None, faults=(outcome.fault,))
        if outcome.fault is _COULD_NOT_BE_SCORED and incoming.key is None:
            return replace(incoming, key=self._unscored_key(incoming))
        return incoming

    def _refusal(self, error: ScoringError, values: npt.NDArray[Any]) -> Fault | None:
        """Return the fault that the team is shown, or None if only the organiser may see the error.

        A metric writes the text of a refusal for the team. The text can still quote a label or name
        rows of the split. So the team is shown the text of a call on the rows of all splits, and
        only if two more calls, with other labels, refuse with the same text.
        """
        if error.kind != _REFUSED:
            return None
        rows = rows_of(self.solution, "all")
        _, shown = self._score(values, rows)
        if shown is None or shown.kind != _REFUSED:
            return None
        for truth in other_labels(self.solution.truth[rows]):
            _, again = self._score(values, rows, truth)
            if again is None or (again.kind, again.shown) != (shown.kind, shown.shown):
                return None
        return Fault(shown.kind, shown.shown)

    def _score(
        self,
        values: npt.NDArray[Any],
        rows: npt.NDArray[np.bool_],
        other_truth: npt.NDArray[Any] | None = None,
    ) -> tuple[float, ScoringError | None]:
        """Return the score on some rows, or NaN and the reason, which is for the organiser."""
        failures: list[tuple[int, ScoringError]] = []
        try:
            with attributed_unquoted(self.metric_plugin, f"scoring {self.metric.name}"):
                predictions = ArrayPredictions(self._block(values, rows))
                metric = self.bound.for_rows(rows)
                truth = self.solution.truth[rows] if other_truth is None else other_truth
                score = float(full_scores(metric, truth, predictions, failures=failures)[0])
        except (PluginError, MetricError) as error:
            return np.nan, ScoringError(str(error), "metric failed", "")
        if failures:
            return np.nan, failures[0][1]
        if not np.isfinite(score):
            message = f"{self.metric.name} has no finite value."
            return np.nan, ScoringError(message, "undefined score", "")
        return score, None

    def _block(self, values: npt.NDArray[Any], rows: Any) -> Any:
        """Return one submission as a block: ``(1, n)`` or ``(1, n, n_columns)``."""
        chosen = values[rows]
        if self.solution.kind is PredictionKind.LABEL:
            chosen = chosen.astype(np.intp)
        return chosen[np.newaxis, :, 0] if chosen.shape[1] == 1 else chosen[np.newaxis]

    def _release(
        self,
        transaction: Transaction,
        record: SubmissionRecord,
        public: float,
        values: npt.NDArray[Any],
        now: datetime,
    ) -> Release | None:
        block = self._block(values, self._public_rows)
        scored = ScoredSubmission(record.submission, record.team, block, public)
        log = StoredLog(transaction, self.settings.public.epoch, self.revision, now)
        released = self.releaser.release(scored, log)
        return None if released is None else released.release

    @property
    def _public_rows(self) -> npt.NDArray[np.bool_]:
        return public_rows(self.solution)

    def _known_release(self, record: SubmissionRecord) -> Release | None:
        found = self.store.release_of(record.submission, self.settings.public.epoch)
        return None if found is None else found.release

    def _answer(self, record: SubmissionRecord, release: Release | None) -> Submitted:
        shown = release.score if release else None
        team = self.teams.current(record.team)
        return Submitted(record.submission, team, record.status, shown, record.faults)
