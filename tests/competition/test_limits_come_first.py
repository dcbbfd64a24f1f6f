"""Limits come before scoring, and a team cannot tell why a submission has no score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition import judging
from arena.competition.competition import Competition
from arena.competition.judging import COULD_NOT_BE_SCORED, Judge, Judgement
from arena.competition.submit import Submitted
from arena.errors import MetricError, PluginError, ScoringError, StoreError
from arena.hookspecs import hookimpl
from arena.interfaces import Evaluation
from arena.plugin.manager import PluginManager
from arena.requests import Request
from arena.store import Transaction
from arena.types import Fault, MetricTraits, PredictionKind, Release, SubmissionRecord
from few_rows import FIVE_ROWS
from scenario import START, Scenario

N_ROWS = 20
IDS = [f"r{row}" for row in range(N_ROWS)]
WORDS = "y must be at most 5"


@dataclass
class Moody:
    """Fails in a way that the first prediction names, and counts how often it was asked."""

    name: str = "moody"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE
    calls: list[float] = field(default_factory=list)
    mended: bool = False

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        mood = float(prediction[0])
        self.calls.append(mood)
        if self.mended:
            return 1.0
        if mood == 2.0:
            raise ValueError(f"secret label {truth[0]}")
        if mood == 3.0:
            raise ScoringError("it took 60 s", "too slow", "The metric took longer than 60 s.")
        if mood == 4.0:
            raise ScoringError("refused", "refused by the metric", WORDS)
        if mood == 6.0:
            raise MetricError("a class is missing")
        return {0.0: 0.5, 1.0: np.nan, 5.0: np.inf}[mood]


FINE, NAN, RAISES, SLOW, REFUSES, INFINITE, UNDEFINED = range(7)
UNSCORED = (NAN, RAISES, SLOW, INFINITE, UNDEFINED)
FAILURES = {
    NAN: "moody has no finite value.",
    RAISES: "failed on a submission: ValueError",
    SLOW: "it took 60 s",
    INFINITE: "moody has no finite value.",
    UNDEFINED: "a class is missing",
}
"""Which sentence the organiser reads, by the first prediction of a submission."""


@dataclass(frozen=True)
class Fails:
    """A mechanism that releases nothing."""

    name: str = "fails"

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        raise ValueError("no")


@dataclass
class Plugin:
    metric: Moody = field(default_factory=Moody)

    @hookimpl
    def provide_metrics(self) -> list[Any]:
        return [self.metric]

    @hookimpl
    def provide_mechanisms(self) -> list[Any]:
        return [Fails()]


def raises(error: type[BaseException]) -> Callable[..., None]:
    def call(*_: Any, **__: Any) -> None:
        raise error("no")

    return call


def test_a_team_learns_of_the_private_rows_only_what_the_metric_refuses_for_any_labels(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows 0 to 3 are public, row 4 is private. The metric fails by the first row of a split."""
    metric = Moody()
    judged = Judge(FIVE_ROWS, metric, "mine").judge
    private_rows = judged(np.array([FINE, 9, 9, 9, RAISES], float)[:, np.newaxis], "a file")
    assert (private_rows, metric.calls) == (
        Judgement(0.5),
        [0.0],
    )  # for a metric of arena, the public rows are enough
    metric.calls.clear()
    # Only the judge treats the metric as a foreign one: no process is started for it.
    monkeypatch.setattr(judging, "traits_of", lambda metric: MetricTraits(time_limit=60.0))
    for moods, expected in (
        ((FINE, FINE), Judgement(0.5)),
        ((REFUSES, FINE), Judgement(fault=Fault("refused by the metric", WORDS))),
        # The metric accepts all rows together, so its message may depend on private labels.
        ((FINE, REFUSES), Judgement(0.5, detail="On the private rows: refused")),
        *(((mood, FINE), Judgement(fault=COULD_NOT_BE_SCORED, detail=sentence))
          for mood, sentence in FAILURES.items()),
        *(((FINE, mood), Judgement(0.5, detail=f"On the private rows: {sentence}"))
          for mood, sentence in FAILURES.items()),
    ):  # fmt: skip
        caplog.clear()
        public, private = moods
        judgement = judged(np.array([public, 9, 9, 9, private], float)[:, np.newaxis], "a file")
        assert replace(judgement, detail="") == replace(expected, detail="")
        assert expected.detail.removeprefix("On the private rows: ") in judgement.detail
        assert judgement.detail.startswith("On the private rows: ") == (
            expected.detail.startswith("On the private rows: ")
        )
        assert len(caplog.records) == bool(expected.detail)
    for error in (MetricError, PluginError):  # from a metric of arena or of a plugin
        monkeypatch.setattr(judging, "full_scores", raises(error))
        judgement = judged(np.zeros((5, 1)), "a file")
        assert judgement.fault == COULD_NOT_BE_SCORED
        assert "no" in judgement.detail


@pytest.fixture
def plugin() -> Plugin:
    return Plugin()


@pytest.fixture
def scenario(tmp_path: Path, plugin: Plugin) -> Scenario:
    manager = PluginManager()
    manager.register(plugin, "mine")
    usage = ["Public" if row < 10 else "Private" for row in range(N_ROWS)]
    solution = {"id": IDS, "y": [row / 7 for row in range(N_ROWS)], "Usage": usage}
    return Scenario(tmp_path, solution, settings={"metric": "moody"}, manager=manager)


def send(competition: Competition, root: Path, mood: float, number: int = 0) -> Submitted:
    values = [mood, *(float(number + i) for i in range(1, N_ROWS))]
    path = Scenario(root).write(f"{mood}-{number}", {"id": IDS, "y": values})
    return competition.submit(path, "a")


def bad_file(tmp_path: Path) -> Path:
    path = tmp_path / "bad.csv"
    path.write_text("id,y\nr0,much\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["total", "per_day", "deadline"])
def test_after_the_end_every_file_has_the_same_answer_and_none_is_scored(
    tmp_path: Path, scenario: Scenario, plugin: Plugin, ended: str
) -> None:
    limit = START + timedelta(hours=1) if ended == "deadline" else 1
    with scenario.create(**{ended: limit}) as competition:
        first = send(competition, tmp_path, FINE)
        assert first.status == "accepted"
        scenario.clock.now += timedelta(hours=2) if ended == "deadline" else timedelta(minutes=1)
        plugin.metric.calls.clear()
        answers = [send(competition, tmp_path, mood, 1) for mood in range(6)]
        answers.append(competition.submit(bad_file(tmp_path), "a"))
        assert {answer.status for answer in answers} == {"refused"}
        assert len({answer.faults for answer in answers}) == 1
        assert plugin.metric.calls == []
        assert send(competition, tmp_path, FINE) == first  # the same file is the same submission


@pytest.mark.slow
def test_every_file_that_reached_the_metric_uses_a_submission(
    tmp_path: Path, scenario: Scenario
) -> None:
    moods = [NAN, RAISES, SLOW, REFUSES, INFINITE, FINE]
    with scenario.create(total=len(moods)) as competition:
        answers = [send(competition, tmp_path, mood) for mood in moods]
        assert [answer.status for answer in answers] == ["rejected"] * 5 + ["accepted"]
        assert competition.submit(bad_file(tmp_path), "a").faults[0].kind == "limit"
        assert send(competition, tmp_path, FINE, 1).status == "refused"


@pytest.mark.slow
def test_a_team_cannot_tell_why_there_is_no_score_and_the_organiser_can(
    tmp_path: Path, scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    with scenario.create() as competition:
        faults = {send(competition, tmp_path, mood).faults for mood in UNSCORED}
        ((fault,),) = faults
        assert fault.kind == "could not be scored"
        assert send(competition, tmp_path, REFUSES).faults[0].message == WORDS
        warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
        organiser_texts = [event.payload.get("for_organiser") for event in competition.events()[1:]]
    for text in (warnings, organiser_texts):
        assert "moody has no finite value." in text[0]
        assert "moody failed on a submission: ValueError at test_limits_come_first.py" in text[1]
        assert "it took 60 s" in text[2]
        assert "a class is missing" in text[4]
    assert not any("secret" in str(text) for text in [*warnings, *organiser_texts])


@pytest.mark.slow
@pytest.mark.parametrize("mood", UNSCORED)
def test_a_file_without_a_score_is_tried_again_only_after_a_rescore(
    tmp_path: Path, scenario: Scenario, plugin: Plugin, mood: float
) -> None:
    with scenario.create(total=2) as competition:
        first = send(competition, tmp_path, mood)
        again = send(competition, tmp_path, mood)
        assert (again, again.known) == (first, True)
        plugin.metric.mended = True
        competition.rescore(apply=True)
        later = send(competition, tmp_path, mood)
        assert (later.status, later.submission) == ("accepted", 2)
        assert send(competition, tmp_path, mood) == later
        assert send(competition, tmp_path, FINE).status == "refused"


@pytest.mark.slow
def test_a_mechanism_that_fails_has_used_a_place_and_a_full_disk_has_not(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    with replace(scenario, root=tmp_path / "disk").create(total=1) as competition:
        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "append_event", raises(StoreError))
            with pytest.raises(StoreError):
                send(competition, tmp_path, FINE)
        assert send(competition, tmp_path, FINE).status == "accepted"
    failing = replace(scenario, root=tmp_path / "fails")
    with failing.create(total=1, mechanism="fails") as competition:
        with pytest.raises(PluginError):
            send(competition, tmp_path, FINE)
        assert send(competition, tmp_path, FINE).faults[0].kind == "limit"


@pytest.mark.slow
def test_what_fails_before_it_is_scored_has_used_no_place(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario.create(total=1) as competition:
        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "find_first_submission", raises(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                send(competition, tmp_path, FINE)
        assert [event.kind for event in competition.events()] == ["created"]
        assert send(competition, tmp_path, FINE).status == "accepted"
        assert send(competition, tmp_path, FINE, 1).status == "refused"


@pytest.mark.slow
def test_what_was_stored_when_the_program_was_interrupted_is_counted_once(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[int] = []
    heard: list[int] = []
    acknowledge, announce = Transaction.acknowledge, Transaction.announce_scoring

    def interrupted(transaction: Transaction) -> None:
        monkeypatch.setattr(Transaction, "acknowledge", acknowledge)
        acknowledge(transaction)
        raise KeyboardInterrupt

    def count(*arguments: Any) -> Any:
        announced.append(1)
        return announce(*arguments)

    def hear(_: PluginManager, record: SubmissionRecord, *rest: Any) -> None:
        heard.append(record.submission)

    monkeypatch.setattr(Transaction, "announce_scoring", count)
    monkeypatch.setattr(PluginManager, "submission_scored", hear)
    with scenario.create(total=2) as competition:
        monkeypatch.setattr(Transaction, "acknowledge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            send(competition, tmp_path, FINE)
        assert [event.kind for event in competition.events()] == ["created", "submission"]
        assert heard == []
        assert send(competition, tmp_path, FINE).known
        assert send(competition, tmp_path, FINE, 1).status == "accepted"
        assert send(competition, tmp_path, FINE, 2).status == "refused"
        assert heard == [2, 3]  # also of what is refused
        assert len(announced) == 2  # what is scored, and nothing else


@pytest.mark.slow
def test_submissions_of_a_queue_are_not_announced_one_by_one(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue itself judges them again after a kill."""
    announced: list[Any] = []
    monkeypatch.setattr(Transaction, "announce_scoring", lambda *call: announced.append(call))
    with scenario.create() as competition:
        path = scenario.write("one", {"id": IDS, "y": [0.0] * N_ROWS})
        request = Request(
            seq=1,
            request="r-1",
            kind="submit",
            team="a",
            member="m",
            received=START,
            payload={"file": "one.csv"},
            path=path,
        )
        (answer,) = competition.process([request])
    assert (answer.status, announced) == ("accepted", [])


@pytest.mark.slow
def test_a_new_name_that_looks_like_another_one_is_said_once(
    tmp_path: Path, scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    with scenario.create() as competition:
        send(competition, tmp_path, FINE)
        for number, team in enumerate(("b", "A", "A", "a"), start=1):
            values = [float(number * row) for row in range(N_ROWS)]
            path = scenario.write(f"0-{number}", {"id": IDS, "y": values})
            assert competition.submit(path, team).status == "accepted"
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "A" in warnings[0]


def test_what_a_metric_refuses_is_final_and_a_new_name_is_on_record(
    tmp_path: Path, scenario: Scenario, plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario.create(total=5) as competition:
        first = send(competition, tmp_path, REFUSES)
        unscored = send(competition, tmp_path, RAISES)
        again = send(competition, tmp_path, RAISES)
        assert (again, again.known) == (unscored, True)
        for error in (
            KeyboardInterrupt,
            StoreError,
        ):  # a submission that is not stored is not counted
            with monkeypatch.context() as patched:
                patched.setattr(Judge, "judge", raises(error))
                with pytest.raises(error):
                    send(competition, tmp_path, FINE)
        plugin.metric.mended = True
        competition.rescore(apply=True)
        again = send(competition, tmp_path, REFUSES)
        assert (again, again.known) == (first, True)
        assert send(competition, tmp_path, RAISES).status == "accepted"
        competition.rename_team("a", "b")
        assert send(competition, tmp_path, FINE).team == "b"
        sixth = send(competition, tmp_path, FINE, 1)
        assert (sixth.status, sixth.faults[0].kind) == ("refused", "limit")
        events = competition.events()
        payloads = [event.payload for event in events if event.kind == "submission"]
        (failed,) = (event.payload for event in events if event.kind == "submission failed")
    assert [payload["team"] for payload in payloads] == ["a", "a", "a", "b", "b"]
    assert [payload.get("stored_as") for payload in payloads] == [None, None, None, "a", "a"]
    first_payload = {**payloads[0], "facts": {}, "faults": [], "sha256": ""}
    assert first_payload == {  # no field that may be left out, and every other
        "facts": {}, "faults": [], "file": "4-0.csv", "released": None, "sha256": "",
        "status": "rejected", "submission": 1, "team": "a",
    }  # fmt: skip
    reported = [number for number, payload in enumerate(payloads, 1) if "for_organiser" in payload]
    assert reported == [2]
    assert (failed["team"], failed["file"]) == ("a", "0-0.csv")


@pytest.mark.slow
def test_no_label_is_found_by_searching_where_a_score_overflows(scenario: Scenario) -> None:
    labels = [3.25 + row for row in range(N_ROWS)]
    scenario = replace(scenario, solution={**scenario.solution, "y": labels})
    answers = []
    with scenario.create(metric="mape", total=1) as competition:
        for power in (308.0, 307.5, 307.0, 0.0):
            values = [10.0**power, *[1.0] * (N_ROWS - 1)]
            path = scenario.write(str(power), {"id": IDS, "y": values})
            answers.append(competition.submit(path, "a"))
    counted = [
        answer
        for answer in answers
        if answer.status == "accepted" or answer.faults[0].kind != "limit"
    ]
    scored = [
        answer
        for answer in counted
        if answer.status == "accepted" or answer.faults[0].kind[:5] == "could"
    ]
    assert len(scored) <= 1
