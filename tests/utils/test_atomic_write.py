"""Files and folders that are written on a shared folder."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from arena.utils.atomic_write import atomic_folder, atomic_write


@pytest.mark.parametrize(("is_done", "is_removed"), [(True, False), (False, False), (False, True)])
def test_a_rename_that_was_done_and_is_not_acknowledged_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_done: bool, is_removed: bool
) -> None:
    replace = Path.replace

    def replace_twice(source: Path, target: Any) -> Path:
        if is_done:
            replace(source, target)
        if is_removed:
            shutil.rmtree(source) if source.is_dir() else source.unlink()
        raise FileNotFoundError(source)

    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", replace_twice)
    failures = []
    try:
        atomic_write(file, b"new")
    except FileNotFoundError as error:
        failures.append(error)
    try:
        with atomic_folder(folder) as partial:
            (partial / "x").touch()
    except FileNotFoundError as error:
        failures.append(error)
    assert len(failures) == (0 if is_done else 2)
    assert file.read_bytes() == (b"new" if is_done else b"old")
    assert [path.name for path in tmp_path.rglob("*")].count("x") == is_done
    assert not list(tmp_path.glob(".arena-*")) + list(tmp_path.glob("*.part"))


def test_the_error_is_raised_also_if_the_partial_folder_is_gone(tmp_path: Path) -> None:
    def write() -> None:
        with atomic_folder(tmp_path / "a") as partial:
            partial.rmdir()
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="^wrong$"):
        write()


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_its_mode_and_its_old_content_until_it_is_whole(
    tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    atomic_write(file, b"old", mode)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"old", mode)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        atomic_write(file, b"new", mode)
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_made_with_those_above_it_and_its_mode(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for name, modes, expected in (("public", (), 0o755), ("private", (0o700,), 0o700)):
            with atomic_folder(tmp_path / "above" / name, *modes):
                pass
            assert stat.S_IMODE((tmp_path / "above" / name).stat().st_mode) == expected
    finally:
        os.umask(before)


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_fails_leaves_nothing_and_an_empty_one_stays(
    tmp_path: Path, exists: bool
) -> None:
    folder = tmp_path / "folder"
    if exists:
        folder.mkdir()

    def write(*, failing: bool) -> None:
        with atomic_folder(folder) as written:
            assert written.name == ("folder" if exists else "folder.part")
            (written / "inner").mkdir()
            (written / "inner" / "x").touch()
            (written / "y").touch()
            if failing:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(failing=True)
    assert folder.exists() == exists
    assert not list(folder.glob("*"))
    (tmp_path / "folder.part").mkdir()  # of a command that was killed
    (tmp_path / "folder.part" / "z").touch()
    write(failing=False)
    names = sorted(path.name for path in folder.rglob("*"))
    assert names == ["inner", "x", "y"]
    assert (tmp_path / "folder.part").exists() == exists
