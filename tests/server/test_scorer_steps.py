"""What the scorer does and publishes in each of its steps, worked out by hand."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import StoreError
from arena.requests import Answer, Request
from arena.server.records.published import State, TeamFacts
from arena.server.scorer import scorer as module
from arena.server.scorer.attempts import Attempts
from arena.server.scorer.scorer import Scorer
from arena.types import Fault

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
DAY = "2026-05-06"


def request_of(seq: int, kind: str = "submit", **payload: Any) -> Request:
    return Request(
        seq, f"q{seq}", kind=kind, team="red", member=f"m{seq}", received=NOW, payload=payload
    )


def submission_of(number: int, team: str, phase: str, **others: Any) -> tuple[Any, Any]:
    """Return the row and the record of a submission."""
    row = {
        "team": team, "phase": phase, "status": "accepted", "selected": False, "late": False,
        "released": number / 10, "source": number, **others,
    }  # fmt: skip
    record = SimpleNamespace(
        submission=number, team=team, phase=phase, file=f"{number}.csv", received=f"on {number}",
        sha256=str(number), faults=(Fault("kind", f"fault {number}"),),
    )  # fmt: skip
    return row, record


def test_a_scorer_that_starts_publishes_what_the_record_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Phase two hides its scores; submissions 2, 3, 6, 8 and 9 keep those from before a rebuild."""
    submissions = {
        1: submission_of(1, "red", "one", selected=True, late=True),
        2: submission_of(2, "red", "one", source=1),
        3: submission_of(3, "blue", "two"),
        4: submission_of(4, "blue", "one", status="disqualified"),
        5: submission_of(5, "old", "one"),
        6: submission_of(6, "old", "one"),
        7: submission_of(7, "older", "two"),
        8: submission_of(8, "red", "one", source=1),
        9: submission_of(9, "red", "one", source=1),
    }

    def answer(number: int, released: float | None = None) -> Answer:
        team = submissions[number][0]["team"]
        return Answer("", 0, team, "submit", "", submission=number, released=released, source=2)

    recorded = {
        "q1": [answer(1, 0.1)],
        "q2": [answer(2, 0.9), answer(4, 0.4)],
        "q4": [Answer("", 0, "red", "select", "done", message="Chosen.")],
        "q5": [answer(3, 0.9), answer(8)],  # the score of 8 was hidden when it was judged
        "q6": [answer(9, 0.9)],  # the score of 9 was released after the rebuild
    }
    boards = [
        SimpleNamespace(
            phase=phase,
            settings=SimpleNamespace(public=SimpleNamespace(scores=scores)),
            private_scores_for_teams=lambda scores=private: scores,
        )
        for phase, scores, private in (
            ("one", "shown", {1: (0.25, 2), 5: (0.75, 1)}), ("two", "hidden", {3: (0.5, 3)}),
        )
    ]  # fmt: skip
    competition: Any = SimpleNamespace(
        cursor=6,
        current_names=lambda: {"red": "green"},
        answers=lambda: recorded,
        submissions=lambda: [{"submission": n, **row} for n, (row, _) in submissions.items()],
        records=lambda: [record for _, record in submissions.values()],
        disqualified=lambda: {4: "copied"},
        in_each_phase=lambda: boards,
        last_entries=lambda: {"red": "on 2"},
        released_again=lambda: {1, 2, 3, 6},
        phases=lambda: [{"start": None, "end": "2026-05-07T00:00:00+00:00"}],
        exemptions=lambda: [{"team": "ill"}],
    )
    published: list[Any] = []
    scorer: Any = SimpleNamespace(
        _competition=competition, _name="race", _server="server", _clock=lambda: NOW,
        _intake=Queue(1, 2, 3, 4, 5, 6, 7), _ranks_before=lambda: {"ranks before": "ranks"},
        _note_end=published.append, _state="state",
        _set_state=lambda **changes: published.append(changes), _team_facts=sorted,
        _publisher=SimpleNamespace(publish=lambda **what: published.append(what)),
        _published=lambda request, answer: Scorer._published(scorer, request, answer),
        _all_judged=lambda: Scorer._all_judged(scorer),
    )  # fmt: skip

    def kept_scores(argument: Any, numbers: Any) -> set[int]:
        assert argument is competition
        assert {*numbers} == {*submissions}
        return {2, 3, 6, 8, 9}

    monkeypatch.setattr(module, "kept_after_a_rebuild", kept_scores)
    content = {"private": "the board", "rules": None}
    monkeypatch.setattr(
        module,
        "documents",
        lambda *arguments: content if arguments == (competition, "race", "server") else 0,
    )
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 77.0))
    with caplog.at_level(logging.WARNING):
        Scorer._publish_everything(scorer)
    assert caplog.messages == ["The record lacks request 3: it was never judged."]
    private, state, what = published
    assert (private, state) == ("the board", {"cursor": 6, "set_aside": 0})
    answers = what.pop("answers")
    assert what == {
        "teams": ["blue", "green", "ill", "old", "older", "red"], "names": {"red": "green"},
        "documents": {**content, "ranks before": "ranks"}, "state": "state", "replace_all": True,
    }  # fmt: skip
    rows = [
        (a.submission, a.team, a.status, a.released, a.source, a.before_rebuild, a.private_rank)
        for a in answers
    ]
    assert rows == [
        (1, "red", "accepted", 0.1, None, False, 2),
        (2, "red", "accepted", 0.9, None, True, None),  # as before the rebuild
        (4, "blue", "disqualified", 0.4, None, False, None),
        (None, "green", "done", None, None, False, None),
        (3, "blue", "accepted", None, None, False, 3),  # hidden
        (8, "red", "accepted", 0.8, 1, False, None),
        (9, "red", "accepted", 0.9, 2, False, None),
        (5, "old", "accepted", 0.5, None, False, 1),
        (6, "old", "accepted", None, None, False, None),  # unknown before the rebuild
        (7, "older", "accepted", None, None, False, None),  # hidden
    ]
    assert [a.private for a in answers if a.private is not None] == [0.25, 0.5, 0.75]
    assert [a.seq for a in answers[-3:]] == [-3, -2, -1]
    assert [a.reason for a in answers].count("copied") == 1
    assert (answers[2].reason, answers[0].selected, answers[0].late) == ("copied", True, True)
    unjudged = answers[7]
    assert (unjudged.received, unjudged.judged, unjudged.kind) == ("on 5", "on 5", "submit")
    assert (unjudged.file, unjudged.phase, unjudged.sha256) == ("5.csv", "one", "5")
    assert unjudged.faults[0]["message"] == "fault 5"
    assert (answers[0].sha256, answers[0].faults[0]["message"]) == ("1", "fault 1")
    assert (answers[3].message, answers[3].member) == ("Chosen.", "m4")
    assert (scorer._names, scorer._last) == ({"red": "green"}, {"red": "on 2"})
    assert scorer._next_phase == datetime(2026, 5, 7, tzinfo=UTC)
    assert (scorer._board_at, scorer._board_due) == (77.0, False)


class Queue:
    """The queue of the server, with requests of these numbers."""

    def __init__(self, *numbers: int) -> None:
        self.requests = [request_of(number) for number in numbers]

    def after(self, name: str, sequence: int, most: int) -> list[Request]:
        assert name == "race"
        return [request for request in self.requests if request.seq > sequence][: min(most, 2)]

    def waiting(self, name: str, sequence: int) -> int:
        assert name == "race"
        return sum(request.seq > sequence for request in self.requests)


def test_a_step_judges_the_next_group_and_averages_its_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Any] = []

    def step(n_waiting: int, *, alone: bool = False, before: Any = None, n_judged: int = 2) -> Any:
        seconds = iter([100.0, 106.0])
        clock = SimpleNamespace(monotonic=lambda: next(seconds), time=lambda: 9.0)
        monkeypatch.setattr(module, "time", clock)
        waiting = [request_of(seq) for seq in range(5, 5 + n_waiting)]
        scorer: Any = SimpleNamespace(
            _is_in_next_phase=alone, _publish_everything=lambda: steps.append("everything"),
            _board_due=before is not None, _publish_board=lambda: steps.append("board"),
            _check_one=lambda: alone, _server=SimpleNamespace(group=7), _name="race",
            _competition=SimpleNamespace(cursor=4),
            _intake=SimpleNamespace(after=lambda *how: waiting if how == ("race", 4, 7) else 0),
            _attempts=SimpleNamespace(alone=lambda seq: alone and seq == 5),
            _set_state=lambda **changes: steps.append(changes),
            _process=lambda requests: [f"answer {r.seq}" for r in requests][:n_judged],
            _state=SimpleNamespace(seconds_each=before),
            _publish_answers=lambda requests, answers, seconds: steps.append(
                (len(requests), answers, pytest.approx(seconds))
            ),
        )  # fmt: skip
        steps.clear()
        return Scorer.step(scorer), steps

    busy = {"busy_since": 9.0}
    assert step(0) == (False, [])
    assert step(0, alone=True) == (True, ["everything"])
    assert step(0, before=1.0) == (False, ["board"])
    # Two answers in 6 seconds.
    assert step(3) == (True, [busy, (3, ["answer 5", "answer 6"], 3.0)])
    # 0.8 of the average before, 1 s, and 0.2 of 3 s.
    assert step(3, before=1.0) == (True, [busy, (3, ["answer 5", "answer 6"], 1.4)])
    assert step(3, alone=True) == (True, ["everything", busy, (1, ["answer 5"], 6.0)])
    assert step(3, n_judged=0) == (True, [busy])


def test_files_that_are_only_checked_are_checked_once_and_one_at_a_time() -> None:
    published: list[Any] = []
    checks = [("a", "gone", "a.csv"), ("b", "here", "b.csv"), ("c", "here", "c.csv")]

    @contextlib.contextmanager
    def opened(uploads: Sequence[str]) -> Iterator[Any]:
        yield {upload: Path(upload) for upload in uploads if upload == "here"}

    scorer: Any = SimpleNamespace(
        _intake=SimpleNamespace(checks=lambda name: checks), _name="race", _checked={"b0"},
        _uploads=SimpleNamespace(opened=opened), _faults=lambda path, file: [Fault("k", file)],
        _publisher=SimpleNamespace(publish=lambda **what: published.append(what["documents"])),
    )  # fmt: skip
    assert Scorer._check_one(scorer)
    (documents,) = published
    assert [*documents] == ["check b0", "check b"]  # the check b0 is no longer requested
    assert documents["check b0"] is None
    assert [fault["message"] for fault in documents["check b"]] == ["b.csv"]
    assert Scorer._check_one(scorer)
    assert [*published[1]] == ["check c"]
    assert not Scorer._check_one(scorer)
    checks.clear()
    assert not Scorer._check_one(scorer)
    # The published results of checks that are no longer requested are removed.
    assert published[2:] == [dict.fromkeys(("check a", "check b", "check c"))]
    assert not Scorer._check_one(scorer)
    assert len(published) == 3


def test_files_of_judged_requests_are_removed_when_they_are_not_needed(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    requests = [
        request_of(1, upload="plain"),
        request_of(2, upload="aside"),
        request_of(3, kind="program", upload="program"),
        request_of(4, kind="program", run=1, output="output", program="q4", upload="no"),
        request_of(5, kind="select", upload="selected"),
        request_of(6, kind="program", upload="running", program="p6"),
        request_of(7, upload="../plain"),
        request_of(8, upload="young"),
    ]
    dropped: list[str] = []
    scorer: Any = SimpleNamespace(
        _uploads=SimpleNamespace(folder=uploads, drop=dropped.append),
        _server=SimpleNamespace(keep_uploads_days=0.0),
        _competition=SimpleNamespace(
            requests_set_aside=lambda: {"q2"},
            waiting_programs=lambda: [SimpleNamespace(program="p6")],
        ),
        _all_judged=lambda: requests,
    )
    statuses = {request.request: "accepted" for request in requests} | {"q2": "set_aside"}
    Scorer._drop_uploads(scorer, requests, statuses)
    assert dropped == ["plain", "young"]
    scorer._server.keep_uploads_days = 2.5
    Scorer._drop_uploads(scorer, requests, statuses)
    assert len(dropped) == 2
    dropped.clear()
    now = 1_000_000.0
    for name in ("plain", "aside", "program", "output", "no", "selected", "running", "waiting"):
        (uploads / name).touch()
        os.utime(uploads / name, (0, now - 216_000))  # 2.5 days
    (uploads / "young").touch()
    os.utime(uploads / "young", (0, now - 215_999))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", SimpleNamespace(time=lambda: now, monotonic=lambda: 5.0))
        Scorer.sweep(scorer)
    assert sorted(dropped) == ["output", "plain", "program"]
    assert scorer._swept_at == 5.0


def test_a_queue_that_does_not_belong_to_the_record_is_refused_or_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def check(cursor: int, last: Any, *, number: str | None, has_later: bool) -> list[str]:
        compared: list[str] = []
        scorer: Any = SimpleNamespace(
            _competition=SimpleNamespace(cursor=cursor, last_answer=lambda: last), _name="race",
            _intake=SimpleNamespace(
                numbered=lambda name, seq: number if (name, seq) == ("race", cursor) else 0,
                number_after=lambda name, seq: has_later and (name, seq) == ("race", cursor),
            ),
            _compare_queue=lambda: compared.append("compared"),
        )  # fmt: skip
        Scorer._check_queue(scorer)
        return compared

    last = SimpleNamespace(request="q3")
    assert check(0, None, number="q0", has_later=False) == ["compared"]
    assert check(3, last, number="q3", has_later=False) == ["compared"]
    assert not caplog.messages
    assert check(3, last, number=None, has_later=True) == []
    assert check(3, None, number="q3", has_later=True) == []
    new = "The queue is new: it does not have the requests of the record."
    assert caplog.messages == [new, new]
    with pytest.raises(StoreError) as refused:
        check(3, last, number="q4", has_later=False)
    assert str(refused.value) == (
        "The record of the competition ends with request 3, which the queue of the server does not "
        "have: an older copy of the queue was restored, or it belongs to another competition. "
        "Restore the queue and the competition from the same backup, or name another folder for a "
        "new queue with --data."
    )


def test_twenty_changes_in_the_queue_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    differences = SimpleNamespace(
        differences=[f"Request {n} differs." for n in range(21)], not_compared=["Not compared."]
    )
    records = SimpleNamespace(
        of=lambda events: SimpleNamespace(
            compare=lambda *how: differences if (events, how) == ("events", (1, "race")) else 0
        )
    )
    monkeypatch.setattr(module, "RecordedRequests", records)
    scorer: Any = SimpleNamespace(
        _competition=SimpleNamespace(events=lambda: "events"), _intake=1, _name="race"
    )
    Scorer._compare_queue(scorer)
    changed = [f"Request {n} differs. The server's files were changed." for n in range(20)]
    assert caplog.messages == [*changed, "Not compared."]


def test_a_choice_or_withdrawal_changes_the_earlier_answers_of_a_team() -> None:
    def answer(seq: int, status: str, submission: int | None) -> Answer:
        return Answer(f"q{seq}", seq, "red", "submit", status, submission=submission)

    earlier = [
        answer(1, "accepted", 1),
        answer(2, "accepted", 2),
        answer(3, "rejected", 3),
        answer(4, "done", None),
        answer(5, "accepted", 5),
    ]
    scorer: Any = SimpleNamespace(
        _competition=SimpleNamespace(
            selections=lambda: {"red": (1, 2), "blue": (5,)}, withdrawn=lambda: {2, 3, 5}
        ),
        _publisher=SimpleNamespace(answers_of=lambda team: earlier if team == "red" else []),
    )
    decided = Scorer._decided(scorer, "red", [answer(4, "done", None), answer(5, "accepted", 5)])
    assert [(a.seq, a.status, a.selected) for a in decided] == [
        (1, "accepted", True), (2, "withdrawn", True), (3, "rejected", False),
    ]  # fmt: skip


def publishing_scorer(**parts: Any) -> Any:
    """Return a stand-in for a scorer that has judged a group, with other ``parts`` if given."""

    def published(request: Any, answer: Any) -> Any:
        assert request.seq == answer.seq
        return answer

    defaults = {
        "_name": "race", "_fault": None, "_last": {}, "_board_due": False, "_board_at": 0.0,
        "_state": SimpleNamespace(judged=0, set_aside=0), "_set_state": lambda **_: None,
        "_server": SimpleNamespace(publish_seconds=2.0),
        "_competition": SimpleNamespace(frozen_since=None, disqualified_teams=dict),
        "_intake": SimpleNamespace(after=lambda *_: []),
        "_attempts": SimpleNamespace(end=lambda: None),
        "_publisher": SimpleNamespace(publish=lambda **_: None),
        "_published": published, "_team_facts": sorted, "_drop_uploads": lambda *_: None,
    }  # fmt: skip
    return SimpleNamespace(**{**defaults, **parts})


def test_what_was_judged_is_counted_and_published_with_the_last_entries_before_a_freeze() -> None:
    frozen = datetime(2026, 5, 6, tzinfo=UTC)
    states: list[Any] = []
    published: list[Any] = []
    dropped: list[Any] = []
    scorer = publishing_scorer(
        _state=SimpleNamespace(judged=5, set_aside=2),
        _competition=SimpleNamespace(frozen_since=frozen, disqualified_teams=dict),
        _server=SimpleNamespace(publish_seconds=1e9),
        _set_state=lambda **changes: states.append(changes),
        _publisher=SimpleNamespace(publish=lambda **content: published.append(content)),
        _publish_board=lambda: published.append("board"),
        _drop_uploads=lambda requests, statuses: dropped.append(
            ([request.seq for request in requests], statuses)
        ),
    )
    after_freeze = (frozen + timedelta(seconds=1)).isoformat()

    def answer(seq: int, status: str, received: str) -> Any:
        return SimpleNamespace(
            seq=seq, kind="submit", status=status, team=f"t{seq}", received=received,
            request=f"r{seq}",
        )  # fmt: skip

    judged = [
        answer(6, "accepted", frozen.isoformat()),
        answer(7, "accepted", after_freeze),
        answer(8, "set_aside", frozen.isoformat()),
    ]
    waiting: Any = [SimpleNamespace(seq=number) for number in (6, 7, 8, 9)]
    Scorer._publish_answers(scorer, waiting, judged[2:], 0.5)
    assert scorer._board_due is False
    Scorer._publish_answers(scorer, waiting, judged, 0.5)
    # Five were judged before, of which two were set aside.
    common = {"cursor": 8, "seconds_each": 0.5, "busy_since": None, "problem": None}
    assert states[1] == {**common, "judged": 5 + 3, "set_aside": 2 + 1}
    assert scorer._last == {"t6": frozen.isoformat()}
    assert published[1] == {
        "answers": judged, "teams": ["t6", "t7", "t8"], "documents": {}, "state": scorer._state,
    }  # fmt: skip
    statuses = {"r6": "accepted", "r7": "accepted", "r8": "set_aside"}
    assert dropped[1] == ([6, 7, 8], statuses)
    assert scorer._board_due is True
    # The board follows once no request waits.
    assert len(published) == 2
    Scorer._publish_answers(scorer, waiting[:3], judged[2:], 0.5)
    assert published[3] == "board"


@pytest.mark.parametrize("status", ["accepted", "rejected"])
def test_an_accepted_file_of_a_disqualified_team_is_disqualified_at_once(status: str) -> None:
    published: list[Any] = []
    scorer = publishing_scorer(
        _competition=SimpleNamespace(
            frozen_since=None, disqualified_teams=lambda: {"red": "two accounts"}
        ),
        _publisher=SimpleNamespace(publish=lambda answers, **_: published.extend(answers)),
        _publish_board=lambda: None,
    )
    judged = [
        Answer(f"q{seq}", seq, team, "submit", status) for seq, team in ((5, "red"), (6, "b"))
    ]
    Scorer._publish_answers(scorer, [request_of(5), request_of(6)], judged, 0.5)
    of_red = ("disqualified", "two accounts") if status == "accepted" else (status, "")
    assert [(answer.status, answer.reason) for answer in published] == [of_red, (status, "")]
    assert scorer._board_due is (status == "accepted")


def test_what_a_request_changes_is_published_with_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def published(kind: str, status: str) -> list[Any]:
        done: list[Any] = []
        answer = Answer("q5", 5, "red", kind, status)
        scorer = publishing_scorer(
            _publish_everything=lambda: done.append("everything"),
            _decided=lambda team, answers: [replace(answer, seq=1, request="q1")],
            _note_end=done.append,
            _publisher=SimpleNamespace(
                publish=lambda answers, documents, **_: done.append((len(answers), [*documents]))
            ),
            _intake=SimpleNamespace(after=lambda *place: [] if place == ("race", 5, 1) else [1]),
            _publish_board=lambda: done.append("board"),
        )
        Scorer._publish_answers(scorer, [request_of(5)], [answer], 0.5)
        return done

    monkeypatch.setattr(module, "facts", lambda *_: Fault("a", "dataclass"))
    monkeypatch.setattr(module, "result_documents", lambda _: {"private": "the end"})
    new, alone = (1, []), [(1, [])]
    assert published("submit", "accepted") == [new, "board"]
    assert published("submit", "rejected") == alone
    assert published("select", "done") == [(2, [])]
    assert published("select", "refused") == alone
    assert published("withdraw", "done") == ["the end", (2, ["competition", "private"]), "board"]
    for kind in ("pause", "resume"):
        assert published(kind, "done") == [(1, ["competition"])]
        assert published(kind, "set_aside") == alone
    for kind in ("finalize", "verification"):
        assert published(kind, "done") == ["the end", (1, ["competition", "private"])]
    for kind in (
        "publish", "retract", "disqualify", "undo", "rename", "merge", "rescore", "exempt",
        "bracket", "answer",
    ):  # fmt: skip
        assert published(kind, "done") == ["everything"]
        assert published(kind, "refused") == alone


def test_a_board_that_is_due_waits_for_other_requests_but_not_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def publishes(now: float, *, n_waiting: int = 1, has_next: bool = False) -> bool:
        boards: list[str] = []
        scorer = publishing_scorer(
            _board_at=100.0,
            _publish_board=lambda: boards.append("board"),
            _intake=SimpleNamespace(after=lambda *_: [1] * has_next),
        )
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
        waiting = [request_of(seq) for seq in range(5, 5 + n_waiting)]
        answer = Answer("q5", 5, "red", "submit", "accepted", received=NOW.isoformat())
        Scorer._publish_answers(scorer, waiting, [answer], 0.5)
        assert scorer._last == {"red": NOW.isoformat()}
        return bool(boards)

    assert publishes(101.0)
    assert not publishes(102.0, n_waiting=2)
    assert not publishes(102.0, has_next=True)
    assert publishes(102.1, n_waiting=2, has_next=True)


def test_the_facts_of_teams_are_those_of_the_current_phase_day_and_week() -> None:
    counts = {
        ("red", "two/total"): 1, ("red", f"two/{DAY}"): 2, ("red", "two/2026-W19"): 3,
        ("red", "one/total"): 4,
    }  # fmt: skip
    competition = SimpleNamespace(
        phase="two",
        phase_names=("one", "two", "three"),
        selections=lambda: {"red": [3, 1]},
        disqualified_teams=lambda: {"blue": "copied"},
        answers_of_teams=lambda: {"red": {"school": "yes"}},
        exemptions=lambda: [{"team": "blue", "extra": 5, "until": "later"}],
        quota_used=lambda team, name: counts.get((team, name), 0),
    )
    scorer: Any = SimpleNamespace(
        _competition=competition, _clock=lambda: NOW, _last={"red": "just now"}
    )
    same = {"day": DAY, "week": "2026-W19"}
    assert Scorer._team_facts(scorer, {"red", "", "blue"}) == [
        TeamFacts("blue", **same, extra=5, until="later", disqualified="copied"),
        TeamFacts(
            "red", **same, used_total=1, used_day=2, used_week=3, selected=(3, 1), last="just now",
            answers={"school": "yes"}, used_in_phases={"one": 4, "two": 1},
        ),
    ]  # fmt: skip


def test_the_state_has_the_waiting_requests_and_the_phase_of_the_competition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: 9.0))
    phases = []
    for ends_when_finalized, has_ended, end in (
        (False, False, None), (False, True, None), (False, True, "published"),
        (False, False, "finalized"), (True, True, None), (True, False, "finalized"),
    ):  # fmt: skip
        competition = SimpleNamespace(ends_when_finalized=ends_when_finalized, has_ended=has_ended)
        scorer: Any = SimpleNamespace(
            _lock=threading.Lock(), _state=State(cursor=2), _intake=Queue(2, 3, 4), _name="race",
            _end=end, _has_ended=Scorer._has_ended.fget(  # type: ignore[attr-defined]
                SimpleNamespace(_competition=competition, _end=end)
            ),
        )  # fmt: skip
        Scorer._set_state(scorer, judged=7)
        state = scorer._state
        phases.append(state.phase)
        assert (state.beat, state.judged, state.waiting) == (9.0, 7, 2)
        assert state.oldest == NOW.isoformat()
        Scorer._set_state(scorer, cursor=4)
        assert (scorer._state.judged, scorer._state.waiting, scorer._state.oldest) == (7, 0, None)
    assert phases == ["open", "closed", "published", "open", "open", "finalized"]


def test_a_full_disk_is_named_once_while_pages_are_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    full, locked = OSError(28, "No space left"), sqlite3.OperationalError("locked")
    tries = iter([full, full, locked, None, locked, None])
    waits: list[float] = []
    closing = SimpleNamespace(wait=waits.append, is_set=lambda: len(waits) == 6)

    def share() -> None:
        if (error := next(tries)) is not None:
            raise error

    Scorer._share_until(SimpleNamespace(_closing=closing, share=share))  # type: ignore[arg-type]
    reasons = ["[Errno 28] No space left", "locked", "locked"]
    assert caplog.messages == [f"pages/ and files/ cannot be published: {why}." for why in reasons]
    assert waits == [2.0] * 6

    beats: list[Any] = []
    closing.wait = lambda seconds: beats.append(seconds) or len(beats) > 3
    scorer: Any = SimpleNamespace(
        _closing=closing, _set_state=lambda: beats.append("state"), _state="now",
        _publisher=SimpleNamespace(publish=lambda state: next(failing)),
    )  # fmt: skip

    def failures() -> Iterator[None]:
        yield
        raise locked

    failing = failures()
    Scorer._beat(scorer)
    assert beats == [2.0, "state", 2.0, "state", 2.0]
    assert caplog.messages[3:] == ["The state cannot be published: locked."]


def test_ranks_before_are_those_at_the_beginning_of_the_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published: list[Any] = []
    now = NOW
    scorer: Any = SimpleNamespace(
        _clock=lambda: now, _day=None, _board_due=True, _publisher=SimpleNamespace(
            publish=lambda **what: published.append(what["documents"])),
        _competition=SimpleNamespace(ranks_at=lambda time: {"red": time.hour + 1}),
        _ranks_before=lambda: Scorer._ranks_before(scorer),
    )  # fmt: skip
    monkeypatch.setattr(module, "board_documents", lambda _: {"board": []})
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 7.0))
    for _ in range(2):
        Scorer._publish_board(scorer)
    assert (scorer._board_at, scorer._board_due) == (7.0, False)
    now += timedelta(hours=12)
    Scorer._publish_board(scorer)
    board = {"board": []}
    first, second = (
        {"ranks before": {"since": f"{day}T00:00:00+00:00", "ranks": {"red": 1}}}
        for day in (DAY, "2026-05-07")
    )
    assert published == [{**board, **first}, board, {**board, **second}]
    for is_finalized, private, end in (
        (False, None, None), (True, None, "finalized"), (True, [], "published"),
    ):  # fmt: skip
        scorer._competition.is_finalized = is_finalized
        Scorer._note_end(scorer, private)
        assert scorer._end == end


def test_a_scorer_that_was_killed_judges_alone_and_gives_up_after_two_ends(tmp_path: Path) -> None:
    path = tmp_path / "attempts.json"

    def killed(*current: int) -> Attempts:
        """Begin with these requests, and return what the next scorer reads."""
        Attempts.read(path).begin(current)
        return Attempts.read(path)

    group = killed(5, 6)
    assert [group.alone(number) for number in (4, 6, 7)] == [True, True, False]
    assert group.deaths == {}
    for ends, is_hopeless in ((1, False), (2, True)):
        once = killed(5)
        assert (once.deaths, once.hopeless(5)) == ({5: ends}, is_hopeless)
    attempts = killed(3)  # the earlier ends are stored too
    assert (attempts.single_until, attempts.hopeless(5), attempts.hopeless(3)) == (6, True, False)
    attempts.failed([8, 9])
    assert (attempts.single_until, attempts.alone(9)) == (9, True)
    attempts.failed([7])
    assert attempts.single_until == 9
    attempts.end()
    assert not path.exists()
