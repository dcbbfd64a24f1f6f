"""What the commands on programs print of runs that were made by hand, and their exit codes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.programs.reruns import Rerun
from arena.competition.submit import Submitted
from arena.interfaces import End, Outcome
from arena.testing.conformance import Check, Conformance
from arena.testing.conformance import Outcome as CheckOutcome
from arena.types import Fault
from arena.utils.formatting import BoardDisplay
from program import run_here

MODULE = "arena.cli.commands.programs"
DONE = Outcome(
    end=End.OK,
    seconds=1.26,
    cpu_seconds=0.126,
    peak_mb=99.6,
    log=b"one\n\xffb\x1b\n\n",
    output=None,
)


def ran(*arguments: str, cwd: Path) -> tuple[int, list[str]]:
    """Return the code and the lines of a command on programs."""
    done = run_here("programs", *arguments, cwd=cwd)
    return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.mark.parametrize(
    ("outcome", "code", "lines"),
    [
        (DONE, 0, ["one", "�b\\x1b", "End: ok (1.3 s, 0.13 s of processors, 100 MB)."]),
        (
            replace(DONE, end=End.MEMORY, log=b""),
            1,
            ["End: memory (1.3 s, 0.13 s of processors, 100 MB)."],
        ),
        (
            replace(DONE, log=b" \n", output=Path("o/answers.csv")),
            0,
            ["End: ok (1.3 s, 0.13 s of processors, 100 MB). It wrote o/answers.csv."],
        ),
        ((Fault("odd", "No\tmain."), Fault("big", "Less.")), 1, ["odd: No\\tmain.", "big: Less."]),
    ],
)
def test_the_end_of_a_program_that_is_tried_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: Any, code: int, lines: list[str]
) -> None:
    calls: list[dict[str, Any]] = []

    def run(*paths: Path, **keywords: Any) -> Any:
        calls.append({"paths": paths, **keywords})
        return outcome

    monkeypatch.setattr("arena.programs.running.run_program", run)
    (tmp_path / "p.py").touch()
    arguments = ("try", "p.py", "--inputs", "i", "-o", "o", "--command", "python3 -u main.py")
    assert ran(*arguments, "--memory-mb", "64", cwd=tmp_path) == (code, lines)
    assert calls[0]["command"] == ("python3", "-u", "main.py")
    assert calls[0]["paths"] == (Path("p.py"), Path("i"), Path("o"))
    box = calls[0]["box"]
    assert (box.seconds, box.memory_mb, box.disk_mb, box.cores) == (120.0, 64, 1_024, 2.0)
    assert (box.processes, box.output_bytes, box.gpus) == (256, 100_000_000, 0)


def test_what_an_earlier_run_wrote_is_removed_and_no_other_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("arena.programs.running.run_program", lambda *_, **__: DONE)
    monkeypatch.setattr("arena.programs.running.OUTPUTS", ("answers.csv", "files/"))
    (tmp_path / "o").mkdir()
    for name in ("p.py", "o/answers.csv", "o/files.zip", "o/mine.txt"):
        (tmp_path / name).touch()
    assert ran("try", "p.py", "--inputs", "i", "-o", "o", cwd=tmp_path)[0] == 0
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["mine.txt"]
    missing = ran("try", "q.py", "--inputs", "i", "-o", "n", cwd=tmp_path)
    assert missing == (1, ["arena: The program q.py does not exist, or is no file."])
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize(
    ("sentences", "failed", "code", "lines"),
    [
        ((), (), 0, ["2 of 2 hostile programs were held."]),
        (
            ("No\tgroups.",),
            ("forks",),
            1,
            [
                "1 of 2 hostile programs were held.",
                "Not held: No\\tgroups.",
                "Not held: forks: It did.",
            ],
        ),
        (("No groups.",), (), 1, ["2 of 2 hostile programs were held.", "Not held: No groups."]),
    ],
)  # fmt: skip
def test_a_check_of_a_machine_says_what_it_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    sentences: tuple[str, ...],
    failed: tuple[str, ...],
    code: int,
    lines: list[str],
) -> None:
    sandbox = SimpleNamespace(check=lambda: sentences, versions=lambda: {"bwrap": "1"})
    manager = SimpleNamespace(sandboxes=SimpleNamespace(resolve=lambda _: sandbox))
    checks = tuple(
        Check(name, CheckOutcome.FAILED if name in failed else CheckOutcome.OK, "It did.")
        for name in ("forks", "fills")
    )
    monkeypatch.setattr("arena.plugin.manager.PluginManager", lambda: manager)
    monkeypatch.setattr(
        "arena.testing.check_sandbox", lambda *_, **__: Conformance("bwrap", checks), raising=False
    )
    monkeypatch.setattr(
        "arena.programs.checked.record_check",
        lambda name, versions, not_held: {"sandbox": name, "not_held": list(not_held)},
    )
    monkeypatch.setattr("arena.programs.running.alone", contextlib.nullcontext)
    assert ran("check", cwd=tmp_path) == (code, lines)
    as_json = run_here("programs", "check", "--json", cwd=tmp_path)
    assert as_json.returncode == code
    assert json.loads(as_json.stdout) == {
        "schema": "arena/programs-check/1",
        "sandbox": "bwrap",
        "not_held": [line.removeprefix("Not held: ").replace("\\t", "\t") for line in lines[1:]],
        "programs": ["forks", "fills"],
    }


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the commands open a competition of these parts."""

    def open_it(**parts: Any) -> None:
        @contextlib.contextmanager
        def made(*_: Any) -> Iterator[Any]:
            yield SimpleNamespace(**parts)

        monkeypatch.setattr(f"{MODULE}.open_competition", made)

    return open_it


def test_programs_that_wait_are_run_and_answered(opened: Any, tmp_path: Path) -> None:
    settings = SimpleNamespace(display=lambda public: BoardDisplay(2))
    answers = {
        "p": Submitted(3, "a", "accepted", 0.25, ()),
        "q": Submitted(4, "b", "refused", None, ()),
    }
    opened(
        settings=settings, waiting_programs=lambda: list(answers),
        run_waiting_program=answers.__getitem__,
    )  # fmt: skip
    assert ran("run", cwd=tmp_path) == (
        0,
        ["Submission 3 of a: accepted. Its public score is 0.25.", "Submission 4 of b: refused."],
    )
    as_json = run_here("programs", "run", "--json", cwd=tmp_path)
    rows = json.loads(as_json.stdout)["submissions"]
    assert [(row["submission"], row["status"]) for row in rows] == [(3, "accepted"), (4, "refused")]
    opened(settings=settings, waiting_programs=list, run_waiting_program=None)
    assert ran("run", cwd=tmp_path) == (0, ["No program waits."])


SAME, OTHER = Rerun(3, "a", "bytes"), Rerun(4, "b", "score", 0.25, 7)


@pytest.mark.parametrize(
    ("arguments", "parts", "code", "lines"),
    [
        (("3",), {"rerun_program": {3: SAME}.get}, 0, [str(SAME)]),
        (("3", "4"), {"rerun_program": {3: SAME, 4: OTHER}.get}, 1, [str(SAME), str(OTHER)]),
        (
            ("--finalists",),
            {"finalists": lambda: [4], "rerun_program": {4: OTHER}.get},
            1,
            [str(OTHER)],
        ),
        (
            ("--from", "f"),
            {"read_reruns": lambda folder: [SAME] if folder == Path("f") else []},
            0,
            [str(SAME)],
        ),
        (
            ("3", "--to", "t"),
            {"write_reruns": lambda chosen, to: []},
            0,
            ["1 run is in t: for arena runner --work."],
        ),
        (
            ("3", "4", "5", "--to", "t"),
            {"write_reruns": lambda chosen, to: [OTHER]},
            1,
            [str(OTHER), "2 runs are in t: for arena runner --work."],
        ),
    ],
)
def test_runs_that_are_repeated_are_compared(
    opened: Any,
    tmp_path: Path,
    arguments: tuple[str, ...],
    parts: dict[str, Any],
    code: int,
    lines: list[str],
) -> None:
    opened(**{"rerun_program": None, **parts})
    assert ran("rerun", *arguments, cwd=tmp_path) == (code, lines)
    as_json = run_here("programs", "rerun", *arguments, "--json", cwd=tmp_path)
    document = json.loads(as_json.stdout)
    assert document["schema"] == "arena/programs-rerun/1"
    assert len(document["reruns"]) == sum(line.startswith("Submission") for line in lines)
    assert as_json.returncode == code
