"""What is taken as the output of a program, and how a folder is packed."""

from __future__ import annotations

import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena.interfaces import Box, End, Job
from arena_sandboxes.output import take_output


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that a program sees as /output."""
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    Path("target").mkdir()
    Path("scratch/output").mkdir(parents=True)
    return Path("scratch/output")


def take(*, output_bytes: int = 10, output_files: int = 4) -> tuple[End, dict[str, bytes]]:
    """Take the output; return how that ended, and what is in the target then."""
    job = Job(
        program=Path("program"),
        command=("run",),
        inputs=Path("input"),
        outputs=("predictions.csv", "predictions/"),
        target=Path("target"),
    )
    box = Box(
        **{"seconds": 1, "memory_mb": 1, "disk_mb": 1, "cores": 1, "processes": 1},
        output_bytes=output_bytes,
        output_files=output_files,
    )
    scratch = os.open("scratch", os.O_RDONLY)
    try:
        end, taken = take_output(scratch, job, box)
    finally:
        os.close(scratch)
    written = {path.name: path.read_bytes() for path in Path("target").iterdir()}
    assert [*written] == ([] if taken is None else [taken.name])
    return end, written


@pytest.mark.parametrize("size", [0, 9, 10])
def test_a_file_is_copied(size: int, output: Path) -> None:
    (output / "predictions.csv").write_bytes(b"x" * size)
    assert take() == (End.OK, {"predictions.csv": b"x" * size})


def test_a_file_above_the_limit_is_too_large(output: Path) -> None:
    (output / "predictions.csv").write_bytes(b"x" * 11)
    assert take() == (End.OUTPUT_TOO_LARGE, {})


def test_a_file_that_grows_is_counted_while_it_is_copied(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (output / "predictions.csv").write_bytes(b"x" * 11)
    before = SimpleNamespace(st_mode=(output / "predictions.csv").stat().st_mode, st_size=0)
    monkeypatch.setattr("arena_sandboxes.output.os.fstat", lambda opened: before)
    monkeypatch.setattr("arena_sandboxes.output._PART", 4)
    assert take() == (End.OUTPUT_TOO_LARGE, {})
    assert take(output_bytes=11) == (End.OK, {"predictions.csv": b"x" * 11})


def test_the_first_output_that_exists_is_taken(output: Path) -> None:
    (output / "predictions").mkdir()
    assert [*take()[1]] == ["predictions.zip"]
    Path("target/predictions.zip").unlink()
    (output / "predictions.csv").write_bytes(b"x")
    assert take() == (End.OK, {"predictions.csv": b"x"})


def test_an_error_of_this_machine_is_no_lack_of_output(output: Path) -> None:
    (output / "predictions.csv").write_bytes(b"x")
    Path("target").rmdir()
    with pytest.raises(FileNotFoundError):
        take()


def write(output: Path, *names: str, content: bytes = b"x") -> None:
    for name in names:
        path = output / "predictions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_a_folder_is_packed_in_the_order_of_its_names(output: Path) -> None:
    write(output, "b.png", "a/c.png", "c.png")  # three files and a folder: as many as there may be
    end, written = take()
    assert end is End.OK
    with zipfile.ZipFile("target/predictions.zip") as archive:
        members = {member.filename: archive.read(member) for member in archive.infolist()}
        sizes = {member.extract_version for member in archive.infolist()}
    assert [*members.items()] == [("a/c.png", b"x"), ("b.png", b"x"), ("c.png", b"x")]
    assert sizes == {45}  # which files of 4 GiB and more need
    Path("target/predictions.zip").unlink()
    os.utime(output / "predictions" / "b.png", (0, 0))
    assert take()[1] == written


def test_a_folder_may_have_so_many_files_and_bytes(output: Path) -> None:
    write(output, "a/b", "c", content=b"x" * 5)  # two files of 5 bytes, and a folder
    assert take(output_files=3)[0] is End.OK
    Path("target/predictions.zip").unlink()
    assert take(output_files=2) == (End.OUTPUT_TOO_LARGE, {})
    assert take(output_bytes=9) == (End.OUTPUT_TOO_LARGE, {})


def test_folders_are_at_most_sixteen_deep(output: Path) -> None:
    write(output, "/".join(["f"] * 15 + ["a"]))  # with predictions itself
    assert take(output_files=16)[0] is End.OK
    Path("target/predictions.zip").unlink()
    write(output, "/".join(["f"] * 16 + ["a"]))
    assert take(output_files=20) == (End.NO_OUTPUT, {})


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def link_as_the_folder(output: Path) -> None:
    (output / "predictions.csv").write_bytes(b"x")
    output.rename("elsewhere")
    output.symlink_to(Path("elsewhere").resolve())


def with_a_link(output: Path) -> None:
    write(output, "a")
    (output / "predictions" / "b").symlink_to("a")


def with_a_name_in_latin_1(output: Path) -> None:
    (output / "predictions").mkdir()
    (output / "predictions" / os.fsdecode(b"\xe9")).touch()


NO_OUTPUTS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda output: None,
    "a file of another name": lambda output: (output / "result.csv").touch(),
    "no folder": lambda output: output.rmdir(),
    "a link as the folder": link_as_the_folder,
    "a link": lambda output: (output / "predictions.csv").symlink_to("/etc/passwd"),
    "a pipe": lambda output: os.mkfifo(output / "predictions.csv"),
    "a socket": lambda output: bind(output / "predictions.csv"),
    "a folder as a file": lambda output: (output / "predictions.csv").mkdir(),
    "a file as a folder": lambda output: (output / "predictions").touch(),
    "a link in a folder": with_a_link,
    "a name that is no UTF-8": with_a_name_in_latin_1,
}


@pytest.mark.parametrize("case", NO_OUTPUTS)
def test_what_is_no_file_is_no_output(case: str, output: Path) -> None:
    NO_OUTPUTS[case](output)
    assert take() == (End.NO_OUTPUT, {})
