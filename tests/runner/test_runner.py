"""A runner asks for work, runs it, and answers with a signature; what it cannot do, it says."""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.client import ServerError
from arena.errors import InputError, SandboxError
from arena.interfaces import Box, Job, Outcome
from arena.programs.digests import digest_of_folder
from arena.programs.figures import seconds_until_answer
from arena.programs.unpack import PackedLimits, unpack_here
from arena.runner import Runner, RunnerKey, WorkFolder
from arena.runner.runner import PAUSE_SECONDS, repeat_request
from arena.runner.server import RunnerClient
from arena.store.events import canonical_json
from arena.types import Fault
from arena.utils.distribution import installed_version
from lease_server import LIMITS, LeaseServer, lease_server
from scripted_sandbox import ScriptedSandbox

KEY = RunnerKey("machine-1", "arena_token", bytes(32))


@pytest.fixture
def server() -> Iterator[LeaseServer]:
    with lease_server() as serving:
        yield serving


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "a" / "runner"))
    monkeypatch.setattr("arena.runner.runner.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("arena.runner.runner.PAUSE_SECONDS", 0.01)
    # Elsewhere a child process does it, with limits, which takes a second.
    monkeypatch.setattr("arena.programs.running.unpack_program", unpack_in_this_process)


def unpack_in_this_process(path: Path, folder: Path, entry: str) -> tuple[Fault, ...]:
    faults = unpack_here(str(path), str(folder), entry, PackedLimits())
    return tuple(Fault(kind, message) for kind, message in faults)


def runner(server: LeaseServer, folder: Path, sandbox: Any = None, **more: Any) -> Runner:
    folders = [folder / name for name in ("inputs", "sample_inputs")]
    for inner in folders:
        inner.mkdir(exist_ok=True)
        (inner / "rows.csv").write_text(inner.name)
    inputs, sample = (Runner.digests([inner]) for inner in folders)
    return Runner(server.url, KEY, sandbox or ScriptedSandbox(), "scripted", inputs, sample, **more)


def script(end: str, **more: Any) -> bytes:
    run = {"end": end, "output": "id,y\n", "log": "a line", **more}
    return json.dumps({"inputs": run, "sample_inputs": run}).encode()


def digest(folder: Path, name: str = "inputs") -> str:
    return digest_of_folder(folder / name)


def only_result(server: LeaseServer) -> tuple[dict[str, Any], bytes | None]:
    (fields,) = server.results
    result = json.loads(fields["result"])
    text = canonical_json(result).encode()
    assert fields["signature"] == hmac.new(KEY.key, text, hashlib.sha256).hexdigest().encode()
    output = fields.get("output")
    assert output is None or isinstance(output, bytes)
    return result, output


class RecordsMode(ScriptedSandbox):
    """Records the access mode of the output folder while a program runs."""

    def run(self, job: Job, box: Box) -> Outcome:
        self.mode = stat.S_IMODE(job.target.parent.stat().st_mode)
        return super().run(job, box)


@pytest.mark.parametrize("kind", ["trial", "hidden", "verify"])
def test_a_run_is_answered(kind: str, server: LeaseServer, tmp_path: Path) -> None:
    sandbox = RecordsMode()
    working = runner(server, tmp_path, sandbox)
    name = "sample_inputs" if kind == "trial" else "inputs"
    server.add(script("ok"), digest(tmp_path, name), kind)
    working.run(once=True)
    result, output = only_result(server)
    assert output == b"id,y\n"
    started = datetime.fromisoformat(result.pop("started"))
    assert timedelta(0) <= datetime.now(UTC) - started < timedelta(minutes=1)
    versions = {"scripted": "1", "arena": installed_version()}
    assert result == {
        "run": "run-0", "lease": 1, "kind": kind, "program": "p", "environment": "",
        "sha256": hashlib.sha256(script("ok")).hexdigest(), "inputs": digest(tmp_path, name),
        "limits": LIMITS, "runner": "machine-1", "sandbox": "scripted", "versions": versions,
        "seconds": 12.34, "cpu_seconds": 20.5, "peak_mb": 345.6, "end": "ok",
        "output_sha256": hashlib.sha256(b"id,y\n").hexdigest(),
        **({"log": "a line"} if kind == "trial" else {}),
    }  # fmt: skip
    assert server.offers[0] == {
        "runner": "machine-1", "sandbox": "scripted", "versions": versions,
        "inputs": sorted([*working.inputs, *working.sample]), "kinds": ["trial", "hidden"],
    }  # fmt: skip
    folder = tmp_path / "a" / "runner"
    assert {path.name for path in folder.iterdir()} == {"lock", "work"}
    assert (stat.S_IMODE(folder.stat().st_mode), sandbox.mode) == (0o700, 0o700)


def test_the_time_of_an_answer_says_no_more_than_the_time_that_is_shown(
    server: LeaseServer, tmp_path: Path
) -> None:
    """A program could choose among thousands of times, of which its team sees two digits."""
    working = runner(server, tmp_path)
    server.add(script("ok", seconds=51.0), digest(tmp_path))
    started = time.monotonic()
    working.run(once=True)
    assert only_result(server)[0]["seconds"] == 51.0
    assert time.monotonic() - started > seconds_until_answer(51.0) - 51.0 == 0.5


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a failure": ({"program": script("memory")}, "memory", ""),
    "other inputs": ({"inputs": "sha256:1"}, "machine", "are not among the hidden ones"),
    "another environment": ({"environment": "sha256:1"}, "machine", "hold the environment"),
    "a fault of the machine": ({"program": script("machine")}, "machine", "No memory is left"),
    "a damaged program": ({"sha256": "0" * 64}, "machine", "is not the one that the server"),
    "half a ZIP": ({"file": "a.zip", "program": b"PK"}, "machine", "could be unpacked for"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_run_is_said(case: str, server: LeaseServer, tmp_path: Path) -> None:
    changes, end, reason = CASES[case]
    working = runner(server, tmp_path)
    arguments = {"program": script("ok"), "inputs": digest(tmp_path), **changes}
    server.add(**arguments)
    working.run(once=True)
    result, output = only_result(server)
    assert (result["end"], output, "log" in result) == (end, None, False)
    assert reason in result.get("reason", "")
    if end == "machine":
        assert [result[name] for name in ("seconds", "cpu_seconds", "peak_mb")] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["trial", "hidden"])
def test_inputs_of_the_other_kind_are_refused(
    kind: str, server: LeaseServer, tmp_path: Path
) -> None:
    """A web process that is taken over could ask for a trial on hidden inputs, to read its log."""
    working = runner(server, tmp_path)
    other = "inputs" if kind == "trial" else "sample_inputs"
    server.add(script("ok"), digest(tmp_path, other), kind)
    working.run(once=True)
    result, output = only_result(server)
    assert (result["end"], output, "log" in result) == ("machine", None, False)
    assert "are not among the" in result["reason"]


def test_a_trial_of_half_a_zip_says_what_is_wrong(server: LeaseServer, tmp_path: Path) -> None:
    working = runner(server, tmp_path)
    server.add(b"PK", digest(tmp_path, "sample_inputs"), "trial", file="a.zip")
    working.run(once=True)
    result, _ = only_result(server)
    assert result["end"] == "not unpacked"
    assert "neither a .py file nor a ZIP archive" in result["log"]


def test_an_answer_is_sent_again_after_a_restart(
    server: LeaseServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each request that fails is in the log: the client repeats none by itself."""
    working = runner(server, tmp_path)
    server.refusals = {"lease": [502, 200], "program": [503, 200], "result": [503, 502, 200]}
    server.add(script("ok"), digest(tmp_path))
    working.run(once=True)
    assert only_result(server)[1] == b"id,y\n"
    assert len(caplog.records) == 4


@pytest.mark.parametrize("part", ["result", pytest.param("program", marks=pytest.mark.slow)])
def test_a_machine_that_is_cut_off_sends_nothing_once_its_lease_has_ended(
    part: str, server: LeaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.runner.runner.LEASE_SECONDS", 0.3)
    working = runner(server, tmp_path, beat_seconds=0.05)
    server.refusals = {part: [502] * 1000, "beat": [502] * 1000}
    server.add(script("ok"), digest(tmp_path))
    working.run(once=True)
    assert server.results == []


@pytest.mark.parametrize("part", ["result", pytest.param("program", marks=pytest.mark.slow)])
def test_a_lease_is_prolonged_while_files_are_sent(
    part: str, server: LeaseServer, tmp_path: Path
) -> None:
    working = runner(server, tmp_path, beat_seconds=0.02)
    server.refusals = {part: [502] * 20}
    server.add(script("ok"), digest(tmp_path))
    working.run(once=True)
    assert only_result(server)[0]["end"] == "ok"
    assert server.beats > 1


@pytest.mark.parametrize("part", ["result", pytest.param("program", marks=pytest.mark.slow)])
def test_a_run_of_another_runner_is_given_up(
    part: str, server: LeaseServer, tmp_path: Path
) -> None:
    working = runner(server, tmp_path)
    server.refusals = {part: [409]}
    server.add(script("ok"), digest(tmp_path))
    server.add(script("ok"), digest(tmp_path))
    working.run(once=True)
    assert only_result(server)[0]["run"] == "run-1"


class Waiting(ScriptedSandbox):
    """Runs until it is stopped."""

    def run(self, job: Job, box: Box) -> Outcome:
        assert job.stop is not None
        assert job.stop.wait(20)
        raise SandboxError("The run was stopped.")


def test_a_lost_lease_ends_the_run(
    server: LeaseServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    working = runner(server, tmp_path, Waiting(), beat_seconds=0.05)
    server.refusals = {"beat": [200, 502, 409]}
    server.add(script("ok"), digest(tmp_path))
    working.run(once=True)
    assert (server.results, server.beats) == ([], 1)
    assert caplog.messages[-1] == "The run run-0 is given up: its lease has ended."


def test_a_machine_that_is_cut_off_ends_the_run(
    server: LeaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.runner.runner.LEASE_SECONDS", 0.3)
    working = runner(server, tmp_path, Waiting(), beat_seconds=0.05)
    server.refusals = {"beat": [502] * 1000}
    server.add(script("ok"), digest(tmp_path))
    started = time.monotonic()
    working.run(once=True)
    assert (server.results, time.monotonic() - started < 10) == ([], True)


def test_stopping_gives_up_the_run(
    server: LeaseServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    working = runner(server, tmp_path, Waiting(), beat_seconds=0.05)
    server.on_beat = working.stop.set
    server.add(script("ok"), digest(tmp_path))
    working.run()
    assert server.results == []
    assert caplog.messages == ["The run run-0 is given up: this runner ends."]


def test_a_machine_that_fails_takes_no_work_for_a_time_that_doubles_up_to_ten_minutes(
    server: LeaseServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("arena.runner.runner.PAUSE_SECONDS", PAUSE_SECONDS)
    working = runner(server, tmp_path)
    for end in (*["machine"] * 8, "ok", "machine"):
        server.add(script(end), digest(tmp_path))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        working.stop.set() if len(waits) == 9 else None

    object.__setattr__(working.stop, "wait", wait)
    working.run()
    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0, 10.0]
    assert len(server.results) == 10
    assert caplog.messages[1] == (
        "This machine could not run a program, and takes none for 20 s: "
        "No memory is left on this machine."
    )


FAILING = ("machine", "machine", "ok", "machine", "machine", "machine", "machine")
"""Two faults and a success, after which the third fault in a row is that of the sixth program."""


def test_a_machine_that_fails_again_and_again_ends_once_it_may(
    server: LeaseServer, tmp_path: Path
) -> None:
    working = runner(server, tmp_path)
    for end in FAILING:
        server.add(script(end), digest(tmp_path))
    with pytest.raises(SandboxError, match="could not run 3 programs: No memory is left"):
        working.run(once=True)
    assert (len(server.results), len(server.work)) == (6, 1)


def test_a_folder_of_runs_ends_a_machine_that_fails_again_and_again(
    server: LeaseServer, tmp_path: Path
) -> None:
    """A folder takes the place of the server: the same programs have the same ends."""
    runs = WorkFolder(tmp_path / "runs")
    working = replace(runner(server, tmp_path), source=runs.folder)
    for number, end in enumerate((*FAILING, "ok"), 1):
        server.add(script(end, seconds=0.0), digest(tmp_path))
        program = tmp_path / "main.py"
        program.write_bytes(script(end, seconds=0.0))
        runs.add(str(number), server.work[-1], program)
    with pytest.raises(SandboxError, match="could not run 3 programs: No memory is left"):
        working.run()
    ends = [runs.result(str(number))[0]["end"] for number in range(1, 7)]
    assert ends == list(FAILING[:6])
    working.run()
    seventh, last = (runs.result(number) for number in ("7", "8"))
    assert (seventh[0]["end"], seventh[2]) == ("machine", None)
    assert last[1] == KEY.sign(last[0])
    assert last[2] is not None
    assert last[2].read_text() == "id,y\n"
    assert not any(tmp_path.glob("a/runner/output-*"))


def test_without_room_no_work_is_taken(
    server: LeaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.runner.runner.FREE_BYTES", 10**18)
    working = runner(server, tmp_path)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        working.stop.set() if len(waits) == 3 else None

    object.__setattr__(working.stop, "wait", wait)
    working.run()
    assert (server.offers, len(waits)) == ([], 3)


def test_work_is_taken_with_five_gigabytes_of_room(
    server: LeaseServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    working = runner(server, tmp_path)
    for free, has_room in ((4_440_000_000, False), (4_999_999_999, False), (5_000_000_000, True)):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _folder, usage=usage: usage)
        assert working._has_room() is has_room
    first, _ = (record.getMessage() for record in caplog.records)
    assert first == (
        f"{tmp_path}/a/runner has 4.4 GB of free space: no program is run with less than 5 GB."
    )


def test_a_result_that_cannot_be_put_together_is_a_fault_of_the_machine(
    server: LeaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("arena.runner.server.RunnerClient.send_result", fail)
    working = runner(server, tmp_path)
    for _ in range(3):
        server.add(script("ok"), digest(tmp_path))
    with pytest.raises(SandboxError, match="could not run 3 programs: .*No space left on device"):
        working.run(once=True)


def test_a_program_that_is_longer_than_announced_is_read_no_further(
    server: LeaseServer, tmp_path: Path
) -> None:
    """It arrives in parts of 65,536 bytes: the second one goes beyond the bytes announced."""
    server.programs["run-0"] = bytes(300_000)
    work = {"run": "run-0", "lease": 1, "bytes": 70_000, "sha256": "0" * 64}
    client = RunnerClient(server.url, KEY.token)
    for announced in (70_000, 2 * 65_536 - 1):
        with pytest.raises(InputError, match="is not the one that the server announced"):
            client.program({**work, "bytes": announced}, tmp_path / "main.py")
        assert (tmp_path / "main.py").stat().st_size == 2 * 65_536
    # It is refused also if its first 65,536 bytes are the announced program.
    start = {"bytes": 65_536, "sha256": hashlib.sha256(bytes(65_536)).hexdigest()}
    with pytest.raises(InputError, match="is not the one that the server announced"):
        client.program({**work, **start}, tmp_path / "main.py")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_program_that_cannot_be_written_is_a_fault_of_the_machine(server: LeaseServer) -> None:
    server.programs["run-0"] = bytes(70_000)
    work = {"run": "run-0", "lease": 1, "bytes": 70_000, "sha256": "0" * 64}
    client = RunnerClient(server.url, KEY.token)
    with pytest.raises(SandboxError, match=r"^/dev/full cannot be written: .*no space"):
        client.program(work, Path("/dev/full"))


def test_a_refused_runner_ends(server: LeaseServer, tmp_path: Path) -> None:
    server.refusals = {"lease": [401]}
    with pytest.raises(ServerError):
        runner(server, tmp_path).run(once=True)


def test_the_file_of_a_runner_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "runner.json"
    with pytest.raises(InputError, match="cannot be read"):
        RunnerKey.read(path)
    for text in ("x", "[]", '{"name": "a", "token": "secret", "key": "xyz"}'):
        path.write_text(text)
        with pytest.raises(InputError, match="is no file of a runner") as raised:
            RunnerKey.read(path)
        assert "secret" not in str(raised.value)
    path.write_text('{"name": "a", "token": "t", "key": "00ff"}')
    assert RunnerKey.read(path) == RunnerKey("a", "t", b"\x00\xff")


def test_a_request_is_repeated_after_pauses_of_at_most_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arena.runner.runner.PAUSE_SECONDS", 10.0)
    failures = [ServerError("", status) for status in (0, 408, 429, 502, 503, 504, 507)]
    waits: list[float] = []
    stop: Any = SimpleNamespace(wait=lambda seconds: waits.append(seconds) or len(waits) == 7)

    def request() -> None:
        raise failures.pop(0)

    with pytest.raises(ServerError) as ended:
        repeat_request(request, stop)
    assert (ended.value.status, waits) == (507, [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0])
    failures.append(ServerError("", 500))
    with pytest.raises(ServerError):
        repeat_request(request, stop)
    assert len(waits) == 7


def test_a_lease_is_prolonged_every_fifteen_seconds_and_given_up_after_a_minute_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 100.0
    beats: list[float] = []
    stopped_at: list[float] = []
    options: list[Any] = []
    working = Runner("http://a", KEY, ScriptedSandbox(), "scripted", inputs={}, sample={})

    class Event:
        """Stands for two events: the run has ended, and it is given up."""

        def wait(self, seconds: float) -> bool:
            nonlocal now
            assert seconds == 0.25
            now += seconds
            return now > 250.0

        def set(self) -> None:
            stopped_at.append(now)

    def beat(_: Any) -> None:
        beats.append(now)
        if now > 130.0:
            raise ServerError("Lost.", 409 if now == 235.0 else 502)

    def thread(target: Any, daemon: bool) -> Any:
        return SimpleNamespace(start=target, join=lambda: None)

    threading = SimpleNamespace(Event=Event, Thread=thread)
    monkeypatch.setattr("arena.runner.runner.threading", threading)
    monkeypatch.setattr("arena.runner.runner.time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr("arena.runner.runner.LOOK_SECONDS", 0.25)
    client = SimpleNamespace(beat=beat)
    monkeypatch.setattr(Runner, "_client", lambda _, **how: options.append(how) or client)
    with working._lease_prolonged({"run": "r"}):
        pass
    assert options == [{"timeout": 10.0}]
    assert beats == [115.0 + 15 * number for number in range(10)]
    # The last successful beat is at 130 s: the run is given up more than a minute later.
    assert stopped_at[:2] == [190.25, 190.5]
    assert stopped_at.count(235.0) == 2  # also because the run was given to another runner
    assert caplog.messages == ["Lost."] * 8


def test_a_runner_offers_the_kinds_for_which_it_has_inputs() -> None:
    hidden, trial = {"b": Path("b")}, {"a": Path("a")}
    for inputs, sample, kinds in (
        (hidden, trial, ["trial", "hidden"]), ({}, trial, ["trial"]), (hidden, {}, ["hidden"]),
    ):  # fmt: skip
        working = Runner("", KEY, ScriptedSandbox(), "scripted", inputs=inputs, sample=sample)
        offer = working._offer()
        assert (offer["kinds"], offer["inputs"]) == (kinds, sorted({**inputs, **sample}))
