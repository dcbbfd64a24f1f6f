"""A folder of runs that is copied to a machine without a connection, and back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from arena.errors import InputError
from arena.runner.work_folder import WorkFolder


def test_runs_without_a_result_are_taken_in_turn(tmp_path: Path) -> None:
    runs = WorkFolder(tmp_path / "runs")
    with pytest.raises(InputError, match="holds no runs: write them with arena programs rerun"):
        runs.lease({})
    program = tmp_path / "main.py"
    program.write_text("print(1)")
    digest = hashlib.sha256(b"print(1)").hexdigest()
    for run in ("3", "12"):
        runs.add(run, {"sha256": digest}, program)
    assert runs.runs() == ["3", "12"]

    for run in ("12", "3"):
        work = runs.lease({})
        assert work == {"sha256": digest, "run": run}
        with pytest.raises(InputError, match="has no result: run arena runner --work"):
            runs.result(run)
        runs.program(work, tmp_path / "copy.py")
        assert (tmp_path / "copy.py").read_text() == "print(1)"
        runs.send_result(work, {"status": "ran"}, "signature", program)
        result, signature, output = runs.result(run)
        assert (result, signature) == ({"status": "ran"}, "signature")
        assert output is not None
        assert (output.name, output.read_text()) == ("main.py", "print(1)")
    assert runs.lease({}) is None

    (runs.folder / "3/program.py").write_text("print(2)")
    with pytest.raises(InputError, match="is missing or damaged: copy it again"):
        runs.program({"sha256": digest, "run": "3"}, tmp_path / "copy.py")


def test_a_folder_without_a_run_is_named_or_ignored(tmp_path: Path) -> None:
    runs = WorkFolder(tmp_path)
    place = tmp_path / "3"
    for text, reason in (("{", "cannot be read"), ("[]", "holds no run: copy it again")):
        place.mkdir(exist_ok=True)
        (place / "work.json").write_text(text)
        with pytest.raises(InputError, match=f"3/work.json {reason}"):
            runs.lease({})
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "work.json").write_text("{}")
    (tmp_path / "4").mkdir()
    assert runs.runs() == ["3"]
    (place / "result.json").write_text('{"result": []}')
    assert runs.result("3") == ({}, "", None)


def test_the_output_of_an_earlier_result_does_not_stay(tmp_path: Path) -> None:
    runs, output = WorkFolder(tmp_path / "runs"), tmp_path / "b.csv"
    output.write_text("id,y")
    runs.add("3", {}, output)
    for name in ("b.csv", "a.csv"):
        runs.send_result({"run": "3"}, {}, "", output.rename(tmp_path / name))
        output = tmp_path / name
        stored = runs.result("3")[2]
        assert stored is not None
        assert stored.name == name
    runs.send_result({"run": "3"}, {}, "", None)
    assert runs.result("3") == ({}, "", None)
