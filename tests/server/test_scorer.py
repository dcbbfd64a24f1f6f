"""The scorer judges each request once and publishes what the record says."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, DATABASE_NAME, ServerSection, read_settings
from arena.errors import StoreError
from arena.requests import Kind
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.published import Published
from arena.server.records.uploads import Uploads
from arena.server.scorer.attempts import Attempts
from arena.server.scorer.main import run
from arena.server.scorer.scorer import Scorer, next_phase_change
from arena.store import database
from program import write_csv
from served import N_ROWS, predictions, send


@contextmanager
def scorer_of(
    folder: Path,
    layout: Layout,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    *,
    days: float = 0.0,
) -> Iterator[Scorer]:
    server = ServerSection(keep_uploads_days=days)
    with (
        Competition.open(folder, clock=clock) as competition,
        Scorer(competition, "race", layout, server, clock=clock) as scorer,
    ):
        yield scorer


def decide(intake: Intake, kind: Kind, sender: str = "", **payload: Any) -> str:
    request, _ = intake.append(
        competition="race", team=sender, member="7", kind=kind, payload=payload
    )
    return request.request


@pytest.mark.slow
@pytest.mark.parametrize("shown", ["board", "own"])
def test_ranks_of_yesterday_and_private_scores_after_publication(
    folder: Path, layout: Layout, shown: str
) -> None:
    config, intake = folder / CONFIG_NAME, Intake(layout.intake)
    text = config.read_text().replace('rule = "chosen"', 'rule = "best_public"')
    config.write_text(f'{text}\n[server]\nprivate_scores = "{shown}"\n')
    now = datetime(2030, 1, 1, 23, 50, tzinfo=UTC)
    with scorer_of(folder, layout, lambda: now) as scorer:
        public = Published(layout.public("race"))
        for number, team in enumerate(("red", "blue")):
            send(layout, intake, team, predictions(number))
            settle(scorer)
        yesterday = [row["team"] for row in _document(public, "board")]
        assert _document(public, "ranks before")["ranks"] == {}
        now += timedelta(minutes=30)
        send(layout, intake, yesterday[1], predictions(7))
        settle(scorer)
        assert _document(public, "ranks before") == {
            "since": "2030-01-02T00:00:00+00:00",
            "ranks": {team: rank for rank, team in enumerate(yesterday, 1)},
        }
        last = public.last_entries(["red", "blue", "x"])
        assert last.keys() == {"red", "blue"}
        assert max(last, key=last.__getitem__) == yesterday[1]
    text = config.read_text()
    config.write_text(text.replace("# deadline =", "deadline = 2030-01-02T01:00:00Z"))
    now = datetime(2030, 1, 3, tzinfo=UTC)
    with scorer_of(folder, layout, lambda: now) as scorer:
        decide(intake, "finalize")
        settle(scorer)
        assert {answer.private for answer in public.answers(None)} == {None}
        decide(intake, "publish")
        settle(scorer)
        answers = {answer.submission: answer for answer in public.answers(None)}
        for row in _document(public, "private")["leaderboard"]:
            answer = answers[row["submission"]]
            if shown == "own":
                assert answer.private == pytest.approx(row["score"])
                assert answer.private_rank == row["rank"]
            else:
                assert answer.private is None
        assert (sum(answer.private is not None for answer in answers.values()) == 3) == (
            shown == "own"
        )
        decide(intake, "retract", reason="Wrong labels.")
        settle(scorer)
        assert {answer.private for answer in public.answers(None)} == {None}
    public.close()
    intake.close()


@pytest.mark.slow
def test_a_freeze_hides_that_a_team_sends_more(folder: Path, layout: Layout) -> None:
    intake, config = Intake(layout.intake), folder / CONFIG_NAME
    with scorer_of(folder, layout) as scorer:
        send(layout, intake, "red", predictions(0))
        settle(scorer)
    public = Published(layout.public("race"))
    before = public.last_entries(["red", "blue"])
    assert before.keys() == {"red"}
    freeze = f"[public]\nfreeze = {datetime.now(UTC).isoformat()}\n"
    config.write_text(config.read_text().replace("[public]\n", freeze))
    with scorer_of(folder, layout) as scorer:
        for number, team in enumerate(("red", "blue"), 1):
            send(layout, intake, team, predictions(number))
            settle(scorer)
        assert [answer.status for answer in public.answers(None)] == ["accepted"] * 3
        assert public.last_entries(["red", "blue"]) == before
    public.close()
    intake.close()


def _document(public: Published, name: str) -> Any:
    document = public.document(name)
    assert document is not None
    return document.json()


@pytest.mark.slow
def test_settings_apply_while_the_server_runs(folder: Path, layout: Layout) -> None:
    """By the web or by hand; what cannot be adopted leaves the former ones, and is said."""
    stop, config = threading.Event(), folder / CONFIG_NAME
    thread = threading.Thread(target=run, args=(folder, "race", layout, stop))
    intake = Intake(layout.intake)
    thread.start()
    try:
        decide(intake, "configure", changes={"competition.title": ["", "Race"]}, texts={})
        published = _published(layout)
        title = partial(_published_title, published)
        _wait_until(lambda: title() == "Race")
        valid = config.read_text()
        config.write_text(valid.replace('"Race"', "Race"))
        _wait_until(lambda: "cannot be adopted" in (published.state().problem or ""))
        config.write_text(valid.replace('"Race"', '"Great race"'))
        (folder / "rules.md").write_text("# Other rules\n")
        _wait_until(lambda: title() == "Great race" and published.state().problem is None)
        rules = published.document("rules")
        assert rules is not None
        assert rules.body == b"# Other rules\n"
        published.close()
    finally:
        stop.set()
        thread.join(60)
        intake.close()


def _published(layout: Layout) -> Published:
    _wait_until(lambda: layout.public("race").exists())
    return Published(layout.public("race"))


def _published_title(published: Published) -> str:
    document = None
    with contextlib.suppress(sqlite3.OperationalError):  # the scorer is just starting
        document = published.document("competition")
    return "" if document is None else str(document.json()["title"])


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def settle(scorer: Scorer) -> None:
    while scorer.step():
        pass


def contents(layout: Layout) -> list[Any]:
    """Return everything that is published, without the times and averages."""
    public = Published(layout.public("race"))
    try:
        state = public.state()
        return [
            [replace(answer, judged="") for answer in public.answers(None)],
            [public.team(name) for name in ("red", "blue", "green")],
            [public.document(name) for name in ("competition", "board", "private", "rules")],
            [public.names(), state.phase, state.cursor, state.waiting, state.set_aside],
        ]
    finally:
        public.close()


@pytest.mark.slow
def test_a_file_is_kept_and_says_why_it_does_not_count(folder: Path, layout: Layout) -> None:
    intake = Intake(layout.intake)
    request = send(layout, intake, "red", predictions(1))
    decide(intake, "disqualify", submission=1, reason="copied from blue")
    send(layout, intake, "blue", predictions(3))
    decide(intake, "disqualify", team="blue", reason="two accounts")
    later = send(layout, intake, "blue", predictions(2))
    public = None
    for days, n_files in ((30.0, 3), (30.0, 3), (0.0, 0)):  # a restart says the same
        with scorer_of(folder, layout, days=days) as scorer:
            settle(scorer)
            public = public or Published(layout.public("race"))
            answer = public.answer(request.request)
            assert answer is not None
            assert (answer.status, answer.reason) == ("disqualified", "copied from blue")
            of_team = public.answer(later.request)
            assert of_team is not None
            assert (of_team.status, of_team.reason) == ("disqualified", "two accounts")
            assert len(list(layout.uploads.iterdir())) == n_files
    assert public is not None
    public.close()
    intake.close()


def test_requests_are_judged_and_published_in_order(folder: Path, layout: Layout) -> None:
    path, later = folder / CONFIG_NAME, timedelta()
    toml = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    section = "[competition]\n"
    path.write_text(toml.replace(section, f"{section}deadline = 2999-01-01T00:00:00Z\n"))

    def clock() -> datetime:
        return datetime.now(UTC) + later

    intake = Intake(layout.intake)
    requests = [
        send(layout, intake, team, predictions(n)) for n, team in enumerate(["red", "blue"])
    ]
    bad = send(layout, intake, "red", b"id,y\nr0,x\n")
    chosen = decide(intake, "select", "red", submissions=[1])
    with scorer_of(folder, layout, clock) as scorer:
        public = Published(layout.public("race"))
        (served,) = scorer._competition.events("server settings")
        rules = hashlib.sha256(b"# Rules\n").hexdigest()
        assert rules.startswith(served.payload["settings"]["server.rules_version"])
        assert (public.state().waiting, public.state().oldest) == (
            4,
            requests[0].received.isoformat(),
        )
        settle(scorer)
        public_facts = public.competition()
        assert public_facts is not None
        assert public_facts.mechanism_text.startswith("The public score is the exact score")
        first = public.answer(requests[0].request)
        assert first is not None
        assert (first.status, first.submission, first.selected) == ("accepted", 1, True)
        assert [row["team"] for row in public.board()] == sorted(
            ["red", "blue"], key=lambda team: -[a.released or 0 for a in public.answers(team)][-1]
        )
        rejected = public.answer(bad.request)
        assert rejected is not None
        assert rejected.status == "rejected"
        assert {"kind", "message", "row"} <= set(rejected.faults[0])
        facts = public.team("red")
        assert (facts.used_total, facts.used_day, facts.selected) == (1, 1, (1,))
        about = public.competition()
        assert about is not None
        assert (about.columns, about.rows, about.per_day) == (("id", "y"), 40, 3)
        assert about.server.max_waiting == 2_000
        rules = public.document("rules")
        assert rules is not None
        assert rules.body == b"# Rules\n"
        done = public.answer(chosen)
        assert done is not None
        assert (done.status, done.message) == ("done", "The selection is recorded.")
        assert not list(layout.uploads.iterdir())

        decide(intake, "rename", "blue", team="blue", to="green")
        early = decide(intake, "finalize")
        settle(scorer)
        refused = public.answer(early)
        assert refused is not None
        assert (refused.status, public.state().phase) == ("refused", "open")
        assert "finalize after it" in refused.message
        later = timedelta(days=365_000)
        assert public.document("next result") is None
        decide(intake, "finalize")
        settle(scorer)
        coming = public.document("next result")
        assert coming is not None
        assert {row["team"] for row in coming.json()["leaderboard"]} == {"red", "green"}
        assert public.document("private") is None
        decide(intake, "publish")
        settle(scorer)
        assert public.document("next result") is None
        private = public.document("private")
        assert private is not None
        published = private.json()
        assert {row["team"] for row in published["leaderboard"]} == {"red", "green"}
        # What could name files, count labels or accuse teams is not published.
        assert set(published) == {
            "metric", "greater_is_better", "level", "resamples", "verdicts",
            "best_score_corrected", "leaderboard", "mark", "version", "state", "published",
            "replaced", "retracted",
        }  # fmt: skip
        assert "file" not in published["leaderboard"][0]
        assert "effective_units" not in str(published)
        assert public.state().phase == "published"
        assert [answer.seq for answer in public.answers("green")] == [5, 2]
        public.close()
        before = contents(layout)
    # Everything published follows from the record and the queue.
    layout.public("race").unlink()
    with scorer_of(folder, layout, clock):
        assert contents(layout) == before
    intake.close()


@pytest.mark.slow
def test_what_fails_in_a_group_is_judged_alone_and_then_set_aside(
    folder: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake = Intake(layout.intake)
    for number in range(3):
        send(layout, intake, "red", predictions(number))
    groups: list[list[int]] = []
    process = Competition.process

    def failing(competition: Competition, requests: Any, **how: Any) -> Any:
        groups.append([request.seq for request in requests])
        if 2 in groups[-1]:
            raise RuntimeError("secret 0.123")
        return process(competition, requests, **how)

    monkeypatch.setattr(Competition, "process", failing)
    with scorer_of(folder, layout) as scorer:
        settle(scorer)
        assert groups == [[1, 2, 3], [1], [2], [3]]
        public = Published(layout.public("race"))
        assert public.state().set_aside == 1
        answers = public.answers("red")
        assert [answer.status for answer in answers] == ["accepted", "set_aside", "accepted"]
        assert "secret" not in str(answers)
        assert public.team("red").used_total == 2
        assert len(list(layout.uploads.iterdir())) == 1  # for the organiser
        public.close()
    intake.close()


@pytest.mark.slow
def test_what_ends_the_scorer_twice_is_not_tried_again(folder: Path, layout: Layout) -> None:
    intake = Intake(layout.intake)
    for number in range(2):
        send(layout, intake, "red", predictions(number))
    for current in ([1, 2], [1], [1]):
        Attempts.read(layout.attempts("race")).begin(current)
    with scorer_of(folder, layout) as scorer:
        settle(scorer)
        public = Published(layout.public("race"))
        assert [answer.status for answer in public.answers("red")] == ["accepted", "set_aside"]
        public.close()
    assert not layout.attempts("race").exists()
    intake.close()


@pytest.mark.slow
def test_after_an_error_of_duckdb_the_competition_is_opened_again(
    folder: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its log would grow until the server ends."""
    intake, stop, logs = Intake(layout.intake), threading.Event(), list[int]()
    log = folder / f"{DATABASE_NAME}.wal"
    opened = Competition.open
    settings = read_settings(folder / CONFIG_NAME).server
    with opened(folder) as competition, Scorer(competition, "race", layout, settings):
        pass  # the settings of the server are on record, and no longer in the log

    def fail_at_first(*given: Any, **how: Any) -> Competition:
        logs.append(log.stat().st_size if log.exists() else 0)
        competition = opened(*given, **how)
        if len(logs) > 1:
            stop.set()
            return competition
        with (
            pytest.raises(duckdb.Error, match="damaged"),
            competition._state.store.database.reading() as cursor,
        ):
            cursor.execute("SELECT error('damaged')")
        assert not competition.must_be_reopened  # its log is short
        send(layout, intake, "red", predictions(1))
        return competition

    monkeypatch.setattr(Competition, "open", fail_at_first)
    monkeypatch.setattr(database, "LONGEST_LOG", 1)
    watchdog = threading.Timer(300.0, stop.set)
    watchdog.start()
    run(folder, "race", layout, stop)
    watchdog.cancel()
    assert [bytes_ > 0 for bytes_ in logs] == [False, True]
    assert not log.exists()
    with opened(folder) as competition:
        assert len(competition.submissions()) == 1
        assert competition.audit() == ()
    intake.close()


def test_what_a_taken_over_web_process_writes_opens_no_other_file(
    folder: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "secret.csv").write_text("id,y\nr0,secret\n")
    (layout.uploads / "link").symlink_to(folder / "secret.csv")
    intake = Intake(layout.intake)
    for upload in ("link", "../../race/secret.csv", 7):
        intake.append(
            competition="race", team="red", member="7", kind="submit",
            payload={"upload": upload, "file": "mine.csv"},
        )  # fmt: skip
    checks = [intake.add_check("race", "link", "mine.csv")]
    checks.append(intake.add_check("race", Uploads(layout.uploads).put([b"id,y\n"]).name, ".."))
    with scorer_of(folder, layout) as scorer:

        def fail(*_: object) -> None:
            raise RuntimeError("secret")

        monkeypatch.setattr(Competition, "check_file", fail)
        settle(scorer)
        public = Published(layout.public("race"))
        assert [answer.status for answer in public.answers("red")] == ["set_aside"] * 3
        assert public.check(checks[0]) is None
        (fault,) = public.check(checks[1]) or ()
        assert fault["kind"] == "could not be checked"
        public.close()
    published = b"".join(path.read_bytes() for path in layout.public("race").parent.iterdir())
    assert b"secret" not in published
    intake.close()


@pytest.mark.slow
def test_an_older_queue_is_refused_and_a_new_one_continues(folder: Path, layout: Layout) -> None:
    intake = Intake(layout.intake)
    for number in range(2):
        send(layout, intake, "red", predictions(number))
    with scorer_of(folder, layout) as scorer:
        settle(scorer)
    intake.close()
    layout.intake.unlink()
    intake = Intake(layout.intake)
    with scorer_of(folder, layout) as scorer:
        assert send(layout, intake, "red", predictions(3)).seq == 3
        settle(scorer)
        public = Published(layout.public("race"))
        answers = public.answers("red")
        assert [(answer.seq, answer.submission) for answer in answers] == [(3, 3), (-1, 2), (-2, 1)]
        assert {answer.status for answer in answers} == {"accepted"}
        public.close()
    intake.close()
    layout.intake.unlink()
    intake = Intake(layout.intake)
    send(layout, intake, "red", predictions(1))
    with pytest.raises(StoreError, match="older copy of the queue"), scorer_of(folder, layout):
        pass
    intake.close()


def test_a_check_leaves_no_trace_on_record(folder: Path, layout: Layout) -> None:
    intake, uploads = Intake(layout.intake), Uploads(layout.uploads)
    files = {"good": predictions(1), "bad": b"id,y\nr0,x\n"}
    checks = {
        name: intake.add_check("race", uploads.put([content]).name, f"{name}.csv")
        for name, content in files.items()
    }
    with scorer_of(folder, layout) as scorer:
        events = len(scorer._competition.events())
        settle(scorer)
        public = Published(layout.public("race"))
        assert public.check(checks["good"]) == []
        faults = public.check(checks["bad"])
        assert faults
        assert {"kind", "message"} <= set(faults[0])
        intake.drop_check(checks["bad"])
        settle(scorer)
        assert public.check(checks["bad"]) is None
        assert len(scorer._competition.events()) == events
        public.close()
    intake.close()


def test_after_a_rescore_a_team_sees_its_standing_score_only(
    folder: Path, layout: Layout, tmp_path: Path
) -> None:
    """All its new scores together would tell which labels were corrected."""
    intake = Intake(layout.intake)
    for number in range(3):
        send(layout, intake, "red", predictions(number))
    with scorer_of(folder, layout) as scorer:
        settle(scorer)
        public = Published(layout.public("race"))
        before = {answer.submission: answer.released for answer in public.answers("red")}
        public.close()
    rng = np.random.default_rng(2)
    flipped = [(f"r{row}", int(rng.random() >= 0.5)) for row in range(N_ROWS)]
    write_csv(tmp_path / "flipped.csv", ["id", "y"], flipped)
    with Competition.open(folder) as competition:
        competition.rescore(tmp_path / "flipped.csv", apply=True)
        (row,) = competition.leaderboard()
    with scorer_of(folder, layout):
        public = Published(layout.public("race"))
        after = {answer.submission: answer.released for answer in public.answers("red")}
        about = public.competition()
        public.close()
    assert after == {**before, row["submission"]: row["score"]}
    assert row["score"] == pytest.approx(1 - before[row["submission"]])
    assert about is not None
    assert about.mark is not None
    assert about.mark["cause"] == "all submissions were scored again"


@pytest.mark.slow
def test_an_organiser_puts_teams_into_brackets(folder: Path, layout: Layout) -> None:
    config, intake = folder / CONFIG_NAME, Intake(layout.intake)
    config.write_text(f"{config.read_text()}\n[bracket.students]\n")
    with scorer_of(folder, layout) as scorer:
        public = Published(layout.public("race"))
        send(layout, intake, "red", predictions(0))
        settle(scorer)
        for team, member in (("red", True), ("late", True), ("red", True), ("late", False)):
            request = decide(intake, "bracket", team=team, bracket="students", member=member)
            settle(scorer)
            answer = public.answer(request)
            assert answer is not None
            if team == "late":  # also a team that has sent nothing
                teams = ["late", "red"] if member else ["red"]
                assert _document(public, "brackets") == {"students": teams}
                assert "brackets of the team late are recorded" in answer.message
        assert [row.get("brackets") for row in _document(public, "board")] == [
            {"students": {"rank": 1}}
        ]
        wrong = decide(intake, "bracket", team="red", bracket="masters", member=True)
        settle(scorer)
        refused = public.answer(wrong)
    assert refused is not None
    assert (refused.status, "There is no bracket 'masters'" in refused.message) == ("refused", True)


class Loop:
    """What the scorer looks at between two requests, and what it then did."""

    _board_due = _is_in_next_phase = False
    _swept_at = 100.0

    def __init__(self, *steps: Any, versions: tuple[int, ...] = ()) -> None:
        self.script, self.versions = [*steps], [*versions]
        self.done: list[Any] = []
        self._state = "state"
        self._publisher = SimpleNamespace(check_place=lambda: None, publish=self._publish)
        self._intake = SimpleNamespace(version=lambda: self.versions.pop(0))

    def _publish(self, state: str) -> None:
        self.done.append(state)

    def _has_new_settings(self) -> bool:
        return not self.versions

    def _set_state(self, **changes: Any) -> None:
        self.done.append(changes)

    def step(self) -> bool:
        self.done.append("step")
        outcome = self.script.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return bool(outcome)

    def sweep(self) -> None:
        self.done.append("sweep")

    def run(self, monkeypatch: pytest.MonkeyPatch, now: float) -> list[Any]:
        clock = SimpleNamespace(monotonic=lambda: now, sleep=self.done.append)
        monkeypatch.setattr("arena.server.scorer.scorer.time", clock)
        scorer: Any = self
        Scorer._judge_until(scorer, lambda: False)
        return self.done


def test_the_scorer_looks_at_the_queue_when_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The second look finds the same version: it only waits, or sweeps six hours after the last.
    steps = ["step", "step", "step"]
    for now, idle in ((21_700.0, [0.02]), (21_700.5, ["sweep", 0.02])):
        actions = Loop(True, False, False, versions=(5, 5, 6)).run(monkeypatch, now)
        assert actions == [*steps[:2], *idle, *steps[2:]]
    due = Loop(False, False, versions=(5, 5))
    due._board_due = True
    assert due.run(monkeypatch, 0.0) == ["step", "step"]


def test_the_scorer_tries_to_store_three_times_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    full = StoreError("The disk is full.")
    failed = ["step", {"problem": "The disk is full.", "busy_since": None}, "state", 5.0]
    # A request that was stored between two failures begins the count again.
    loop = Loop(full, full, True, full, full, False, versions=(5,) * 5)
    assert loop.run(monkeypatch, 0.0) == [*failed * 2, "step", *failed * 2, "step"]
    loop = Loop(full, full, full, versions=(5,) * 4)
    with pytest.raises(StoreError, match="disk is full"):
        loop.run(monkeypatch, 0.0)
    assert loop.done == [*failed * 2, "step"]


def test_the_next_change_of_a_phase_is_the_first_date_after_now() -> None:
    now = datetime(2026, 5, 6, tzinfo=UTC)
    days = [None, *((now + timedelta(days=days)).isoformat() for days in (-1, 0, 1, 2))]
    phases = [{"start": days[1], "end": days[4]}, {"start": days[3], "end": days[0]}]
    assert next_phase_change(phases, now) == now + timedelta(days=1)
    assert next_phase_change([{"start": days[1], "end": days[2]}], now) is None


class Attempting:
    """A scorer whose competition answers as the test says; ``steps`` are its attempts."""

    _server = SimpleNamespace(publish_seconds=2.0, checkers=3)

    def __init__(self, outcome: Any, *, hopeless: bool = False) -> None:
        self.steps: list[Any] = []
        self._attempts = SimpleNamespace(
            hopeless=lambda number: hopeless,
            begin=lambda numbers: self.steps.append(("begin", numbers)),
            end=lambda: self.steps.append("end"),
            failed=lambda numbers: self.steps.append(("failed", numbers)),
        )

        def process(requests: Any, **given: Any) -> Any:
            assert given == {"seconds": 2.0, "workers": 3}
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        self._competition = SimpleNamespace(
            process=process, set_aside=lambda request, reason: (request.seq, reason)
        )

    def judge(self, count: int) -> Any:
        scorer: Any = self
        requests: Any = [SimpleNamespace(seq=number) for number in range(5, 5 + count)]
        return Scorer._process_opened(scorer, requests)


def test_a_group_that_fails_is_tried_one_by_one_and_one_alone_is_set_aside() -> None:
    judged = Attempting(["answer"])
    assert (judged.judge(2), judged.steps) == (["answer"], [("begin", [5, 6])])
    failing = Attempting(ValueError("label 17"))
    assert (failing.judge(2), failing.steps) == ([], [("begin", [5, 6]), ("failed", [5, 6])])
    failing = Attempting(ValueError("broken"))
    assert failing.judge(1) == [(5, "Judging it failed: ValueError: broken")]
    full = Attempting(StoreError("full"))
    with pytest.raises(StoreError):
        full.judge(1)
    assert full.steps == [("begin", [5]), "end"]
    hopeless = Attempting([], hopeless=True)
    ((number, reason),) = hopeless.judge(2)
    assert (number, reason[:38], hopeless.steps) == (
        5,
        "The scorer crashed twice while it judg",
        [],
    )


def test_settings_are_read_again_when_their_files_changed(tmp_path: Path) -> None:
    config, rules = tmp_path / CONFIG_NAME, tmp_path / "rules.md"
    new, fault, text = False, "", "old"
    states: list[Any] = []
    scorer: Any = SimpleNamespace(
        _competition=SimpleNamespace(
            folder=tmp_path, has_new_settings=lambda: new, settings_fault=lambda: fault
        ),
        _server=SimpleNamespace(rules="rules.md"),
        _stamps=(), _fault=None, _rules="old", _state="state",
        _set_state=lambda **changes: states.append(changes["problem"]),
        _publisher=SimpleNamespace(publish=lambda state: None),
    )  # fmt: skip
    changes = 0

    def changed() -> bool:
        nonlocal changes
        changes += 1
        config.write_text("x" * changes)
        rules.write_text(text)
        return Scorer._has_new_settings(scorer)

    assert not changed()
    assert not Scorer._has_new_settings(scorer)
    new, fault = True, "It is wrong."
    assert not changed()
    assert not changed()  # the same problem is published once
    assert len(states) == 1
    assert "cannot be adopted" in states[0]
    new = False
    assert not changed()
    assert states[1:] == [None]
    text = "new"
    assert changed()
    new, fault, text = True, "", "old"
    assert changed()
    rules.unlink()
    assert Scorer._has_new_settings(scorer)
    assert not Scorer._has_new_settings(scorer)
