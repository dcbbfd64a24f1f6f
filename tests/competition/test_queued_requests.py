"""Requests of a queue are taken exactly once, in groups, and leave one event each."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition import rescore
from arena.competition.boards import finalize
from arena.competition.boards.results import PUBLISHED
from arena.competition.competition import Competition
from arena.competition.queue import answers as queued_answers
from arena.competition.queue import decisions as queued_decisions
from arena.competition.queue import processing
from arena.competition.queue.answers import answers_in
from arena.competition.queue.decisions import Decision
from arena.competition.state import CompetitionState
from arena.competition.submit import ReadFile
from arena.errors import InputError, MetricError, StoreError, UsageError
from arena.intake import ReadSubmission, SubmissionFile
from arena.plugin.manager import PluginManager
from arena.requests import Answer, Request
from arena.store import Transaction
from arena.store.digests import document_digest
from arena.types import Fault, SubmissionRecord
from scenario import SOLUTION, START, TRUTH, Scenario


def submit(tmp_path: Path, seq: int, team: str = "a", number: int | None = None) -> Request:
    path = Scenario(tmp_path).file(seq if number is None else number)
    return Request(
        seq=seq,
        request=f"request-{seq}",
        kind="submit",
        team=team,
        member="7",
        received=START,
        payload={"file": "sent.csv"},
        path=path,
    )


def decision(seq: int, kind: str, sender: str = "", **payload: Any) -> Request:
    return Request(
        seq=seq,
        request=f"request-{seq}",
        kind=kind,
        team=sender,
        member="7",
        received=START,
        payload=payload,
    )


def process_all(competition: Competition, requests: Sequence[Request]) -> Iterator[Answer]:
    while requests := [request for request in requests if request.seq > competition.cursor]:
        yield from competition.process(requests, seconds=60.0)


def events_of(competition: Competition) -> list[int]:
    assert competition.audit() == ()
    requests = [event.payload.get("request") for event in competition.events()]
    return [request["seq"] for request in requests if request is not None]


@pytest.mark.slow
def test_a_group_gives_what_single_submissions_give(tmp_path: Path, scenario: Scenario) -> None:
    public = {"mechanism": "ladder-free", "scope": "rank"}
    requests = [submit(tmp_path, seq, f"team {seq % 3}") for seq in range(1, 9)]
    with scenario.create(**public) as competition:
        (*answers,) = process_all(competition, requests)
        grouped = competition.leaderboard()
        assert events_of(competition) == list(range(1, 9))
        assert competition.cursor == 8
        assert competition.last_answer() == answers_in(competition.events())["request-8"][0]
        backwards = competition._state.store.last_events(block=3)
        assert tuple(reversed(list(backwards))) == competition.events()
        answered = answers_in(competition.events())
        for answer in answers:
            assert answered[answer.request] == [answer]
            assert answer.receipt == competition._state.store.receipt(answer.seq)
        record = competition.records()[0]
        assert (record.file, record.received) == ("sent.csv", START.isoformat())
        assert {event.actor for event in competition.events()[1:]} == {"member 7"}
    (tmp_path / "single").mkdir()
    with Scenario(tmp_path / "single", clock=scenario.clock).create(**public) as competition:
        for request in requests:
            assert request.path is not None
            competition.submit(request.path, request.team)
        assert competition.leaderboard() == grouped


@pytest.mark.slow
def test_a_group_that_fails_is_not_stored_and_can_be_taken_again(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [submit(tmp_path, seq, number=1) for seq in range(1, 4)]
    append = Transaction.append_event

    def fail(transaction: Transaction, kind: str, actor: str, payload: Any, **time: Any) -> Any:
        if payload["request"]["seq"] == 2:
            raise RuntimeError
        return append(transaction, kind, actor, payload, **time)

    scored: list[int] = []  # the plugins hear of what is stored, and of nothing else

    def hear(_: PluginManager, record: SubmissionRecord, *rest: Any) -> None:
        scored.append(record.submission)

    monkeypatch.setattr(PluginManager, "submission_scored", hear)
    with scenario.create(total=2) as competition:
        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "append_event", fail)
            with pytest.raises(RuntimeError):
                competition.process(requests, seconds=60.0)
            assert (competition.cursor, competition.submissions(), scored) == (0, [], [])
            assert len(competition.process(requests, seconds=0.0)) == 1
        set_aside = competition.set_aside(requests[1], "It failed.")
        assert (set_aside.status, competition.cursor) == ("set_aside", 2)
        # What was set aside has used no place, and the same file is a new submission.
        (last,) = process_all(competition, requests)
        assert (last.status, events_of(competition)) == ("accepted", [1, 2, 3])
        assert scored == [1, 2]
        with pytest.raises(UsageError, match="up to 3"):
            competition.process(requests)
        (refused,) = competition.process([submit(tmp_path, 9)])
        assert refused.status == "refused"
        assert [answer.status for (answer,) in answers_in(competition.events()).values()] == [
            "accepted",
            "set_aside",
            "accepted",
            "refused",
        ]


@pytest.mark.slow
def test_a_failure_after_the_commit_is_not_taken_again(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Transaction) -> None:
        raise StoreError("The journal cannot be written.")

    requests = [submit(tmp_path, seq) for seq in (1, 2)]
    with scenario.create(total=1) as competition:
        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "acknowledge", fail)
            with pytest.raises(StoreError):
                competition.process(requests, seconds=60.0)
        assert competition.cursor == 2
        assert events_of(competition) == [1, 2]


def test_a_choice_is_of_the_phase_that_a_request_names(tmp_path: Path, scenario: Scenario) -> None:
    phases = {
        name: {"public_rows": usage, "private_rows": (), "end": "2999-01-01"}
        for name, usage in (("dev", "Public"), ("final", "Private"))
    }
    with scenario.create(phase=phases, final_rule="chosen") as competition:
        for number, phase in enumerate(phases, start=1):
            competition.submit(scenario.file(number), "a", phase=phase)
            competition.select("a", [number])
        for seq, phase, left in ((1, "final", [1]), (2, "dev", []), (3, "gone", [])):
            request = decision(seq, "select", "a", submissions=[], phase=phase)
            (answer,) = process_all(competition, [request])
            assert answer.status == ("done" if phase in phases else "refused")
            assert competition.selections()["a"] == left


@pytest.mark.slow
def test_a_deadline_and_a_day_follow_what_was_received(tmp_path: Path, scenario: Scenario) -> None:
    deadline, midnight = START + timedelta(hours=2), START + timedelta(hours=1)
    whens = [
        midnight - timedelta(microseconds=1),
        midnight - timedelta(microseconds=1),
        midnight,
        deadline,
        deadline + timedelta(microseconds=1),
    ]
    requests = [
        replace(submit(tmp_path, seq, number=seq), received=when)
        for seq, when in enumerate(whens, start=1)
    ]
    late = replace(decision(6, "select", "a", submissions=[1]), received=whens[-1])
    in_time = replace(decision(7, "select", "a", submissions=[3]), received=deadline)
    scenario.clock.now = START + timedelta(days=3)
    with scenario.create(deadline=deadline, per_day=1) as competition:
        (*answers,) = process_all(competition, [*requests, late, in_time])
        faults = [answer.faults for answer in answers if answer.submission is not None]
        kinds = [[fault["kind"] for fault in faults_of_file] for faults_of_file in faults]
        assert kinds == [[], ["limit"], [], ["limit"], ["deadline"]]
        assert [answer.status for answer in answers[-2:]] == ["refused", "done"]
        assert "--late" not in answers[-2].message
        assert [row["submission"] for row in competition.submissions() if row["selected"]] == [3]
        # These requests can be forged, their times included, but they wait for the deadline.
        ends = [
            replace(decision(8 + position, kind), received=whens[-1])
            for position, kind in enumerate(("finalize", "publish"))
        ]
        scenario.clock.now = deadline
        assert [answer.status for answer in process_all(competition, ends)] == [
            "refused",
            "refused",
        ]
        assert competition.published_private_leaderboard() is None
        scenario.clock.now = whens[-1]
        again = [decision(10, "finalize"), decision(11, "publish")]
        assert [answer.status for answer in process_all(competition, again)] == ["done", "done"]


@pytest.mark.slow
def test_a_file_that_ends_its_reader_twice_is_set_aside(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [submit(tmp_path, seq) for seq in range(1, 4)]
    examine, read = CompetitionState.examine, []

    def crashing(state: CompetitionState, files: Any, **rules: Any) -> Iterator[Any]:
        for file, read_file in examine(state, files, **rules):
            read.append(file.path)
            crashed = file.path == requests[1].path or read.count(requests[0].path) == 1 == len(
                read
            )
            ended = ReadSubmission(None, (Fault("unreadable file", ""),), "", crashed=True)
            yield file, ended if crashed else read_file

    monkeypatch.setattr(CompetitionState, "examine", crashing)
    with scenario.create(total=2) as competition:
        (*answers,) = process_all(competition, requests)
        assert [answer.status for answer in answers] == ["accepted", "set_aside", "accepted"]
        assert events_of(competition) == [1, 2, 3]
        (event,) = [
            event for event in competition.events() if event.kind == queued_answers.SET_ASIDE
        ]
        assert "crashed twice" in event.payload["for_organiser"]
        assert event.payload["sha256"] is not None


@pytest.mark.slow
def test_an_upload_that_was_changed_after_it_was_received_is_set_aside(
    tmp_path: Path, scenario: Scenario
) -> None:
    """As a flipped bit of the disk changes it, or who can write to the folder of uploads."""
    requests = []
    for seq in (1, 2, 3):
        request = submit(tmp_path, seq)
        assert request.path is not None
        digest = hashlib.sha256(request.path.read_bytes()).hexdigest()
        requests.append(replace(request, payload={**request.payload, "sha256": digest}))
    changed = scenario.file(2)
    changed.write_bytes(changed.read_bytes().replace(b"r7,", b"r7,0."))
    with scenario.create(total=2) as competition:
        answers = list(process_all(competition, requests))
        assert [answer.status for answer in answers] == ["accepted", "set_aside", "accepted"]
        assert events_of(competition) == [1, 2, 3]
        (event,) = [
            event for event in competition.events() if event.kind == queued_answers.SET_ASIDE
        ]
        assert "changed or damaged after it was received" in event.payload["for_organiser"]


@pytest.mark.slow
def test_without_a_deadline_finalizing_ends_the_competition(
    tmp_path: Path, scenario: Scenario
) -> None:
    later = START + timedelta(seconds=1)
    requests = [
        decision(1, "publish"),
        submit(tmp_path, 2, "a"),
        decision(3, "finalize"),
        decision(4, "publish"),
        submit(tmp_path, 5, "a"),  # its last byte came before
        *(
            replace(request, received=later)
            for request in (
                submit(tmp_path, 6, "a"),
                decision(7, "select", "a", submissions=[2]),
                decision(8, "withdraw", "a", submission=1),
                decision(9, "pause", reason="It is over."),
            )
        ),
    ]
    with scenario.create() as competition:
        assert not competition.has_ended
        (*answers,) = process_all(competition, requests)
        over, (early, *_) = answers[5:8], answers
        assert [answer.status for answer in answers] == [
            "refused", "accepted", "done", "done", "accepted", *["refused"] * 3, "done"
        ]  # fmt: skip
        assert "finalize first" in early.message
        assert {answer.message.partition(":")[0] for answer in over} == {"The competition is over"}
        assert competition.published_private_leaderboard() is not None
        assert competition.has_ended
        assert events_of(competition) == list(range(1, 10))


@pytest.mark.slow
def test_a_team_that_sent_nothing_is_merged(tmp_path: Path, scenario: Scenario) -> None:
    requests = [
        decision(1, "merge", team="a", into="b"),
        submit(tmp_path, 2, "a"),
        decision(3, "merge", team="c", into="a"),
        decision(4, "merge", team="a", into="d"),
    ]
    with scenario.create() as competition:
        (*answers,) = process_all(competition, requests)
        assert {answer.status for answer in answers} == {"accepted", "done"}
        assert events_of(competition) == [1, 2, 3, 4]
        assert [row["team"] for row in competition.leaderboard()] == ["d"]
        assert competition.current_names() == dict.fromkeys("abc", "d")
        recorded = answers_in(competition.events())
        assert [recorded[answer.request][0].message for answer in answers] == [
            answer.message for answer in answers
        ]


@pytest.mark.slow
def test_a_team_that_sent_nothing_is_renamed(tmp_path: Path, scenario: Scenario) -> None:
    requests = [
        decision(1, "rename", "a", team="a", to="b"),
        submit(tmp_path, 2, "a"),  # sent before its account had the new name
        submit(tmp_path, 3, "b"),
        submit(tmp_path, 4, "c"),
        decision(5, "rename", "d", team="d", to="c"),
        decision(6, "rename", "d", team="d", to="a"),
    ]
    with scenario.create() as competition:
        (*answers,) = process_all(competition, requests)
        assert [answer.status for answer in answers] == [
            "done",
            *["accepted"] * 3,
            "refused",
            "refused",
        ]
        assert {row["team"] for row in competition.leaderboard()} == {"b", "c"}
        assert competition.quota_used("b") == 2
        assert events_of(competition) == list(range(1, 7))


@pytest.mark.slow
def test_answers_that_the_web_process_reads_quote_no_label(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Exception] = [InputError("a secret label"), ValueError("a secret label")]

    def fail(*_: object) -> None:
        raise raised.pop()

    monkeypatch.setattr(rescore, "rescore", fail)
    with scenario.create() as competition:
        (scenario.folder / queued_decisions.CORRECTED_NAME).touch()
        (*answers,) = process_all(competition, [decision(seq, "rescore") for seq in (1, 2)])
        (nothing,) = process_all(competition, [decision(3, "finalize")])
        assert "no accepted submission" in nothing.message
        raised.append(MetricError("a secret label"))
        monkeypatch.setattr(finalize, "finalize", fail)
        answers += process_all(competition, [decision(4, "finalize")])
        for answer, command in zip(answers, ("rescore", "rescore", "finalize"), strict=True):
            assert (answer.status, f"run arena {command}" in answer.message) == ("refused", True)
            assert "secret" not in answer.message
        assert "secret" not in str([event.payload for event in competition.events()])


@pytest.mark.slow
def test_the_published_board_has_the_public_scores_that_were_released(
    tmp_path: Path, scenario: Scenario
) -> None:
    requests = [submit(tmp_path, seq, team) for seq, team in enumerate("abca", start=1)]
    end = [decision(5, "finalize"), decision(6, "publish")]
    scenario.clock.now = START + timedelta(days=1)
    with scenario.create(deadline=START, mechanism="ladder(eta=0.1)") as competition:
        assert len(list(process_all(competition, [*requests, *end]))) == 6
        released = {row["submission"]: row["released"] for row in competition.submissions()}
        ranks = {row["team"]: row["rank"] for row in competition.leaderboard()}
        published = competition.published_private_leaderboard()
        assert published is not None
        for row in published["leaderboard"]:
            assert row["public_score"] == released[row["submission"]]
            assert row["public_rank"] == ranks[row["team"]]
        exact = {
            row["submission"]: row["public_score"] for row in competition.private_leaderboard()
        }
        assert any(released[team] != score for team, score in exact.items())


@pytest.mark.slow
def test_a_rescore_is_applied_by_the_code_of_its_preview(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create() as competition:
        requests = [submit(tmp_path, 1, "a"), submit(tmp_path, 2, "b"), decision(3, "rescore")]
        (*_, nothing) = process_all(competition, requests)
        assert (nothing.status, "nothing to rescore" in nothing.message) == ("refused", True)
        corrected = scenario.write("corrected", {**SOLUTION, "y": 1 - TRUTH})
        corrected.rename(scenario.folder / queued_decisions.CORRECTED_NAME)
        (preview,) = process_all(competition, [decision(4, "rescore")])
        assert "Labels differ from the stored solution in 200 of 200 rows." in preview.message
        assert "2 their score. This releases the scores of 2 teams again" in preview.message
        code = preview.message.removesuffix(".").rpartition(" ")[2]
        (wrong,) = process_all(competition, [decision(5, "rescore", preview="0" * 12)])
        assert (wrong.status, "Preview the rescore again" in wrong.message) == ("refused", True)
        (late, again) = process_all(
            competition, [submit(tmp_path, 6, "c"), decision(7, "rescore", preview=code)]
        )
        assert (late.status, again.status) == ("accepted", "refused")
        (renewed,) = process_all(competition, [decision(8, "rescore")])
        code = renewed.message.removesuffix(".").rpartition(" ")[2]
        (applied,) = process_all(competition, [decision(9, "rescore", preview=code)])
        assert applied.status == "done"
        assert [event.kind for event in competition.events()][-2:] == ["rescored", "board rebuilt"]
        assert events_of(competition) == list(range(1, 10))
        recorded = answers_in(competition.events())
        assert [recorded[answer.request][0].message for answer in (preview, applied)] == [
            preview.message,
            applied.message,
        ]
        (after,) = process_all(competition, [decision(10, "rescore")])
        assert "Labels differ from the stored solution in 0 of 200 rows." in after.message


@pytest.mark.slow
def test_decisions_and_their_refusals_leave_one_event_each(
    tmp_path: Path, scenario: Scenario
) -> None:
    requests = [
        submit(tmp_path, 1, "a"),
        submit(tmp_path, 2, "b"),
        decision(3, "publish"),
        decision(4, "disqualify", submission=1, reason="shared"),
        decision(5, "undo", submission=1, reason="a mistake"),
        decision(6, "rename", "b", team="b", to="c"),
        decision(7, "select", "b", submissions=[2]),
        decision(8, "select", "a", submissions=[2]),
        decision(9, "select", "a"),
        decision(10, "finalize"),
        decision(11, "publish"),
        submit(tmp_path, 12, "b"),
        decision(13, "merge", team="a", into="c"),
        replace(submit(tmp_path, 14), path=tmp_path / "lost.csv"),
        decision(15, "rescore"),
        decision(16, "disqualify", submission=99, reason="shared"),
    ]
    scenario.clock.now = START + timedelta(days=1)
    with scenario.create(deadline=START) as competition:
        (*answers,) = process_all(competition, requests)
        assert events_of(competition) == list(range(1, 17))
        refused = {answer.seq: answer.message for answer in answers if answer.status == "refused"}
        assert list(refused) == [3, 8, 9, 15, 16]
        assert "There is nothing to rescore" in refused[15]
        assert refused[16] == "There is no submission 99."
        assert refused[9] == "The request is incomplete."
        assert answers[11].team == "c"
        assert answers[13].status == "set_aside"
        for answer in answers:
            (known_answer,) = answers_in(competition.events())[answer.request]
            assert (known_answer.status, known_answer.message) == (answer.status, answer.message)
        (published,) = competition.events(PUBLISHED)
        assert published.payload["sha256"] == document_digest(competition.final_result())


def test_a_team_asks_for_nothing_after_a_competition_was_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none: Any = None
    ended = START
    monkeypatch.setattr(processing, "ended_by_finalizing", lambda state: ended)
    for sender, seconds, is_refused in (
        ("a", 0, False), ("a", 1, True), ("a", -1, False), ("", 1, False),
    ):  # fmt: skip
        request = decision(1, "select", sender)
        request = replace(request, received=START + timedelta(seconds=seconds))
        refusal = pytest.raises(UsageError, match="^The competition is over: its final result")
        with refusal if is_refused else contextlib.nullcontext():
            processing.require_in_time(none, request)
    monkeypatch.setattr(processing, "ended_by_finalizing", lambda state: None)
    processing.require_in_time(none, decision(1, "select", "a"))


def test_a_decision_on_a_board_is_carried_out_in_its_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boards_seen: list[Any] = []

    def carry_out(board: str, request: Request) -> None:
        boards_seen.append(board)

    decisions = {"publish": Decision(carry_out, of_phase=True), "pause": Decision(carry_out)}
    monkeypatch.setattr(processing, "DECISIONS", decisions)
    monkeypatch.setattr(processing, "_for", lambda board, request: f"for {board}")
    monkeypatch.setattr(processing, "require_in_time", lambda *_: None)
    monkeypatch.setattr(
        processing, "require_deadline_passed", lambda board, kind: boards_seen.append(f"{board}")
    )
    for kind, boards in (("publish", ["dev", "for dev"]), ("pause", ["all", "for all"])):
        boards_seen.clear()
        request = decision(1, kind, phase="dev")
        answer = request.answer("", "done", "Done.")
        monkeypatch.setattr(processing, "last_answer", lambda store, answer=answer: answer)
        assert processing.decide_request(PhasesByName(), request) == answer  # type: ignore[arg-type]
        assert boards_seen == boards


def test_a_group_is_the_first_files_that_exist_and_are_small_enough_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processing, "_GROUP_BYTES", 10)

    def file(size: int) -> Request:
        path = tmp_path / f"{size}.csv"
        path.write_bytes(b"x" * size)
        return replace(decision(size, "submit", "a", file="a.csv"), path=path)

    absent = replace(file(1), path=tmp_path / "absent.csv")
    without, run = replace(file(1), path=None), replace(file(1), payload={"run": {}})
    for requests, n_taken in (
        ([file(4), file(6), file(0), file(1)], 3),
        ([file(11)], 1),
        ([file(11), file(0)], 1),
        ([file(1), decision(2, "pause"), file(2)], 1),
        *(([file(1), other, file(2)], 1) for other in (absent, without, run)),
        ([absent, file(1)], 0),
    ):
        assert list(processing.group_of_submissions(requests)) == requests[:n_taken]


def test_files_are_read_up_to_the_first_that_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file whose reader process crashed is read once more, alone."""
    good, crashed = (
        ReadFile(
            SubmissionFile("a", Path(), "a.csv"),
            {"": ReadSubmission(None, (), digest, crashed=not digest)},
        )
        for digest in ("ab", "")
    )
    unread = replace(good, by_phase={"": ReadSubmission(None, (), "")})
    requests = [replace(decision(n, "submit", "a", file="a.csv"), path=Path()) for n in (1, 2, 3)]
    changed = replace(requests[1], payload={"file": "a.csv", "sha256": "cd"})
    same = replace(requests[1], payload={"file": "a.csv", "sha256": "ab"})
    twice = "The process that reads files crashed twice while it read this one."
    damaged = "The uploaded file was changed or damaged after it was received."
    for first_read, alone, second, n_read, reason in (
        ([good, good, good], [], same, 3, ""),
        ([good, crashed, good], [good], requests[1], 3, ""),
        ([good, crashed, good], [crashed], requests[1], 1, twice),
        ([good, crashed, good], [good], changed, 1, damaged),
        ([good, good, good], [], changed, 1, damaged),
        ([good, unread, good], [], changed, 3, ""),
        ([crashed, good, good], [crashed], requests[1], 0, twice),
    ):
        reads = {3: iter(first_read), 1: iter(alone)}

        def read(
            state: Any, files: Any, destinations: Any, *, workers: int, reads: Any = reads
        ) -> Iterator[ReadFile]:
            assert workers == {3: 2, 1: 1}[len(files)]
            return reads[len(files)]

        monkeypatch.setattr(processing, "read_for_phases", read)
        monkeypatch.setattr(processing, "fitting_answers_of", lambda *_: {})
        group, state = [requests[0], second, requests[2]], PhasesByName()
        destinations: Any = ["", "", ""]
        queued, why = processing.read_group(state, group, destinations, 2)  # type: ignore[arg-type]
        keys = [f"request-{n}" for n in (1, 2, 3)]
        assert ([of_file[0].key for of_file in queued], why) == (keys[:n_read], reason)


def test_a_result_is_computed_after_the_deadline() -> None:
    section = SimpleNamespace()
    settings = SimpleNamespace(competition=section)
    state: Any = SimpleNamespace(settings=settings, clock=lambda: START)
    for section.deadline in (None, START - timedelta(microseconds=1)):
        processing.require_deadline_passed(state, "select")
        processing.require_deadline_passed(state, "finalize")
    section.deadline = START
    processing.require_deadline_passed(state, "select")
    with pytest.raises(UsageError) as refused:
        processing.require_deadline_passed(state, "finalize")
    assert str(refused.value) == (
        "The competition ends at 2026-03-01 23:00 UTC: finalize after it, or set an earlier "
        "[competition] deadline."
    )


class PhasesByName:
    """A competition whose phases are their names."""

    store = None

    def in_phase(self, name: str) -> str:
        return name

    def __str__(self) -> str:
        return "all"


@pytest.mark.parametrize(
    ("kinds", "forgets", "reads_again"),
    [
        (["submission", "submission"], False, False),
        (["submission", "rename"], True, False),
        (["merge"], True, False),
        (["rescore"], True, True),
        (["rename", "submission"], False, False),
    ],
)
def test_the_last_answer_moves_the_cursor_and_says_what_is_read_again(
    monkeypatch: pytest.MonkeyPatch, kinds: list[str], forgets: bool, reads_again: bool
) -> None:
    answers = [SimpleNamespace(kind=kind, seq=number) for number, kind in enumerate(kinds, start=5)]
    monkeypatch.setattr(processing, "process_requests", lambda *_, **__: answers)
    read: list[str] = []
    competition: Any = SimpleNamespace(
        cursor=4, _cursor=[4], _state=SimpleNamespace(store="store"), _handler="handler",
        _open_handler=None, _read_again=lambda: read.append("again"),
    )  # fmt: skip
    assert Competition.process(competition, [SimpleNamespace(seq=5)]) == answers  # type: ignore[list-item]
    assert competition._cursor == [4 + len(kinds)]
    assert (competition._handler is None, bool(read)) == (forgets, reads_again)
    for requests in ([], [SimpleNamespace(seq=4), SimpleNamespace(seq=5)]):
        with pytest.raises(UsageError, match="Requests up to 4 were processed before"):
            Competition.process(competition, requests)  # type: ignore[arg-type]


def test_a_request_that_fails_leaves_the_cursor_of_what_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(processing, "process_requests", fail)
    monkeypatch.setattr(queued_answers, "cursor_of", lambda store: f"cursor of the {store}")
    competition: Any = SimpleNamespace(
        cursor=4, _cursor=[4], _state=SimpleNamespace(store="store"), _handler="handler",
        _open_handler=None,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        Competition.process(competition, [SimpleNamespace(seq=5)])  # type: ignore[list-item]
    assert (competition._cursor, competition._handler) == (["cursor of the store"], None)
