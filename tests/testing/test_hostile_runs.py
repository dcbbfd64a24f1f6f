"""What a check of a sandbox says of runs that are made up; no program is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.errors import SandboxError
from arena.interfaces import End, Outcome
from arena.testing import check_sandbox
from arena.testing.conformance import Outcome as CheckOutcome
from arena.testing.hostile_programs import HostileProgram

DONE = Outcome(end=End.TIME, seconds=10.0, cpu_seconds=10.0, peak_mb=128.0, log=b"", output=None)
PROGRAM = HostileProgram("loop", "while True: pass", frozenset({End.TIME, End.CRASH, End.OK}))


class Pretending:
    """A sandbox that runs nothing and returns a given outcome."""

    name = "pretending"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.jobs: list[Any] = []
        self.boxes: list[Any] = []

    def run(self, job: Any, box: Any) -> Any:
        self.jobs.append(job)
        self.boxes.append(box)
        return self.answer(job) if callable(self.answer) else self.answer


def said(answer: Any, program: HostileProgram = PROGRAM) -> tuple[CheckOutcome, str]:
    """Return how the check of one program ended, and its sentence."""
    (check,) = check_sandbox(Pretending(answer), programs=[program]).checks  # type: ignore[arg-type]
    return check.outcome, check.message


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        ({"end": End.CRASH}, None),
        (
            {"end": End.MEMORY, "log": b"one\ntwo\n"},
            "It ended with memory instead of crash or ok or time; it printed 'two'.",
        ),
        (
            {"end": End.MEMORY},
            "It ended with memory instead of crash or ok or time; it printed 'nothing'.",
        ),
        ({"log": b"BROKEN: a\nfine\nBROKEN: b\n"}, "BROKEN: a BROKEN: b"),
        ({"log": b"x" * 5_000}, None),
        ({"log": b"x" * 5_001}, "Its log has 5,001 bytes instead of 5,000."),
        # It may be ended three seconds late, and exceed its time on a processor by half.
        ({"seconds": 13.0}, None),
        ({"seconds": 13.1}, "It ran 13.1 s instead of 10."),
        ({"cpu_seconds": 15.2}, None),
        ({"cpu_seconds": 15.3}, "It used 15.3 s of processors instead of 15.2."),
        ({"peak_mb": 128.6}, "It used 129 MB instead of 128."),
        ({"end": End.OK}, "An output is there exactly if the end is ok."),
        ({"output": Path("/dev/null")}, "An output is there exactly if the end is ok."),
        ({"end": End.OK, "output": Path("/dev/null")}, None),
    ],
)
def test_what_a_sandbox_does_not_hold_is_said_in_a_sentence(
    changes: dict[str, Any], sentence: str | None
) -> None:
    outcome = replace(DONE, **changes)
    expected = (
        (CheckOutcome.OK, f"{outcome.end} after {outcome.seconds:.1f} s")
        if sentence is None
        else (CheckOutcome.FAILED, sentence)
    )
    assert said(outcome) == expected


def test_an_output_is_compared_with_what_the_program_wrote(tmp_path: Path) -> None:
    output = tmp_path / "predictions.csv"
    done = replace(DONE, end=End.OK, output=output)
    every_byte = replace(PROGRAM, name="bad-output-bytes")
    output.write_bytes(bytes(range(256)))
    assert said(done, every_byte)[0] is CheckOutcome.OK
    output.write_bytes(bytes(range(255)))
    assert said(done, every_byte) == (CheckOutcome.FAILED, "The output has other bytes.")
    assert said(done)[0] is CheckOutcome.OK
    output.write_bytes(b"root:x:0:0")
    assert said(done) == (CheckOutcome.FAILED, "The output is a file of the machine.")


def test_a_program_that_is_changed_or_cannot_be_run_is_told() -> None:
    def change(job: Any) -> Outcome:
        (job.program / "main.py").write_text("pass")
        return DONE

    assert said(change) == (CheckOutcome.FAILED, "It changed its program.")

    def refuse(_: Any) -> Outcome:
        raise SandboxError("no groups")

    assert said(refuse) == (CheckOutcome.FAILED, "The machine could not run it: no groups")


def test_where_the_first_program_sees_files_no_other_is_run() -> None:
    first = replace(PROGRAM, name="hidden-files")
    sandbox: Any = Pretending(replace(DONE, end=End.MEMORY))
    checks = check_sandbox(sandbox, programs=[PROGRAM, first]).checks
    assert [(check.name, check.outcome) for check in checks] == [
        ("hidden-files", CheckOutcome.FAILED),
        ("loop", CheckOutcome.NOT_TRIED),
    ]
    assert checks[1].message == "It could harm this machine."
    assert len(sandbox.jobs) == 1
    sandbox = Pretending(DONE)
    checks = check_sandbox(sandbox, programs=[PROGRAM, first]).checks
    assert [check.name for check in checks] == ["hidden-files", "loop"]
    job, box = sandbox.jobs[1], sandbox.boxes[1]
    assert job.command[:2] == ("python3", "main.py")
    assert (box.seconds, box.memory_mb, box.processes) == (10.0, 128, 32)
    short: Any = Pretending(replace(DONE, seconds=1.0, cpu_seconds=1.0))
    check_sandbox(short, programs=[replace(PROGRAM, limits={"seconds": 1.0})])
    assert short.boxes[0].seconds == 1.0
