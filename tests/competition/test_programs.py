"""Programs as submissions: states, limits, times, and what is shown of a hidden run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.exports.verify import verify_bundle
from arena.competition.programs import local_runs, program_runs
from arena.competition.programs.program_runs import RECEIVED_FOLDER
from arena.competition.programs.reruns import compare_run
from arena.competition.programs.runners import (
    add_runner,
    digest_of_inputs,
    run_of,
    token_digests,
)
from arena.competition.record.programs import ProgramRecord, ProgramRun, figures_in, runs_in
from arena.competition.record.teams import Teams
from arena.config import Settings
from arena.errors import InputError, SandboxError, UsageError
from arena.hookspecs import hookimpl
from arena.intake import ReadSubmission
from arena.interfaces import End, Outcome
from arena.plugin.manager import PluginManager
from arena.requests import Request
from arena.runner import Runner, RunnerKey
from arena.store import Store
from arena.store.events import TimeCheck
from arena.store.signatures import signature_of
from arena.types import Fault
from arena.utils.file_digest import file_sha256
from arena.utils.parallel import NoProgress
from scenario import IDS, N_ROWS, Scenario
from scripted_sandbox import ScriptedSandbox, manager_with, write_program

HIDDEN = "HIDDEN-57;age"
GOOD = "id,y\n" + "".join(f"r{i},{i / N_ROWS}\n" for i in range(N_ROWS))


@pytest.fixture
def sandbox() -> ScriptedSandbox:
    return ScriptedSandbox()


@pytest.fixture
def manager(sandbox: ScriptedSandbox) -> PluginManager:
    return manager_with(sandbox)


@pytest.fixture
def scenario(tmp_path: Path, manager: PluginManager, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Return a competition of programs; the folders that they need are there."""
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    settings = {"metric": "roc_auc", "programs_sandbox": "scripted"}
    scenario = Scenario(tmp_path, settings=settings, manager=manager)
    for name in ("programs/inputs", "files/sample_inputs"):
        (scenario.folder / name).mkdir(parents=True)
    return scenario


def test_a_program_is_an_ordinary_submission(
    tmp_path: Path,
    scenario: Scenario,
    sandbox: ScriptedSandbox,
    manager: PluginManager,
) -> None:
    path = write_program(tmp_path / "main.py", output=GOOD)
    scenario.write("same", {"id": IDS, "y": [row / N_ROWS for row in range(N_ROWS)]})
    with scenario.create() as competition:
        first = competition.submit_program(path, "ants")
        scenario.clock.now += timedelta(days=1)
        again = competition.submit_program(path, "ants")
        by_file = competition.submit(tmp_path / "same.csv", "bees")
        (event,) = [
            event for event in competition.events("submission") if event.payload["team"] == "ants"
        ]
        assert first.trial is not None
        assert first.trial.end is End.OK
        assert first.submitted is not None
        assert first.submitted.status == "accepted"
        assert first.submitted.released == by_file.released
        assert sandbox.runs == ["sample_inputs", "inputs"]
        assert again.submitted == first.submitted
        assert event.payload["run"]["seconds"] == 12.34
        assert event.payload["run"]["inputs"].startswith("sha256:")
        assert (scenario.folder / RECEIVED_FOLDER).joinpath(
            competition.events("program received")[0].payload["sha256"] + ".py"
        ).read_bytes() == path.read_bytes()
        assert competition.audit() == ()
        figures = {row["team"]: row.get("seconds") for row in competition.leaderboard()}
        assert figures == {"ants": 12.0, "bees": None}
        competition.finalize(intervals=False)
        competition.export(tmp_path / "export")
    public = tmp_path / "export" / "public.csv"
    verify = partial(
        verify_bundle, tmp_path / "export", tmp_path / "solution.csv", manager, NoProgress()
    )
    assert verify() == ()
    public.write_text(public.read_text().replace(",350.0", ",250.0"))
    assert any("public.csv" in problem for problem in verify())


def test_a_failed_trial_counts_for_nothing(
    tmp_path: Path, scenario: Scenario, sandbox: ScriptedSandbox
) -> None:
    path = write_program(tmp_path / "main.py", trial="crash")
    with scenario.create(per_day=1) as competition:
        answer = competition.submit_program(path, "ants")
        assert answer.submitted is None
        assert answer.trial is not None
        assert answer.trial.log == b"a line of the log"
        assert competition.quota_used("ants") == 0
        assert [event.kind for event in competition.events()] == ["created"]
    assert sandbox.runs == ["sample_inputs"]


@pytest.mark.slow
@pytest.mark.parametrize("count_failed", [True, False])
def test_a_failed_run_shows_its_kind_and_two_digits(
    tmp_path: Path, scenario: Scenario, count_failed: bool
) -> None:
    show = ["seconds", "memory"] if count_failed else []
    with scenario.create(programs_count_failed=count_failed, programs_show=show) as competition:
        for end in sorted(set(End) - {End.OK}):
            path = write_program(tmp_path / "main.py", end=end)
            submitted = competition.submit_program(path, "ants").submitted
            assert submitted is not None
            assert submitted.status == "rejected"
            (fault,) = submitted.faults
            assert fault.kind == end
            assert ("12 seconds" in fault.message) == bool(show)
            assert ("350 MB" in fault.message) == bool(show)
            assert "12.3" not in fault.message
        assert competition.quota_used("ants") == (len(End) - 1 if count_failed else 0)
        assert competition.waiting_programs() == []
        assert competition.audit() == ()


def test_a_fault_of_the_machine_is_set_aside(tmp_path: Path, scenario: Scenario) -> None:
    path = write_program(tmp_path / "main.py", end="machine")
    with scenario.create(per_day=1) as competition:
        with pytest.raises(SandboxError, match="No memory is left"):
            competition.submit_program(path, "ants")
        assert competition.quota_used("ants") == 0
        assert competition.waiting_programs() == []
        assert competition.audit() == ()
        write_program(path, output=GOOD)
        submitted = competition.submit_program(path, "ants").submitted
        assert submitted is not None
        assert submitted.status == "accepted"


@pytest.mark.slow
def test_teams_may_send_the_same_file(tmp_path: Path, scenario: Scenario) -> None:
    path = write_program(tmp_path / "main.py", output=GOOD)
    with scenario.create() as competition:
        state, handler = competition._state, competition._open_handler()
        ants = program_runs.receive(state, path, team="ants", received=scenario.clock())
        competition.disqualify_team("ants", "two accounts")
        competition.reinstate(team="ants", reason="a mistake")
        scenario.clock.now += timedelta(hours=1)
        bees = competition.submit_program(path, "bees").submitted
        assert [program.team for program in competition.waiting_programs()] == ["ants"]
        again = competition.submit_program(path, "ants")
        assert (again.trial, competition.quota_used("ants")) == (None, 1)
        assert handler.answer_to_program(ants) == again.submitted
        assert again.submitted is not None
        assert bees is not None
        assert competition.waiting_programs() == []
        assert competition.submit_program(path, "bees").submitted == bees
        assert len(competition.events("program received")) == 2
        times = TimeCheck()
        for event in competition.events():
            times.add(event)
        assert times.problems == []


@pytest.mark.slow
def test_a_team_whose_only_program_waits_is_merged_and_keeps_its_name(
    tmp_path: Path, scenario: Scenario
) -> None:
    path = write_program(tmp_path / "main.py", output=GOOD)
    with scenario.create() as competition:
        for team in ("ants", "bees"):
            program_runs.receive(competition._state, path, team=team, received=scenario.clock())
        with pytest.raises(UsageError, match="Another team has or had the name 'bees'"):
            competition.rename_team("ants", "bees")
        merge = Request(
            seq=1,
            request="merge",
            kind="merge",
            team="",
            member="host",
            received=scenario.clock(),
            payload={"team": "ants", "into": "bees"},
        )
        competition.process([merge], seconds=60.0)
        assert [event.payload["to"] for event in competition.events("team merged")] == ["bees"]
        with pytest.raises(UsageError, match="2 programs wait .* the first one of bees"):
            competition.finalize()


@pytest.mark.slow
def test_an_interrupted_run_waits_and_is_run_once_more(
    tmp_path: Path, scenario: Scenario, sandbox: ScriptedSandbox
) -> None:
    deadline = (scenario.clock.now + timedelta(hours=1)).isoformat()
    path = write_program(tmp_path / "main.py", end="killed")
    with scenario.create(deadline=deadline) as competition:
        with pytest.raises(KeyboardInterrupt):
            competition.submit_program(path, "ants")
        (waiting,) = competition.waiting_programs()
        assert (waiting.team, competition.quota_used("ants")) == ("ants", 1)
        scenario.clock.now += timedelta(hours=2)
        with pytest.raises(UsageError, match="1 program waits"):
            competition.finalize()
        sandbox.run = _ends_well(tmp_path, sandbox)  # type: ignore[method-assign]
        submitted = competition.submit_program(path, "ants").submitted
        assert submitted is not None
        assert (submitted.status, submitted.late) == ("accepted", False)
        assert competition.quota_used("ants") == 1
        assert sandbox.runs == ["sample_inputs", "inputs"]
        event = competition.events("submission")[0]
        assert event.time == competition.events("program received")[0].time
        competition.finalize(intervals=False)


def _ends_well(tmp_path: Path, sandbox: ScriptedSandbox) -> Any:
    other = tmp_path / "other"
    other.mkdir()
    write_program(other / "main.py", output=GOOD)
    run = type(sandbox).run

    def runs(job: Any, box: Any) -> Any:
        (job.program / "main.py").write_bytes((other / "main.py").read_bytes())
        return run(ScriptedSandbox(), job, box)

    return runs


def test_limits_and_dates_refuse_a_program(tmp_path: Path, scenario: Scenario) -> None:
    deadline = (scenario.clock.now + timedelta(days=2)).isoformat()
    with scenario.create(per_day=1, deadline=deadline) as competition:
        paths = [
            write_program(tmp_path / f"{name}.py", output=GOOD + " " * name) for name in range(3)
        ]
        competition.submit_program(paths[0], "ants")
        with pytest.raises(UsageError, match="may send 1 submission a day"):
            competition.submit_program(paths[1], "ants")
        scenario.clock.now += timedelta(days=3)
        with pytest.raises(UsageError, match="The competition ended"):
            competition.submit_program(paths[2], "ants")
        assert len(competition.events("program received")) == 1


HOSTILE: Mapping[str, str] = {
    "a cell that is no number": GOOD.replace("r0,0.0", f"r0,{HIDDEN}"),
    "an unknown id": f"{GOOD}{HIDDEN},0.5\n",
    "a repeated id": f"{GOOD}r0,0.5\n",
    "a missing id": GOOD.replace("r0,0.0\n", ""),
    "another column": GOOD.replace("id,y", f"id,{HIDDEN}"),
    "an additional column": GOOD.replace("\n", f",{HIDDEN}\n"),
    "no table": HIDDEN,
    "nothing": "",
    "a number out of range": GOOD.replace("r0,0.0", "r0,1e999"),
    "a rule of the organiser": GOOD.replace("r0,0.0", "r0,0.123"),
}
"""What a program writes in order to read the hidden inputs from the faults."""


class _QuotingRule:
    """A rule of the organiser that quotes what it refuses."""

    @hookimpl
    def check_submission(self, predictions: Any, competition: Any) -> list[Fault]:
        return [Fault("rule", f"{HIDDEN} is not allowed.")] if 0.123 in predictions else []


def test_no_fault_of_an_output_is_kept_or_shown(
    tmp_path: Path, scenario: Scenario, manager: PluginManager, caplog: pytest.LogCaptureFixture
) -> None:
    with scenario.create() as competition:
        manager.register(_QuotingRule(), "quotes")
        for name, output in HOSTILE.items():
            path = write_program(tmp_path / "main.py", output=output)
            submitted = competition.submit_program(path, name).submitted
            assert submitted is not None
            (fault,) = submitted.faults
            assert fault == Fault("output invalid", fault.message), name
        assert len({record.faults for record in competition.records()}) == 1
        assert HIDDEN not in str(competition.submissions())
    assert HIDDEN not in caplog.text
    with Store.open(scenario.folder / "arena.duckdb", read_only=True) as store:
        payloads = [dict(event.payload) for event in store.events()]
    # No participant reads what is for the organiser.
    detailed = [payload.pop("for_organiser", "") for payload in payloads]
    assert sum(HIDDEN in detail for detail in detailed) >= 4
    assert HIDDEN not in json.dumps(payloads)


@pytest.mark.slow
def test_each_phase_has_inputs_and_limits_of_its_own(
    tmp_path: Path, scenario: Scenario, sandbox: ScriptedSandbox, manager: PluginManager
) -> None:
    half = N_ROWS // 2
    usage = ["Public" if row < half else "Private" for row in range(N_ROWS)]
    scenario.solution = {**scenario.solution, "Usage": usage}
    first_half = "\n".join(GOOD.splitlines()[: half + 1])
    ends = (scenario.clock.now + timedelta(days=1)).isoformat()
    phases = {
        "dev": {"end": ends, "public_rows": "Public", "programs": {"show": [], "seconds": 5}},
        "final": {
            "start": ends,
            "public_rows": [],
            "private_rows": "Private",
            "programs": {"inputs": "programs/final"},
        },
    }
    script = {
        "sample_inputs": {"end": "ok", "output": ""},
        "inputs": {"end": "ok", "output": first_half},
        "final": {"end": "ok", "output": GOOD},
    }
    path = tmp_path / "main.py"
    path.write_text(json.dumps(script))
    with scenario.create(phase=phases) as competition:
        (scenario.folder / "programs" / "final").mkdir()
        for team, phase in (("ants", None), ("bees", "dev")):
            submitted = competition.submit_program(path, team, phase=phase).submitted
            assert submitted is not None
            assert (submitted.status, submitted.phase) == ("accepted", "dev")
        script["inputs"] = {"end": "time"}
        (tmp_path / "slow.py").write_text(json.dumps(script))
        slow = competition.submit_program(tmp_path / "slow.py", "ants").submitted
        assert slow is not None
        assert slow.faults[0].message.startswith("It did not end within 5 seconds. Nothing else")
        assert "seconds" not in competition.leaderboard()[0]
        scenario.clock.now += timedelta(days=1, hours=1)
        program_runs.receive(competition._state, path, team="wasps", received=scenario.clock())
        with pytest.raises(UsageError, match="1 program waits"):
            competition.in_phase("final").finalize()
        (waiting,) = competition.waiting_programs()
        competition.run_waiting_program(waiting)
        again = competition.submit_program(path, "ants").submitted
        assert again is not None
        assert (again.phase, again.released) == ("final", None)
        assert sandbox.runs[-3:] == ["final", "sample_inputs", "final"]
        final = competition.in_phase("final")
        final.finalize(intervals=False)
        assert {row["team"] for row in final.private_leaderboard()} == {"ants", "wasps"}
        assert [str(competition.rerun_program(number)) for number in final.finalists()] == [
            f"Submission {number} of {team}: the same file."
            for number, team in ((4, "wasps"), (5, "ants"))
        ]
        assert competition.audit() == ()
        final.export(tmp_path / "export")
    files = (tmp_path / "export", tmp_path / "solution.csv")
    assert verify_bundle(*files, manager, NoProgress()) == ()


@pytest.mark.slow
def test_what_is_carried_into_a_phase_is_still_that_of_its_program(
    tmp_path: Path, scenario: Scenario
) -> None:
    begins = (scenario.clock.now + timedelta(days=1)).isoformat()
    phases = {
        "dev": {"end": begins, "public_rows": "Public"},
        "final": {"start": begins, "after": "dev", "admit": "submitted", "carry": True},
    }
    with scenario.create(phase=phases) as competition:
        competition.submit_program(write_program(tmp_path / "main.py", output=GOOD), "ants")
        scenario.clock.now += timedelta(days=2)
        competition.qualify("final", apply=True)
        (row,) = competition.in_phase("final").leaderboard()
        assert (row["submission"], row["seconds"]) == (2, 12.0)
        assert str(competition.rerun_program(2)) == "Submission 2 of ants: the same file."
        assert competition.in_phase("final").leaderboard()[0]["seconds_high"] == 12.0
        assert competition.audit() == ()


def test_a_program_that_runs_again_is_verified_or_shows_the_difference(
    tmp_path: Path, scenario: Scenario, sandbox: ScriptedSandbox, manager: PluginManager
) -> None:
    path = write_program(tmp_path / "main.py", output=GOOD)
    scenario.write("file", {"id": IDS, "y": [0.5] * N_ROWS})
    with scenario.create() as competition:
        competition.submit_program(path, "ants")
        competition.submit(tmp_path / "file.csv", "bees")
        with pytest.raises(UsageError, match="finalize first"):
            competition.finalists()
        competition.finalize(intervals=False)
        assert competition.finalists() == [1, 2]
        same = competition.rerun_program(1)
        assert str(same) == "Submission 1 of ants: the same file."
        run = sandbox.run
        others = [
            GOOD + "\n",
            GOOD.replace("r9,0.045", "r9,0.0450001"),
            "id,y\n" + "".join(f"r{row},0.5\n" for row in range(N_ROWS)),
            "id,y\n",
        ]
        n_reruns = 1 + len(others)
        sandbox.run = lambda job, box: _writing(run(job, box), others.pop(0))  # type: ignore[method-assign]
        rerun_texts = [str(competition.rerun_program(1)) for _ in range(len(others))]
        assert rerun_texts == [
            "Submission 1 of ants: the same predictions.",
            "Submission 1 of ants: 1 prediction differs, by at most 1e-07, and the scores are the "
            "same.",
            "Submission 1 of ants: 199 predictions differ, by at most 0.5, and so do the scores.",
            "Submission 1 of ants: the run failed (output invalid).",
        ]
        assert len(competition.events("program rerun")) == n_reruns
        assert len(competition.events("verification")) == 2
        sandbox.run = lambda job, box: replace(run(job, box), seconds=20.14, peak_mb=345.6)  # type: ignore[method-assign]
        competition.rerun_program(1)
        ants = next(row for row in competition.leaderboard() if row["team"] == "ants")
        ends = {key: ants[key] for key in ants if key.startswith(("seconds", "memory_mb"))}
        assert ends == {
            "seconds": 12.0, "seconds_low": 12.0, "seconds_high": 20.0,
            "memory_mb": 350.0, "memory_mb_low": 350.0, "memory_mb_high": 350.0,
        }  # fmt: skip
        competition.export(tmp_path / "export")
        n_reruns += 1
        sandbox.run = _fails  # type: ignore[method-assign]
        with pytest.raises(SandboxError, match="No memory is left"):
            competition.rerun_program(1)  # it says nothing of the program
        assert str(competition.rerun_program(2)) == (
            "Submission 2 of bees: no program wrote it, so that it cannot be run again."
        )
        assert len(competition.events("program rerun")) == n_reruns
        assert competition.audit() == ()
        with pytest.raises(UsageError, match="no accepted submission 3"):
            competition.rerun_program(3)
    files = (tmp_path / "export", tmp_path / "solution.csv")
    assert verify_bundle(*files, manager, NoProgress()) == ()


def _fails(job: Any, box: Any) -> Outcome:
    raise SandboxError("No memory is left on this machine.")


def test_another_machine_runs_programs_again(
    tmp_path: Path, scenario: Scenario, sandbox: ScriptedSandbox
) -> None:
    scenario.write("file", {"id": IDS, "y": [0.5] * N_ROWS})
    with scenario.create() as competition:
        competition.submit_program(write_program(tmp_path / "main.py", output=GOOD), "ants")
        competition.submit(tmp_path / "file.csv", "bees")
        inputs = Runner.digests([competition.folder / "programs" / "inputs"])
        key = RunnerKey.read(add_runner(competition.folder, "fresh"))

        def rerun(name: str, change: Callable[[Path], object] = lambda _: None) -> Path:
            folder = tmp_path / name
            (without,) = competition.write_reruns([1, 2], folder)
            assert str(without).startswith("Submission 2 of bees: no program wrote it")
            change(folder / "1")
            Runner(folder, key, sandbox, "scripted", inputs, {}).run()
            return folder

        work = rerun("work")
        assert [str(result) for result in competition.read_reruns(work)] == [
            "Submission 1 of ants: the same file."
        ]
        run = competition.events("program rerun")[-1].payload["run"]
        assert (run["runner"], run["kind"], run["end"]) == ("fresh", "verify", "ok")
        assert competition.events("verification") != ()
        (work / "1" / "output" / "predictions.csv").write_text(f"{GOOD}\n")
        other = rerun("other", lambda place: (place / "program.py").write_text("{}"))
        for folder, what in ((work, "output was changed"), (other, "missing or damaged")):
            with pytest.raises(SandboxError, match=what):
                list(competition.read_reruns(folder))
        (work / "1" / "result.json").unlink()
        with pytest.raises(InputError, match="has no result: run arena runner --work"):
            list(competition.read_reruns(work))
        other.joinpath("1").rename(other / "2")
        for wrong in (other, tmp_path):
            with pytest.raises(UsageError, match="holds no runs of programs of this competition"):
                list(competition.read_reruns(wrong))
        with pytest.raises(UsageError, match="name a new folder"):
            competition.write_reruns([1], work)
        assert competition.audit() == ()


def _writing(outcome: Outcome, text: str) -> Outcome:
    assert outcome.output is not None
    outcome.output.write_text(text)
    return outcome


def test_a_hidden_run_is_recorded_with_its_own_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes: list[Any] = []
    outcome = Outcome(end=End.TIME, seconds=2.5, cpu_seconds=1.5, peak_mb=3.0, log=b"", output=None)

    def end(*_: Any, box: Any, **__: Any) -> Outcome:
        boxes.append(box)
        return outcome

    monkeypatch.setattr(local_runs, "run_program", end)
    settings = Settings.of(metric="roc_auc", programs_sandbox="scripted", programs_seconds=60)
    runs = local_runs.LocalRuns(settings, tmp_path, ScriptedSandbox(), tmp_path)
    with pytest.raises(InputError, match="There is no folder .* with the inputs of programs"):
        runs.trial(tmp_path / "p.zip")
    for folder in (settings.programs.inputs, settings.programs.sample):
        (tmp_path / folder).mkdir(parents=True)
    run = runs.hidden(tmp_path / "p.zip")
    assert runs.trial(tmp_path / "p.zip") is outcome
    assert (run.end, run.seconds, run.cpu_seconds, run.peak_mb) == ("time", 2.5, 1.5, 3.0)
    hidden, trial = boxes
    assert run.about["limits"] == asdict(hidden) != asdict(trial)
    assert {key: run.about[key] for key in ("kind", "sandbox", "environment")} == {
        "kind": "hidden", "sandbox": "scripted", "environment": settings.programs.environment,
    }  # fmt: skip
    assert "output_sha256" not in run.about


def test_a_run_that_was_lost_took_no_time_and_no_memory() -> None:
    run = ProgramRun.lost("No memory is left.", {"runner": "one", "reason": "other"})
    assert (run.end, run.seconds, run.cpu_seconds, run.peak_mb) == ("machine", 0.0, 0.0, 0.0)
    assert run.about == {"runner": "one", "reason": "No memory is left."}
    assert run.machine_fault == "No memory is left."
    assert replace(run, about={}).machine_fault == "The machine that runs programs failed."
    assert [replace(run, end=end).machine_fault for end in ("ok", "time")] == [None, None]


def test_the_run_of_a_carried_file_is_that_of_the_program_that_wrote_it() -> None:
    run_of_accepted, run_of_rejected = {"end": "ok"}, {"end": "time"}
    accepted = {"status": "accepted"}
    submissions: list[Any] = [
        SimpleNamespace(kind="submission", payload={**payload, "submission": number})
        for number, payload in enumerate(
            (
                {**accepted, "program": "p", "run": run_of_accepted},
                {"status": "rejected", "program": "q", "run": run_of_rejected},
                {**accepted, "carried": 1},
                {**accepted, "carried": 2},  # the one that was rejected
                accepted,
            ),
            1,
        )
    ]
    other_kind: Any = SimpleNamespace(kind="program", payload={**accepted, "run": run_of_rejected})
    assert runs_in([other_kind, *submissions]) == {
        1: ("p", run_of_accepted),
        3: ("p", run_of_accepted),
    }


def test_the_chosen_figures_of_runs_are_shown_with_their_range_over_all_runs() -> None:
    def event(**payload: Any) -> Any:
        return SimpleNamespace(kind="submission", payload={"status": "accepted", **payload})

    runs = [{"end": "ok", "seconds": 12.34, "peak_mb": 1567.0}, {"end": "ok", "seconds": 9.0}]
    submissions = [
        event(submission=number, program="p", run=run) for number, run in enumerate(runs, 1)
    ]
    again = [
        event(submission=1, run={"end": "ok", "seconds": 15.49}),
        event(submission=1, run={"end": "time", "seconds": 60.0}),  # failed runs do not count
    ]
    seconds = {
        1: {"seconds": 12.0, "seconds_low": 12.0, "seconds_high": 15.0},
        2: {"seconds": 9.0},
    }
    for show, sandbox, reruns, expected in (
        (("seconds",), "bwrap", again, seconds),
        (("seconds",), "bwrap", again[1:], {1: {"seconds": 12.0}, 2: {"seconds": 9.0}}),
        (("seconds",), "", again, {}),
        ((), "bwrap", again, {}),
    ):
        settings: Any = SimpleNamespace(programs=SimpleNamespace(show=show, sandbox=sandbox))
        assert figures_in(submissions, reruns, settings) == expected
    settings = SimpleNamespace(programs=SimpleNamespace(show=("memory",), sandbox="bwrap"))
    assert figures_in(submissions[:1], (), settings) == {1: {"memory_mb": 1600.0}}


def test_a_run_again_without_an_output_or_with_the_same_bytes_is_not_scored() -> None:
    none: Any = None
    lost = ProgramRun("time", 1.0, cpu_seconds=1.0, peak_mb=1.0)
    arguments: Any = {"state": none, "submission": 1, "program": none}
    assert compare_run(**arguments, before={"output_sha256": None}, run=lost) == ("time", None, 0)
    same = ProgramRun(
        "ok", 1.0, cpu_seconds=1.0, peak_mb=1.0, output=Path("out"), about={"output_sha256": "ab"}
    )
    assert compare_run(**arguments, before={"output_sha256": "ab"}, run=same) == ("bytes", None, 0)


def test_a_board_waits_for_the_programs_of_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [
        SimpleNamespace(phase=phase, team=team)
        for phase, team in (("a", "Ants"), ("b", "Bees"), ("a", "Cats"))
    ]
    monkeypatch.setattr(program_runs, "waiting", lambda state: programs)
    state: Any = SimpleNamespace(
        phase="c",
        settings=SimpleNamespace(programs=SimpleNamespace(sandbox="scripted")),
        ledger=SimpleNamespace(teams=lambda: Teams({"Bees": "Wasps"})),
    )
    program_runs.require_no_waiting(state)
    run = "for a run on the hidden inputs, the first one of"
    for phase, message in (
        ("a", f"2 programs wait {run} Ants"),
        ("b", f"1 program waits {run} Wasps"),
        (None, f"3 programs wait {run} Ants"),
    ):
        state.phase = phase
        with pytest.raises(UsageError) as refusal:
            program_runs.require_no_waiting(state)
        assert str(refusal.value) == f"{message}: run arena programs run, or start a runner."
    state.settings.programs.sandbox = ""
    program_runs.require_no_waiting(state)


def test_a_result_that_no_runner_would_send_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    """Each fault alone; of several faults, the first one is reported."""
    runner = json.loads(add_runner(tmp_path, "r-1").read_text())
    assert add_runner(tmp_path, "r-1").read_text() == json.dumps(runner)
    add_runner(tmp_path, "r-2")
    assert sorted(token_digests(tmp_path)) == ["r-1", "r-2"]
    (tmp_path / "programs" / "runners" / "r-2.json").unlink()
    assert token_digests(tmp_path) == {"r-1": hashlib.sha256(runner["token"].encode()).hexdigest()}
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "a.csv").write_text("1")
    output = tmp_path / "output"
    output.write_text("id,y\n")
    program: Any = SimpleNamespace(program="p", sha256="ab", phase="")
    section = SimpleNamespace(inputs="inputs", environment="python")
    settings = SimpleNamespace(programs=section)
    state: Any = SimpleNamespace(
        folder=tmp_path, in_phase=lambda _: SimpleNamespace(settings=settings)
    )
    good = {
        "end": "ok", "runner": "r-1", "program": "p", "sha256": "ab", "kind": "hidden",
        "inputs": digest_of_inputs(tmp_path / "inputs"), "environment": "python",
        "seconds": 1.5, "cpu_seconds": 1, "peak_mb": 20, "output_sha256": file_sha256(output),
        "sandbox": "bwrap", "versions": {"a": "1"}, "limits": {"seconds": 9}, "started": "now",
    }  # fmt: skip

    def run(result: Mapping[str, Any], *, key: str = runner["key"], **changes: Any) -> ProgramRun:
        signature = signature_of(result, bytes.fromhex(key))
        return run_of(state, program, result, signature, **{"output": output, **changes})

    about = {
        key: good[key]
        for key in ("kind", "runner", "sandbox", "versions", "inputs", "environment", "limits")
    } | {"started": "now", "output_sha256": good["output_sha256"]}
    expected = ProgramRun("ok", 1.5, cpu_seconds=1.0, peak_mb=20.0, output=output, about=about)
    assert run(good) == expected
    repeated = {**good, "kind": "verify"}
    assert run(repeated, kind="verify").about == {**about, "kind": "verify"}
    failed = {**good, "end": "time", "output_sha256": None}
    assert run(failed, output=None).end == "time"
    unsigned = "The result is not signed by the runner r-1."
    another = "The result is that of another program."
    changed = "The runner had other inputs, or another environment, than the competition has now."
    damaged = "The output was changed or damaged after the runner sent it."
    for fields, changes, reason in (
        ({"end": "lost", "runner": "x"}, {}, "Two runners were lost with this program."),
        *(
            ({"runner": name}, {},
             f"The result names the runner {name}, which this competition does not have.")
            for name in ("r-2", "../runners/r-1", "None")
        ),
        ({"kind": "verify"}, {"key": "00"}, unsigned),
        ({"kind": "verify"}, {}, another),
        ({"program": "q", "inputs": "x"}, {}, another),
        ({"sha256": "AB"}, {}, another),
        ({"inputs": "x", "end": "machine"}, {}, changed),
        ({"environment": "r"}, {}, changed),
        ({"end": "machine", "seconds": -1}, {}, "The machine of the runner failed."),
        ({"end": "machine", "reason": ""}, {}, "The machine of the runner failed."),
        ({"end": "machine", "reason": "x" * 1_001}, {}, "x" * 1_000),
        *(
            ({name: wrong, "output_sha256": ""}, {}, "The result lacks its figures.")
            for name, wrong in (("seconds", None), ("cpu_seconds", -1), ("peak_mb", "1"))
        ),
        ({}, {"output": None}, damaged),
        ({"output_sha256": "ab"}, {}, damaged),
    ):  # fmt: skip
        lost = run({**good, **fields}, **changes)
        assert lost == ProgramRun.lost(reason), reason


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "a b", "a" * 101])
def test_a_runner_has_a_name_of_letters_and_digits(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        add_runner(tmp_path, name)
    sentence = f"A runner cannot be called {name!r}: use letters, digits and . _ -"
    assert str(refusal.value) == sentence
    assert add_runner(tmp_path, "a" * 100).is_file()


@pytest.mark.parametrize(
    ("end", "output", "kind"),
    [
        ("ok", "predictions", None), ("ok", None, "no output"), ("memory", None, "memory"),
        ("memory", "predictions", "memory"),
    ],
)  # fmt: skip
def test_a_run_makes_a_submission_of_its_output_or_its_failure(
    end: str, output: str | None, kind: str | None
) -> None:
    state: Any = SimpleNamespace(
        actor="host", settings=Settings.of(metric="accuracy"), event_fields={"by": "host"},
        ledger=SimpleNamespace(teams=lambda: SimpleNamespace(current=str.upper)),
    )  # fmt: skip
    state.in_phase = lambda _: state
    state.examine = lambda files: iter([(files[0], ReadSubmission(None, (), "of output"))])
    program = ProgramRecord("id", "ants", "p.zip", "of program", datetime(2026, 3, 1, tzinfo=UTC))
    run = ProgramRun(end, 1.0, 1.0, 1.0, output=None if output is None else Path(output))
    handler: Any = SimpleNamespace(submit=lambda request: request)
    request: Any = program_runs.record_run(state, handler, program, run)
    assert [fault.kind for fault in request.read.faults] == [kind] * (kind is not None)
    assert (request.run.end, request.event_fields["run"]["end"]) == (kind or "ok",) * 2
    assert (request.read.sha256, request.file.name, request.file.team) == (
        "of program", "p.zip", "ANTS",
    )  # fmt: skip
    assert (request.limited, request.key, request.event_fields["by"]) == (False, "id", "host")
