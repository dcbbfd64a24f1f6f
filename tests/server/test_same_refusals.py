"""A command and the site refuse the same decisions at the same moments, in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from arena.competition.competition import Competition
from arena.config import ServerSection, Settings
from arena.errors import UsageError
from arena.requests import Kind
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer.scorer import Scorer
from arena.server.web.app import create_app
from arena.server.web.site import Site
from program import write_csv
from served import N_ROWS, predictions
from web_site import URL

OPEN, DEADLINE = datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
OVER, EXEMPTED = DEADLINE + timedelta(hours=1), DEADLINE + timedelta(days=1)
WHY = {"reason": "why"}


@dataclass(frozen=True)
class Decision:
    """The same decision as a command and as a request, of a team or the organiser."""

    command: Callable[[Competition], object]
    request: tuple[str, str, Mapping[str, Any]]
    by_team: bool = False


@dataclass(frozen=True)
class Moment:
    """A moment of a competition: its time, its deadline, and what was done then by command."""

    time: datetime
    deadline: datetime | None = None
    done: tuple[Kind, ...] = ()
    sections: Mapping[str, Any] = field(default_factory=dict)


def _submit(competition: Competition) -> None:
    submitted = competition.submit(competition.folder.parent / "file.csv", "Ants")
    if submitted.status != "accepted":
        raise UsageError(submitted.faults[0].message)


# In an order in which a decision leaves the later ones possible.
DECISIONS: Mapping[Kind, Decision] = {
    "publish": Decision(Competition.publish, ("POST", "/admin/publish", {})),
    "retract": Decision(lambda race: race.retract("why"), ("POST", "/admin/retract", WHY)),
    "submit": Decision(_submit, ("POST", "/submissions", {}), by_team=True),
    "select": Decision(
        lambda race: race.select("Ants", [1]), ("PUT", "/selection", {"submissions": [1]}),
        by_team=True,
    ),
    "withdraw": Decision(
        lambda race: race.withdraw("Ants", 3), ("POST", "/withdrawals", {"submission": 3}),
        by_team=True,
    ),
    "pause": Decision(lambda race: race.pause("why"), ("POST", "/admin/pause", WHY)),
    "resume": Decision(Competition.resume, ("POST", "/admin/resume", {})),
    "exempt": Decision(
        lambda race: race.exempt("Ants", until=EXEMPTED, extra=1, reason="why"),
        ("POST", "/admin/exempt",
         {"team": "Ants", "until": EXEMPTED.isoformat(), "extra": 1, **WHY}),
    ),
    "bracket": Decision(
        lambda race: race.assign_bracket("Ants", "students", member=True),
        ("POST", "/admin/brackets", {"team": "Ants", "bracket": "students", "member": True}),
    ),
    "rescore": Decision(lambda race: race.rescore(None), ("POST", "/admin/rescore", {})),
    "verification": Decision(
        lambda race: race.verify_winner(1, "verified"),
        ("POST", "/admin/verifications", {"submission": 1, "state": "verified", "note": ""}),
    ),
    "disqualify": Decision(
        lambda race: race.disqualify(2, "why"),
        ("POST", "/admin/disqualify", {"submission": 2, **WHY}),
    ),
    "undo": Decision(
        lambda race: race.reinstate(submission=2, reason="why"),
        ("POST", "/admin/undo", {"submission": 2, **WHY}),
    ),
    "rename": Decision(
        lambda race: race.rename_team("Bees", "Cats"),
        ("PATCH", "/admin/teams/Bees", {"name": "Cats"}),
    ),
    "merge": Decision(
        lambda race: race.merge_teams("Dogs", "Ants"),
        ("POST", "/admin/merge", {"team": "Dogs", "into": "Ants"}),
    ),
    "finalize": Decision(
        lambda race: race.finalize(intervals=False), ("POST", "/admin/finalize", {})
    ),
}  # fmt: skip
NO_COMMAND = {
    "answer": "a command answers with a file",
    "configure": "competition.toml is edited by hand",
    "program": "a trial comes before it, which arena submit runs itself",
}
MOMENTS: Mapping[str, Moment] = {
    "open without a deadline": Moment(OPEN),
    "open": Moment(OPEN, DEADLINE),
    "in a phase without an end": Moment(OPEN, None, ("finalize",), {"phase": {"main": {}}}),
    "over": Moment(OVER, DEADLINE),
    "over for others": Moment(OVER, DEADLINE, ("exempt",)),
    "finalized without a deadline": Moment(OPEN, None, ("finalize",)),
    "finalized": Moment(OVER, DEADLINE, ("finalize",)),
}
ALLOWED_DIFFERENCES = {
    "rescore": "the site takes the corrected solution from the folder, where there is none",
    (
        "finalize",
        "open",
    ): "a command ends nothing; the site receives no file after the private board",
    **dict.fromkeys(
        [(kind, "finalized without a deadline") for kind in ("submit", "select", "withdraw")],
        "commands may be used again and again on a folder that no date ends",
    ),
}
"""By the kind, or the kind and the moment: what only the site refuses."""


def test_every_kind_of_request_is_compared() -> None:
    assert {*DECISIONS, *NO_COMMAND} == set(get_args(Kind))


@pytest.mark.slow
@pytest.mark.parametrize("name", MOMENTS)
def test_commands_and_the_site_refuse_the_same(name: str, tmp_path: Path) -> None:
    moment = MOMENTS[name]
    with ExitStack() as stack:
        by_command, by_site = (
            stack.enter_context(_played(tmp_path / place, moment)) for place in ("here", "there")
        )
        request = _site(stack, by_site, moment.time)
        for kind, decision in DECISIONS.items():
            refused, refused_there = _refusal(decision, by_command), request(decision)
            case = (name, kind, refused, refused_there)
            if kind in ALLOWED_DIFFERENCES or (kind, name) in ALLOWED_DIFFERENCES:
                assert refused_there, case
            else:
                assert bool(refused) == bool(refused_there), case
            # What the site says is no advice on commands.
            assert not re.search("arena [a-z]+|--[a-z]", refused_there), case


@pytest.mark.slow
def test_a_phase_is_named_in_a_final_step(tmp_path: Path) -> None:
    phases = {"first": {"end": DEADLINE}, "second": {"start": DEADLINE, "end": EXEMPTED}}
    with ExitStack() as stack:
        moment = Moment(OVER, done=(), sections={"phase": phases})
        served = stack.enter_context(_played(tmp_path / "race", moment))
        request = _site(stack, served, OVER)
        refusals = {}
        for phase in ("", "first"):
            for kind in ("finalize", "publish"):
                address = f"/admin/{kind}"
                final_step = Decision(Competition.publish, ("POST", address, {"phase": phase}))
                refusals[phase, kind] = request(final_step)
        assert "Files are received until 2026-03-03" in refusals["", "finalize"]
        assert refusals["first", "finalize"] == ""
        assert "decide the phase first decide second as well" in refusals["first", "publish"]
        (board,) = [event for event in served.events() if event.kind == "finalized"]
        assert board.payload["phase"] == "first"


def _refusal(decision: Decision, competition: Competition) -> str:
    try:
        decision.command(competition)
    except UsageError as error:
        return str(error)
    return ""


def _played(folder: Path, moment: Moment) -> Competition:
    """Return a competition of three teams, at a moment."""
    folder.mkdir()
    write_csv(folder / "solution.csv", ["id", "y"], [(f"r{i}", i % 2) for i in range(N_ROWS)])
    (folder / "file.csv").write_bytes(predictions(9))
    settings = Settings.of(
        metric="roc_auc", final_rule="chosen", deadline=moment.deadline, intervals=False,
        bracket={"students": {}}, **moment.sections,
    )  # fmt: skip
    times = [OPEN]
    competition = Competition.create(
        folder / "race",
        folder / "solution.csv",
        settings,
        public_share=0.5,
        seed=1,
        clock=lambda: times[-1],
    )
    for number, team in enumerate(("Ants", "Bees", "Ants", "Dogs")):
        path = folder / f"{number}.csv"
        path.write_bytes(predictions(number))
        assert competition.submit(path, team).status == "accepted"
    times.append(moment.time)
    for kind in moment.done:
        DECISIONS[kind].command(competition)
    times.append(moment.time + timedelta(seconds=1))
    return competition


def _site(stack: ExitStack, competition: Competition, time: datetime) -> Callable[[Decision], str]:
    """Serve a competition; return what asks for a decision and returns why it is refused."""

    def clock() -> datetime:
        return time + timedelta(seconds=1)

    layout = Layout(competition.folder.parent / "server")
    layout.create()
    scorer = stack.enter_context(Scorer(competition, "race", layout, ServerSection(), clock=clock))
    site = stack.enter_context(closing(Site(WebSettings(layout, ("race",), ""), clock=clock)))
    accounts, app = site.accounts, create_app(site)
    people = {team: accounts.register(team).account for team in ("Ants", "Bees", "Dogs")}
    teams = {team: accounts.create_team("race", team, people[team]).team for team in people}
    host = accounts.register("Host", organiser=True).account

    def client(account: str, scope: str) -> TestClient:
        token, _ = accounts.make_token(account, "test", scope)
        return TestClient(app, f"{URL}/api/v1/race", headers={"Authorization": f"Bearer {token}"})

    ants, organiser = client(people["Ants"], "submit"), client(host, "admin")

    def request(decision: Decision) -> str:
        method, path, body = decision.request
        if path.endswith(("/finalize", "/publish")):
            body = {**body, "seen": organiser.get("/admin/health").json()["seen"]}
        content = {"content": predictions(9)} if path == "/submissions" else {"json": body}
        sender = ants if decision.by_team else organiser
        answer = sender.request(method, path.replace("Bees", teams["Bees"]), **content)
        if answer.status_code == 409:
            return str(answer.json()["detail"])
        assert answer.is_success, answer.text
        while scorer.step():
            pass
        last = competition.last_answer()
        assert last is not None
        return last.message if last.status == "refused" else ""

    return request
