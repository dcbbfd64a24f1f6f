"""A competition that lasts: the facade that the command line and a notebook use."""

from __future__ import annotations

import getpass
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena.admission import competition_info, examine
from arena.board_run import BoardRun
from arena.bundle import Bundle, write_bundle
from arena.config import CONFIG_NAME, Settings, adopt, read_settings
from arena.errors import InputError, UsageError
from arena.execution import Progress, Silence, available_workers
from arena.final_selection import check_choice, public_board
from arena.finale import (
    analysis_seed,
    board_settings,
    final_submissions,
    fingerprint,
    judge_finals,
)
from arena.founding import DATABASE_NAME, found, read_settings_solution
from arena.intake import SubmissionFile, find_submissions, named_file
from arena.interfaces import Metric
from arena.ledger import Ledger
from arena.plugin_manager import PluginManager
from arena.reception import Reception, Submitted
from arena.rescoring import RankChange, Scored, align_solution, compare, score_all
from arena.score_result import ScoreResult
from arena.store import Event, ScoreRecord, Store
from arena.targets import mean_over_targets
from arena.types import Solution

__all__ = ["Competition"]


def _now() -> datetime:
    return datetime.now(UTC)


class Competition:
    r"""A competition in a folder: ``competition.toml`` and a DuckDB file. A context manager.

    One process holds a competition open at a time. Whatever a method stored is whole, or not
    there at all, whenever the process ends.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "solution.csv").write_text(
    ...     "id,y,Usage\na,1,Public\nb,0,Public\nc,1,Private\nd,0,Private\n")
    >>> _ = (folder / "team.csv").write_text("id,y\na,0.9\nb,0.2\nc,0.6\nd,0.1\n")
    >>> with Competition.create(folder / "c", folder / "solution.csv", "roc_auc") as competition:
    ...     competition.submit(folder / "team.csv", "team").released
    1.0
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        store: Store,
        manager: PluginManager,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.folder = folder
        self.manager = manager
        self.notes: list[str] = []
        """What a person should know of the settings."""
        self._store = store
        self._clock = clock
        self._actor = f"organiser {getpass.getuser()}"
        self._wanted = settings
        self._seed = int(store.meta("seed") or 0)
        self._read_state()

    def _read_state(self) -> None:
        """Take up what the store holds: settings in force, solution, revision of the scores."""
        kept = self._store.meta("settings") or "{}"
        self.settings, notes, changes = adopt(
            Settings.model_validate_json(kept), self._wanted, bool(self._store.releases())
        )
        self.notes = notes
        if changes:
            with self._store.transaction() as transaction:
                transaction.put_meta("settings", self.settings.model_dump_json())
                payload = {"changes": changes}
                transaction.append_event("configuration", self._actor, payload, time=self._clock())
        self._revision = int(self._store.meta("revision") or 1)
        self._ledger = Ledger(self._store, self._revision)
        self._solution = self._store.solution()
        self._metric = self._resolve(self.settings)

    def _resolve(self, settings: Settings) -> Metric:
        single: Metric = self.manager.metrics.resolve(settings.metric.name)
        return mean_over_targets(single, len(self._store.solution().targets))

    @classmethod
    def create(
        cls,
        folder: Path,
        solution: Path,
        settings: Settings | str,
        *,
        public_share: float = 0.3,
        seed: int | None = None,
        manager: PluginManager | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> Self:
        """Make a competition in a new or empty folder, and open it.

        Parameters
        ----------
        folder
            Gets ``competition.toml``, the database and ``sample_submission.csv``.
        solution
            CSV or Parquet. Without public rows, a share of the rows is made public, within
            classes, by a stored seed.
        settings
            All of them, or the metric.
        public_share
            In [0, 1); 0 leaves every row private.
        seed
            Of the split and of all later chance; None: a secret one.

        Raises
        ------
        InputError
            If the solution cannot be used, or the folder holds a competition.
        UsageError
            If the share is out of range.
        """
        manager = manager or PluginManager()
        if isinstance(settings, str):
            settings = Settings.model_validate({"metric": {"name": settings}})
        actor = f"organiser {getpass.getuser()}"
        found(folder, solution, settings, public_share, seed, manager, actor, clock())
        return cls.open(folder, manager=manager, clock=clock)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        manager: PluginManager | None = None,
        wait: float = 0.0,
        clock: Callable[[], datetime] = _now,
    ) -> Self:
        """Open the competition of a folder.

        Parameters
        ----------
        wait
            Seconds to wait for another process that holds it.

        Raises
        ------
        InputError
            If there is none, or its settings are wrong.
        StoreBusyError
            If another process holds it.
        """
        settings = read_settings(folder / CONFIG_NAME)
        manager = manager or PluginManager()
        manager.mechanisms.resolve(settings.public.mechanism)
        manager.metrics.resolve(settings.metric.name)
        store = Store.open(folder / DATABASE_NAME, create=False, wait=wait)
        try:
            return cls(folder, settings, store, manager, clock)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- submissions ---------------------------------------------------------------------------

    def _reception(self) -> Reception:
        name = self.settings.public.mechanism
        return Reception(
            store=self._store,
            settings=self.settings,
            solution=self._solution,
            metric=self._metric,
            metric_plugin=self.manager.metrics.plugin_of(self.settings.metric.name),
            mechanism=self.manager.mechanisms.resolve(name),
            mechanism_plugin=self.manager.mechanisms.plugin_of(name),
            manager=self.manager,
            seed=self._seed,
            revision=self._revision,
        )

    def submit(self, file: Path, team: str, *, key: str | None = None) -> Submitted:
        """Take one file of a team: check, count, score, store and release.

        The same file of the same team again (or the same ``key``) gives the first answer again.

        Raises
        ------
        InputError
            If the file does not exist.
        StoreError
            If it cannot be stored; then nothing is.
        """
        if not file.exists():
            raise InputError(f"There is no file {file}.")
        (answer,) = self._take([named_file(file, team)], limited=True, key=key)
        return answer

    def import_folder(
        self, folder: Path, *, progress: Progress | None = None
    ) -> Iterator[Submitted]:
        """Take a folder of files, in the order of their names, without limits; yield each answer.

        Run again, it goes on where it stopped: what was stored is not stored twice.

        Raises
        ------
        InputError
            If the folder does not exist.
        """
        files = find_submissions([folder])
        progress = progress or Silence()
        progress.start("Importing submissions", len(files))
        for answer in self._take(files, limited=False):
            progress.advance()
            yield answer

    def _take(
        self, files: Sequence[SubmissionFile], *, limited: bool, key: str | None = None
    ) -> Iterator[Submitted]:
        reception = self._reception()
        workers = min(available_workers(), len(files)) or 1
        for file, read in examine(
            files,
            self._solution,
            self._metric,
            self.manager,
            workers=workers,
            max_bytes=self.settings.limits.max_bytes,
        ):
            yield reception.take(
                file, read, now=self._clock(), actor=self._actor, key=key, limited=limited
            )

    def submissions(self, team: str | None = None) -> list[dict[str, Any]]:
        """Return every submission, or those of a team, in the order in which they came."""
        return self._ledger.submissions(team)

    # -- choices of the teams and of the organiser ---------------------------------------------

    def select(self, team: str, submissions: Sequence[int]) -> None:
        """Record which submissions a team chose as its final ones; none takes its choice back.

        Raises
        ------
        UsageError
            If they are more than a team may choose, or not this team's accepted submissions.
        """
        if not self._store.submissions(team=team):
            raise UsageError(f"No submission of a team {team!r} is stored.")
        own = [one.submission for one in self._ledger.counting() if one.team == team]
        check_choice(submissions, own, self.settings.final.count)
        self._record("selection", {"team": team, "submissions": sorted(set(submissions))})

    def disqualify(self, submission: int, reason: str) -> None:
        """Record that a submission does not count, and why.

        Raises
        ------
        UsageError
            If there is no such accepted submission, or no reason is given.
        """
        known = {record.submission for record in self._store.submissions()}
        if submission not in known:
            raise UsageError(f"There is no submission {submission}.")
        if not reason.strip():
            raise UsageError("A disqualification needs a reason: it stands on record.")
        self._record("disqualification", {"submission": submission, "reason": reason.strip()})

    def _record(self, kind: str, payload: dict[str, Any]) -> None:
        with self._store.transaction() as transaction:
            transaction.append_event(kind, self._actor, payload, time=self._clock())

    # -- boards --------------------------------------------------------------------------------

    def leaderboard(self) -> list[dict[str, Any]]:
        """Return the public standings, best first, from what was released and nothing else."""
        return public_board(
            self._ledger.candidates(),
            greater_is_better=self._metric.greater_is_better,
            ties=self.settings.final.ties,
            baseline=self.settings.competition.baseline,
            sent=self._ledger.sent(),
        )

    # -- the end -------------------------------------------------------------------------------

    def finalize(self, *, progress: Progress | None = None) -> ScoreResult:
        """Judge the final submissions on the private rows and keep the board.

        It may be run again: while nothing changed, nothing is recorded and the board is the same.

        Raises
        ------
        UsageError
            If no submission can count.
        MetricError
            If the metric is not defined on the private rows.
        """
        finals = self._finals()
        if not finals:
            raise UsageError("There is no accepted submission to rank.")
        run = BoardRun(
            specification=self.settings.metric.name,
            metric=self._metric,
            solution=self._solution,
            split="private",
            settings=board_settings(self.settings, analysis_seed(self._seed)),
            store=self._store,
            manager=self.manager,
            progress=progress or Silence(),
        )
        result = judge_finals(run, finals, self._ledger.counting(), self.settings)
        self._keep(result, finals)
        self.manager.competition_finalized(result, competition_info(self._metric, self._solution))
        return result

    def _finals(self) -> dict[str, tuple[int, ...]]:
        better = self._metric.greater_is_better
        return final_submissions(self._ledger, self.settings, greater_is_better=better)

    def _keep(self, result: ScoreResult, finals: Mapping[str, Sequence[int]]) -> None:
        document = result.to_dict()
        digest = fingerprint(document)
        earlier = self._store.events("finalized")
        if earlier and earlier[-1].payload["sha256"] == digest:
            return
        rule = self.settings.final.rule
        counting = {team: list(own) for team, own in finals.items()}
        payload = {"sha256": digest, "rule": rule, "finals": counting}
        with self._store.transaction() as transaction:
            transaction.put_meta("final_result", json.dumps(document, allow_nan=False))
            transaction.append_event("finalized", self._actor, payload, time=self._clock())

    def final_result(self) -> dict[str, Any]:
        """Return the document of the private board as it was last finalized.

        Raises
        ------
        UsageError
            If it was not.
        """
        kept = self._store.meta("final_result")
        if kept is None:
            raise UsageError("There is no private board yet: run arena finalize first.")
        document: dict[str, Any] = json.loads(kept)
        return document

    def private_leaderboard(self) -> list[dict[str, Any]]:
        """Return the private standings, best first, with the columns of ``arena score``.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        sent = self._ledger.sent()
        return [
            {**row, "n_submissions": sent[row["team"]], "baseline": False}
            for row in self.final_result()["standings"]
        ]

    def export(self, folder: Path) -> list[Path]:
        """Write the bundle with which another person can verify the private board.

        The same competition gives the same bytes; see :mod:`arena.bundle` for what is in it.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        InputError
            If the folder is not empty.
        """
        result = self.final_result()
        bundle = Bundle(
            settings=self.settings.to_document(),
            result=result,
            finals=self._store.events("finalized")[-1].payload["finals"],
            public=self.leaderboard(),
            submissions=self.submissions(),
            events=self.events(),
            solution=self._solution,
        )
        return write_bundle(folder, bundle, self._store)

    def rescore(self, solution: Path | None = None, *, apply: bool = False) -> list[RankChange]:
        """Score everything anew, by a corrected solution or by the metric that the settings want.

        Returns every team's place on the private board before and after. Only with ``apply`` is
        the change made and recorded. Released public scores stay on record as they were shown.

        Raises
        ------
        InputError
            If the corrected solution is not of the same rows, columns and classes, or the new
            metric asks for another kind of prediction.
        """
        settings = self.settings.model_copy(update={"metric": self._wanted.metric})
        metric = self._resolve(settings)
        if metric.prediction is not self._solution.kind:
            raise InputError(
                f"{settings.metric.name} asks for another kind of prediction ({metric.prediction}) "
                f"than the stored submissions hold ({self._solution.kind})."
            )
        corrected = self._solution
        if solution is not None:
            read = read_settings_solution(solution, settings, self.manager)
            corrected = align_solution(read, self._solution)
        after = score_all(self._ledger, corrected, metric)
        changes = compare(
            self._ledger,
            score_all(self._ledger, self._solution, self._metric),
            after,
            (self.settings, settings),
            (self._metric.greater_is_better, metric.greater_is_better),
        )
        if apply:
            self._apply(corrected, settings, after, changes)
        return changes

    def _apply(
        self, corrected: Solution, settings: Settings, after: Scored, changes: list[RankChange]
    ) -> None:
        revision = self._revision + 1
        payload = {
            "revision": revision,
            "metric": [self.settings.metric.name, settings.metric.name],
            "solution_sha256": [self._solution.sha256, corrected.sha256],
            "ranks_changed": sum(change.changed for change in changes),
        }
        with self._store.transaction() as transaction:
            transaction.put_solution(corrected, settings.metric.name, number=revision)
            transaction.put_all_scores(
                revision,
                [
                    ScoreRecord(submission, public if math.isfinite(public) else None, None)
                    for submission, public in zip(
                        after.submissions, after.public.tolist(), strict=True
                    )
                ],
            )
            transaction.put_meta("revision", str(revision))
            transaction.put_meta("settings", settings.model_dump_json())
            transaction.append_event("rescored", self._actor, payload, time=self._clock())
        self._read_state()

    # -- the record ----------------------------------------------------------------------------

    @property
    def solution(self) -> Solution:
        """The solution, labels included: the organiser's only."""
        return self._solution

    def events(self) -> tuple[Event, ...]:
        """Return everything that happened, in order."""
        return self._store.events()

    def verify_events(self) -> str | None:
        """Return a sentence on the first event that does not follow from the others, or None."""
        return self._store.verify_events()
