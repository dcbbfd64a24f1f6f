"""Judges the requests of one competition in their order and publishes the answers."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Self

from arena.competition.competition import Competition
from arena.competition.programs.runners import token_digests
from arena.config import CONFIG_NAME
from arena.errors import StoreError
from arena.requests import Answer, Request, name_without_request
from arena.server.compare import RecordedRequests
from arena.server.records.intake import Intake, requests_up_to
from arena.server.records.layout import Layout
from arena.server.records.published import Publisher, State, TeamFacts
from arena.server.records.uploads import Uploads
from arena.server.scorer.attempts import Attempts
from arena.server.scorer.facts import (
    board_documents,
    documents,
    facts,
    result_documents,
    rules_of,
)
from arena.server.scorer.shared_folder import FolderReader
from arena.server_section import ServerSection
from arena.store.quotas import count_name, week_name
from arena.types import Fault, SubmissionRecord
from arena.utils.text import type_and_text

_LOGGER = logging.getLogger("arena.server.scorer")
_POLL_SECONDS = 0.02
_BEAT_SECONDS = 2.0
_SWEEP_SECONDS = 21_600.0
"""Files are kept for days, so a few hours more do not matter."""
_RETRY_SECONDS, _MOST_FAILURES = 5.0, 3
_MOST_LOGGED = 20
_WEIGHT = 0.2
"""Of the last group in the moving average of the seconds to judge a request."""
_ENDED = (
    "The scorer crashed twice while it judged this request alone. Look at the file and at the "
    "memory of the machine."
)
_NOT_CHECKED = Fault(
    "could not be checked",
    "This file could not be checked because of a fault of the server. Tell the organiser.",
)
_NOT_ADOPTED = (
    "competition.toml was changed and cannot be adopted, so the former settings stay. The log of "
    "the scorer says why, and so does arena leaderboard in the competition's folder."
)
_CHANGES_ANSWERS = {
    "publish", "retract", "disqualify", "undo", "rename", "merge", "rescore", "exempt",
    "bracket", "answer",
}  # fmt: skip
_CHANGES_RESULTS = {"finalize", "withdraw", "verification"}
_WITH_UPLOADS = {"submit", "program"}


class Scorer:
    """Judges the requests of a competition; only one may run for each.

    Its publications are derived from the record, and repeated when it starts. An answer is
    therefore never lost, and a request is never judged twice: see
    :meth:`arena.competition.competition.Competition.process`.

    Raises
    ------
    StoreError
        If the queue lacks the last request of the record: an older copy of it was restored.
    """

    def __init__(
        self,
        competition: Competition,
        name: str,
        layout: Layout,
        server: ServerSection,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._competition, self._name, self._server = competition, name, server
        self._clock = clock
        self._uploads = Uploads(layout.uploads)
        self._intake = Intake(layout.intake)
        self._attempts = Attempts.read(layout.attempts(name))
        self._publisher = Publisher(layout.public(name))
        self._closing = threading.Event()
        self._reader = FolderReader(
            competition.folder,
            layout.shared(name),
            competition.solution.sha256,
            self._closing.is_set,
        )
        self._lock = threading.Lock()
        self._board_at, self._board_due = 0.0, False
        self._last: dict[str, str] = {}
        """When the last accepted submission of each team was received."""
        self._day: date | None = None
        """The day, in UTC, at whose beginning the published ranks are compared with the board."""
        self._swept_at = 0.0
        self._next_phase: datetime | None = None
        """When a phase begins or ends next: then other boards and limits are shown."""
        self._end: str | None = None
        """``finalized`` or ``published``, if the private board is; also before the end."""
        self._rules = rules_of(competition, server)
        self._stamps: tuple[tuple[int, int, int], ...] = ()
        self._fault: str | None = None
        """Why the settings that the folder has now cannot be adopted."""
        self._checked: set[str] = set()
        self._runners: dict[str, str] = {}
        """The digests of tokens as they were last published, by the names of runners."""
        self._names: dict[str, str] = {}
        """The current names of teams, by their former names."""
        self._state = State(cursor=competition.cursor)
        try:
            self._check_queue()
            competition.keep_little_in_memory()
            competition.record_server(server, self._rules)
            self._publish_everything()
            self.sweep()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the files of the server; the competition stays open."""
        self._closing.set()
        self._publisher.close()
        self._intake.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, ended: Callable[[], bool]) -> None:
        """Judge requests as they come until ``ended()``; a group under way is finished.

        It also returns once ``competition.toml`` or the rules were changed, to be read again.

        Raises
        ------
        StoreError
            If the database of the competition must be opened again.
        sqlite3.DatabaseError
            If what is published was removed: a new scorer publishes it again.
        """
        # Apart from each other: a large file takes longer to copy than a sign of life may be late.
        threads = [
            threading.Thread(target=target, daemon=True)
            for target in (self._beat, self._share_until)
        ]
        for thread in threads:
            thread.start()
        try:
            self._judge_until(ended)
        finally:
            self._closing.set()
            for thread in threads:
                thread.join()

    def _judge_until(self, ended: Callable[[], bool]) -> None:
        seen_change, failures = -1, 0
        while not ended() and not self._has_new_settings():
            self._publisher.check_place()
            now = self._intake.version()
            if now == seen_change and not self._board_due and not self._is_in_next_phase:
                if time.monotonic() > self._swept_at + _SWEEP_SECONDS:
                    self.sweep()
                time.sleep(_POLL_SECONDS)
                continue
            seen_change = now
            try:
                while not ended() and self.step():
                    failures = 0
            except StoreError as error:
                failures += 1
                if failures == _MOST_FAILURES:
                    raise
                _LOGGER.exception("Nothing can be stored.")
                self._set_state(problem=str(error), busy_since=None)
                self._publisher.publish(state=self._state)
                seen_change = -1
                time.sleep(_RETRY_SECONDS)

    def _has_new_settings(self) -> bool:
        """Return whether the folder has new settings or rules that can be adopted.

        Otherwise the former ones stay, and the organisers' pages report the problem.
        """
        folder = self._competition.folder
        stamps = tuple(map(_stamp, (folder / CONFIG_NAME, folder / self._server.rules)))
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        fault = None
        if self._competition.has_new_settings():
            fault = self._competition.settings_fault()
            if not fault:
                return True
            _LOGGER.warning("The former settings stay: %s", fault)
        elif rules_of(self._competition, self._server) != self._rules:
            return True
        if (fault is None) != (self._fault is None):
            self._fault = None if fault is None else _NOT_ADOPTED
            self._set_state(problem=self._fault)
            self._publisher.publish(state=self._state)
        return False

    @property
    def _is_in_next_phase(self) -> bool:
        """Whether a phase began or ended since everything was published."""
        return self._next_phase is not None and self._clock() > self._next_phase

    # -- judging -------------------------------------------------------------------------------

    def step(self) -> bool:
        """Judge the next requests; return whether there were any.

        Raises
        ------
        StoreError
            If nothing can be stored.
        """
        if self._is_in_next_phase:
            self._publish_everything()
        checked = self._check_one()
        limit = self._server.group
        waiting = self._intake.after(self._name, self._competition.cursor, limit)
        if not waiting:
            if self._board_due:
                self._publish_board()
            return checked
        if self._attempts.alone(waiting[0].seq):
            waiting = waiting[:1]
        began = time.monotonic()
        self._set_state(busy_since=time.time())
        answers = self._process(waiting)
        if answers:
            took = (time.monotonic() - began) / len(answers)
            before = self._state.seconds_each or took
            self._publish_answers(waiting, answers, (1 - _WEIGHT) * before + _WEIGHT * took)
        return True

    def _check_one(self) -> bool:
        """Check the next file that is only to be checked; return whether there was one.

        Checks alternate with groups of submissions, so that neither waits for all of the other.
        """
        requested = self._intake.checks(self._name)
        asked_checks = {check for check, _upload, _file in requested}
        over = {f"check {check}": None for check in self._checked - asked_checks}
        self._checked &= asked_checks
        answer: dict[str, Any] = {}
        for check, upload, file in requested:
            if check in self._checked:
                continue
            self._checked.add(check)
            with self._uploads.opened([upload]) as paths:
                if upload in paths:
                    faults = self._faults(paths[upload], file)
                    answer[f"check {check}"] = [asdict(fault) for fault in faults]
                    break
        if over or answer:
            self._publisher.publish(documents={**over, **answer})
        return bool(answer)

    def _faults(self, path: Path, file: str) -> tuple[Fault, ...]:
        try:
            return self._competition.check_file(path, file)
        except Exception:
            _LOGGER.exception("Checking a file failed.")
            return (_NOT_CHECKED,)

    def _process(self, waiting: Sequence[Request]) -> list[Answer]:
        """Judge the first of these requests; an empty list if they must be tried one by one."""
        with self._uploads.opened(filter(None, map(_upload_of, waiting))) as paths:
            return self._process_opened(
                [replace(request, path=paths.get(_upload_of(request) or "")) for request in waiting]
            )

    def _process_opened(self, requests: Sequence[Request]) -> list[Answer]:
        if self._attempts.hopeless(requests[0].seq):
            return [self._competition.set_aside(requests[0], _ENDED)]
        numbers = [request.seq for request in requests]
        self._attempts.begin(numbers)
        try:
            return self._competition.process(
                requests, seconds=self._server.publish_seconds, workers=self._server.checkers
            )
        except StoreError:
            self._attempts.end()
            raise
        except Exception as error:
            _LOGGER.exception("Judging %s failed.", numbers)
            self._attempts.failed(numbers)
            if len(requests) > 1:
                return []
            reason = f"Judging it failed: {type_and_text(error)}"
            return [self._competition.set_aside(requests[0], reason)]

    def _check_queue(self) -> None:
        cursor, last = self._competition.cursor, self._competition.last_answer()
        recorded = None if last is None else last.request
        if not cursor or self._intake.numbered(self._name, cursor) == recorded:
            self._compare_queue()
            return
        if not self._intake.number_after(self._name, cursor):
            raise StoreError(
                f"The record of the competition ends with request {cursor}, which the queue of the "
                f"server does not have: an older copy of the queue was restored, or it belongs to "
                f"another competition. Restore the queue and the competition from the same backup, "
                f"or name another folder for a new queue with --data."
            )
        _LOGGER.warning("The queue is new: it does not have the requests of the record.")

    def _compare_queue(self) -> None:
        """Log changes in the queue of requests that were judged; the record counts."""
        recorded = RecordedRequests.of(self._competition.events())
        differences = recorded.compare(self._intake, self._name)
        for difference in differences.differences[:_MOST_LOGGED]:
            _LOGGER.warning("%s The server's files were changed.", difference)
        for sentence in differences.not_compared:
            _LOGGER.warning("%s", sentence)

    # -- publishing ----------------------------------------------------------------------------

    def _publish_everything(self) -> None:
        competition = self._competition
        self._names = competition.current_names()
        recorded = competition.answers()
        rows = {row["submission"]: row for row in competition.submissions()}
        records = {record.submission: record for record in competition.records()}
        reasons = competition.disqualified()
        private = {
            number: score
            for board in competition.in_each_phase()
            for number, score in board.private_scores_for_teams().items()
        }
        self._last = competition.last_entries()
        kept_answers = kept_after_a_rebuild(competition, rows)
        older = kept_answers & competition.released_again()
        phases = competition.phases()
        self._next_phase = next_phase_change(phases, self._clock())
        hidden = _phases_without_scores(competition)
        answers, teams = [], {exemption["team"] for exemption in competition.exemptions()}
        for request in self._all_judged():
            if request.request not in recorded:
                _LOGGER.warning("The record lacks request %d: it was never judged.", request.seq)
                continue
            for recorded_answer in recorded[request.request]:
                answer = self._published(request, recorded_answer)
                teams.add(answer.team)
                if answer.submission is None:
                    answers.append(answer)
                    continue
                row, record = rows[answer.submission], records[answer.submission]
                # A score that was hidden until now was never shown: it replaces none.
                stays = answer.submission in kept_answers and answer.released is not None
                released = answer.released if stays else row["released"]
                source = answer.source if stays else row["source"]
                if row["phase"] in hidden:
                    released = source = None
                answers.append(
                    replace(
                        answer,
                        **_as_recorded(row, record),
                        reason=reasons.get(answer.submission, ""),
                        released=released,
                        source=None if source == answer.submission else source,
                        before_rebuild=stays
                        and answer.submission in older
                        and row["phase"] not in hidden,
                        **_private(private, answer.submission),
                    )
                )
        answered = {answer.submission for answer in answers}
        others = [number for number in rows if number not in answered]
        for seq, number in enumerate(others, start=-len(others)):
            concealed = rows[number]["phase"] in hidden or number in kept_answers
            released = None if concealed else rows[number]["released"]
            answer = _without_request(seq, rows[number], records[number], released)
            answers.append(replace(answer, **_private(private, number)))
            teams.add(records[number].team)
        content = documents(competition, self._name, self._server) | self._ranks_before()
        self._note_end(content["private"])
        self._set_state(cursor=competition.cursor, set_aside=_set_aside(answers))
        self._publisher.publish(
            answers=answers,
            teams=self._team_facts(teams),
            names=self._names,
            documents=content,
            state=self._state,
            replace_all=True,
        )
        self._board_at, self._board_due = time.monotonic(), False

    def _all_judged(self) -> Iterable[Request]:
        return requests_up_to(self._intake, self._name, self._competition.cursor)

    def _publish_answers(
        self, waiting: Sequence[Request], judged: Sequence[Answer], seconds_each: float
    ) -> None:
        requests = [request for request in waiting if request.seq <= judged[-1].seq]
        by_number = {request.seq: request for request in requests}
        disqualified = self._competition.disqualified_teams()
        answers = [
            _with_its_team(self._published(by_number[answer.seq], answer), disqualified)
            for answer in judged
        ]
        new = tuple(answers)
        kinds = {answer.kind for answer in judged if answer.status == "done"}
        self._set_state(
            cursor=judged[-1].seq,
            seconds_each=seconds_each,
            judged=self._state.judged + len(requests),
            set_aside=self._state.set_aside + _set_aside(answers),
            busy_since=None,
            problem=self._fault,
        )
        if kinds & _CHANGES_ANSWERS:
            self._publish_everything()
        else:
            if kinds & {"select", "withdraw"}:
                answers += self._decided(answers[0].team, answers)
            self._board_due |= "withdraw" in kinds
            content: dict[str, Any] = {}
            if kinds & (_CHANGES_RESULTS | {"pause", "resume"}):
                content["competition"] = asdict(facts(self._competition, self._name, self._server))
            if kinds & _CHANGES_RESULTS:
                content |= result_documents(self._competition)
                self._note_end(content["private"])
                self._set_state()
            teams = {answer.team for answer in answers}
            frozen = self._competition.frozen_since
            self._last |= {
                answer.team: answer.received
                for answer in new
                if answer.status == "accepted"
                and (frozen is None or datetime.fromisoformat(answer.received) <= frozen)
            }
            self._publisher.publish(
                answers=answers,
                teams=self._team_facts(teams),
                documents=content,
                state=self._state,
            )
        self._attempts.end()
        statuses = {answer.request: answer.status for answer in answers}
        self._drop_uploads(requests, statuses)
        self._board_due |= any(answer.status == "accepted" for answer in answers)
        next_waiting = self._intake.after(self._name, judged[-1].seq, 1)
        busy = len(waiting) > len(requests) or bool(next_waiting)
        late = time.monotonic() > self._board_at + self._server.publish_seconds
        if self._board_due and (late or not busy):
            self._publish_board()

    def _publish_board(self) -> None:
        content = board_documents(self._competition)
        if self._day != self._clock().date():
            content |= self._ranks_before()
        self._publisher.publish(documents=content)
        self._board_at, self._board_due = time.monotonic(), False

    def _ranks_before(self) -> dict[str, Any]:
        """Return the document of the ranks at the beginning of the day, and note the day."""
        self._day = self._clock().date()
        since = datetime.combine(self._day, datetime.min.time(), UTC)
        ranks = self._competition.ranks_at(since)
        return {"ranks before": {"since": since.isoformat(), "ranks": ranks}}

    def _note_end(self, private: object) -> None:
        ended = "finalized" if self._competition.is_finalized else None
        self._end = "published" if private is not None else ended

    def _decided(self, team: str, answers: Collection[Answer]) -> list[Answer]:
        """Return the earlier answers to a team after it chose or withdrew submissions."""
        chosen = self._competition.selections().get(team, ())
        withdrawn = self._competition.withdrawn()
        judged_now = {answer.request for answer in answers}
        return [
            replace(
                earlier,
                selected=earlier.submission in chosen,
                status="withdrawn"
                if earlier.status == "accepted" and earlier.submission in withdrawn
                else earlier.status,
            )
            for earlier in self._publisher.answers_of(team)
            if earlier.request not in judged_now
        ]

    def _published(self, request: Request, answer: Answer) -> Answer:
        """Return an answer with the facts of its request."""
        team = self._names.get(request.team, request.team)
        return replace(
            answer,
            team=team if answer.submission is None else answer.team,
            received=request.received.isoformat(),
            judged=self._clock().isoformat(timespec="seconds"),
            member=request.member,
            file=request.payload.get("file"),
            description=request.payload.get("description", ""),
            sha256=request.payload.get("sha256"),
        )

    def _team_facts(self, teams: Collection[str]) -> list[TeamFacts]:
        competition, today = self._competition, self._clock().date()
        selections, disqualified = competition.selections(), competition.disqualified_teams()
        answers = competition.answers_of_teams()
        exempted = {exemption["team"]: exemption for exemption in competition.exemptions()}
        week, phase = week_name(today), competition.phase
        return [
            TeamFacts(
                team=team,
                used_total=competition.quota_used(team, count_name(None, phase)),
                day=today.isoformat(),
                used_day=competition.quota_used(team, count_name(today, phase)),
                week=week,
                used_week=competition.quota_used(team, count_name(week, phase)),
                extra=exempted.get(team, {}).get("extra", 0),
                until=exempted.get(team, {}).get("until"),
                selected=tuple(selections.get(team, ())),
                last=self._last.get(team),
                disqualified=disqualified.get(team),
                answers=answers.get(team, {}),
                used_in_phases={
                    name: n_used
                    for name in competition.phase_names
                    if (n_used := competition.quota_used(team, count_name(None, name)))
                },
            )
            for team in sorted(teams)
            if team
        ]

    def _drop_uploads(self, requests: Iterable[Request], statuses: Mapping[str, str]) -> None:
        """Remove the files of judged requests, but not of those that the organiser must look at."""
        if self._server.keep_uploads_days:
            return
        for request in requests:
            upload = _upload_of(request)
            # A runner fetches the program of a request that was answered.
            is_needed = request.kind == "program" or statuses[request.request] == "set_aside"
            if upload is not None and not is_needed:
                self._uploads.drop(upload)

    def sweep(self) -> None:
        """Remove the files of judged requests that are older than they are to be kept."""
        self._swept_at = time.monotonic()
        oldest = time.time() - 86_400 * self._server.keep_uploads_days
        aside = self._competition.requests_set_aside()
        waiting = {program.program for program in self._competition.waiting_programs()}
        judged = {
            _upload_of(request)
            for request in self._all_judged()
            if request.request not in aside and request.payload.get("program") not in waiting
        }
        for path in self._uploads.folder.iterdir():
            if path.name in judged and path.lstat().st_mtime <= oldest:
                self._uploads.drop(path.name)

    # -- the state -----------------------------------------------------------------------------

    def _set_state(self, **changes: Any) -> None:
        """Change the state and bring it up to date; it is not published yet."""
        with self._lock:
            state = replace(self._state, **changes)
            waiting = self._intake.after(self._name, state.cursor, 1)
            self._state = replace(
                state,
                beat=time.time(),
                phase=(self._end or "closed") if self._has_ended else "open",
                waiting=self._intake.waiting(self._name, state.cursor),
                oldest=waiting[0].received.isoformat() if waiting else None,
            )

    @property
    def _has_ended(self) -> bool:
        """Whether the competition has ended; it reads no database, which another thread uses."""
        if self._competition.ends_when_finalized:
            return self._end is not None
        return self._competition.has_ended

    def share(self) -> None:
        """Publish what changed in ``pages/`` and ``files/`` of the folder, and new runners."""
        runners = token_digests(self._competition.folder)
        if runners != self._runners:
            self._publisher.publish(documents={"runners": runners})
            self._runners = runners
        content = self._reader.changed()
        if content is not None:
            self._publisher.publish(documents={"folder": asdict(content)})
            self._reader.remove_old_copies(content)

    def _share_until(self) -> None:
        last_warning = ""
        while not self._closing.is_set():
            try:
                self.share()
                last_warning = ""
            except (OSError, sqlite3.Error) as error:  # the disk is full; it is tried again
                if str(error) != last_warning:
                    _LOGGER.warning("pages/ and files/ cannot be published: %s.", error)
                last_warning = str(error)
            self._closing.wait(_BEAT_SECONDS)

    def _beat(self) -> None:
        """Publish the state every few seconds, also while a request takes long."""
        while not self._closing.wait(_BEAT_SECONDS):
            try:
                self._set_state()
                self._publisher.publish(state=self._state)
            except sqlite3.Error as error:  # the disk is full; the next beat tries again
                _LOGGER.warning("The state cannot be published: %s.", error)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


def _upload_of(request: Request) -> str | None:
    """Return the upload of a file, a program or a program's output, or None.

    None also if the web process wrote an invalid name.
    """
    upload = request.payload.get("output" if "run" in request.payload else "upload")
    valid = request.kind in _WITH_UPLOADS and isinstance(upload, str) and upload.isalnum()
    return upload if valid else None


def _with_its_team(answer: Answer, disqualified: Mapping[str, str]) -> Answer:
    """Return an answer, disqualified if its team is, by name -> reason."""
    if answer.status != "accepted" or answer.team not in disqualified:
        return answer
    return replace(answer, status="disqualified", reason=disqualified[answer.team])


def _as_recorded(row: Mapping[str, Any], record: SubmissionRecord) -> dict[str, Any]:
    """Return the facts of a submission that are in the record."""
    return {
        "team": row["team"],
        "status": row["status"],
        "selected": row["selected"],
        "late": row["late"],
        "faults": tuple(asdict(fault) for fault in record.faults),
        "sha256": record.sha256,
    }


def kept_after_a_rebuild(competition: Competition, submissions: Collection[int]) -> set[int]:
    """Return which submissions still show their teams the score from before a rebuild.

    Of the new releases a team sees its standing score only: all of them together would tell which
    labels were corrected.
    """
    if not competition.released_again():
        return set()
    boards = (board.leaderboard(live=True) for board in competition.in_each_phase())
    return set(submissions).difference(row["submission"] for rows in boards for row in rows)


def _private(scores: Mapping[int, tuple[float, int]], submission: int) -> dict[str, Any]:
    score, rank = scores.get(submission, (None, None))
    return {"private": score, "private_rank": rank}


def next_phase_change(phases: Sequence[Mapping[str, Any]], now: datetime) -> datetime | None:
    """Return when a phase begins or ends next; None: none does."""
    dates = (phase[key] for phase in phases for key in ("start", "end"))
    times = (datetime.fromisoformat(date) for date in dates if date is not None)
    return min((time for time in times if time > now), default=None)


def _phases_without_scores(competition: Competition) -> frozenset[str]:
    """Return the phases whose scores are hidden, by their names in the list of submissions."""
    boards = competition.in_each_phase()
    return frozenset(board.phase for board in boards if board.settings.public.scores == "hidden")


def _without_request(
    seq: int, row: Mapping[str, Any], record: SubmissionRecord, released: float | None
) -> Answer:
    """Return the answer to a submission by another command, or from a former queue."""
    return Answer(
        request=name_without_request(record.submission),
        seq=seq,
        kind="submit",
        received=record.received,
        judged=record.received,
        submission=record.submission,
        file=record.file,
        released=released,
        phase=record.phase,
        **_as_recorded(row, record),
    )


def _set_aside(answers: Iterable[Answer]) -> int:
    return sum(answer.status == "set_aside" for answer in answers)
