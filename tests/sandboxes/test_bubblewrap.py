"""Programs end as their limits and their own exit codes say, and nothing of them is left."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena_sandboxes.bubblewrap import Bubblewrap

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]
OUTPUT = "open('/output/predictions.csv', 'w').write('id,y\\n1,2\\n')\n"
LIMITS: dict[str, Any] = {
    "seconds": 20, "memory_mb": 128, "disk_mb": 16, "cores": 1, "processes": 16,
    "output_bytes": 1000,
}  # fmt: skip
ENDS = {
    "it writes its output": (OUTPUT + "print('log')", {}, End.OK, b"log\n"),
    "it reads its input": ("print(open('/input/rows.csv').read())", {}, End.NO_OUTPUT, b"row\n\n"),
    "it fails after its output": (OUTPUT + "raise SystemExit(3)", {}, End.CRASH, b""),
    "it kills itself": (OUTPUT + "import os; os.kill(os.getpid(), 9)", {}, End.CRASH, b""),
    "it runs on": (OUTPUT + "while True: pass", {"seconds": 0.5}, End.TIME, b""),
    "it needs memory": ("bytearray(2**28)", {}, End.MEMORY, b""),
    "it needs disk": ("open('/tmp/x', 'wb').write(bytes(2**25))", {}, End.DISK, None),
    "it writes too much": (
        "open('/output/predictions.csv', 'w').write('x' * 1001)", {}, End.OUTPUT_TOO_LARGE, b"",
    ),
    "its log is cut": (OUTPUT + "print('x' * 10**6)", {"log_bytes": 10}, End.OK, b"x" * 10),
}  # fmt: skip


def run(
    folder: Path, program: str, outputs: Sequence[str] = ("predictions.csv",), **limits: Any
) -> Outcome:
    for name in ("program", "input", "target"):
        (folder / name).mkdir()
    (folder / "program" / "main.py").write_text(program)
    (folder / "input" / "rows.csv").write_text("row\n")
    job = Job(
        program=folder / "program",
        command=("python3", "main.py"),
        inputs=folder / "input",
        outputs=tuple(outputs),
        target=folder / "target",
    )
    return Bubblewrap().run(job, Box(**(LIMITS | limits)))


@pytest.mark.parametrize("case", ENDS)
def test_a_program_ends_as_it_must(case: str, tmp_path: Path) -> None:
    program, limits, end, log = ENDS[case]
    outcome = run(tmp_path, program, **limits)
    assert (outcome.end, outcome.output is not None) == (end, end is End.OK), outcome.log
    assert log is None or outcome.log == log
    assert outcome.seconds < limits.get("seconds", 20) + 1
    assert 0 < outcome.peak_mb <= LIMITS["memory_mb"]
    assert [path.read_text() for path in (tmp_path / "target").iterdir()] == (
        ["id,y\n1,2\n"] if end is End.OK else []
    )


def test_a_folder_is_packed(tmp_path: Path) -> None:
    program = "import os; os.makedirs('/output/predictions/a')\n" + "".join(
        f"open('/output/predictions/{name}', 'w').write('x')\n" for name in ("b.png", "a/c.png")
    )
    outcome = run(tmp_path, program, outputs=("predictions.csv", "predictions/"))
    assert outcome.output is not None
    shutil.unpack_archive(outcome.output, tmp_path / "unpacked")
    assert outcome.output.name == "predictions.zip"
    assert sorted(path.name for path in (tmp_path / "unpacked").rglob("*.png")) == [
        "b.png",
        "c.png",
    ]


def test_a_machine_that_cannot_run_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="A run needs 1 GPUs, and /dev/nvidia"):
        run(tmp_path, OUTPUT, gpus=1)
