"""A file that a metric reads itself is one cell, and a folder of the organiser a ZIP file."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from arena.errors import InputError
from arena.intake.whole_file import file_of_cell, read_whole_solution, read_whole_submission
from arena.types import PredictionKind, Usage

CONTENTS = (b"1 2\n", "\u00e9".encode(), bytes([255, 0]), b"")


@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_comes_back_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "graph \u00fc.bin"
    path.write_bytes(content)
    submission = read_whole_submission(path, 4)
    assert (submission.faults, submission.sha256) == ((), hashlib.sha256(content).hexdigest())
    assert submission.values is not None
    assert submission.values.shape == (1, 1)
    assert file_of_cell(submission.values[0, 0]) == (path.name, content)
    solution = read_whole_solution(path, 4)
    assert (solution.kind, solution.columns) == (PredictionKind.TEXT, ("file",))
    assert [target.name for target in solution.targets] == ["file"]
    assert (solution.ids.to_pylist(), solution.usage.tolist()) == (["the file"], [Usage.PRIVATE])
    assert solution.truth.tolist() == submission.values[0].tolist()
    assert solution.sha256 == submission.sha256


def test_a_file_that_is_larger_missing_or_unreadable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise OSError("no disk")

    path = tmp_path / "a.bin"
    path.write_bytes(b"12345")
    (fault,) = read_whole_submission(path, 4).faults
    assert fault.kind == "file too large"
    locked = tmp_path / "locked"
    locked.mkdir()
    monkeypatch.setattr("arena.intake.whole_file._zipped", refuse)
    with pytest.raises(InputError) as refused:
        read_whole_solution(locked, 4)
    assert str(refused.value) == f"{locked} cannot be read: no disk."
    for file, reason in (
        (path, "The file has 5 bytes, but at most 4 are"),
        (tmp_path / "missing", "The file cannot be read: there is no such file or folder."),
    ):
        with pytest.raises(
            InputError, match=f"^The solution '{file.name}' cannot be used: {reason}"
        ):
            read_whole_solution(file, 4)


def test_a_folder_is_a_zip_file_of_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name, content in (("b/x.txt", b"x"), ("a.txt", b"a")):
        path = tmp_path / "truth" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    solution = read_whole_solution(tmp_path / "truth", 4)
    name, content = file_of_cell(solution.truth[0])
    assert name == "truth.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {member: archive.read(member) for member in archive.namelist()} == {
            "a.txt": b"a",
            "b/x.txt": b"x",
        }
        assert archive.namelist() == ["a.txt", "b/x.txt"]
    path.touch()
    assert read_whole_solution(tmp_path / "truth", 4).sha256 == solution.sha256
