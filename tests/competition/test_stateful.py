"""A competition is driven at random, beside a model of it in plain Python; both must agree."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from arena.competition.competition import Competition
from arena.competition.record.rebuild import REBUILT
from arena.config import settings_as_toml
from arena.errors import UsageError
from competition_model import CompetitionModel, Hits, Rules
from few_rows import N_FAULTY, N_HALF, N_VALID, manager_of_few, settings_of, write_files

TEAMS = ("one", "two", "three", "base")
START = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
STEPS = 50
QUARTER = Fraction(1, 4)


class CompetitionMachine(RuleBasedStateMachine):
    """Drives both, and compares them after every step."""

    folder: ClassVar[Path]
    """Of a competition as it was made, and of the files that are sent."""
    metric: ClassVar[str]
    mechanism: ClassVar[str]
    files: ClassVar[list[Hits]]
    made_with: ClassVar[Rules]
    """As it was made."""
    steps: ClassVar[int] = 0
    finalized: ClassVar[int] = 0

    @initialize()
    def begin(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copytree(self.folder / "c", self.work / "c")
        self.now = START
        better = self.metric == "share_right"
        exact = self.mechanism == "full"
        self.model = CompetitionModel(
            files=self.files,
            greater_is_better=better,
            score=lambda hits: Fraction(hits if better else N_HALF - hits, N_HALF),
            shown=lambda score: score if exact else round(score / QUARTER) * QUARTER,
            rules=replace(self.made_with),
        )
        self.manager = manager_of_few()
        self.last: dict[str, Any] | None = None
        self.since_last = 0
        self.same = False
        self.competition = self._open()

    def _open(self) -> Competition:
        self.since_opened = 0
        return Competition.open(self.work / "c", manager=self.manager, clock=lambda: self.now)

    def teardown(self) -> None:
        if hasattr(self, "competition"):
            assert self.competition.verify_events() is None
            self._check_payloads()
            self.competition.close()
            shutil.rmtree(self.work)

    # -- what may happen -----------------------------------------------------------------------

    @rule(team=st.sampled_from(TEAMS), file=st.integers(0, N_VALID + N_FAULTY - 1))
    def submit(self, team: str, file: int) -> None:
        expected = self.model.submit(team, file, self.now)
        answer = self.competition.submit(self.folder / f"{file}.csv", team)
        assert (answer.submission, answer.team) == (expected.number, team)
        assert answer.status == expected.status
        assert answer.released == about(self.model.released(expected))
        if expected.why:
            assert [fault.kind for fault in answer.faults] == [expected.why]

    @rule(file=st.integers(0, N_VALID - 1))
    def submit_of_a_busy_team(self, file: int) -> None:
        self.submit("one", file)

    @precondition(lambda self: self.model.sent)
    @rule(data=st.data())
    def submit_again(self, data: st.DataObject) -> None:
        earlier = data.draw(st.sampled_from(self.model.sent))
        self.submit(earlier.team, earlier.file)

    @rule(
        until=st.sampled_from(["soon", "end of day", "midnight", "day after", "deadline", "late"]),
    )
    def time_passes(self, until: str) -> None:
        midnight = datetime.combine(self.now.date() + timedelta(days=1), START.min.time(), UTC)
        deadline = self.model.rules.deadline or midnight
        second = timedelta(seconds=1)
        moves = {
            "soon": self.now + second,
            "end of day": midnight - second,
            "midnight": midnight,
            "day after": self.now + timedelta(days=1),
            "deadline": deadline,
            "late": deadline + second,
        }
        self.now = max(self.now, moves[until])
        self.same = True

    @rule(team=st.sampled_from(TEAMS), files=st.lists(st.integers(0, N_VALID - 1), min_size=2,
                                                      max_size=2, unique=True))  # fmt: skip
    def submit_around_midnight(self, team: str, files: list[int]) -> None:
        for until in ("end of day", "midnight"):
            self.time_passes(until)
            for file in files:
                self.submit(team, file)
        self.same = False

    @rule(data=st.data(), team=st.sampled_from(TEAMS), stranger=st.booleans(), late=st.booleans())
    def select(self, data: st.DataObject, team: str, stranger: bool, late: bool) -> None:
        submissions = [
            submission.number
            for submission in self.model.sent
            if stranger or submission.team == team
        ]
        choices = st.sampled_from([*submissions, 99] if stranger else submissions)
        numbers = data.draw(st.lists(choices, max_size=4) if submissions else st.just([]))
        if self.model.select(team, numbers, self.now, late=late):
            self.competition.select(team, numbers, late=late)
        else:
            with pytest.raises(UsageError):
                self.competition.select(team, numbers, late=late)

    @rule(number=st.integers(0, 30), reason=st.sampled_from(["two accounts", "a leak", " "]))
    def disqualify(self, number: int, reason: str) -> None:
        before = self.model.disqualified.get(number)
        if reason.strip() and self.model.disqualify(number, reason):
            assert self.competition.disqualify(number, reason) == before
        else:
            with pytest.raises(UsageError):
                self.competition.disqualify(number, reason)

    @precondition(lambda self: self.since_opened > 8)
    @rule(
        change=st.fixed_dictionaries(
            {},
            optional={
                "per_day": st.sampled_from([None, 1, 2]),
                "total": st.sampled_from([None, 2, 6]),
                "count_rejected": st.booleans(),
                "rule": st.sampled_from(["best_public", "last", "chosen", "best_private"]),
                "count": st.integers(1, 3),
                "ties": st.sampled_from(["shared", "earliest"]),
                "baseline": st.sampled_from([None, "base", "two"]),
            },
        ),
        days=st.none() | st.integers(0, 3),
    )
    def change_the_rules(self, change: dict[str, Any], days: int | None) -> None:
        deadline = None if days is None else self.now + timedelta(days=days)
        rules = replace(self.model.rules, **change, deadline=deadline)
        if rules != self.model.rules:
            self.model.kinds.append("configuration")
        self.model.rules = rules
        toml = settings_as_toml(settings_of(rules, self.metric, self.mechanism))
        (self.work / "c" / "competition.toml").write_text(toml, encoding="utf-8")
        self.reopen()

    @precondition(lambda self: self.since_opened > 8)
    @rule()
    def reopen(self) -> None:
        self.competition.close()
        self.competition = self._open()
        assert self.competition.verify_events() is None

    @precondition(lambda self: self.since_last > 16)
    @rule(twice=st.booleans())
    def finalize(self, twice: bool) -> None:
        self.since_last = 0
        if not self.model.finals():
            with pytest.raises(UsageError, match="no accepted submission"):
                self.competition.finalize()
            return
        type(self).finalized += 1
        for _ in range(1 + twice):
            document = self.competition.finalize().to_dict()
            if document != self.last:
                self.model.kinds.append("finalized")
            self.last = document
            board = [
                (row["rank"], row["team"], row["score"], row["submission"])
                for row in self.competition.private_leaderboard()
                if not row["baseline"]
            ]
            assert board == about(self.model.private_board())

    # -- what must be so -----------------------------------------------------------------------

    @invariant()
    def both_agree(self) -> None:
        if not hasattr(self, "competition"):
            return
        type(self).steps += 1
        if self.same:  # only time has passed
            self.same = False
            return
        self.since_last += 1
        self.since_opened += 1
        kinds = [event.kind for event in self.competition.events()]
        assert [kind for kind in kinds if kind != REBUILT] == self.model.kinds
        listed = [
            tuple(row[key] for key in ("submission", "team", "status", "released", "selected"))
            for row in self.competition.submissions()
        ]
        # A disqualified one has no release on a board that was rebuilt without it.
        listed, expected = (
            [(*row[:3], None if row[2] == "disqualified" else row[3], row[4]) for row in rows]
            for rows in (listed, self.model.listed())
        )
        assert listed == about(expected)
        board = [
            tuple(row[key] for key in ("rank", "team", "score", "submission", "n_submissions"))
            for row in self.competition.leaderboard()
        ]
        assert board == about(self.model.public_board())

    def _check_payloads(self) -> None:
        """Every submission stands in the record as its team was told."""
        payloads = [
            event.payload for event in self.competition.events() if event.kind == "submission"
        ]
        recorded_answers = [
            (payload["submission"], payload["team"], payload["status"], payload["released"])
            for payload in payloads
        ]
        submissions = self.model.sent
        assert recorded_answers == about(
            [
                (
                    submission.number,
                    submission.team,
                    submission.status,
                    self.model.released(submission),
                )
                for submission in submissions
            ]
        )


def about(value: Any) -> Any:
    """Return the same with every fraction as a number that is nearly it."""
    if isinstance(value, Fraction):
        return pytest.approx(float(value), abs=1e-12)
    if isinstance(value, list | tuple):
        return type(value)(about(part) for part in value)
    return value


KINDS = {
    "full": ("share_right", "full", Rules()),
    "rounded": (
        "share_wrong",
        "kaggle(rounding=0.25, rank_rounded=true)",
        Rules(rule="chosen", count=3),
    ),
}


@pytest.fixture
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> type[CompetitionMachine]:
    metric, mechanism, rules = KINDS[request.param]
    rules = replace(rules, deadline=START + timedelta(days=4))
    attributes = {"metric": metric, "mechanism": mechanism, "made_with": rules, "folder": tmp_path}
    files = write_files(tmp_path)
    Competition.create(
        tmp_path / "c",
        tmp_path / "solution.csv",
        settings_of(rules, metric, mechanism),
        seed=1,
        manager=manager_of_few(),
        clock=lambda: START,
    ).close()
    return type("Machine", (CompetitionMachine,), {**attributes, "files": files, "steps": 0})


@pytest.mark.parametrize(
    ("machine", "examples", "least_steps", "least_finalized"),
    [
        *(pytest.param(kind, 5, 200, 1, marks=pytest.mark.slow) for kind in KINDS),
        *(pytest.param(kind, 100, 4_000, 20, marks=pytest.mark.campaign) for kind in KINDS),
    ],
    indirect=["machine"],
)
def test_a_competition_does_what_its_model_does(
    machine: type[CompetitionMachine], examples: int, least_steps: int, least_finalized: int
) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert machine.steps >= least_steps
    assert machine.finalized >= least_finalized
