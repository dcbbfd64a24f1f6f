"""Programs on a server: their states, leases of runners, and what is shown of hidden runs."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.errors import InputError
from arena.server.records.runs import ProgramState
from arena.server.web import api
from arena.server.web.body import receive
from program_server import GOOD, NAME, URL, ProgramServer, script, write_competition


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_competition(tmp_path_factory.mktemp("programs"), limits={"per_day": 2})


@pytest.fixture
def server(created: Path, tmp_path: Path) -> Iterator[ProgramServer]:
    program_server = ProgramServer(shutil.copytree(created, tmp_path / NAME))
    yield program_server
    program_server.close()


def test_a_program_goes_through_its_states(server: ProgramServer) -> None:
    first = server.send("ants", script()).json()
    assert (first["status"], first["place"]) == ("waiting", 1)
    assert "waits for its trial" in first["message"]
    runner = server.runner()
    states = []

    def look() -> None:
        states.append(server.state("ants", first["request"])["message"])

    trial = runner.lease()
    look()
    runner.send(*runner.result(trial))
    look()
    server.judge()
    look()
    hidden = runner.lease()
    look()
    runner.send(*runner.result(hidden))
    look()
    server.judge()
    assert (trial["kind"], hidden["kind"]) == ("trial", "hidden")
    assert [state.split(".")[0] for state in states] == [
        "Its trial on the sample inputs is running",
        "Its trial ended well",
        "Its trial ended well",
        "Its run on the hidden inputs is running",
        "Its run has ended",
    ]
    scored = server.state("ants", first["request"])
    assert (scored["status"], scored["submission"]) == ("accepted", 1)
    assert scored["score"] is not None
    assert scored["trial"]["log"] == "a line of the log"
    page = server.member("ants").get(f"/api/v1/{NAME}/submissions").json()
    assert [request["status"] for request in page["requests"] if request["kind"] == "submit"] == [
        "accepted"
    ]
    assert page["left_today"] == 1
    board = server.client(accept="text/html").get(f"/{NAME}/").text
    assert '<th scope="col" class="n">Seconds</th>' in board
    assert '<td class="n">12</td><td class="n">350</td>' in board
    received, submission = (
        server.competition.events(kind)[0] for kind in ("program received", "submission")
    )
    assert received.time == submission.time
    assert submission.payload["run"]["runner"] == "local"
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_each_phase_has_its_inputs_and_limits(tmp_path: Path) -> None:
    begins = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    in_final = {"inputs": "programs/final", "seconds": 5}
    phases = {
        "dev": {"end": begins, "public_rows": "Public"},
        "final": {"start": begins, "private_rows": "Private", "programs": in_final},
    }
    folder = write_competition(tmp_path, phase=phases)
    (folder / "programs" / "final").mkdir()
    (folder / "programs" / "final" / "x.csv").write_text("id\nfinal\n")
    server = ProgramServer(folder)
    try:
        hidden = []
        early = server.send("bees", script(), phase="final")
        assert (early.status_code, "not open" in early.text) == (409, True)  # its log shows inputs
        assert server.site.runs.of_team(NAME, "bees") == []
        for phase, offset in (("dev", timedelta()), ("final", timedelta(days=2))):
            server.offset = offset
            submission = server.send("ants", script(f"{GOOD}{' ' * offset.days}")).json()
            page = server.client(accept="text/html").get(f"/{NAME}/submit").text
            assert f"<dd>{5 if phase == 'final' else 600} s" in page
            runner = server.runner()
            runner.run()
            server.judge()
            hidden.append(runner.run())
            server.judge()
            assert server.state("ants", submission["request"])["status"] == "accepted"
            assert server.competition.events("submission")[-1].payload["phase"] == phase
        assert [run["limits"]["seconds"] for run in hidden] == [600, 5]
        assert hidden[0]["inputs"] != hidden[1]["inputs"]
    finally:
        server.close()


@pytest.mark.slow
def test_a_phase_for_which_a_program_waits_is_not_renamed(tmp_path: Path) -> None:
    ends = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    folder = write_competition(
        tmp_path, phase={"dev": {"end": ends}, "final": {"private_rows": "Private"}}
    )
    server = ProgramServer(folder)
    path = folder / "competition.toml"
    try:
        request = server.send("ants", script(), phase="dev").json()["request"]
        server.runner().run()
        server.judge()
        server.end_scorer()
        text = path.read_text()
        path.write_text(text.replace("phase.dev", "phase.other"))
        with pytest.raises(InputError, match="belong to the phase dev would belong to no phase"):
            server.start_scorer()
        path.write_text(text)
        server.start_scorer()
        server.runner().run()
        server.judge()
        assert server.state("ants", request)["status"] == "accepted"
    finally:
        server.close()


def test_the_page_says_what_a_program_gets(server: ProgramServer) -> None:
    server.member("ants")
    page = server.client(accept="text/html").get(f"/{NAME}/submit")
    assert page.status_code == 200
    for text in ("python3 main.py", "600 s", "4096 MB", "no network"):
        assert text in page.text
    assert "sha256:" not in page.text  # a digest of inputs that are easy to guess would tell them
    assert "sha256:" not in server.client().get(f"/api/v1/{NAME}").text


def test_a_failed_trial_shows_its_log_and_counts_for_nothing(server: ProgramServer) -> None:
    answer = server.send("ants", script(trial_end="crash", log="no column"))
    server.runner().run()
    server.judge()
    state = server.state("ants", answer.json()["request"])
    assert (state["status"], state["trial"]["log"]) == ("trial_failed", "no column")
    assert server.competition.quota_used("ants") == 0
    page = server.member("ants").get(f"/api/v1/{NAME}/submissions").json()
    assert [request["status"] for request in page["requests"]] == ["trial_failed"]
    assert list(server.layout.uploads.iterdir()) == []


@pytest.mark.slow
def test_a_program_that_a_machine_could_not_try_may_be_sent_again(server: ProgramServer) -> None:
    key = {"Idempotency-Key": "file-1"}
    first = server.send("ants", script(trial_end="machine"), **key).json()
    for status in ("waiting", "set_aside"):  # another runner tries it once
        server.runner().run()
        assert server.state("ants", first["request"])["status"] == status
        health = server.organiser().get(f"/api/v1/{NAME}/admin/health").json()
        assert ("a runner failed or was lost: 1." in str(health["problem"])) == (
            status == "waiting"
        )
    assert list(server.layout.uploads.iterdir()) == []
    second = server.send("ants", script(), **key).json()
    assert (second["status"], second["request"] == first["request"]) == ("waiting", False)
    assert server.send("ants", script(), **key).json()["request"] == second["request"]


@pytest.mark.slow
def test_a_stored_program_is_found_by_its_key_when_the_deadline_passes(
    created: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(created, tmp_path / NAME)
    path = folder / "competition.toml"
    deadline = (datetime.now(UTC) + timedelta(minutes=30)).isoformat()
    path.write_text(path.read_text().replace("# deadline =", f"deadline = {deadline}"))
    server = ProgramServer(folder)

    async def slowly(*given: Any) -> Any:
        server.offset = timedelta(hours=1)
        return await receive(*given)

    try:
        first = server.send("ants", script(), **{"Idempotency-Key": "1"}).json()["request"]
        server.runner().run()
        server.judge()
        monkeypatch.setattr(api, "receive", slowly)
        statuses = {}
        for key in ("1", "2", f"program {first}"):  # the last one is of a request of the server
            server.offset = timedelta()
            answer = server.send("ants", script(), **{"Idempotency-Key": key})
            statuses[key] = answer.status_code
        assert list(statuses.values()) == [202, 409, 409]
        assert len(server.site.runs.of_team(NAME, "ants")) == 1
    finally:
        server.close()


@pytest.mark.slow
def test_a_program_is_not_judged_again_as_predictions(server: ProgramServer) -> None:
    request = server.send("ants", script("no predictions")).json()["request"]
    runner = server.runner()
    for _ in range(2):
        runner.run()
        server.judge()
    assert server.state("ants", request)["status"] == "rejected"
    again = server.organiser().post(f"/api/v1/{NAME}/admin/submissions/{request}/rerun")
    assert again.status_code == 409
    assert len(server.competition.events("submission")) == 1


HOSTILE = {
    "id": "id,y\nHIDDEN-57,1\n",
    "cell": "id,y\nr0,HIDDEN-57\n",
    "column": "id,HIDDEN-57\nr0,1\n",
    "text": "HIDDEN-57",
}


def test_nothing_of_a_hidden_run_is_in_any_file_that_the_web_process_shows(
    server: ProgramServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    requests, answers = {}, []
    for name, output in HOSTILE.items():
        requests[name] = server.send(name, script(output)).json()["request"]
    runner = server.runner()
    for _ in range(2 * len(HOSTILE)):
        runner.run()
        server.judge()
    for team, request in requests.items():
        state = server.state(team, request)
        assert [fault["kind"] for fault in state["faults"]] == ["output invalid"]
        member = server.member(team)
        stored = next(run for run in server.site.runs.of_team(NAME, team)).request
        for path in ("submissions", "submissions.csv", f"requests/{stored}", "board", "events"):
            if path != "events":
                answers.append(member.get(f"/api/v1/{NAME}/{path}").text)
        page = server.client(accept="text/html", authorization=member.headers["authorization"]).get(
            f"/{NAME}/submissions/{request}"
        )
        answers.append(page.text)
        for identifier in (request, stored):
            file = member.get(f"/api/v1/{NAME}/requests/{identifier}/file")
            assert b"HIDDEN-57\\n" not in file.content or identifier == request  # its own program
            assert file.status_code == (200 if identifier == request else 404)
    assert "HIDDEN" not in "".join(answers)
    assert "HIDDEN" not in caplog.text
    published = sqlite3.connect(server.layout.public(NAME))
    assert "HIDDEN" not in "\n".join(published.iterdump())
    published.close()


@pytest.mark.slow
def test_the_output_changes_nothing_that_is_shown_but_the_score(server: ProgramServer) -> None:
    """A program could send bits by choosing among outputs with equal predictions."""
    states = []
    for team, padding in (("ants", ""), ("bees", "\n")):
        submission = server.send(team, script(script()["hidden"]["output"] + padding)).json()
        runner = server.runner()
        for _ in range(2):
            runner.run()
            server.judge()
        state = server.state(team, submission["request"])
        program = state.pop("sha256")
        assert program == submission["sha256"]
        for key in ("request", "received", "receipt", "member", "submission", "score", "source"):
            state.pop(key)
        states.append(state)
    assert states[0] == states[1]


@pytest.mark.slow
def test_limits_of_a_day(server: ProgramServer) -> None:
    runner = server.runner()
    for name in range(3):
        answer = server.send("ants", script(f"{name}"))
        runner.run()  # the trial
        server.judge()
        if name < 2:
            runner.run()
            server.judge()
    state = server.state("ants", answer.json()["request"])
    assert state["status"] == "refused"
    assert "2 submissions a day" in state["message"]
    assert len(server.competition.events("submission")) == 2


@pytest.mark.slow
def test_trials_of_a_day_are_limited(created: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(created, tmp_path / NAME)
    text = (
        (folder / "competition.toml")
        .read_text()
        .replace("trials_per_day = 20", "trials_per_day = 1")
    )
    (folder / "competition.toml").write_text(text)
    server = ProgramServer(folder)
    try:
        assert server.send("ants", script("1")).status_code == 202
        refused = server.send("ants", script("2"))
        assert (refused.status_code, "tried on a day: at most 1 (" in refused.text) == (429, True)
        renamed = server.member("ants").patch(f"/api/v1/{NAME}/team", json={"name": "bees"})
        assert renamed.status_code == 200
        server.judge()
        assert server.member("ants").get(f"/api/v1/{NAME}/team").json()["name"] == "bees"
        assert server.send("ants", script("2")).status_code == 429  # under the new name
        server.offset = timedelta(days=1)
        server.runner().run()
    finally:
        server.close()


@pytest.mark.slow
def test_a_team_that_is_renamed_while_a_program_waits_has_one_hidden_run(
    server: ProgramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = server.send("ants", script(), **{"Idempotency-Key": "k"}).json()
    runners = [server.runner(name) for name in ("one", "two")]
    runners[0].run()  # the trial
    server.judge()
    renamed = server.member("ants").patch(f"/api/v1/{NAME}/team", json={"name": "bees"})
    assert renamed.status_code == 200
    server.judge()
    again = server.send("ants", script(), **{"Idempotency-Key": "k"}).json()
    assert again["request"] == submission["request"]
    server.send("ants", script(log="another line"))
    first = runners[0].lease()
    assert (first["kind"], first["run"]) == ("hidden", submission["request"])
    runners[1].run()  # the trial of the second one
    server.judge()
    monkeypatch.setattr("arena.server.web.programs.LONGEST_POLL", 0.0)
    assert runners[1].post("/runs/lease", json=runners[1].offer()).status_code == 204
    runners[0].send(*runners[0].result(first))
    server.judge()
    runners[1].run()
    server.judge()
    assert [row["team"] for row in server.site.competition(NAME).published.board()] == ["bees"]
    assert len(server.competition.events("submission")) == 2
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_a_team_whose_program_waits_is_merged_afterwards(server: ProgramServer) -> None:
    """Its submission would be that of a team which is no more, with limits of its own."""
    server.send("ants", script())
    server.member("bees")
    runner, organiser = server.runner(), server.organiser()

    def merge() -> int:
        teams = {"team": "ants", "into": "bees"}
        return int(organiser.post(f"/api/v1/{NAME}/admin/merge", json=teams).status_code)

    assert merge() == 409
    runner.run()
    server.judge()
    assert merge() == 409
    runner.run()
    assert merge() == 202
    server.judge()
    assert [row["team"] for row in server.site.competition(NAME).published.board()] == ["bees"]
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_who_leaves_a_team_that_sent_a_program_founds_no_other(server: ProgramServer) -> None:
    server.send("ants", script())
    accounts = server.site.accounts
    (member,) = accounts.accounts(NAME)
    browser = server.client(**{"Origin": URL, "Sec-Fetch-Site": "same-origin"})
    browser.cookies.set("__Host-arena", accounts.open_session(member.account))
    assert browser.request("DELETE", f"/api/v1/{NAME}/team/members", json={}).status_code == 200
    answer = server.member("ants").post(f"/api/v1/{NAME}/join", json={"team": "cats"})
    assert (answer.status_code, "member of another team" in answer.text) == (409, True)


# -- what happens when something ends --------------------------------------------------------------


@pytest.mark.slow
def test_a_lost_runner_loses_its_run_and_its_late_result_is_refused(server: ProgramServer) -> None:
    submission = server.send("ants", script()).json()
    first, second = server.runner("one"), server.runner("two")
    lost = first.lease()
    late = first.result(lost)
    server.offset = timedelta(seconds=61)
    server.state("ants", submission["request"])  # somebody asks before another runner takes it
    assert first.send(*late).status_code == 409
    retaken = second.lease()
    assert retaken["run"] == lost["run"]
    assert first.send(*late).status_code == 409
    assert first.post(f"/runs/{lost['run']}/beat", json={"lease": lost["lease"]}).status_code == 409
    result = second.result(retaken)
    for _ in range(2):  # a result that is sent again is stored once
        assert second.send(*result).status_code == 200
    assert first.send(*late).status_code == 409
    server.judge()
    hidden = second.lease()
    late_hidden = second.result(hidden)
    assert first.send(*late).status_code == 409  # the number of a trial is not that of the run
    server.offset += timedelta(seconds=61)
    late_again = first.result(again := first.lease())
    assert again["run"] == hidden["run"]
    server.offset += timedelta(seconds=61)
    server.state("ants", submission["request"])  # no runner takes it a third time
    for state in ("set aside", "judged"):
        for late_result in (late, late_hidden, late_again):
            assert second.send(*late_result).status_code == 409, state
        server.judge()
    assert server.state("ants", submission["request"])["status"] == "set_aside"
    assert server.competition.quota_used("ants") == 0
    assert server.competition.waiting_programs() == []
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_programs_may_be_recorded_in_another_order_than_they_came(server: ProgramServer) -> None:
    request = server.send("ants", script()).json()["request"]
    lost, runner = server.runner("one"), server.runner("two")
    run = lost.lease()
    for _ in range(2):
        server.offset += timedelta(seconds=50)
        lost.post(f"/runs/{run['run']}/beat", json={"lease": run["lease"]})
    server.send("bees", script())
    runner.run()
    server.judge()
    server.offset += timedelta(seconds=61)
    for _ in range(2):  # first the run of the bees, which was not lost
        runner.run()
        server.judge()
    for _ in range(2):
        lost.lease()
        server.offset += timedelta(seconds=61)
    server.send("cats", script())
    while server.state("ants", request)["status"] == "waiting":
        runner.run()
        server.judge()
    received = [event.payload["team"] for event in server.competition.events("program received")]
    assert received == ["bees", "ants", "cats"]
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_a_program_that_a_runner_has_is_not_taken_back(server: ProgramServer) -> None:
    """Two requests at once find that a program was recorded."""
    server.send("ants", script())
    runner = server.runner()
    runner.run()
    server.judge()
    runs = server.site.runs
    (recorded,) = runs.in_state(NAME, ProgramState.RECORDED)
    run = runner.lease()
    assert not runs.change(recorded, ProgramState.RUN_WAITS)
    assert runner.send(*runner.result(run)).status_code == 200


@pytest.mark.slow
def test_a_runner_that_is_gone_gets_no_run(server: ProgramServer) -> None:
    server.send("ants", script())
    runner = server.runner()
    incoming = [
        {"type": "http.request", "body": json.dumps(runner.offer()).encode()},
        {"type": "http.disconnect"},
    ]
    headers = {
        "host": URL.removeprefix("https://"),
        "authorization": f"Bearer {runner.document['token']}",
        "content-type": "application/json",
        "content-length": str(len(incoming[0]["body"])),
    }
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "https",
        "path": f"/api/v1/{NAME}/runs/lease", "raw_path": b"", "query_string": b"", "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 443),
    }  # fmt: skip
    answers: list[Any] = []

    async def receive() -> Any:
        return incoming.pop(0) if len(incoming) > 1 else incoming[0]

    async def send(message: Any) -> None:
        answers.append(message)

    asyncio.run(server.app(scope, receive, send))
    assert answers[0]["status"] == 204
    assert runner.lease()["lease"] == 1


def test_a_lease_lasts_as_long_as_its_runner_gives_signs_of_life(server: ProgramServer) -> None:
    server.send("ants", script())
    runner = server.runner()
    run = runner.lease()
    for _ in range(4):
        server.offset += timedelta(seconds=40)
        assert runner.post(f"/runs/{run['run']}/beat", json={"lease": run["lease"]}).is_success
    assert runner.send(*runner.result(run)).status_code == 200


def test_a_result_that_is_sent_again_is_stored_once(server: ProgramServer) -> None:
    server.send("ants", script())
    runner = server.runner()
    for _ in range(2):
        result = runner.result(run := runner.lease())
        number = f'{{"lease": {run["lease"]}, "end": "ok", "log": "", "peak_mb": 1, "seconds": %s}}'
        figures = [number % seconds for seconds in ("NaN", "1e999", "-1", "true", "null")]
        documents = ("[" * 100_000, '{"lease": 1e999, "end": "ok"}', '{"lease": 1, "lease": 2}')
        for text in (*documents, *(figures if run["kind"] == "trial" else ())):
            form = {"result": (None, text), "signature": (None, "x")}
            assert runner.post(f"/runs/{run['run']}/result", files=form).status_code == 422
        assert runner.send(*result).status_code == 200
        server.end_web()
        server.start_web()
        assert runner.send(*result).status_code == 200
        server.judge()
    assert len(server.competition.events("submission")) == 1
    assert server.competition.audit() == ()


@pytest.mark.slow
def test_the_deadline_may_pass_during_a_run(created: Path, tmp_path: Path) -> None:
    server = ProgramServer(shutil.copytree(created, tmp_path / NAME))
    try:
        submission = server.send("ants", script()).json()
        runner = server.runner()
        runner.run()
        server.judge()
        server.end_scorer()
        deadline = server.clock() + timedelta(seconds=1)
        path = server.folder / "competition.toml"
        text = path.read_text().replace("# deadline =", f"deadline = {deadline.isoformat()}")
        path.write_text(text)
        server.start_scorer()
        server.offset = timedelta(hours=1)
        assert server.send("bees", script()).status_code == 409
        runner.run()
        server.judge()
        state = server.state("ants", submission["request"])
        assert (state["status"], state["late"]) == ("accepted", False)
    finally:
        server.close()


@pytest.mark.slow
def test_a_runner_with_other_inputs_gets_no_work(server: ProgramServer) -> None:
    server.send("ants", script())
    runner = server.runner()
    offer = runner.offer()
    for missing in range(2):
        refused = runner.post("/runs/lease", json=offer | {"inputs": [offer["inputs"][missing]]})
        assert refused.status_code == 409
        assert "does not hold" in refused.text
    trials = {"inputs": [offer["inputs"][0]], "kinds": ["trial"]}
    assert runner.post("/runs/lease", json=offer | trials).json()["kind"] == "trial"
    other = runner.post("/runs/lease", json=offer | {"sandbox": "none"})
    assert (other.status_code, "need the sandbox scripted" in other.text) == (409, True)
    runner.document["token"] = f"{runner.document['token']}0"
    assert runner.post("/runs/lease", json=offer).status_code == 401


FORGERIES: dict[str, dict[str, Any]] = {
    "another signature": {"signature": "0" * 64},
    "a changed figure": {"seconds": 1.0},
    "another program": {"sha256": "0" * 64},
    "another end": {"end": "crash"},
    "another runner": {"runner": "stranger"},
}


def test_a_competition_is_not_finalized_while_programs_wait(server: ProgramServer) -> None:
    host = server.organiser()

    def finalize() -> Any:
        version = host.get(f"/api/v1/{NAME}/admin/health").json()["seen"]
        return host.post(f"/api/v1/{NAME}/admin/finalize", json={"seen": version})

    submission = server.send("ants", script(trial_end="crash")).json()
    refused = finalize()
    assert (refused.status_code, "Programs wait or run: 1" in refused.text) == (409, True)
    server.runner().run()
    assert server.state("ants", submission["request"])["status"] == "trial_failed"
    assert finalize().status_code == 202


@pytest.mark.few(2)
@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_result_is_set_aside(server: ProgramServer, forgery: dict[str, Any]) -> None:
    submission = server.send("ants", script()).json()
    runner = server.runner()
    runner.run()
    server.judge()
    document, output = runner.result(runner.lease())
    signature = forgery.get("signature") or runner.sign(document)
    changed = document | {key: value for key, value in forgery.items() if key != "signature"}
    assert runner.send(changed, output, signature=signature).status_code == 200
    _assert_set_aside(server, submission["request"])


def _assert_set_aside(server: ProgramServer, request: str) -> None:
    server.judge()
    assert server.state("ants", request)["status"] == "set_aside"
    assert server.competition.quota_used("ants") == 0
    assert server.competition.events("submission") == ()


LIES: dict[str, dict[str, Any]] = {
    "other inputs": {"inputs": "sha256:0"},
    "another environment": {"environment": "sha256:0"},
    "a trial": {"kind": "trial"},
    "another output": {"output_sha256": "0" * 64},
    "no figures": {"seconds": None},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_result_that_a_runner_signs_and_that_is_false_is_set_aside(
    server: ProgramServer, lie: dict[str, Any]
) -> None:
    submission = server.send("ants", script()).json()
    runner = server.runner()
    runner.run()
    server.judge()
    assert runner.send(*runner.result(runner.lease(), **lie)).status_code == 200
    _assert_set_aside(server, submission["request"])


@pytest.mark.slow
def test_of_a_team_one_program_runs_on_the_hidden_inputs(server: ProgramServer) -> None:
    for text in ("1", "2"):
        server.send("ants", script(text))
    runner = server.runner()
    for _ in range(2):
        runner.run()
    server.judge()
    run = runner.lease()
    assert run["kind"] == "hidden"
    server.send("bees", script())
    assert runner.lease()["kind"] == "trial"
    assert len(server.site.runs.in_state(NAME, ProgramState.RUN_WAITS)) == 1
