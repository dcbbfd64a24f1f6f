"""A code competition on one machine, in two commands, with a real sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from competition_folder import document, write_solution
from sent_programs import LEAKS, PREDICTS, write_inputs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap"),
]


@pytest.mark.long
def test_init_and_submit(
    tmp_path: Path, arena: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    write_solution(tmp_path)
    write_inputs(tmp_path)
    (tmp_path / "main.py").write_text(PREDICTS)
    (tmp_path / "leaks.py").write_text(LEAKS)
    (tmp_path / "fails.py").write_text("raise SystemExit('no such column')\n")
    inputs = ("--programs", "hidden", "--sample-inputs", "sample")
    creation = arena("init", "c", "--solution", "solution.csv", "--metric", "roc_auc", *inputs)
    assert creation.returncode == 0, creation.stderr

    submission = arena("submit", "main.py", "--team", "ants", "-C", "c")
    assert submission.returncode == 0, submission.stderr
    assert "The trial on the sample inputs ended well" in submission.stdout
    assert "Submission 1 of ants: accepted." in submission.stdout
    assert "ants" in arena("leaderboard", "-C", "c").stdout

    failed = arena("submit", "fails.py", "--team", "ants", "-C", "c")
    assert failed.returncode == 1
    assert "no such column" in failed.stdout

    (tmp_path / "noise.py").write_bytes(b"\x7fELF\x00\xff")
    noise = arena("submit", "noise.py", "--team", "ants", "-C", "c")
    assert (noise.returncode, "failed (crash)" in noise.stdout) == (1, True)

    leaked = arena("submit", "leaks.py", "--team", "ants", "-C", "c", "--json")
    assert document(leaked, "submit", code=1)["faults"][0]["kind"] == "output invalid"
    assert "r0" not in leaked.stdout + leaked.stderr
    assert "r0" not in arena("submissions", "-C", "c", "--json").stdout

    again = arena("programs", "rerun", "1", "-C", "c")
    assert again.returncode == 0, again.stderr
    assert again.stdout == "Submission 1 of ants: the same file.\n"
    document(arena("programs", "rerun", "1", "-C", "c", "--json"), "programs-rerun")
    document(arena("programs", "run", "-C", "c", "--json"), "programs-run")

    # On another machine, which has the inputs and this folder, and no labels.
    assert arena("programs", "rerun", "1", "--to", "work", "-C", "c").returncode == 0
    key = arena("programs", "runner", "fresh", "-C", "c").stdout.strip()
    working = arena("runner", "--work", "work", "--token-file", key, "--inputs", "hidden")
    assert working.returncode == 0, working.stderr
    read = arena("programs", "rerun", "--from", "work", "-C", "c")
    assert (read.stdout, read.returncode) == ("Submission 1 of ants: the same file.\n", 0)

    (tmp_path / "bees.csv").write_text((tmp_path / "c" / "sample_submission.csv").read_text())
    imported = arena("import", "bees.csv", "-C", "c")
    assert (imported.returncode, "no program wrote these files" in imported.stderr) == (0, True)
    assert arena("finalize", "-C", "c").returncode == 0
    finalists = arena("programs", "rerun", "--finalists", "-C", "c")
    assert finalists.returncode == 1
    assert [line.split(": ")[1] for line in finalists.stdout.splitlines()] == [
        "the same file.",
        "no program wrote it, so that it cannot be run again.",
    ]
