"""Any sequence of uploads, selections, judging and restarts: the answers and the board of a model.

The campaign, 500 runs of 50 steps: ``pytest -m campaign tests/server/test_stateful_http.py``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from starlette.testclient import TestClient

from arena.competition.competition import Competition
from arena.config import ServerSection
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer.scorer import Scorer
from arena.server.web.app import create_app
from arena.server.web.site import Site
from served import predictions

API = "/api/v1/race"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEAMS, KEYS = ("red", "blue", "green"), ("k1", "k2", "k3", "k4", "k5", "k6")
PER_DAY, MOST_WAITING = 3, 2
FILES = [*(predictions(number) for number in range(4)), b"id,y\nr0,x\n"]
SERVER = ServerSection(
    max_waiting_per_team=MOST_WAITING,
    uploads_per_minute=10**6,
    reads_per_minute=10**9,
    publish_seconds=3_600,  # how many requests are judged in a step must not depend on time
)


@dataclass
class Sent:
    """What the model knows of a request that was acknowledged."""

    request: str
    team: str
    file: int | None
    """None: a selection."""
    selected: tuple[int, ...] = ()
    status: str = "waiting"
    submission: int | None = None


class ServedCompetition(RuleBasedStateMachine):
    """The web application and a scorer on one competition, and a model of both."""

    created: ClassVar[Path]
    scores: ClassVar[dict[int, float]]
    """The public score of each file without faults."""

    def __init__(self) -> None:
        super().__init__()
        self.work = Path(tempfile.mkdtemp())
        shutil.copytree(self.created, self.work / "race")
        (self.work / "race" / "rules.md").unlink()
        self.layout = Layout(self.work / "server")
        self.layout.create()
        self.open_scorer()
        self.site = Site(WebSettings(self.layout, ("race",), ""), clock=lambda: NOON)
        app = create_app(self.site)
        self.clients = {}
        for team in TEAMS:
            account = self.site.accounts.register(team).account
            self.site.accounts.create_team("race", team, account)
            token, _ = self.site.accounts.make_token(account, "test", "submit")
            self.clients[team] = TestClient(app, headers={"Authorization": f"Bearer {token}"})
        self.sent: list[Sent] = []
        self.keys: dict[tuple[str, str], Sent] = {}
        self.judged = 0
        self.submissions = 0
        self.restarted_after = (0, 0)

    def open_scorer(self) -> None:
        self.competition = Competition.open(self.work / "race", clock=lambda: NOON)
        self.scorer = Scorer(self.competition, "race", self.layout, SERVER, clock=lambda: NOON)

    def close_scorer(self) -> None:
        self.scorer.close()
        self.competition.close()

    def teardown(self) -> None:
        if hasattr(self, "keys"):
            while self.scorer.step():
                pass
            recorded_requests = [
                event.payload.get("request") for event in self.competition.events()
            ]
            recorded = [request["id"] for request in recorded_requests if request is not None]
            assert recorded == [submission.request for submission in self.sent]
            assert self.competition.audit() == ()
            self.close_scorer()
            self.site.close()
        shutil.rmtree(self.work)

    def waiting(self, team: str) -> int:
        return sum(submission.team == team for submission in self.sent[self.judged :])

    @rule(team=st.sampled_from(TEAMS), file=st.integers(0, len(FILES) - 1),
          key=st.sampled_from(KEYS))  # fmt: skip
    def upload(self, team: str, file: int, key: str) -> None:
        answer = self.clients[team].post(
            f"{API}/submissions", content=FILES[file], headers={"Idempotency-Key": key}
        )
        submission = self.keys.get((team, key))
        if submission is not None:
            same = submission.file == file
            assert answer.status_code == (202 if same else 422)
            assert not same or answer.json()["request"] == submission.request
        elif self.waiting(team) == MOST_WAITING:
            assert answer.status_code == 429
        else:
            assert answer.status_code == 202
            self.keys[team, key] = Sent(answer.json()["request"], team, file)
            self.sent.append(self.keys[team, key])

    @rule(team=st.sampled_from(TEAMS), number=st.integers(1, 6))
    def select(self, team: str, number: int) -> None:
        answer = self.clients[team].put(f"{API}/selection", json={"submissions": [number]})
        own = {submission.submission for submission in self.sent if submission.team == team}
        if number not in own:
            assert answer.status_code == 422
        elif self.waiting(team) == MOST_WAITING:
            assert answer.status_code == 429
        else:
            assert answer.status_code == 202
            self.sent.append(Sent(answer.json()["request"], team, None, (number,)))

    @precondition(lambda self: self.judged < len(self.sent))
    @rule()
    def judge(self) -> None:
        assert self.scorer.step()
        used = Counter(
            submission.team for submission in self.sent if submission.status == "accepted"
        )
        seqs = [request.seq for request in self.site.intake.after("race", 0, 1_000)]
        done = sum(seq <= self.competition.cursor for seq in seqs)
        for submission in self.sent[self.judged : done]:
            if submission.file is None:
                submission.status = "done"
            elif used[submission.team] == PER_DAY:
                submission.status = "refused"
            elif submission.file not in self.scores:
                submission.status = "rejected"
            else:
                submission.status = "accepted"
                used[submission.team] += 1
            if submission.file is not None:
                self.submissions += 1
            if submission.status == "accepted":
                submission.submission = self.submissions
        assert done > self.judged
        self.judged = done

    @property
    def progress(self) -> tuple[int, int]:
        return len(self.sent), self.judged

    # A second restart in a row finds nothing new, and costs as much as twenty requests.
    @precondition(lambda self: self.progress != self.restarted_after)
    @rule()
    def restart_the_scorer(self) -> None:
        self.close_scorer()
        self.open_scorer()
        self.restarted_after = self.progress

    @rule(team=st.sampled_from(TEAMS), other=st.sampled_from(TEAMS))
    def look(self, team: str, other: str) -> None:
        client = self.clients[team]
        page = client.get(f"{API}/submissions").json()
        own = [submission for submission in self.sent if submission.team == team]
        assert [request["request"] for request in page["requests"]] == [
            submission.request for submission in reversed(own)
        ]
        assert [request["status"] for request in page["requests"]] == [
            submission.status for submission in reversed(own)
        ]
        chosen = [submission.selected for submission in own if submission.status == "done"]
        assert tuple(page["selected"]) == (chosen[-1] if chosen else ())
        for submission in self.sent:
            if submission.team == other != team:
                assert client.get(f"{API}/requests/{submission.request}").status_code == 404

    @invariant()
    def the_board_is_the_models(self) -> None:
        if not hasattr(self, "keys"):
            return
        best: dict[str, float] = {}
        for submission in self.sent:
            if submission.status == "accepted" and submission.file is not None:
                best[submission.team] = max(
                    best.get(submission.team, 0.0), self.scores[submission.file]
                )
        if self.judged == len(self.sent):
            while self.scorer.step():  # the board is published when nothing waits
                pass
            rows: list[Any] = self.clients["red"].get(f"{API}/board").json()["rows"]
            assert {row["team"]: row["score"] for row in rows} == pytest.approx(best)
            assert [row["score"] for row in rows] == sorted(best.values(), reverse=True)


@pytest.mark.timeout(1_500)
@pytest.mark.parametrize(
    ("runs", "steps"),
    [
        pytest.param(3, 10, marks=pytest.mark.slow),
        pytest.param(500, 50, marks=pytest.mark.campaign),
    ],
)
def test_a_served_competition_is_as_its_model(
    created: Path, tmp_path: Path, runs: int, steps: int
) -> None:
    ServedCompetition.created, ServedCompetition.scores = created, {}
    shutil.copytree(created, tmp_path / "race")
    with Competition.open(tmp_path / "race", clock=lambda: NOON) as competition:
        for number, content in enumerate(FILES):
            path = tmp_path / f"{number}.csv"
            path.write_bytes(content)
            score = competition.submit(path, f"team {number}").released
            if score is not None:
                ServedCompetition.scores[number] = score
    assert len(ServedCompetition.scores) == len(FILES) - 1
    run_machine(
        ServedCompetition,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
